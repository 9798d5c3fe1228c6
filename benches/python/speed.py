"""How fast the Python package is: beside the command line, in threads, and with Python in the loop.

    cargo build --release && ./wheel --install
    python benches/python/speed.py [--rounds 7] [--json FILE]

Everything is measured in turns on one machine; medians are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import induct

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "target" / "release" / "induct"


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def in_turns(rounds: int, works: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The median time of each, measured in turns."""
    for work in works.values():
        work()
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            taken[name].append(seconds(work))
    return {name: statistics.median(times) for name, times in taken.items()}


def command(folder: Path, *options: str) -> None:
    arguments = [str(PROGRAM), "train", "main", "--out", str(folder / os.urandom(8).hex()), *options]
    subprocess.run(arguments, check=True, capture_output=True)


def beside_the_command_line(rounds: int, folder: Path) -> dict[str, float]:
    def place() -> Path:
        return folder / os.urandom(8).hex()

    return in_turns(
        rounds,
        {
            "command line": lambda: command(folder),
            "Python, in a folder": lambda: induct.train("main", out=place()),
            "Python, in memory": lambda: induct.train("main"),
        },
    )


def in_threads(rounds: int, folder: Path) -> dict[str, float]:
    def several(count: int) -> None:
        with ThreadPoolExecutor(count) as pool:
            # The same seed: another one takes another time.
            list(pool.map(lambda _: induct.train("main", threads=1), range(count)))

    def several_processes(count: int) -> None:
        with ThreadPoolExecutor(count) as pool:
            list(pool.map(lambda _: command(folder, "--threads", "1"), range(count)))

    return in_turns(
        rounds,
        {
            "one run, one thread": lambda: several(1),
            "two runs, two threads": lambda: several(2),
            "one command line, one thread": lambda: several_processes(1),
            "two command lines at once": lambda: several_processes(2),
            "one run, all cores": lambda: induct.train("main"),
        },
    )


def sticky(rng: np.random.Generator) -> npt.ArrayLike:
    stay = rng.uniform(0.8, 1.0)
    return [[stay, 1 - stay], [1 - stay, stay]]


def last_again(tokens: npt.NDArray[np.uint8]) -> npt.ArrayLike:
    return [0.1, 0.9] if tokens[-1] else [0.9, 0.1]


def to_first(seen: induct.Activations) -> float:
    return float(seen["layers.0.attn_pattern"][:, :, -1, 0].mean())


def with_python_in_the_loop(rounds: int) -> dict[str, float]:
    prior = induct.Prior(sticky, "sticky")
    pool = {"kind": "pool", "size": 10_000, "of": prior}
    settings: dict[str, dict[str, Any]] = {
        "nothing": {},
        "a prior": {"task.prior": prior},
        "a prior in a pool of 10,000": {"task.prior": pool},
        "a strategy": {"record.custom_strategies": [induct.Strategy(last_again, "last-again")]},
        "a measure": {"record.custom_measures": [induct.Measure(to_first, "to_first")]},
    }
    works: dict[str, Callable[[], object]] = {
        name: lambda set=set: induct.train("main", set=set)  # type: ignore[misc]
        for name, set in settings.items()
    }
    works["a callback"] = lambda: induct.train("main", callback=lambda record: record["kl_truth"])
    return in_turns(rounds, works)


INTERRUPTED = """
import time, induct
print("ready", flush=True)
try:
    induct.train("main", set={"train.steps": 1_000_000, "record.every": 1000, "record.snapshots": 2}, progress=False)
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
"""


def after_ctrl_c(rounds: int) -> float:
    """Seconds from the signal to the exception, at worst."""
    worst = 0.0
    for _ in range(rounds):
        process = subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(1.0)
        asked = time.monotonic()
        process.send_signal(signal.SIGINT)
        worst = max(worst, float(process.stdout.readline()) - asked)
        process.wait()
    return worst


def shown(title: str, times: dict[str, float]) -> None:
    first = next(iter(times.values()))
    print(f"\n{title}")
    for name, taken in times.items():
        print(f"  {name:<30} {taken:7.3f} s   {taken / first:6.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description="How fast the Python package is")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rounds: int = arguments.rounds
    if not PROGRAM.exists():
        raise SystemExit("build the command line first: cargo build --release")
    with tempfile.TemporaryDirectory() as folder:
        beside = beside_the_command_line(rounds, Path(folder))
        shown("The preset main, 4,000 steps, all cores", beside)
        threads = in_threads(rounds, Path(folder))
    shown("Runs of main in threads of Python", threads)
    parts = with_python_in_the_loop(max(1, rounds // 2))
    shown("Runs of main with Python in the loop", parts)
    stopped = after_ctrl_c(3)
    print(f"\nCtrl-C: the exception came after {stopped:.3f} s at worst")
    if arguments.json is not None:
        found = {"beside": beside, "threads": threads, "parts": parts, "ctrl_c": stopped, "level": induct.level()}
        arguments.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
