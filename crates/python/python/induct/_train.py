"""Training: a recipe in, a run out."""

from __future__ import annotations

import importlib.util
import math
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from . import _induct, _toml
from ._errors import InputError, Interrupted
from ._model import Model
from ._recipe import Recipe
from ._run import Run
from ._threads import count_threads

Progress = bool | Callable[[int, int, float], object] | None
"""Whether to show a bar; or a function of steps done, steps in all, and the last loss."""


class Record(Mapping[str, float]):
    """A recorded step, as a callback sees it: values by column, and ways to act on the run."""

    def __init__(self, step: int, columns: list[str], row: list[float]) -> None:
        self.step = step
        """Steps done."""
        self._columns = columns
        self._row = row
        self._stops = False
        self._entries: list[tuple[str, str]] = []

    def stop(self) -> None:
        """Ends the run with this record. It keeps a checkpoint: ``run.resume()`` goes on."""
        self._stops = True

    def intervene(self, kind: str, **settings: Any) -> None:
        """Intervenes from the next step on, as an entry of ``[[intervene]]`` does that says ``from`` that step; what
        happens once (``reset``, ``transplant``) does so a step later. The run's recipe gets that entry, so that it can
        be repeated without the callback::

            record.intervene("ablate", at="layers.0.heads.0")
            record.intervene("freeze", group="layers.1")
        """
        if unknown := {"from", "step"} & settings.keys():
            raise InputError(f"{unknown.pop()} is not allowed: a callback intervenes from the next step on")
        named: list[_toml.Named] = []
        text = _toml.entries(settings, named, "intervene")
        if any(isinstance(part, Model) for part in named):
            raise InputError(
                "a callback cannot bring weights; name the folder of their run: {'run': FOLDER, 'step': N}"
            )
        self._entries.append((kind, text))

    def __getitem__(self, column: str) -> float:
        try:
            return self._row[self._columns.index(column)]
        except ValueError:
            raise KeyError(f"{column}; there are {', '.join(self._columns)}") from None

    def __iter__(self) -> Any:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"<Record of step {self.step}: kl_truth {self.get('kl_truth', math.nan):.4f}>"


def train(
    recipe: str | Path | Mapping[str, Any] | Recipe = "main",
    *,
    seed: int | None = None,
    set: Mapping[str, Any] | None = None,
    start: Model | None = None,
    out: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: Progress = None,
    callback: Callable[[Record], object] | None = None,
) -> Run:
    """Trains a recipe and returns the run.

    Args:
        recipe: the name of a preset, a TOML file, a dict of what differs from the defaults, or a :class:`Recipe`.
        seed: sets ``seeds.init`` and ``seeds.data``.
        set: overrides settings: ``{"train.steps": 500}`` or ``{"train": {"steps": 500}}``.
        start: starts from this model's weights.
        out: keeps the run in this folder, in the format of the command line. A run of the same recipe that is there
            already is taken as it is if it has ended, and goes on if it has not.
        threads: the number of threads; results do not depend on it. All cores if not given; one, if this is not the
            main thread: runs in threads usually come in groups.
        progress: whether to show a bar, by default where somebody looks; or a function that is called with steps done,
            steps in all and the last loss.
        callback: called with every :class:`Record`; it may stop the run or intervene. Training waits for it.

    Raises:
        RecipeError: if the recipe is impossible.
        RunError: if the folder cannot be used.
        Interrupted: on Ctrl-C; the run goes on with ``error.run.resume()``.
    """
    settings = dict(set or {})
    if start is not None:
        if not isinstance(start, Model):
            raise TypeError(f"start is a model, as run.model(step) gives it, not {start!r}")
        settings["from"] = start
    return _train(Recipe(recipe, settings, seed=seed), out, threads, progress, callback)


def _train(
    recipe: Recipe,
    out: str | os.PathLike[str] | None,
    threads: int | None,
    progress: Progress,
    callback: Callable[[Record], object] | None,
    resume: Run | None = None,
    extend: bool = False,
) -> Run:
    columns: list[str] = []

    def record(step: int, row: list[float]) -> tuple[bool, list[tuple[str, str]]]:
        if not columns:
            columns.extend(_induct.columns(recipe._native))
        told = Record(step, columns, row)
        assert callback is not None
        callback(told)
        return told._stops, told._entries

    if callback is not None and not callable(callback):
        raise TypeError(f"callback is a function of a record, not {callback!r}")
    steps = int(recipe.train.steps)
    with Bar(progress, steps) as bar:
        native, error, remarks = _induct.train(
            recipe._native,
            None if out is None else Path(out),
            extend,
            count_threads(threads),
            None if callback is None else record,
            bar.report,
            None if resume is None else resume._native,
        )
    for remark in remarks:
        warnings.warn(remark, stacklevel=3)
    run = Run(native, recipe._named)
    if isinstance(error, KeyboardInterrupt):
        done, place = run.summary["steps"], f" in {run.path}" if run.path else ""
        raise Interrupted(f"stopped after {done} of {steps} steps{place}; the exception's run.resume() continues", run)
    if error is not None:
        if sys.version_info >= (3, 11):
            error.add_note(
                "The run is kept up to here: the exception's attribute `run` is it, and run.resume() continues."
            )
        error.run = run  # type: ignore[attr-defined]
        raise error
    if run.ended == "diverged":
        warnings.warn(
            f"the loss was not a number at step {run.summary['diverged_at']}; everything recorded before is kept. "
            "A lower learning rate may help: train.optimizer.lr",
            RuntimeWarning,
            stacklevel=3,
        )
    return run


class Bar:
    """A bar in a terminal or notebook, a function, or nothing."""

    def __init__(self, progress: Progress, steps: int, unit: str = " steps") -> None:
        self._steps = steps
        self._bar: Any = None
        self._call = progress if callable(progress) else None
        shows = progress if isinstance(progress, bool) else progress is None and _somebody_looks()
        if shows and self._call is None:
            self._bar = _tqdm()(total=steps, unit=unit, leave=False, mininterval=0.1)

    @property
    def report(self) -> Callable[[int, float, str | None], None] | None:
        """What training calls; none if nobody wants to know."""
        return self._report if self._bar is not None or self._call is not None else None

    def _report(self, done: int, loss: float, near: str | None) -> None:
        if self._call is not None:
            self._call(done, self._steps, loss)
            return
        self._bar.n = min(done, self._steps)
        self._bar.set_postfix_str(f"loss {loss:.3f}{f', near {near}' if near else ''}" if done else "")

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._bar is not None:
            if kind is None:
                # Otherwise notebooks show it in red.
                self._bar.n = self._steps
            self._bar.close()


def _tqdm() -> Any:
    """The bar of notebooks, where there are widgets; else the one of letters, which works everywhere."""
    if "ipykernel" in sys.modules and importlib.util.find_spec("ipywidgets") is not None:
        from tqdm.notebook import tqdm

        return tqdm
    from tqdm import tqdm as letters

    return letters


def _somebody_looks() -> bool:
    """In a terminal or a notebook."""
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
