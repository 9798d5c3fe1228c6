"""The programs that are compared: Induct's binary and one virtual environment a peer."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = ROOT / "target" / "peers"
PEERS = ("jax", "torch")
INTERVENING = ("hooks", "torch", "lens")
"""The peers of `intervene.py`."""
ENVIRONMENTS = {"hooks": "torch"}
"""Whose environment a peer shares, if it has none of its own."""
PATIENCE_SECONDS = 600
"""How long one answer of a peer may take."""


class Failure(Exception):
    """Something the reader can act on."""


@dataclass(frozen=True)
class PeerProgram:
    """A peer's script with the interpreter of its environment."""

    name: str
    python: Path

    def command(self, *arguments: str) -> list[str]:
        return [str(self.python), str(HERE / f"{self.name}_peer.py"), *arguments]


class Session:
    """A peer that runs at one setting and answers requests until it is closed."""

    def __init__(self, peer: PeerProgram, setting: str, threads: int) -> None:
        self.name = peer.name
        self.messages = tempfile.TemporaryFile(mode="w+")
        self.process = subprocess.Popen(
            peer.command("--setting", setting, "--threads", str(threads), "--serve"),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.messages,
            text=True,
        )

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to one request; raises if the peer ends or takes too long."""
        overdue = threading.Timer(PATIENCE_SECONDS, self.process.kill)
        overdue.start()
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        finally:
            overdue.cancel()
        if not answer:
            raise Failure(self.why_it_ended())
        return json.loads(answer)

    def why_it_ended(self) -> str:
        code = self.process.wait()
        self.messages.seek(0)
        last_lines = self.messages.read().strip().splitlines()[-8:]
        killed = f": killed, because memory ran out or after {PATIENCE_SECONDS} s without an answer" if code < 0 else ""
        return "\n".join([f"{self.name} ended with exit code {code}{killed}", *last_lines])

    def close(self) -> None:
        """Ends the process, if it still runs."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.messages.close()


def output_of(command: list[str]) -> str:
    """Runs a program to its end; its standard output."""
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if finished.returncode != 0:
        last_lines = "\n".join(finished.stderr.strip().splitlines()[-8:])
        raise Failure(f"`{' '.join(command)}` failed with exit code {finished.returncode}:\n{last_lines}")
    return finished.stdout


def build_induct() -> Path:
    """Builds the release binary."""
    if shutil.which("cargo") is None:
        raise Failure("cargo is not on the path; install Rust first (see README.md for the version)")
    finished = subprocess.run(["cargo", "build", "--release", "--locked"], cwd=ROOT)
    if finished.returncode != 0:
        raise Failure("`cargo build --release --locked` failed; its messages are above")
    binary = ROOT / "target" / "release" / ("induct.exe" if sys.platform == "win32" else "induct")
    if not binary.exists():
        raise Failure(f"no program at {binary.relative_to(ROOT)}; unset CARGO_TARGET_DIR and try again")
    return binary


def rust_version() -> str:
    """The compiler's version number."""
    return output_of(["rustc", "--version"]).split()[1]


def prepare_peer(name: str) -> PeerProgram:
    """The peer's environment, made anew where its pinned requirements have changed."""
    environment = ENVIRONMENTS.get(name, name)
    requirements = HERE / f"requirements-{environment}.txt"
    folder = WORK / environment
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    stamp = folder / "installed.txt"
    wanted = requirements.read_text()
    if not (stamp.exists() and stamp.read_text() == wanted):
        shutil.rmtree(folder, ignore_errors=True)
        print(f"installing {environment} into {folder.relative_to(ROOT)} ...", flush=True)
        create = subprocess.run([sys.executable, "-m", "venv", str(folder)])
        if create.returncode != 0:
            raise Failure(f"could not make a virtual environment in {folder.relative_to(ROOT)}: see above")
        install = subprocess.run([str(python), "-m", "pip", "install", "--quiet", "-r", str(requirements)])
        if install.returncode != 0:
            raise Failure(
                f"pip could not install {requirements.relative_to(ROOT)} (its messages are above): check that pip "
                f"reaches a package index and that the pinned versions exist for Python "
                f"{sys.version_info.major}.{sys.version_info.minor}, or leave this peer out with --peers"
            )
        stamp.write_text(wanted)
    return PeerProgram(name, python)
