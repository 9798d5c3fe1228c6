"""Pictures, in a notebook and as files."""

from __future__ import annotations

import base64
import csv
import io
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from . import _induct
from ._errors import InputError


class Figure:
    """A picture that a notebook shows, and that can be saved."""

    def __init__(self, native: _induct.Figure, data: Callable[[], dict[str, Any]] | None = None) -> None:
        self._native = native
        self._data = data

    @property
    def svg(self) -> str:
        """The picture as a file of its own, with its fonts inside."""
        return self._native.svg()

    @property
    def png(self) -> bytes:
        """The picture in pixels."""
        return self._native.png()

    @property
    def data(self) -> dict[str, Any]:
        """The numbers that it shows."""
        return self._data() if self._data is not None else _columns(self._native.csv())

    @property
    def description(self) -> str:
        """What it shows, in a sentence."""
        return self._native.description

    def save(self, path: str | Path) -> Path:
        """Writes it to a file: ``.svg``, ``.png``, or its numbers as ``.csv``."""
        path = Path(path)
        ending = path.suffix.lower()
        if ending == ".svg":
            path.write_text(self.svg, encoding="utf-8")
        elif ending == ".png":
            path.write_bytes(self.png)
        elif ending == ".csv":
            path.write_text(self._native.csv(), encoding="utf-8")
        else:
            raise InputError(f"{path} ends in {ending or 'nothing'}: a figure is saved as .svg, .png or .csv")
        return path

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.description}>"

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        # An image of its own: styles of two figures in one page cannot get in each other's way.
        image = base64.b64encode(self.svg.encode()).decode()
        return f'<img alt="{escape(self.description)}" style="max-width:100%" src="data:image/svg+xml;base64,{image}">'


class Comparison(Figure):
    """Two runs in one picture, and where they differ."""

    def __init__(self, native: _induct.Figure, differences: dict[str, Any]) -> None:
        super().__init__(native)
        self.differences = differences
        """Keys, phases, drops, last records and the steps at which records part, as ``induct compare --json``."""

    @property
    def identical(self) -> bool:
        """Whether recipe and records are the same, to the last bit."""
        return bool(self.differences["identical"])


def _columns(text: str) -> dict[str, list[Any]]:
    rows = list(csv.reader(io.StringIO(text)))
    if not rows:
        return {}
    return {name: [_number(row[at]) for row in rows[1:] if at < len(row)] for at, name in enumerate(rows[0])}


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
