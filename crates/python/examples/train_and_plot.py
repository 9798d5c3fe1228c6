"""Trains the main preset, prints its phases, and saves its curves and what its heads attend to.

    python train_and_plot.py [--out FOLDER] [--seed N]

About two seconds. FOLDER then holds the run, `curves.svg` and `attention.svg`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import induct


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains the main preset and saves its pictures.")
    parser.add_argument("--out", type=Path, default=Path("runs/example"))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    run = induct.train("main", seed=options.seed, out=options.out / "run")
    for phase in run.phases:
        print(f"{phase.strategy:8} from step {phase.onset:4} to {phase.end:4}")
    print(f"KL(truth ‖ model) at the end: {run.metrics['kl_truth'][-1]:.4f} nats")

    sequence = run.recipe.batch(0).tokens[0, :24]
    print(run.plot().save(options.out / "curves.svg"))
    print(run.attention(sequence).save(options.out / "attention.svg"))


if __name__ == "__main__":
    main()
