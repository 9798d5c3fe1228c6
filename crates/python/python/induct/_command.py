"""The command line, called as a program of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import Any

from ._errors import Error, InputError, RunError


def answer(*arguments: str) -> Any:
    """What a command with ``--json`` answers. Its progress goes where this process's standard error goes."""
    command = [sys.executable, "-m", "induct", *arguments, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1) as process:
        said: list[str] = []

        def listen() -> None:
            for line in process.stderr or ():
                said.append(line)
                print(line, end="", file=sys.stderr, flush=True)

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        text = process.stdout.read() if process.stdout else ""
        listener.join()
    if process.returncode == 0:
        return json.loads(text)
    message = said[-1].removeprefix("induct: ").strip() if said else f"exit code {process.returncode}"
    kind: type[Error] = InputError if process.returncode == 2 else RunError
    raise kind(message)
