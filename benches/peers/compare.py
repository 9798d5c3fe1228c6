"""Compares Induct's training step with the same step in JAX and PyTorch, on this machine, in one command.

Builds Induct, installs the pinned peers under target/peers, checks that they compute the same, times all of them in
turns, and writes docs/peers.json, docs/peers.svg and the section of docs/performance.md between its markers. What fails at a
setting is recorded as failed, and the rest goes on.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from check import Reference, check, reference
from environments import PEERS, ROOT, Failure, PeerProgram, Session, build_induct, output_of, prepare_peer, rust_version
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


def program(text: str) -> Path:
    """Parses the path of a program."""
    path = Path(text).resolve()
    if not (path.is_file() and os.access(path, os.X_OK)):
        raise argparse.ArgumentTypeError(f"{text}: not a program that can be run")
    return path


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=names(PEERS), default=list(PEERS), help="which peers, such as jax (jax,torch)")
    parser.add_argument("--rounds", type=above_zero(int), default=4, help="times that everything is timed in turns (4)")
    parser.add_argument("--seconds", type=above_zero(float), default=0.7, help="time for each measurement (0.7)")
    parser.add_argument(
        "--only", type=names(list(SETTINGS)), default=list(SETTINGS), help="which settings, such as main,minimal (all)"
    )
    parser.add_argument("--threads", type=above_zero(int), default=2, help="threads for everyone (2)")
    parser.add_argument("--check-only", action="store_true", help="check that the peers compute the same; time nothing")
    parser.add_argument("--induct", type=program, metavar="PATH", help="compare this program (build it from the sources)")
    return parser.parse_args()


@dataclass
class Contender:
    """A peer at one setting: a process that is checked, then timed round after round, and what came of it."""

    session: Session
    agreement: str = ""
    version: str = ""
    forms: list[str] = field(default_factory=list)
    measured: list[float] = field(default_factory=list)
    failure: str = ""

    def attempt(self, action: Callable[[], str]) -> str:
        """What the action says, or "failed": a failure is kept, and ends this peer at this setting only."""
        if self.failure:
            return f"{self.session.name} failed"
        try:
            return f"{self.session.name} {action()}"
        except Failure as failure:
            self.failure = str(failure)
            print(f"compare: {failure}", file=sys.stderr, flush=True)
            return f"{self.session.name} failed"

    def check(self, asked: Reference) -> str:
        self.agreement = str(check(self.session, asked))
        return self.agreement

    def tick(self, seconds: float) -> str:
        answer = self.session.ask({"seconds": seconds})
        self.version = answer["version"]
        self.forms.append(answer["form"])
        self.measured.append(answer["ms_per_step"])
        return f"{self.measured[-1]:.3f}"


def time_induct(induct: Path, setting: Setting, seconds: float, threads: int) -> float:
    """Milliseconds a step."""
    overrides = [part for text in setting.overrides() for part in ("--set", text)]
    command = [str(induct), "bench", "--only", "main", *overrides]
    command += ["--seconds", str(seconds), "--threads", str(threads), "--json"]
    return json.loads(output_of(command))["settings"][0]["ms_per_step"]


def compare(
    induct: Path, peers: Sequence[PeerProgram], setting: Setting, chosen: argparse.Namespace, say: Callable[[str], None]
) -> tuple[Row, dict[str, str]]:
    """Checks the peers at one setting, then times everyone in turns; what was measured, and the peers' versions."""
    ours: list[float] = []
    alone: list[float] = []
    failures: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        contenders = [Contender(Session(peer, setting.name, chosen.threads)) for peer in peers]
        for contender in contenders:
            stack.callback(contender.session.close)
        try:
            asked = reference(induct, setting)
            for contender in contenders:
                say(contender.attempt(partial(contender.check, asked)))
            for turn in range(0 if chosen.check_only else chosen.rounds):
                ours.append(time_induct(induct, setting, chosen.seconds, chosen.threads))
                theirs = [contender.attempt(partial(contender.tick, chosen.seconds)) for contender in contenders]
                alone.append(time_induct(induct, setting, chosen.seconds, threads=1))
                line = ", ".join([f"Induct {ours[-1]:.3f}", *theirs, f"Induct on 1 thread {alone[-1]:.3f}"])
                say(f"round {turn + 1}/{chosen.rounds}: {line} ms")
        except Failure as failure:
            failures["Induct"] = str(failure)
            print(f"compare: {failure}", file=sys.stderr, flush=True)
    failures |= {contender.session.name: contender.failure for contender in contenders if contender.failure}
    working = [] if "Induct" in failures else [contender for contender in contenders if not contender.failure]
    row = Row(
        setting=setting.name,
        ours=[] if "Induct" in failures else ours,
        ours_one_thread=[] if "Induct" in failures else alone,
        peers={contender.session.name: contender.measured for contender in working},
        forms={contender.session.name: contender.forms for contender in working},
        agreement={contender.session.name: contender.agreement for contender in working},
        # Where the repository lies says nothing elsewhere.
        failures={name: text.replace(f"{ROOT}{os.sep}", "") for name, text in failures.items()},
    )
    return row, {contender.session.name: contender.version for contender in contenders if contender.version}


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


def cpu_model() -> str:
    """The processor's name, where the system tells."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def without_folders(given: Sequence[str]) -> list[str]:
    """The arguments with only the name of --induct's program: where it lies says nothing elsewhere."""
    shortened = list(given)
    for index, argument in enumerate(given):
        option, equals, value = argument.partition("=")
        if option == "--induct" and equals:
            shortened[index] = f"{option}={Path(value).name}"
        elif option == "--induct":
            shortened[index + 1] = Path(given[index + 1]).name
    return shortened


def provenance_of(
    script: str, chosen: argparse.Namespace, busy: float | None, versions: dict[str, str]
) -> Provenance:
    return Provenance(
        command=shlex.join(["python3", script, *without_folders(sys.argv[1:])]),
        cpu=cpu_model(),
        cores=os.cpu_count() or 1,
        threads=chosen.threads,
        rounds=chosen.rounds,
        seconds=chosen.seconds,
        busy=busy,
        versions={**versions, "Rust": rust_version()},
    )


def report_progress(start: float, what: str, line: str) -> None:
    minutes, seconds = divmod(round(time.monotonic() - start), 60)
    print(f"{minutes:2}:{seconds:02}  {what}: {line}", flush=True)


def run(chosen: argparse.Namespace) -> bool:
    """Whether everything went well."""
    induct = chosen.induct or build_induct()
    peers = [prepare_peer(name) for name in chosen.peers]
    rows: list[Row] = []
    versions: dict[str, str] = {}
    shares: list[float | None] = []
    start = time.monotonic()
    for index, name in enumerate(chosen.only, 1):
        if not chosen.check_only:
            shares.append(busy_share())
        say = partial(report_progress, start, f"{index}/{len(chosen.only)} {name}")
        row, found = compare(induct, peers, SETTINGS[name], chosen, say)
        rows.append(row)
        versions |= found
    if not chosen.check_only:
        provenance = provenance_of(SCRIPT, chosen, busiest(shares), versions)
        for path in write(ROOT / "docs", chosen.peers, rows, provenance):
            print(f"wrote {path.relative_to(ROOT)}")
    return not any(row.failures for row in rows)


def main(run: Callable[[], bool]) -> int:
    """The exit code."""
    try:
        return 0 if run() else 1
    except Failure as failure:
        print(f"compare: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("compare: interrupted; nothing was written", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(lambda: run(arguments())))
