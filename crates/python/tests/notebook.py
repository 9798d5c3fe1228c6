"""Executes docs/python.ipynb from top to bottom, in a temporary folder.

python notebook.py             prints how long it took; fails with the error of a cell
python notebook.py OUT.ipynb   also saves the notebook with its outputs
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

NOTEBOOK = Path(__file__).parents[3] / "docs" / "python.ipynb"
LONGEST = 300
"""Seconds that one cell may take."""


def main() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    start = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as folder:
            place = {"metadata": {"path": folder}}
            NotebookClient(notebook, timeout=LONGEST, resources=place, coalesce_streams=True).execute()
    except CellExecutionError as error:
        raise SystemExit(f"{NOTEBOOK.name}: {error}") from None
    print(f"{NOTEBOOK.name}: {time.monotonic() - start:.0f} s")
    if len(sys.argv) > 1:
        nbformat.write(notebook, sys.argv[1])  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
