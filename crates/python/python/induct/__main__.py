"""The command ``induct``, which is also ``python -m induct``."""

from __future__ import annotations

import signal
import sys

from . import _induct


def main() -> int:
    """Does what the command line says; returns its exit code."""
    # The command has its own answer to Ctrl-C: it keeps a checkpoint.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _induct.command(["induct", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
