"""Installs what the tests of the Python package need into the environment of the interpreter that runs this.

PyTorch and TransformerLens come without most of what they list: NVIDIA's packages, trackers and servers, none of which
is used here. On other systems than Linux on x86-64, PyTorch's own packages are small, and everything comes as listed.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def pip(*arguments: str) -> None:
    """Calls pip; ends this program if it fails."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
    finished = subprocess.run(command)
    if finished.returncode != 0:
        raise SystemExit(finished.returncode)


def main() -> None:
    pip("--requirement", str(HERE / "test.txt"))
    if sys.platform == "linux" and platform.machine() == "x86_64":
        pip("--no-deps", "--requirement", str(HERE / "torch.txt"), "--requirement", str(HERE / "lens.txt"))
        subprocess.run([sys.executable, str(HERE / "cpu_only_torch.py")], check=True)
    else:
        pip("--requirement", str(HERE / "torch.txt"), "--requirement", str(HERE / "lens.txt"))


if __name__ == "__main__":
    main()
