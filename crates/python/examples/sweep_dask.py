"""A sweep on Dask: on two workers of this machine, or on a cluster that is there already.

    python sweep_dask.py [--scheduler ADDRESS] [--steps N]

It needs `pip install distributed`. Workers need Induct installed and nothing else: recipes go there, runs come
back.
"""

from __future__ import annotations

import argparse

import induct
from distributed import Client, LocalCluster


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains a grid on Dask.")
    parser.add_argument("--scheduler", help="address of a running cluster")
    parser.add_argument("--steps", type=int, default=1000)
    options = parser.parse_args()
    cluster = options.scheduler or LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)  # type: ignore[no-untyped-call]
    with Client(cluster) as client:  # type: ignore[no-untyped-call]
        sweep = induct.sweep(
            "main",
            {"train.optimizer.lr": [2e-3, 4e-3]},
            seeds=2,
            set={"train.steps": options.steps},
            executor=client.get_executor(),
        )
    for rate, seed, onset in zip(
        *(sweep.table[key] for key in ("train.optimizer.lr", "seed", "onset.bigram")), strict=True
    ):
        print(f"lr {rate}, seed {seed}: bigrams from step {onset}")


if __name__ == "__main__":
    # Workers are processes that import this file.
    main()
