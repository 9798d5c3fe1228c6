"""A hundred thousand short runs on a Slurm of four nodes on this machine: what scheduling and files cost.

    cargo build --release && python3 benches/cluster/run.py --json docs/sweeps/cluster.json

Needs root and Debian's slurm-wlm and munge. Takes about ten minutes on 2 cores.
"""

import argparse
import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
INDUCT = str(ROOT / "target/release/induct")
SLURM = str(ROOT / "crates/cli/tests/cluster/slurm")


def induct(*arguments: str) -> str:
    return subprocess.run([INDUCT, "sweep", *arguments], check=True, capture_output=True, text=True).stdout


def status(sweep: str) -> dict:
    return json.loads(induct("status", sweep, "--json"))


def timed(*arguments: str) -> float:
    started = time.monotonic()
    induct(*arguments)
    return time.monotonic() - started


def files(sweep: str) -> int:
    return sum(len(names) for _, _, names in os.walk(sweep))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="file for the numbers")
    parser.add_argument("--seeds", type=int, default=100, help="seeds per point, of which there are 1,000")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="slurm-", dir="/tmp") as folder:
        slurm = f"{folder}/slurm"
        subprocess.run([SLURM, "start", slurm], check=True)
        os.environ["SLURM_CONF"] = f"{slurm}/slurm.conf"
        try:
            found = measure(folder, arguments.seeds)
        finally:
            subprocess.run([SLURM, "stop", slurm], check=True)
    text = json.dumps(found, indent=2)
    print(text)
    if arguments.json:
        arguments.json.write_text(text + "\n")


def measure(folder: str, seeds: int) -> dict:
    study, sweep = str(HERE / "study.toml"), f"{folder}/sweep"
    plan_seconds = timed("plan", study, "--out", sweep, "--seeds", str(seeds))
    plan = json.loads(induct("plan", study, "--out", sweep, "--seeds", str(seeds), "--json"))
    runs = plan["runs"]
    nodes = 4
    started = time.monotonic()
    induct("submit", sweep, "--tasks", str(nodes))
    killed, lost, in_flight = 0, 0, 0
    while True:
        now = status(sweep)
        if now["missing"] == 0:
            break
        # In the middle, a worker is killed: its task fails, and is submitted again.
        if killed == 0 and now["done"] > runs // 2:
            workers = subprocess.run(["pgrep", "-f", f"sweep work {sweep} --shard"], capture_output=True, text=True)
            os.kill(int(workers.stdout.split()[0]), signal.SIGKILL)
            killed += 1
            time.sleep(0.5)
            after = status(sweep)
            lost = now["done"] - min(now["done"], after["done"])
            in_flight = sum(len(worker["runs"]) for worker in after["workers"] if worker["alive"] is False)
        queue = subprocess.run(["squeue", "--noheader"], check=True, capture_output=True, text=True).stdout
        if not queue.strip() and status(sweep)["missing"] > 0:
            induct("resubmit", sweep)
        time.sleep(0.25)
    wall = time.monotonic() - started
    while subprocess.run(["squeue", "--noheader"], capture_output=True, text=True).stdout.strip():
        time.sleep(0.2)
    count = files(sweep)
    again = sum(timed("work", sweep, "--shard", f"{share}/{nodes}") for share in range(nodes))
    gather_seconds = timed("gather", sweep)
    table = f"{folder}/table.csv"
    induct("gather", sweep, "--timings", "--out", table)
    with open(table, newline="") as rows:
        training = sum(float(row["seconds"]) for row in csv.DictReader(rows))
    figure = ["--x", "train.optimizer.lr", "--y", "train.batch", "--colour", "kl_truth"]
    figure_seconds = timed("plot", sweep, *figure, "--out", f"{folder}/figure.png")
    family_seconds = timed("plot", sweep, "--x", "train.optimizer.lr", "--y", "kl_truth", "--colour", "train.batch")
    alone = f"{folder}/alone"
    induct("plan", study, "--out", alone, "--seeds", str(seeds))
    alone_seconds = timed("work", alone)
    induct("gather", alone)
    bytes_of = [Path(one, "results.parquet").read_bytes() for one in (sweep, alone)]
    return {
        "runs": runs,
        "nodes": nodes,
        "cores": os.cpu_count(),
        "plan_seconds": round(plan_seconds, 2),
        "estimated_seconds_of_training": round(plan["seconds"], 1),
        "wall_seconds": round(wall, 1),
        "seconds_of_training_in_all_tasks": round(training, 1),
        "overhead_ms_per_run": round(1000 * (nodes * wall - training) / runs, 3),
        "one_process_on_all_cores_seconds": round(alone_seconds, 1),
        "same_bytes_as_one_process": bytes_of[0] == bytes_of[1],
        "files": count,
        "results_lost_by_kill_9": lost,
        "runs_in_flight_when_killed": in_flight,
        "repeat_of_all_shares_seconds": round(again, 2),
        "gather_seconds": round(gather_seconds, 2),
        "table_bytes": len(bytes_of[0]),
        "phase_diagram_seconds": round(figure_seconds, 2),
        "family_of_curves_seconds": round(family_seconds, 2),
    }


if __name__ == "__main__":
    sys.exit(main())
