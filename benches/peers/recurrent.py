"""Compares a training step of a recurrent layer, Mamba-2 in its smallest form, with the same step in JAX, on this machine.

JAX computes the recurrence chunk by chunk, position by position, and as an associative scan, checked and timed as by
compare.py. Writes docs/peers-recurrent.json and a section of docs/performance.md between its markers.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial

from compare import above_zero, busiest, busy_share, compare, main, names, program, provenance_of, report_progress
from environments import ROOT, build_induct, prepare_peer
from report import RECURRENT as PLACE
from report import Row, write
from settings import RECURRENT

SCRIPT = "benches/peers/recurrent.py"
PEERS = ["jax"]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", type=names(tuple(RECURRENT)), default=list(RECURRENT), help="which of mamba,mamba-steps,mamba-associative"
    )
    parser.add_argument("--rounds", type=above_zero(int), default=7, help="times that everything is timed in turns (7)")
    parser.add_argument("--seconds", type=above_zero(float), default=0.7, help="time for each measurement (0.7)")
    parser.add_argument("--threads", type=above_zero(int), default=2, help="threads for everyone (2)")
    parser.add_argument("--check-only", action="store_true", help="check that the peers compute the same; time nothing")
    parser.add_argument("--induct", type=program, metavar="PATH", help="compare this program (build it from the sources)")
    return parser.parse_args()


def run(chosen: argparse.Namespace) -> bool:
    """Whether everything went well."""
    induct = chosen.induct or build_induct()
    peers = [prepare_peer(name) for name in PEERS]
    rows: list[Row] = []
    versions: dict[str, str] = {}
    shares: list[float | None] = []
    start = time.monotonic()
    for setting in (RECURRENT[name] for name in chosen.only):
        if not chosen.check_only:
            shares.append(busy_share())
        row, found = compare(induct, peers, setting, chosen, partial(report_progress, start, setting.name))
        rows.append(row)
        versions |= found
    if not chosen.check_only:
        provenance = provenance_of(SCRIPT, chosen, busiest(shares), versions)
        for path in write(ROOT / "docs", PEERS, rows, provenance, PLACE):
            print(f"wrote {path.relative_to(ROOT)}")
    return not any(row.failures for row in rows)


if __name__ == "__main__":
    sys.exit(main(lambda: run(arguments())))
