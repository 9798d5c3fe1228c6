"""Compares a training step under interventions with the same step in PyTorch and TransformerLens, on this machine.

The first layer's heads are clamped to the symbol before, and what they write is hidden from the logits. The
peers are PyTorch with forward hooks (hooks), PyTorch with the model edited by hand (torch), and TransformerLens
(lens), checked and timed as by compare.py. Writes docs/peers-interventions.json and a section of
docs/performance.md between its markers.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial

from compare import above_zero, busiest, busy_share, compare, main, names, program, provenance_of, report_progress
from environments import INTERVENING, ROOT, build_induct, prepare_peer
from report import INTERVENTIONS, Row, write
from settings import INTERVENED, Setting

SCRIPT = "benches/peers/intervene.py"


def can(peer: str, setting: Setting) -> bool:
    """Whether a peer has the setting's model."""
    return peer != "lens" or (setting.positions == "absolute" and setting.projects)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--peers", type=names(INTERVENING), default=list(INTERVENING), help="which peers (hooks,torch,lens)"
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
    peers = [prepare_peer(name) for name in chosen.peers]
    rows: list[Row] = []
    versions: dict[str, str] = {}
    shares: list[float | None] = []
    start = time.monotonic()
    for setting in INTERVENED.values():
        if not chosen.check_only:
            shares.append(busy_share())
        able = [peer for peer in peers if can(peer.name, setting)]
        row, found = compare(induct, able, setting, chosen, partial(report_progress, start, setting.name))
        rows.append(row)
        versions |= found
    if not chosen.check_only:
        provenance = provenance_of(SCRIPT, chosen, busiest(shares), versions)
        for path in write(ROOT / "docs", chosen.peers, rows, provenance, INTERVENTIONS):
            print(f"wrote {path.relative_to(ROOT)}")
    return not any(row.failures for row in rows)


if __name__ == "__main__":
    sys.exit(main(lambda: run(arguments())))
