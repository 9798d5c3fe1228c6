"""Sweeps: one recipe over seeds and variations, on all cores or on any executor."""

from __future__ import annotations

import itertools
import os
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, as_completed
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from . import _induct
from ._errors import InputError, Interrupted
from ._figure import Figure
from ._parts import _Part
from ._recipe import Recipe
from ._run import Run, plot
from ._threads import count_threads
from ._train import Bar, Progress

MAX_RUNS = 100_000


class Sweep(Sequence[Run]):
    """The runs of a sweep, in the order of its grid, seeds last."""

    def __init__(self, keys: list[str], points: list[dict[str, Any]], seeds: list[int], runs: list[Run]) -> None:
        self.keys = keys
        """The keys that vary."""
        self._points = points
        self._seeds = seeds
        self.runs = runs
        """The runs."""

    def __len__(self) -> int:
        return len(self.runs)

    def __getitem__(self, index: Any) -> Any:
        return self.runs[index]

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def values(self, measure: str) -> list[float]:
        """A number per run: the last value of a column, such as ``kl_truth``; or the first step of a phase, as
        ``onset.bigram``. NaN where there is none."""
        strategy = measure.removeprefix("onset.")
        if strategy == measure:
            return [float(run.metrics[measure][-1]) for run in self.runs]
        if not any(strategy in run.summary["strategies"] for run in self.runs):
            self.runs[0].onset(strategy)
        onsets = [_onset(run, strategy) for run in self.runs]
        return [float("nan") if onset is None else float(onset) for onset in onsets]

    @property
    def table(self) -> dict[str, list[Any]]:
        """One row per run, by column: the varied keys, the seed, how it ended, the final loss, and the onset of every
        phase. ``pandas.DataFrame(sweep.table)`` takes it as it is."""
        columns: dict[str, list[Any]] = {key: [point[key] for point in self._points] for key in self.keys}
        columns["seed"] = list(self._seeds)
        columns["ended"] = [run.ended for run in self.runs]
        columns["kl_truth"] = self.values("kl_truth")
        strategies = dict.fromkeys(phase.strategy for run in self.runs for phase in run.phases)
        for strategy in strategies:
            columns[f"onset.{strategy}"] = [_onset(run, strategy) for run in self.runs]
        return columns

    def select(self, **keys: Any) -> list[Run]:
        """The runs with these values: ``sweep.select(**{"train.batch": 32})``, ``sweep.select(seed=0)``."""
        wanted = {key: value for key, value in keys.items() if key != "seed"}
        if unknown := [key for key in wanted if key not in self.keys]:
            raise InputError(f"{unknown[0]} does not vary in this sweep; {', '.join([*self.keys, 'seed'])} do")
        seeds = {keys["seed"]} if "seed" in keys else {*self._seeds}
        rows = zip(self._points, self._seeds, self.runs, strict=True)
        return [
            run
            for point, seed, run in rows
            if seed in seeds and all(point[key] == value for key, value in wanted.items())
        ]

    def plot(self, *measures: str) -> Figure:
        """Curves of all runs: seeds thin, their medians bold, a colour per point of the grid."""
        return plot(self.runs, *measures)

    def diagram(self, *measures: str, x: str | None = None, y: str | None = None) -> Figure:
        """A phase diagram over two keys: the median over seeds, and over further keys, of measures as :meth:`values`
        has them; the final loss and the onset of the last phase, if none is named."""
        keys = [key for key in (x, y) if key is not None]
        keys += [key for key in self.keys if key not in keys]
        if len(self.keys) < 2:
            raise InputError(f"a phase diagram needs two keys that vary, and {len(self.keys)} do; plot() draws curves")
        if unknown := [key for key in keys if key not in self.keys]:
            raise InputError(f"{unknown[0]} does not vary in this sweep; {', '.join(self.keys)} do")
        across, up = (_axis(self._points, key) for key in keys[:2])
        if not measures:
            last = max((run.summary["strategies"] for run in self.runs), key=len)
            measures = ("kl_truth", f"onset.{list(last)[-1]}")
        maps = []
        for measure in measures:
            values = self.values(measure)
            cells = [
                [_median(value for value, point in zip(values, self._points, strict=True)
                         if point[keys[0]] == of_x and point[keys[1]] == of_y) for of_x in across]
                for of_y in up
            ]  # fmt: skip
            maps.append((*_title(measure), cells))
        shown = [[_label(value) for value in axis] for axis in (across, up)]
        return Figure(_induct.diagram((keys[0], shown[0]), (keys[1], shown[1]), maps))

    def __repr__(self) -> str:
        over = " × ".join([*self.keys, f"{len(set(self._seeds))} seeds"])
        return f"<Sweep: {len(self.runs)} runs over {over}>"

    def _repr_html_(self) -> str:
        table = self.table
        head = "".join(f"<th>{escape(name)}</th>" for name in table)
        rows = list(zip(*table.values(), strict=True))
        body = "".join("<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>" for row in rows[:20])
        more = f"<p>20 of {len(rows)} runs shown</p>" if len(rows) > 20 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def sweep(
    recipe: str | Path | Mapping[str, Any] | Recipe = "main",
    vary: Mapping[str, Sequence[Any]] | None = None,
    *,
    seeds: int | Sequence[int] = 1,
    set: Mapping[str, Any] | None = None,
    out: str | os.PathLike[str] | None = None,
    executor: Executor | Any | None = None,
    threads: int | None = None,
    progress: Progress = None,
) -> Sweep:
    """Trains a recipe at every point of a grid, with every seed.

    Args:
        recipe: as for :func:`train`.
        vary: keys and their values: ``{"train.batch": [32, 64], "train.optimizer.lr": [1e-3, 3e-3]}``.
        seeds: how many, 0, 1, …; or which.
        set: overrides settings in every run.
        out: keeps the runs below this folder. Runs that are there already are not trained again, so that a sweep can
            grow, and go on after an interruption.
        executor: trains elsewhere: anything with ``submit(function, *arguments)`` that returns futures, such as those
            of :mod:`concurrent.futures`, Dask, submitit and Ray. Without one, runs go on all cores of this machine, one
            thread each.
        threads: the number of cores, without an executor.
        progress: as for :func:`train`; with an executor, runs are counted instead of steps.
    """
    for name, settings in (("vary", vary or {}), ("set", set or {})):
        if seeded := [key for key in settings if str(key).split(".")[0] == "seeds"]:
            raise InputError(
                f"{name} has {seeded[0]}: a sweep sets seeds itself; choose how many, or which, with seeds"
            )
    base = Recipe(recipe, set)
    for key, values in (vary or {}).items():
        if isinstance(values, (str, Mapping)) or not isinstance(values, Iterable):
            raise InputError(f"{key} varies over {values!r}: give a list of values")
    grid = {key: list(values) for key, values in (vary or {}).items()}
    if empty := [key for key, values in grid.items() if not values]:
        raise InputError(f"{empty[0]} varies over no values")
    numbers = list(range(seeds)) if isinstance(seeds, (int, np.integer)) else [int(seed) for seed in seeds]
    count = len(numbers)
    for values in grid.values():
        count *= len(values)
    if not 1 <= count <= MAX_RUNS:
        raise InputError(f"this grid has {count} runs; from 1 to {MAX_RUNS:,} are allowed")
    combinations = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    points, chosen, recipes = [], [], []
    for point in combinations:
        varied = base.replace(point)
        for seed in numbers:
            points.append(point)
            chosen.append(seed)
            recipes.append(varied.replace(seed=seed))
    identities = [one.identity for one in recipes]
    if len(identities) != len({*identities}):
        raise InputError("two runs of this sweep are the same; give each value and each seed once")
    folders = None if out is None else [Path(out) / "runs" / identity[:16] for identity in identities]
    if executor is None:
        runs = _here(recipes, folders, threads, progress)
    else:
        runs = _elsewhere(executor, recipes, folders, progress)
    return Sweep(list(grid), points, chosen, runs)


