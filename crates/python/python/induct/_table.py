"""Records as a table."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _induct
from ._errors import InputError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Column = npt.NDArray[np.float64] | npt.NDArray[np.int64]
SHOWN_ROWS = 8
SHOWN_COLUMNS = 8


class Table:
    """One row per recorded step, by column. A missing number is NaN.

    Columns are NumPy arrays for reading only, without copies. Anything that speaks Arrow takes the whole table as it
    is: ``pyarrow.table(metrics)``, ``polars.DataFrame(metrics)``; for pandas there is :meth:`to_pandas`.
    """

    def __init__(self, native: _induct.Table) -> None:
        self._native = native
        self._index = {name: at for at, name in enumerate(native.names)}

    def __getitem__(self, name: str) -> Column:
        if name not in self._index:
            raise InputError(f'there is no column "{name}"; there are {", ".join(self._index)}')
        return self._native.column(self._index[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self._native)

    def keys(self) -> list[str]:
        """Names of the columns, so that ``dict(table)`` works."""
        return list(self._index)

    def __contains__(self, name: object) -> bool:
        return name in self._index

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._index)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def to_dict(self) -> dict[str, Column]:
        """Plain columns, by name."""
        return {name: self[name] for name in self}

    def to_arrow(self) -> pyarrow.Table:
        """A table of pyarrow."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame of pandas."""
        import pandas

        return pandas.DataFrame(self.to_dict())

    def to_polars(self) -> polars.DataFrame:
        """A data frame of polars."""
        import polars

        return polars.DataFrame(self)

    def __repr__(self) -> str:
        return f"<Table: {len(self)} records of {len(self._index)} columns>"

    def _repr_html_(self) -> str:
        names = self.columns[:SHOWN_COLUMNS]
        last = len(self)
        shown = (
            list(range(last)) if last <= SHOWN_ROWS else [*range(SHOWN_ROWS // 2), *range(last - SHOWN_ROWS // 2, last)]
        )
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        body = "".join(
            "<tr>" + "".join(f"<td>{_cell(self[name][row])}</td>" for name in names) + "</tr>" for row in shown
        )
        more = f" of {len(self._index)}" if len(self._index) > len(names) else ""
        return (
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            f"<p>{len(self)} records; {len(names)}{more} columns shown</p>"
        )


def _cell(value: Any) -> str:
    if isinstance(value, np.integer):
        return str(value)
    return "" if np.isnan(value) else f"{value:.4g}"
