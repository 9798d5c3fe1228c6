"""A sweep on submitit: every run is a job, on this machine or on Slurm.

    python sweep_submitit.py [--cluster local|slurm] [--partition NAME] [--folder jobs]

It needs `pip install submitit`. The folder holds jobs and runs; all machines must see it. Runs that are there already
are not trained again. On one machine, all jobs start at once: keep the grid small there.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import induct
import submitit


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains a grid as jobs.")
    parser.add_argument("--cluster", choices=["local", "slurm"], default="local")
    parser.add_argument("--partition")
    parser.add_argument("--folder", type=Path, default=Path("jobs"))
    parser.add_argument("--steps", type=int, default=1000)
    options = parser.parse_args()
    executor = submitit.AutoExecutor(folder=options.folder / "logs", cluster=options.cluster)
    executor.update_parameters(timeout_min=10, cpus_per_task=1, tasks_per_node=1)
    if options.partition:
        executor.update_parameters(slurm_partition=options.partition)
    sweep = induct.sweep(
        "main",
        {"train.optimizer.lr": [2e-3, 4e-3]},
        seeds=2,
        set={"train.steps": options.steps},
        out=options.folder,
        executor=executor,
    )
    for run in sweep:
        print(run)


if __name__ == "__main__":
    main()
