"""The command that comes with the package, and what Python asks it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import induct
import pandas as pd
import polars as pl
import pytest
from conftest import SMALL, command, sets


def test_the_command_is_there(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("induct")
    said = subprocess.run([program, "--version"], capture_output=True, text=True)
    assert said.stdout == f"induct {induct.__version__}\n" and said.returncode == 0
    assert "three-states" in command("presets").stdout
    assert command("train", "nosuch").returncode == 2
    assert command("--nope").returncode == 2
    done = command("train", "main", *sets(SMALL), "--out", "run", cwd=tmp_path)
    assert done.returncode == 0 and "60 steps in" in done.stdout
    assert command("show", "run", cwd=tmp_path).returncode == 0


def test_sweeps_of_the_command(tmp_path: Path) -> None:
    """A table that the usual packages read, and a script for a cluster that calls the command of this environment."""
    small = sets(SMALL)
    vary = ["--vary", "train.batch=8;16", "--seeds", "2", "--curve", "kl_truth"]
    done = command("sweep", "main", *small, *vary, "--out", "sweep", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    path = tmp_path / "sweep" / "results.parquet"
    table = pl.read_parquet(path)
    assert table["train.batch"].to_list() == [8, 8, 16, 16] and table["seed"].to_list() == [0, 1, 0, 1]
    curves = table.select("run", "curve.step", "curve.kl_truth").explode("curve.step", "curve.kl_truth")
    assert curves.height > table.height
    # pandas reads it with pyarrow.
    assert pd.read_parquet(path)["final.kl_truth"].to_list() == table["final.kl_truth"].to_list()
    run = induct.open(tmp_path / "sweep" / "runs" / table["run"][0])
    assert run.metrics["kl_truth"][-1] == table["final.kl_truth"][0]
    assert command("sweep", "plan", "main", *small, "--seeds", "3", "--out", "shares", cwd=tmp_path).returncode == 0
    assert command("sweep", "submit", "shares", "--tasks", "2", "--dry-run", cwd=tmp_path).returncode == 0
    for share in ("0", "1"):
        task = subprocess.run([tmp_path / "shares/slurm/task.sh", share], capture_output=True, text=True)
        assert task.returncode == 0, task.stderr
    status = json.loads(command("sweep", "status", "shares", "--json", cwd=tmp_path).stdout)
    assert (status["done"], status["missing"]) == (3, 0)


def test_theory() -> None:
    gradient = induct.theory.gradient(0.9, 0.7, length=5)
    assert gradient["stationary"] == [0.75, 0.25] and len(gradient["v"]) == 5
    steps = induct.theory.step(length=5, init_w=0.02)["steps"]
    assert len(steps) == 2 and len(steps[0]["W"]) == 2
    with pytest.raises(induct.InputError):
        induct.theory.gradient(1.5, 0.7, length=5)


def test_the_ledger_has_every_formula() -> None:
    ledger = induct.theory.ledger()
    assert len(ledger) == 104 and {"id", "verdict", "printed"} <= ledger[0].keys()


def test_reproduce_a_part(tmp_path: Path) -> None:
    report = induct.reproduce(out=tmp_path / "report", only=["C15"], seeds=1)
    assert (report.path / "index.html").exists()
    assert [claim["id"] for claim in report.claims] == ["C15"]
    assert "C15" in report._repr_html_()
    with pytest.raises(induct.InputError, match="fourteen"):
        induct.reproduce(out=tmp_path / "report", only=["fourteen"])


def test_levels(tmp_path: Path) -> None:
    assert induct.level() in induct.levels() and induct.levels()[-1] == "portable"
    with pytest.raises(induct.InputError, match="abacus"):
        induct.use_level("abacus")
    script = "import induct; induct.use_level('portable'); print(induct.level())"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "portable\n"
