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
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", bufsize=1
    ) as process:
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
    told = [line for line in said if line.startswith(("induct: ", "error: "))]
    message = told[-1].removeprefix("induct: ").removeprefix("error: ").strip() if told else "".join(said).strip()
    kind: type[Error] = InputError if process.returncode == 2 else RunError
    raise kind(message or f"exit code {process.returncode}")
