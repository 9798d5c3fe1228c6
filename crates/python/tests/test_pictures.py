"""Pictures: in notebooks and as files, with their data."""

from __future__ import annotations

import xml.etree.ElementTree as xml
from pathlib import Path

import induct
import numpy as np
import pytest


def test_figures_are_shown_and_saved(run: induct.Run, tmp_path: Path) -> None:
    for figure in (run.plot(), run.plot("kl_strategy", "train_loss"), run.attention([0, 1, 1, 0]), run.compare(run)):
        assert xml.fromstring(figure._repr_svg_()).tag.endswith("svg")
        assert figure._repr_html_().startswith("<img alt=")
        assert figure.save(tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
        assert figure.save(str(tmp_path / "x.svg")).read_text() == figure.svg
        assert figure.save(tmp_path / "x.csv").read_text().startswith("panel,title,series")
        assert figure.data and figure.description in repr(figure)
    with pytest.raises(induct.InputError, match="saved as .svg, .png or .csv"):
        run.plot().save(tmp_path / "x.pdf")
    with pytest.raises(induct.InputError, match="entropie"):
        run.plot("entropie")


def test_data_are_the_numbers_shown(run: induct.Run) -> None:
    data = run.plot("train_loss").data
    values = [y for y, series in zip(data["y"], data["series"], strict=True) if series == "train_loss" or not series]
    assert run.metrics["train_loss"][-1] == pytest.approx([v for v in values if isinstance(v, float)][-1], rel=1e-4)
    attention = run.attention([0, 1, 1, 0]).data
    np.testing.assert_array_equal(attention["tokens"], [0, 1, 1, 0])
    assert attention["layers.1.attn_pattern"].shape == (1, 4, 4)


def test_comparisons_tell_where_runs_differ(run: induct.Run, small: induct.Recipe) -> None:
    other = run.compare(induct.train(small, set={"train.batch": 8}))
    assert not other.identical
    assert other.differences["keys"] == [{"key": "train.batch", "a": "16", "b": "8"}]
    assert "train.batch = 8" in other.svg
    seeds = run.compare(induct.train(small, seed=1))
    assert "main a" in seeds.svg and "main b" in seeds.svg
    with pytest.raises(TypeError, match="with a run"):
        run.compare("runs/main")  # type: ignore[arg-type]


def test_runs_are_overlaid(run: induct.Run, small: induct.Recipe) -> None:
    runs = [run, induct.train(small, seed=1), induct.train(small, set={"train.batch": 8})]
    assert "train.batch = 8" in induct.plot(runs, "kl_truth").svg
    with pytest.raises(induct.InputError, match="no run"):
        induct.plot([])


def test_the_page_has_the_run_inside(run: induct.Run, tmp_path: Path) -> None:
    lab = run.lab()
    try:
        html = lab.html
    except induct.RunError as error:
        assert "./wheel" in str(error)
        pytest.skip("this build has no page")
    assert html.count('class="run"') == 1
    assert lab.save(tmp_path / "lab.html").read_text(encoding="utf-8") == html
    assert "<iframe" in lab._repr_html_() and "MB" in repr(lab)