def _here(recipes: list[Recipe], folders: list[Path] | None, threads: int | None, progress: Progress) -> list[Run]:
    with Bar(progress, sum(int(recipe.train.steps) for recipe in recipes)) as bar:
        native, error = _induct.train_many(
            [recipe._native for recipe in recipes], folders, count_threads(threads), bar.report
        )
    runs = [Run(run, recipe._named) for run, recipe in zip(native, recipes, strict=True) if run is not None]
    if isinstance(error, KeyboardInterrupt):
        kept = f" in {folders[0].parent}; the same call continues" if folders else "; give out to keep runs"
        raise Interrupted(f"stopped with {len(runs)} of {len(recipes)} runs done{kept}")
    if error is not None:
        raise error
    return runs


def _elsewhere(executor: Any, recipes: list[Recipe], folders: list[Path] | None, progress: Progress) -> list[Run]:
    places: list[Path | None] = [*folders] if folders else [None] * len(recipes)
    arguments = zip(recipes, places, strict=True)
    if hasattr(executor, "map_array"):
        # Submitit makes one job array of it.
        futures = executor.map_array(_one, recipes, places)
    else:
        futures = [executor.submit(_one, recipe, folder) for recipe, folder in arguments]
    with Bar(progress, len(futures), unit=" runs") as bar:
        # Jobs that are no futures of the standard library can only be waited for, one after another.
        whole = all(isinstance(future, Future) for future in futures)
        for done, future in enumerate(as_completed(futures) if whole else futures, start=1):
            future.result()
            if bar.report is not None:
                bar.report(done, float("nan"), None)
    return [future.result() for future in futures]


def _one(recipe: Recipe, folder: Path | None) -> Run:
    from ._train import train

    return train(recipe, out=folder, threads=1, progress=False)


def _onset(run: Run, strategy: str) -> int | None:
    """The first step of a phase; none too if the run is not compared with that strategy, as with another n."""
    return run.onset(strategy) if strategy in run.summary["strategies"] else None


def _axis(points: list[dict[str, Any]], key: str) -> list[Any]:
    values: list[Any] = []
    for point in points:
        if point[key] not in values:
            values.append(point[key])
    try:
        return sorted(values)
    except TypeError:
        return values


def _label(value: Any) -> str:
    """A value in a word or two: of a table with a kind, the kind and its plain settings."""
    if isinstance(value, _Part):
        return " ".join([value.name, *(f"{key} {number:g}" for key, number in value.settings.items())])
    if not isinstance(value, Mapping):
        return str(value)
    plain = [f"{key} {_label(inner)}" for key, inner in value.items() if key != "kind"]
    return " ".join([str(value.get("kind", "")), *plain]).strip()


def _median(values: Iterator[float]) -> float:
    known = [value for value in values if value == value]
    return statistics.median(known) if known else float("nan")


def _title(measure: str) -> tuple[str, str]:
    if measure.startswith("onset."):
        return f"Onset of the {measure.removeprefix('onset.')} phase", "steps"
    return ("Final loss", "KL(truth ‖ model), nats") if measure == "kl_truth" else (measure, "")


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else escape(str(value))
