"""What tests share: a small recipe, a short run, and the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import induct
import pytest

SMALL: dict[str, Any] = {
    "task.length": 12,
    "train.steps": 60,
    "train.batch": 16,
    "record.every": 10,
    "record.snapshots": 4,
    "record.test_sequences": 32,
}
"""What makes any recipe a matter of milliseconds."""


@pytest.fixture(scope="session")
def small() -> induct.Recipe:
    return induct.Recipe("main", SMALL)


@pytest.fixture(scope="session")
def run(small: induct.Recipe) -> induct.Run:
    return induct.train(small)


def command(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the command that comes with the package."""
    return subprocess.run([sys.executable, "-m", "induct", *arguments], cwd=cwd, capture_output=True, text=True)


def sets(settings: dict[str, Any]) -> list[str]:
    """Settings as the command line takes them."""
    return [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
