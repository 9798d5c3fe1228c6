"""The paper's figures and claims, as one report."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from . import _command, _toml


@dataclass(frozen=True)
class Report:
    """What ``induct reproduce`` found."""

    path: Path
    """The folder; ``index.html`` in it is the report."""
    answer: dict[str, Any]
    """As ``claims.json`` has it."""

    @property
    def claims(self) -> list[dict[str, Any]]:
        """Every claim, with its verdicts and the parts that they rest on."""
        claims: list[dict[str, Any]] = self.answer["claims"]
        return claims

    def __repr__(self) -> str:
        return f"<Report in {self.path}: {len(self.claims)} claims>"

    def _repr_html_(self) -> str:
        rows = ""
        for claim in self.claims:
            said = ", ".join(f"{at['variant']}: {at['verdict']}" for at in claim["verdicts"])
            cells = (claim["id"], claim["title"], said)
            rows += "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>"
        return f"<p>{escape(str(self.path / 'index.html'))}</p><table>{rows}</table>"


def reproduce(
    study: str = "paper",
    *,
    out: str | os.PathLike[str] = "report",
    full: bool = False,
    only: Sequence[str | int] = (),
    seeds: int | None = None,
    set: Mapping[str, Any] | None = None,
    threads: int | None = None,
) -> Report:
    """Trains everything that a study needs, draws every figure and decides every claim: less than two minutes on two
    cores, or 40 with `full`. Runs that the folder holds already are not trained again.

    Args:
        study: ``"paper"`` or ``"plateau"``.
        out: the folder of the report.
        full: seeds until every core part of a claim is decided, in all variants.
        only: these figures and claims, by number or name: ``[1, "C5"]``.
        seeds: this many per experiment.
        set: overrides settings in every recipe.
        threads: the number of threads.
    """
    arguments = ["reproduce", study, "--out", str(Path(out))]
    arguments += ["--full"] if full else []
    arguments += ["--only", ",".join(str(name) for name in only)] if only else []
    arguments += ["--seeds", str(seeds)] if seeds is not None else []
    arguments += ["--threads", str(threads)] if threads is not None else []
    for override in _toml.overrides(set or {}, []):
        arguments += ["--set", override]
    return Report(Path(out), _command.answer(*arguments))
