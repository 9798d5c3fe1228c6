"""Sweeps: here, in folders, and on executors of others."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import induct
import numpy as np
import pytest

GRID: dict[str, list[Any]] = {"train.batch": [8, 16], "train.optimizer.lr": [1e-3, 3e-3]}


@pytest.fixture(scope="module")
def sweep(small: induct.Recipe) -> induct.Sweep:
    return induct.sweep(small, GRID, seeds=2)


def test_every_point_has_every_seed(sweep: induct.Sweep, small: induct.Recipe) -> None:
    assert len(sweep) == 8 and sweep.keys == list(GRID)
    table = sweep.table
    assert table["train.batch"] == [8] * 4 + [16] * 4 and table["seed"] == [0, 1] * 4
    assert set(table["ended"]) == {"complete"}
    alone = induct.train(small, seed=1, set={"train.batch": 16, "train.optimizer.lr": 1e-3})
    assert sweep[5].compare(alone).identical
    assert sweep.values("kl_truth")[5] == alone.metrics["kl_truth"][-1]
    assert [run.identity for run in sweep.select(seed=1, **{"train.batch": 16})] == [
        sweep[5].identity,
        sweep[7].identity,
    ]
    with pytest.raises(induct.InputError, match="does not vary"):
        sweep.select(**{"train.steps": 3})
    assert "8 runs over train.batch × train.optimizer.lr × 2 seeds" in repr(sweep)
    assert sweep._repr_html_().count("<tr>") == 9


def test_pictures_of_a_sweep(sweep: induct.Sweep, small: induct.Recipe) -> None:
    assert "train.batch = 8" in sweep.plot("kl_truth").svg
    diagram = sweep.diagram("kl_truth", x="train.optimizer.lr")
    assert diagram.description == "Final loss over train.optimizer.lr and train.batch."
    values = [value for value in diagram.data["y"] if isinstance(value, float)]
    losses = sweep.values("kl_truth")
    assert np.median(losses[:2]) == pytest.approx(min(values, key=lambda v: abs(v - np.median(losses[:2]))), rel=1e-3)
    assert sweep.diagram().svg
    with pytest.raises(induct.InputError, match="does not vary"):
        sweep.diagram(x="train.steps")
    with pytest.raises(induct.InputError, match="needs two keys"):
        induct.sweep(small, {"train.batch": [8]}).diagram()


def test_a_sweep_in_a_folder_grows(small: induct.Recipe, tmp_path: Path) -> None:
    first = induct.sweep(small, {"train.batch": [8]}, seeds=2, out=tmp_path)
    times = {run.path: run.path.joinpath("summary.json").stat().st_mtime_ns for run in first if run.path}
    larger = induct.sweep(small, {"train.batch": [8, 16]}, seeds=3, out=tmp_path)
    assert len(list((tmp_path / "runs").iterdir())) == 6 and len(larger) == 6
    assert all(path.joinpath("summary.json").stat().st_mtime_ns == time for path, time in times.items())
    # Folders have the names that the command line gives them.
    assert all(run.path is not None and run.path.name == run.identity[:16] for run in larger)


def test_any_executor_does(sweep: induct.Sweep, small: induct.Recipe, tmp_path: Path) -> None:
    for executor in (ThreadPoolExecutor(2), ProcessPoolExecutor(2)):
        with executor:
            elsewhere = induct.sweep(small, GRID, seeds=2, executor=executor)
        assert all(a.compare(b).identical for a, b in zip(sweep, elsewhere, strict=True))
    with ThreadPoolExecutor(2) as executor:
        kept = induct.sweep(small, GRID, executor=executor, out=tmp_path)
    assert all(run.path is not None for run in kept)


def test_dask_does(sweep: induct.Sweep, small: induct.Recipe) -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        elsewhere = induct.sweep(small, GRID, seeds=2, executor=client.get_executor())
    assert all(a.compare(b).identical for a, b in zip(sweep, elsewhere, strict=True))


def test_jobs_that_are_no_futures_do(small: induct.Recipe) -> None:
    """As submitit's."""

    class Job:
        def __init__(self, function: Any, arguments: tuple[Any, ...]) -> None:
            self.work = (function, arguments)

        def result(self) -> Any:
            function, arguments = self.work
            return function(*arguments)

    class Executor:
        def submit(self, function: Any, *arguments: Any) -> Job:
            return Job(function, arguments)

    assert len(induct.sweep(small, seeds=2, executor=Executor())) == 2


@pytest.mark.parametrize(
    ("vary", "seeds", "says"),
    [
        ({"train.batch": []}, 1, "varies over no values"),
        ({"train.batchh": [1]}, 1, "batchh"),
        ({"train.batch": [8, 0]}, 1, "train.batch = 0"),
        ({"train.batch": list(range(1, 1001))}, 1000, "1000000 runs"),
        ({}, 0, "0 runs"),
        ({"seeds.data": [0, 1]}, 1, "a sweep sets seeds itself"),
        ({"train.batch": 8}, 1, "give a list of values"),
        ({"train.batch": [8, 8]}, 1, "the same; give each value"),
    ],
)
def test_grids_that_cannot_be_are_refused(small: induct.Recipe, vary: Any, seeds: int, says: str) -> None:
    with pytest.raises(induct.Error, match=says):
        induct.sweep(small, vary, seeds=seeds)


def test_a_sweep_over_n_has_phases_that_some_runs_lack(small: induct.Recipe) -> None:
    sweep = induct.sweep(small, {"task.ngram": [2, 3], "train.batch": [8, 16]})
    assert np.isnan(sweep.values("onset.trigram")).all() and sweep.diagram().svg


def test_misspelt_phases_are_errors(sweep: induct.Sweep) -> None:
    with pytest.raises(induct.InputError, match="uniform, unigram, bigram"):
        sweep.values("onset.bigrams")


def test_an_exception_in_a_part_ends_a_sweep(small: induct.Recipe) -> None:
    def fails(_: Any) -> Any:
        raise LookupError("no more ideas")

    with pytest.raises(LookupError, match="no more ideas"):
        induct.sweep(small, seeds=3, set={"record.custom_strategies": [induct.Strategy(fails, "broken")]})
