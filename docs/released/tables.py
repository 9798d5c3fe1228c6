"""Trains what docs/released/README.md tabulates, by `induct sweep`, and prints its tables as Markdown.

    cargo build --release
    python3 docs/released/tables.py --induct target/release/induct

Sweeps are kept (in target/released): what is trained already is not trained again.
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path

FORMED = 0.3
"""A head has formed if layer 1 gives the previous symbol at least this share of its attention at the end."""

NORM = ("model.layer_norm=true", "model.positions=relative-query")
PROJECTED = ("model.output_projection=always", "model.init_std={default=0.02, W_O=0.01}")
UNIFORM = ("task.start=uniform",)
RATE = ("train.optimizer.lr=5e-4", "train.steps=4000")


@dataclass(frozen=True)
class Row:
    """One line of a table: a preset with changes."""

    label: str
    preset: str
    changes: tuple[str, ...] = ()


RELEASED = (
    Row("two states, 2,000 steps", "released-tables"),
    Row("three states, 4,000 steps", "released-tables", ("task.states=3", "train.steps=4000")),
)

STEPS = (
    Row("the paper's text at this rate", "main", RATE),
    Row("with layer norm", "main", (*RATE, "model.layer_norm=true")),
    Row("… and relative-query", "main", (*RATE, *NORM)),
    Row("… and a uniform start", "main", (*RATE, *NORM, *UNIFORM)),
    Row("… and W_O", "main", (*RATE, *NORM, *UNIFORM, *PROJECTED)),
    Row("… and dropout: `released-tables`", "released-tables", ("train.steps=4000",)),
)

SINGLE = (
    Row("layer norm and relative-query", "main", (*RATE, *NORM)),
    Row("uniform start", "main", (*RATE, *NORM, *UNIFORM)),
    Row("W_O with a single head, std 0.02", "main", (*RATE, *NORM, "model.output_projection=always")),
    Row("W_O with a single head, std 0.01", "main", (*RATE, *NORM, *PROJECTED)),
    Row("dropout", "main", (*RATE, *NORM, "model.dropout=0.1")),
)

SCALES = (
    Row("0.02, 0.001", "main", (*RATE, *NORM, "model.init_std={default=0.02, W_V=0.001}")),
    Row("0.02, 0.02", "main", (*RATE, *NORM)),
    Row("0.02, 0.1", "main", (*RATE, *NORM, "model.init_std={default=0.02, W_V=0.1}")),
    Row("0.2, 0.02", "main", (*RATE, *NORM, "model.init_std={default=0.02, embed=0.2}")),
    Row("0.2, 0.2", "main", (*RATE, *NORM, "model.init_std={default=0.02, embed=0.2, W_V=0.2}")),
)

TABLES = {
    "The released model": (RELEASED, 20),
    "From the text to the release": (STEPS, 16),
    "One difference at a time": (SINGLE, 16),
    "Standard deviation of E and of W_V": (SCALES, 16),
}


def sweep(induct: Path, out: Path, row: Row, seeds: int) -> list[dict[str, float]]:
    """Trains the row's seeds; what is told of each run."""
    folder = out / "".join(c if c.isalnum() else "-" for c in f"{row.preset} {' '.join(row.changes)}")
    changes = (*row.changes, "record.every=50", "record.snapshots=2")
    command = [str(induct), "sweep", row.preset, "--seeds", str(seeds), "--out", str(folder), "--json"]
    command += [part for change in changes for part in ("--set", change)]
    told = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return [run(folder / "runs" / each["run"]) for each in told["runs"]]


def run(folder: Path) -> dict[str, float]:
    """What a run ended with, and when it dropped to bigrams."""
    summary = json.loads((folder / "summary.json").read_text())
    with (folder / "metrics.csv").open() as file:
        last = list(csv.DictReader(file))[-1]
    level = {name: told["kl_truth"] for name, told in summary["strategies"].items()}
    drops = [drop["midpoint"] for drop in summary["drops"] if drop["to"] == "bigram"]
    end = float(last["kl_truth"])
    return {
        "previous": float(last["layers.0.heads.0.previous_token"]),
        "end": end,
        "closed": (level["unigram"] - end) / (level["unigram"] - level["bigram"]),
        "transition": drops[-1] if drops else float("nan"),
    }


def spread(values: list[float], digits: int) -> str:
    """Median and range."""
    if not values:
        return "—"
    middle, low, high = statistics.median(values), min(values), max(values)
    return f"{middle:.{digits}f} ({low:.{digits}f}–{high:.{digits}f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--induct", type=Path, default=Path("target/release/induct"))
    parser.add_argument("--out", type=Path, default=Path("target/released"), help="where sweeps are kept")
    parser.add_argument("--seeds", type=int, help="seeds of every row; as in the tables if not given")
    chosen = parser.parse_args()
    for title, (rows, seeds) in TABLES.items():
        seeds = chosen.seeds or seeds
        print(f"\n{title} ({seeds} seeds)\n")
        print("| setting | head forms | transition at step | gap closed, head formed | gap closed, not formed |")
        print("|---|---:|---:|---:|---:|")
        for row in rows:
            runs = sweep(chosen.induct, chosen.out, row, seeds)
            formed = [each for each in runs if each["previous"] >= FORMED]
            others = [each for each in runs if each["previous"] < FORMED]
            steps = [each["transition"] for each in formed if each["transition"] == each["transition"]]
            closed = [[each["closed"] for each in part] for part in (formed, others)]
            print(
                f"| {row.label} | {len(formed)} of {len(runs)} | {spread(steps, 0)} "
                f"| {spread(closed[0], 2)} | {spread(closed[1], 2)} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
