"""What documentation says is what happens: snippets, examples and the reference."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

PACKAGE = Path(__file__).parents[1]
DOCS = PACKAGE.parents[1] / "docs"
SNIPPET = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.skipif(not (DOCS / "python.md").is_file(), reason="the documentation is not here")


def execute(page: Path) -> dict[str, Any]:
    """Executes the snippets of a page in order, except those that need what tests do not have; returns their names."""
    text = page.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "snippets"}
    for found in SNIPPET.finditer(text):
        if found[1].startswith("# needs "):
            continue
        line = text.count("\n", 0, found.start(1))
        # Errors then name the page and its line.
        exec(compile("\n" * line + found[1], str(page), "exec"), names)
    return names


def test_the_front_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = execute(PACKAGE / "README.md")["run"]
    # The numbers of the page.
    assert run.onset("bigram") == pytest.approx(1400, abs=100)
    assert run.metrics["kl_truth"][-1] == pytest.approx(0.0165, abs=0.002)


def test_every_snippet_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformer_lens")
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        names = execute(DOCS / "python.md")
    own, fresh = names["pools"].values("kl_truth"), names["pools"].values("fresh.kl_truth")
    assert own[0] < 0.01 and fresh[0] > 0.1, "a pool of one chain is memorised"
    least = [run.recipe.batch(0).tables[:, 0, 0].min() for run in names["stickier"]]
    assert 0.6 <= least[0] < 0.9 <= least[1]
    assert names["clamped"].onset("bigram") < names["run"].onset("bigram")
    assert sorted(path.name for path in tmp_path.glob("*.*")) == ["diagram.svg", "heads.npz", "heads.svg"]


def test_the_reference_is_up_to_date() -> None:
    done = subprocess.run([sys.executable, PACKAGE / "docs" / "api.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("example", "needs", "says"),
    [
        ("train_and_plot.py", None, r"bigram +from step 1\d\d\d"),
        ("own_parts.py --quick", None, "kl_recent"),
        ("sweep_dask.py --steps 600", "distributed", r"lr 0.004, seed 1: bigrams from step \d+"),
        ("trackers.py print --steps 200", None, r"step  200: kl_truth 0\.\d+"),
        ("hooks.py --steps 500", "transformer_lens", r"clamped model's by \de-0[67]"),
    ],
)
def test_examples_run(example: str, needs: str | None, says: str, tmp_path: Path) -> None:
    if needs is not None:
        pytest.importorskip(needs)
    program, *arguments = example.split()
    command = [sys.executable, str(PACKAGE / "examples" / program), *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert re.search(says, done.stdout), done.stdout
