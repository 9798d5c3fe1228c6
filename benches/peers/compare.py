"""Compares Induct's training step with the same step in JAX and PyTorch, on this machine, in one command.

Builds Induct, installs the pinned peers under target/peers, checks that they compute the same, times all of them in
turns, and writes docs/peers.json, docs/peers.svg and the section of docs/performance.md between its markers.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from check import check, reference
from environments import PEERS, ROOT, Failure, PeerProgram, build_induct, output_of, prepare_peer, rust_version
from report import Provenance, Row, write
from settings import SETTINGS, Setting

SCRIPT = "benches/peers/compare.py"
IDLE_SECONDS = 1.0
BUSY = 0.1
"""Share of the machine in use by others above which timings are worth little."""


def names(known: Sequence[str]) -> object:
    """Parses a list of known names, which is put into their usual order."""

    def parse(text: str) -> list[str]:
        wanted = [name.strip() for name in text.split(",") if name.strip()]
        unknown = [name for name in wanted if name not in known]
        if unknown or not wanted:
            raise argparse.ArgumentTypeError(f"no such name: {', '.join(unknown) or text!r}; there are {', '.join(known)}")
        return [name for name in known if name in wanted]

    return parse


def above_zero(kind: type) -> object:
    """Parses a number above zero."""
    kind_name = "whole number" if kind is int else "number"

    def parse(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = 0
        if not 0 < value <= 3600:
            raise argparse.ArgumentTypeError(f"{text}: a {kind_name} above 0, at most 3600")
        return value

    return parse


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=names(PEERS), default=list(PEERS), help="which peers, such as jax (jax,torch)")
    parser.add_argument("--rounds", type=above_zero(int), default=5, help="times that everything is timed in turns (5)")
    parser.add_argument("--seconds", type=above_zero(float), default=3.0, help="time for each measurement (3)")
    parser.add_argument(
        "--only", type=names(list(SETTINGS)), default=list(SETTINGS), help="which settings, such as main,minimal (all)"
    )
    parser.add_argument("--threads", type=above_zero(int), default=2, help="threads for everyone (2)")
    parser.add_argument("--check-only", action="store_true", help="check that the peers compute the same; time nothing")
    return parser.parse_args()


def check_all(
    induct: Path, peers: Sequence[PeerProgram], settings: Sequence[Setting], threads: int
) -> dict[str, dict[str, str]]:
    """How well every peer agrees, by setting; raises for one that computes something else."""
    agreement: dict[str, dict[str, str]] = {}
    for setting in settings:
        asked = reference(induct, setting)
        for peer in peers:
            agreed = str(check(peer, asked, threads))
            agreement.setdefault(setting.name, {})[peer.name] = agreed
            print(f"check  {setting.name:<14} {peer.name:<6} {agreed}", flush=True)
    return agreement


def time_induct(induct: Path, setting: str, seconds: float, threads: int) -> float:
    """Milliseconds a step."""
    bench = SETTINGS[setting].bench
    command = [str(induct), "bench", "--only", bench, "--seconds", str(seconds), "--threads", str(threads), "--json"]
    return json.loads(output_of(command))["settings"][0]["ms_per_step"]


class PeerClock:
    """Times a peer, in the form that is fastest at that moment."""

    def __init__(self, peer: PeerProgram, setting: str, seconds: float, threads: int) -> None:
        self.peer = peer
        arguments = ["--setting", setting, "--seconds", str(seconds), "--threads", str(threads), "--json"]
        self.command = peer.command(*arguments)
        self.version = ""
        self.forms: list[str] = []
        self.measured: list[float] = []

    def tick(self) -> float:
        """Milliseconds a step."""
        answer = json.loads(output_of(self.command))
        self.version = answer["version"]
        self.forms.append(answer["form"])
        self.measured.append(answer["ms_per_step"])
        return answer["ms_per_step"]


def busy_share() -> float | None:
    """Share of the machine that is in use while this program waits; None where the system does not tell."""

    def idle_and_all() -> tuple[int, int]:
        times = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        return times[3] + times[4], sum(times)

    try:
        idle, total = idle_and_all()
        time.sleep(IDLE_SECONDS)
        idle_later, total_later = idle_and_all()
    except (OSError, ValueError, IndexError):
        return None
    return 1 - (idle_later - idle) / max(1, total_later - total)


def busiest(shares: Sequence[float | None]) -> float | None:
    """The largest share, with a warning where it spoils what was timed."""
    known = [share for share in shares if share is not None]
    if not known:
        return None
    if max(known) > BUSY:
        print(
            f"compare: other programs used {max(known):.0%} of the machine; threads that wait for each other suffer "
            "most from that, so the ratios are too large: repeat this on an idle machine",
            file=sys.stderr,
        )
    return max(known)


def time_all(
    induct: Path, peers: Sequence[PeerProgram], chosen: argparse.Namespace, agreement: dict[str, dict[str, str]]
) -> tuple[list[Row], dict[str, str], float | None]:
    """Rounds over all settings, everyone in turns; the versions of the peers; how busy the machine was besides."""
    ours: dict[str, list[float]] = {name: [] for name in chosen.only}
    alone: dict[str, list[float]] = {name: [] for name in chosen.only}
    clocks = {
        name: [PeerClock(peer, name, chosen.seconds, chosen.threads) for peer in peers] for name in chosen.only
    }
    shares: list[float | None] = []
    for turn in range(1, chosen.rounds + 1):
        shares.append(busy_share())
        for name in chosen.only:
            ours[name].append(time_induct(induct, name, chosen.seconds, chosen.threads))
            theirs = [f"{clock.peer.name} {clock.tick():.3f}" for clock in clocks[name]]
            alone[name].append(time_induct(induct, name, chosen.seconds, threads=1))
            line = ", ".join([f"Induct {ours[name][-1]:.3f}", *theirs, f"Induct on 1 thread {alone[name][-1]:.3f}"])
            print(f"round {turn}/{chosen.rounds}  {name:<14} {line} ms", flush=True)
    rows = [
        Row(
            setting=name,
            ours=ours[name],
            ours_one_thread=alone[name],
            peers={clock.peer.name: clock.measured for clock in clocks[name]},
            forms={clock.peer.name: clock.forms for clock in clocks[name]},
            agreement=agreement[name],
        )
        for name in chosen.only
    ]
    return rows, {clock.peer.name: clock.version for clock in clocks[chosen.only[0]]}, busiest(shares)


def cpu_model() -> str:
    """The processor's name, where the system tells."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def run(chosen: argparse.Namespace) -> None:
    induct = build_induct()
    peers = [prepare_peer(name) for name in chosen.peers]
    settings = [SETTINGS[name] for name in chosen.only]
    agreement = check_all(induct, peers, settings, chosen.threads)
    if chosen.check_only:
        return
    rows, versions, busy = time_all(induct, peers, chosen, agreement)
    provenance = Provenance(
        command=shlex.join(["python3", SCRIPT, *sys.argv[1:]]),
        cpu=cpu_model(),
        cores=os.cpu_count() or 1,
        threads=chosen.threads,
        rounds=chosen.rounds,
        seconds=chosen.seconds,
        busy=busy,
        versions={**versions, "Rust": rust_version()},
    )
    for path in write(ROOT / "docs", rows, provenance):
        print(f"wrote {path.relative_to(ROOT)}")


def main() -> int:
    try:
        run(arguments())
    except Failure as failure:
        print(f"compare: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("compare: interrupted; nothing was written", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
