"""Runs: what was recorded and kept."""

from __future__ import annotations

import builtins
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _induct, _toml
from ._errors import InputError
from ._figure import Comparison, Figure
from ._lab import LabPage
from ._model import Model
from ._parts import Measure, Prior, Strategy, Task
from ._recipe import Recipe, _native
from ._table import Table
from ._tokens import Tokens

if TYPE_CHECKING:
    from torch import nn

    from ._train import Record


@dataclass(frozen=True)
class Phase:
    """Steps during which one strategy is the nearest to the model."""

    strategy: str
    """Its name."""
    onset: int
    """The first step."""
    end: int
    """The last step."""


class Run:
    """A run: its recipe, its records, its models at the steps that it kept."""

    def __init__(self, native: _induct.Run, named: tuple[_toml.Named, ...] = ()) -> None:
        self._native = native
        self._named = named

    @classmethod
    def open(cls, path: str | os.PathLike[str], parts: Sequence[Task | Prior | Strategy | Measure] = ()) -> Run:
        """The run in a folder, whichever program trained it; it may still be in training. To train on with Python's
        functions, give them as `parts`: a folder has only their names."""
        named = tuple(parts)
        return cls(_induct.Run.open(Path(path), [_native(part) for part in named]), named)

    @property
    def path(self) -> Path | None:
        """Its folder; none if it is in memory only."""
        return self._native.path

    @cached_property
    def recipe(self) -> Recipe:
        """Its recipe, with any interventions of callbacks."""
        return Recipe._of(self._native.recipe, self._named)

    @property
    def identity(self) -> str:
        """Identifies it: runs with the same identity have the same bytes."""
        return self._native.identity

    @cached_property
    def metrics(self) -> Table:
        """Its records: one row per recorded step, by column."""
        return Table(self._native.table())

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Its outcome, as in ``summary.json``; of a run that has not ended, what its records say so far."""
        summary: dict[str, Any] = json.loads(self._native.summary_json())
        return summary

    @property
    def ended(self) -> str | None:
        """How it ended: ``complete``, ``event`` or ``diverged``; none if it was stopped, or is in training."""
        return str(self.summary["ended"]) if self._native.has_ended else None

    @property
    def phases(self) -> list[Phase]:
        """Its phases, in order: uniform, unigram, bigram, …"""
        return [Phase(phase["strategy"], phase["onset"], phase["end"]) for phase in self.summary["phases"]]

    def onset(self, strategy: str) -> int | None:
        """The first step of a phase; none if it never came."""
        known = self.summary["strategies"]
        if strategy not in known:
            raise InputError(f'the run is not compared with a strategy "{strategy}"; with {", ".join(known)} it is')
        return next((phase.onset for phase in self.phases if phase.strategy == strategy), None)

    @property
    def steps(self) -> list[int]:
        """The steps whose weights it kept."""
        return self._native.snapshot_steps()

    def model(self, step: int | None = None) -> Model:
        """The model at a step that it kept, under the interventions in force there; the last one if none is given."""
        if step is not None and (isinstance(step, bool) or not hasattr(step, "__index__") or not 0 <= step < 2**63):
            raise InputError(f"step = {step!r} is not allowed: one of run.steps")
        origin = str(self.path) if self.path is not None else "memory"
        return Model(self._native.model(step if step is None else int(step)), origin, self._named)

    def resume(
        self,
        steps: int | None = None,
        *,
        threads: int | None = None,
        progress: bool | Callable[[int, int, float], object] | None = None,
        callback: Callable[[Record], object] | None = None,
    ) -> Run:
        """Goes on with a run that was stopped; with more `steps`, makes a finished one longer."""
        from ._train import _train

        recipe = self.recipe if steps is None else self.recipe.replace({"train.steps": steps})
        return _train(recipe, self.path, threads, progress, callback, resume=self, extend=steps is not None)

    def save(self, path: str | os.PathLike[str]) -> Run:
        """Writes it into a new folder, as training there would have done; returns the run there."""
        self._native.save(Path(path))
        return Run(_induct.Run.open(Path(path), [_native(part) for part in self._named]), self._named)

    def plot(self, *measures: str) -> Figure:
        """Curves over training: the loss beside those of the strategies, and the distance to each; or any measures or
        columns."""
        return Figure(_induct.curves([self._native], [""], list(measures), False))

    def attention(self, tokens: Tokens, step: int | None = None) -> Figure:
        """A picture of what every head attends to on a sequence."""
        return self.model(step).attention(tokens)

    def compare(self, other: Run, *measures: str) -> Comparison:
        """Both runs in one picture, and where they differ."""
        if not isinstance(other, Run):
            raise TypeError(f"a run is compared with a run, not with {other!r}")
        names = [
            str(run.path) if run.path else f"{run.recipe.name} {letter}" for run, letter in ((self, "a"), (other, "b"))
        ]
        figure = _induct.curves([self._native, other._native], names, list(measures), True)
        return Comparison(figure, json.loads(self._native.differences_json(other._native)))

    def lab(self, height: int = 900) -> LabPage:
        """The live page with this run inside: scrub through its training, talk to the model, train on."""
        name = str(self.path) if self.path else str(self.recipe.name)
        return LabPage(lambda base: self._native.page(base, name), height)

    def to_torch(self, step: int | None = None) -> nn.Module:
        """A small PyTorch module with the weights of a step; the last one if none is given."""
        return self.model(step).to_torch()

    def to_lens(self, step: int | None = None) -> Any:
        """The weights of a step in TransformerLens."""
        return self.model(step).to_lens()

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (str(self.path or self.recipe.name), self._native.files(), self._named)

    def __repr__(self) -> str:
        place = f" in {self.path}" if self.path else ""
        phases = " -> ".join(f"{phase.strategy} (from step {phase.onset})" for phase in self.phases)
        state = self.ended or "not ended"
        return f"<Run {self.recipe.name}{place}: {self.summary['steps']} steps, {state}; {phases or 'no phases'}>"


def _rebuilt(name: str, files: dict[str, bytes], named: tuple[_toml.Named, ...]) -> Run:
    return Run(_induct.Run.of_files(name, files, [_native(part) for part in named]), named)


def open(path: str | os.PathLike[str], parts: Sequence[Task | Prior | Strategy | Measure] = ()) -> Run:
    """The run in a folder, whichever program trained it; see :meth:`Run.open`."""
    return Run.open(path, parts)


def plot(runs: Sequence[Run], *measures: str) -> Figure:
    """Curves of several runs, overlaid: those of one recipe are thin lines with their median, recipes have a colour."""
    runs = builtins.list(runs)
    if not runs:
        raise InputError("there is no run to plot")
    return Figure(_induct.curves([run._native for run in runs], [""] * len(runs), builtins.list(measures), False))
