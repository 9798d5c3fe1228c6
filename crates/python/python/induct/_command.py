"""The command line, called as a program of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from ._errors import Error, InputError, RunError


def answer(*arguments: str) -> Any:
    """What a command with ``--json`` answers. Its progress goes where this process's standard error goes."""
    command = [sys.executable, "-m", "induct", *arguments, "--json"]
    # Other threads may hold locks of Python's: a program of its own shares nothing with them.
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1) as process:
        assert process.stdout is not None and process.stderr is not None
        said: list[str] = []
        try:
            import threading

            def listen() -> None:
                assert process.stderr is not None
                for line in process.stderr:
                    said.append(line)
                    print(line, end="", file=sys.stderr, flush=True)

            listener = threading.Thread(target=listen, daemon=True)
            listener.start()
            text = process.stdout.read()
            listener.join()
        except KeyboardInterrupt:
            process.wait()
            raise
    if process.returncode == 0:
        return json.loads(text)
    message = said[-1].removeprefix("induct: ").strip() if said else f"exit code {process.returncode}"
    kind: type[Error] = InputError if process.returncode == 2 else RunError
    raise kind(message)
