"""Training: the same bytes as the command line, in memory and in folders, stopped and resumed."""

from __future__ import annotations

import json
import multiprocessing
import pickle
import signal
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import induct
import numpy as np
import pytest
from conftest import SMALL, command, sets

PATIENCE = 300
"""The longest that anything may take, in seconds: machines differ."""


def files(folder: Path) -> dict[str, bytes]:
    """The files of a run, without what tells when and where it was trained."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or name == ".lock":
            continue
        found[name] = path.read_bytes()
        if name == "summary.json":
            summary = json.loads(found[name])
            for key in ("seconds", "threads", "checksum", "resumed_at"):
                del summary[key]
            found[name] = json.dumps(summary).encode()
    return found


def test_the_four_lines() -> None:
    run = induct.train("main", seed=0)
    assert run.plot().svg.startswith("<svg")
    assert [phase.strategy for phase in run.phases] == ["uniform", "unigram", "bigram"]
    assert 1000 < (run.onset("bigram") or 0) < 2000
    assert run.metrics["kl_truth"][-1] < 0.02
    pattern = run.model(step=1500).activations([0, 1, 1, 0])["layers.0.attn_pattern"]
    assert pattern.shape == (1, 4, 4)
    # The head looks back by one.
    assert pattern[0, 3, 2] > 0.9


def test_bytes_are_those_of_the_command_line(small: induct.Recipe, tmp_path: Path) -> None:
    done = command("train", "main", *sets(SMALL), "--out", "command", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    induct.train(small).save(tmp_path / "memory")
    induct.train(small, out=tmp_path / "folder", threads=1)
    expected = files(tmp_path / "command")
    assert len(expected) == 8
    for place in ("memory", "folder"):
        assert files(tmp_path / place) == expected, place
    opened = induct.open(tmp_path / "command")
    assert opened.compare(induct.train(small)).identical


def test_a_folder_is_taken_as_it_is_if_it_has_ended(small: induct.Recipe, tmp_path: Path) -> None:
    first = induct.train(small, out=tmp_path / "run")
    before = {name: (tmp_path / "run" / name).stat().st_mtime_ns for name in files(tmp_path / "run")}
    again = induct.train(small, out=tmp_path / "run")
    assert {name: (tmp_path / "run" / name).stat().st_mtime_ns for name in before} == before
    assert again.path == tmp_path / "run" and again.identity == first.identity
    with pytest.raises(induct.RunError, match="another recipe.*choose another out"):
        induct.train(small, seed=1, out=tmp_path / "run")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("x")
    with pytest.raises(induct.RunError, match="holds no run"):
        induct.train(small, out=tmp_path / "other")


def test_what_is_no_run_is_refused(run: induct.Run, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="is not a run"):
        induct.open(tmp_path / "nowhere")
    with pytest.raises(induct.RunError, match="is not a run"):
        induct.open(tmp_path)
    run.save(tmp_path / "run")
    with pytest.raises(induct.RunError, match="already holds a run"):
        run.save(tmp_path / "run")
    metrics = tmp_path / "run" / "metrics.csv"
    metrics.write_text(metrics.read_text().replace("0.2", "0.3", 1))
    with pytest.raises(induct.RunError, match="damaged"):
        induct.open(tmp_path / "run")


def test_runs_are_longer_if_asked_and_the_same(small: induct.Recipe, tmp_path: Path) -> None:
    longer = induct.train(small, set={"train.steps": 120})
    extended = induct.train(small).resume(steps=120)
    assert extended.compare(longer).identical and extended.steps == longer.steps == [0, 40, 80, 120]
    folder = induct.train(small, out=tmp_path / "run").resume(steps=120)
    assert folder.path == tmp_path / "run" and folder.compare(longer).identical
    with pytest.raises(induct.RunError, match="60 steps already"):
        induct.train(small, out=tmp_path / "shorter").resume(steps=50)


def test_what_cannot_be_longer_is_refused_in_memory_as_in_a_folder(small: induct.Recipe, tmp_path: Path) -> None:
    cosine = small.replace({"train.schedule": "cosine"})
    for out in (None, tmp_path / "run"):
        with pytest.raises(induct.RunError, match="its cosine schedule ends at step 60"):
            induct.train(cosine, out=out).resume(steps=120)
    with pytest.raises(induct.RunError, match="60 steps already"):
        induct.train(small).resume(steps=50)


def test_a_callback_sees_records_and_may_stop(small: induct.Recipe, tmp_path: Path) -> None:
    for out in (None, tmp_path / "run"):
        seen: list[int] = []

        def watch(record: induct.Record, seen: list[int] = seen) -> None:
            seen.append(record.step)
            assert record["step"] == record.step and 0 < record["kl_truth"] < 1
            with pytest.raises(KeyError, match="kl_truth"):
                _ = record["kl_trut"]
            if record.step == 30:
                record.stop()

        stopped = induct.train(small, out=out, callback=watch)
        assert seen == [0, 10, 20, 30]
        assert stopped.ended is None and stopped.metrics["step"][-1] == 30
        assert stopped.resume().compare(induct.train(small)).identical


def test_a_callback_that_intervenes_makes_a_recipe_that_repeats_it(small: induct.Recipe, tmp_path: Path) -> None:
    def silence(record: induct.Record) -> None:
        if record.step == 20:
            record.intervene("clamp", at="layers.0", pattern="previous-token")
            record.intervene("reset", group="layers.1")
        if record.step == 40:
            record.intervene("freeze", group="embed")

    for out in (None, tmp_path / "run"):
        run = induct.train(small, out=out, callback=silence)
        entries = run.recipe.to_dict()["intervene"]
        assert [(entry["kind"], entry.get("from", entry.get("step"))) for entry in entries] == [
            ("clamp", 21),
            ("reset", 22),
            ("freeze", 41),
        ]
        repeated = induct.train(run.recipe)
        assert run.compare(repeated).identical
        np.testing.assert_array_equal(run.model().weights["layers.1.W_Q"], repeated.model().weights["layers.1.W_Q"])
        assert run.model(20).interventions == [] and len(run.model(60).interventions) == 1
    assert (
        files(tmp_path / "run").keys() == files(induct.train(run.recipe, out=tmp_path / "again").path or Path()).keys()
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "run"]


@pytest.mark.parametrize(
    "intervene",
    [
        lambda record: record.intervene("ablate", at="layers.7"),
        lambda record: record.intervene("sing"),
        lambda record: record.intervene("freeze", group="embed", **{"from": 3}),
    ],
)
def test_interventions_that_cannot_be_are_refused(small: induct.Recipe, intervene: Any) -> None:
    with pytest.raises(induct.Error) as raised:
        induct.train(small, callback=intervene)
    kept = raised.value.run  # type: ignore[attr-defined]
    assert kept.resume().compare(induct.train(small)).identical


def test_a_callback_that_intervenes_and_stops_does_both(small: induct.Recipe) -> None:
    def both(record: induct.Record) -> None:
        if record.step == 20:
            record.intervene("freeze", group="embed")
            record.stop()

    run = induct.train(small, callback=both)
    assert run.metrics["step"][-1] == 20 and run.recipe.to_dict()["intervene"][0]["from"] == 21
    assert run.resume().compare(induct.train(run.recipe)).identical


def test_an_exception_of_a_callback_surfaces_and_the_run_is_kept(small: induct.Recipe, tmp_path: Path) -> None:
    def fail(record: induct.Record) -> None:
        if record.step == 30:
            raise LookupError("out of ideas")

    for out in (None, tmp_path / "run"):
        with pytest.raises(LookupError, match="out of ideas") as raised:
            induct.train(small, out=out, callback=fail)
        assert raised.traceback[-1].name == "fail"
        kept = raised.value.run  # type: ignore[attr-defined]
        assert kept.metrics["step"][-1] == 30
        assert kept.resume().compare(induct.train(small)).identical


def test_progress_is_a_function_of_steps(small: induct.Recipe) -> None:
    seen: list[tuple[int, int, float]] = []
    induct.train(small, set={"train.steps": 20000}, progress=lambda *args: seen.append(args))
    assert seen[-1][0] == 20000 and all(steps == 20000 for _, steps, _ in seen)
    assert [done for done, _, _ in seen] == sorted(done for done, _, _ in seen)
    with pytest.raises(ZeroDivisionError):
        induct.train(small, set={"train.steps": 20000}, progress=lambda *_: 1 / 0)


def test_start_from_a_model(run: induct.Run, small: induct.Recipe, tmp_path: Path) -> None:
    started = induct.train(small, start=run.model())
    np.testing.assert_array_equal(started.model(0).weights["embed.E"], run.model().weights["embed.E"])
    assert started.recipe.to_dict()["from"]["step"] == 60
    saved = run.save(tmp_path / "run")
    from_folder = induct.train(small, start=saved.model())
    assert from_folder.recipe.to_dict()["from"]["run"] == str(tmp_path / "run")
    np.testing.assert_array_equal(from_folder.metrics["kl_truth"], started.metrics["kl_truth"])
    with pytest.raises(TypeError, match="start is a model"):
        induct.train(small, start="runs/main")  # type: ignore[arg-type]


def test_a_run_that_diverges_is_kept_and_says_so(small: induct.Recipe) -> None:
    with pytest.warns(RuntimeWarning, match="not a number at step"):
        run = induct.train(small, set={"train.optimizer.lr": 1e30})
    assert run.ended == "diverged"


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "2", 5000])
def test_impossible_numbers_of_threads_are_refused(small: induct.Recipe, threads: Any) -> None:
    with pytest.raises(induct.InputError, match="threads = "):
        induct.train(small, threads=threads)


def test_runs_go_on_in_threads_and_in_forked_and_spawned_processes(small: induct.Recipe) -> None:
    expected = induct.train(small).metrics["kl_truth"]
    with ThreadPoolExecutor(4) as pool:
        for run in pool.map(lambda _: induct.train(small), range(8)):
            np.testing.assert_array_equal(run.metrics["kl_truth"], expected)
    for how in ("fork", "spawn"):
        context = multiprocessing.get_context(how)
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            for run in pool.map(induct.train, [small] * 2):
                np.testing.assert_array_equal(run.metrics["kl_truth"], expected)


def test_a_fork_while_another_thread_trains_does_not_hang(small: induct.Recipe) -> None:
    training, done = threading.Event(), threading.Event()

    def keep_training() -> None:
        while not done.is_set():
            induct.train(small, callback=lambda _: training.set())

    thread = threading.Thread(target=keep_training)
    thread.start()
    try:
        assert training.wait(PATIENCE)
        context = multiprocessing.get_context("fork")
        child = context.Process(target=induct.train, args=(small,))
        child.start()
        child.join(PATIENCE)
        assert child.exitcode == 0
    finally:
        done.set()
        thread.join()


LONG = """
import sys, induct
recipe = induct.Recipe("main", {"train.steps": 1_000_000, "record.snapshots": 3, "record.every": 1000})

