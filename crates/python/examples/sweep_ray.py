"""A sweep on Ray: on this machine, or on a cluster that is there already.

    python sweep_ray.py [--address ADDRESS] [--steps N]

It needs `pip install ray`. Ray has no executor, so six lines make one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import induct
import ray


class RayExecutor:
    """Ray as `induct.sweep` wants it."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = ray.remote(function).remote(*arguments).future()
        return future


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains a grid on Ray.")
    parser.add_argument("--address", help="address of a running cluster")
    parser.add_argument("--steps", type=int, default=1000)
    options = parser.parse_args()
    ray.init(address=options.address, include_dashboard=False if options.address is None else None)
    vary = {"train.optimizer.lr": [2e-3, 4e-3]}
    sweep = induct.sweep("main", vary, seeds=2, set={"train.steps": options.steps}, executor=RayExecutor())
    for run in sweep:
        print(run)
    ray.shutdown()


if __name__ == "__main__":
    main()
