"""The command ``induct``, which is also ``python -m induct``."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from . import _induct


def main() -> int:
    """Does what the command line says; returns its exit code."""
    # The command has its own answer to Ctrl-C: it keeps a checkpoint.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _induct.command([_program(), *sys.argv[1:]])


def _program() -> str:
    """The script by which other processes, such as the tasks of a cluster, call this command."""
    called = Path(sys.argv[0])
    script = called if called.stem == "induct" else Path(sys.executable).with_name("induct")
    return str(script) if script.exists() else "induct"


if __name__ == "__main__":
    sys.exit(main())