def tell(record):
    if record.step == 1000:
        print("training", flush=True)

try:
    induct.train(recipe, out=sys.argv[1] if len(sys.argv) > 1 else None, callback=tell, progress=False)
except induct.Interrupted as interrupted:
    run = interrupted.run
    print(interrupted, flush=True)
    done = run.summary["steps"]
    shorter = run.metrics["step"][-1]
    print("kept", shorter > 0 and run.ended is None, flush=True)
"""


@pytest.mark.parametrize("kept", ["memory", "folder"])
def test_ctrl_c_stops_and_keeps_the_checkpoint(kept: str, tmp_path: Path) -> None:
    arguments = [str(tmp_path / "run")] if kept == "folder" else []
    process = subprocess.Popen([sys.executable, "-c", LONG, *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "training\n"
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert "stopped after" in said and "kept True" in said, said
    if kept == "folder":
        assert (tmp_path / "run" / "checkpoint.safetensors").exists()


def test_a_stopped_run_goes_on_after_pickling(small: induct.Recipe, tmp_path: Path) -> None:
    def stop(record: induct.Record) -> None:
        if record.step == 30:
            record.stop()

    for out in (None, tmp_path / "run"):
        stopped = pickle.loads(pickle.dumps(induct.train(small, out=out, callback=stop)))
        records: list[int] = []
        resumed = stopped.resume(callback=lambda record, records=records: records.append(record.step))
        assert records == [40, 50, 60] and resumed.compare(induct.train(small)).identical


def test_runs_are_pickled_with_all_they_keep(run: induct.Run) -> None:
    again = pickle.loads(pickle.dumps(run))
    assert again.compare(run).identical and again.steps == run.steps and again.path is None
    np.testing.assert_array_equal(again.model().predict([0, 1, 1]), run.model().predict([0, 1, 1]))
