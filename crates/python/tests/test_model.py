"""Models: arrays by name, interventions, and input that does not fit."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import induct
import numpy as np
import pytest
from conftest import SMALL, command

TOKENS = [0, 1, 1, 0, 1, 0, 0]


@pytest.fixture(scope="module")
def model(run: induct.Run) -> induct.Model:
    return run.model()


def test_activations_have_names_and_shapes(model: induct.Model) -> None:
    seen = model.activations(TOKENS)
    assert next(iter(seen)) == "embed" and list(seen)[-1] == "logits" and len(seen) == 12
    assert seen["layers.1.attn_pattern"].shape == (1, 7, 7)
    np.testing.assert_allclose(seen["layers.1.attn_pattern"].sum(axis=-1), 1.0, rtol=1e-6)
    np.testing.assert_allclose(seen["logits"], model.logits(TOKENS), atol=1e-5)
    several = model.activations([TOKENS, TOKENS[::-1]])
    assert several["layers.1.attn_pattern"].shape == (2, 1, 7, 7)
    np.testing.assert_array_equal(several["logits"][0], seen["logits"])
    np.testing.assert_allclose(model.predict(TOKENS).sum(axis=-1), 1.0, rtol=1e-6)
    assert model.predict([TOKENS] * 3).shape == (3, 7, 2)
    np.testing.assert_array_equal(model.predict("0110100"), model.predict(np.array(TOKENS, dtype=np.int32)))


def test_arrays_are_not_copied(model: induct.Model) -> None:
    first, second = model.weights["embed.E"], model.weights["embed.E"]
    assert np.shares_memory(first, second) and not first.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        first[0, 0] = 1.0
    pattern = model.activations(TOKENS)["layers.0.attn_pattern"]
    assert pattern.base is not None and pattern.flags.c_contiguous
    kept = model.weights["embed.E"]
    expected = kept.copy()
    del first, second
    np.testing.assert_array_equal(kept, expected)


@pytest.mark.parametrize(
    ("tokens", "says"),
    [
        ([], "the sequence is empty"),
        ([0, 2], "symbol 2 at position 1 is unknown: the model has symbols 0 to 1"),
        ([0, -1], "symbol -1 at position 1"),
        ([0, 300], "symbol 300"),
        ([0.0, 1.0], "of type float64"),
        (["a"], "of type"),
        ("01x", "a text of digits"),
        ("²", "a text of digits"),
        ([[0, 1], [1]], "equally long"),
        ([[[0]]], r"shape \(1, 1, 1\)"),
        (0, r"shape \(\)"),
        (None, "whole numbers"),
        ([0] * 13, "at most 12"),
        ([True, False], "of type bool"),
    ],
)
def test_tokens_that_do_not_fit_are_refused(model: induct.Model, tokens: Any, says: str) -> None:
    for look in (model.predict, model.logits, model.activations, model.attention):
        with pytest.raises(induct.InputError, match=says):
            look(tokens)


def test_names_and_steps_that_do_not_exist_are_refused(run: induct.Run, model: induct.Model) -> None:
    with pytest.raises(induct.InputError, match=r'no activation "layers.9".*layers.0.attn_pattern'):
        _ = model.activations(TOKENS)["layers.9"]
    with pytest.raises(induct.InputError, match="no snapshot at step 7; the nearest: 0"):
        run.model(7)
    for step in (-1, "last", 1.5):
        with pytest.raises(induct.InputError, match="step = "):
            run.model(step)  # type: ignore[arg-type]
    with pytest.raises(induct.InputError, match="one sequence"):
        model.attention([TOKENS])


def test_interventions_are_those_of_the_command_line(run: induct.Run, model: induct.Model, tmp_path: Path) -> None:
    run.save(tmp_path / "run")
    for text, changed in [
        ('kind="ablate", at="layers.0.heads.0"', model.ablate("layers.0.heads.0")),
        ('kind="ablate", at="embed", to="logits"', model.ablate("embed", to="logits")),
        ('kind="clamp", at="layers.0", pattern="previous-token"', model.clamp("layers.0", "previous-token")),
        (
            f'kind="patch", at="layers.0.head_out", with={{ run="{tmp_path}/run", step=0 }}',
            model.patch("layers.0.head_out", run.model(0)),
        ),
    ]:
        said = command("predict", str(tmp_path / "run"), "--tokens", "0110100", "--intervene", text, "--json")
        assert said.returncode == 0, said.stderr
        expected = json.loads(said.stdout)["model"]
        np.testing.assert_allclose(changed.predict(TOKENS)[-1], expected, atol=1e-6)
        assert not np.allclose(changed.predict(TOKENS), model.predict(TOKENS), atol=1e-6)
        assert len(changed.interventions) == 1
    both = model.ablate("layers.0.heads.0").clamp("layers.1", "uniform")
    assert [entry["kind"] for entry in both.interventions] == ["ablate", "clamp"]
    np.testing.assert_array_equal(both.without_interventions().predict(TOKENS), model.predict(TOKENS))
    assert model.interventions == []
    own = model.clamp("layers.0", run.model(0)).activations(TOKENS)["layers.0.attn_pattern"]
    np.testing.assert_allclose(own, run.model(0).activations(TOKENS)["layers.0.attn_pattern"], atol=1e-6)


def test_interventions_that_cannot_be_are_refused(model: induct.Model) -> None:
    with pytest.raises(induct.RecipeError, match="one of embed"):
        model.ablate("layers.9")
    with pytest.raises(induct.RecipeError, match="previous-token"):
        model.clamp("layers.0", "sideways")
    mean = model.ablate("layers.0.heads.0", instead="mean")
    with pytest.raises(induct.InputError, match="a sequence alone has neither"):
        mean.predict(TOKENS)
    assert mean.evaluate(sequences=64)["truth"]["kl"] > 0
    with pytest.raises(induct.InputError, match="multiple of 8"):
        mean.evaluate(sequences=63)


def test_a_model_is_evaluated_on_other_chains(model: induct.Model, small: induct.Recipe) -> None:
    own, iid = model.evaluate(sequences=512), model.evaluate(sequences=512, on={"task.prior": "iid"})
    assert own["truth"]["kl"] > iid["truth"]["kl"] > 0
    assert model.evaluate(sequences=512, on=small) == own
    with pytest.raises(induct.InputError, match="knows 2 states and at most 12 symbols"):
        model.evaluate(on=induct.Recipe("three-states"))
    with pytest.raises(TypeError, match="on is a recipe"):
        model.evaluate(on="iid")  # type: ignore[arg-type]


def test_what_parts_are_worth(model: induct.Model) -> None:
    worth = model.worth(sequences=64)
    assert "layers.0.heads.0 -> layers.1.keys" in worth and set(worth["embed"]) == {"worth", "se"}
    whole = model.evaluate(sequences=64)["truth"]["kl"]
    without = model.ablate("layers.1.heads.0").evaluate(sequences=64)["truth"]["kl"]
    assert worth["layers.1.heads.0"]["worth"] == pytest.approx(without - whole, abs=1e-6)
    with pytest.raises(induct.InputError, match='"zero", "mean" or "resample"'):
        model.worth(instead="nothing")  # type: ignore[arg-type]
    with pytest.raises(induct.InputError, match="sequences = 1"):
        model.evaluate(sequences=1)


def test_weights_are_loaded_and_checked(model: induct.Model, run: induct.Run) -> None:
    changed = {name: array + 0.5 for name, array in model.weights.items()}
    loaded = model.load(changed)
    np.testing.assert_allclose(loaded.weights["unembed.P"], model.weights["unembed.P"] + 0.5)
    np.testing.assert_array_equal(loaded.load(model.weights).predict(TOKENS), model.predict(TOKENS))
    with pytest.raises(induct.InputError, match="missing: embed.E"):
        model.load({name: array for name, array in model.weights.items() if name != "embed.E"})
    with pytest.raises(induct.InputError, match="unknown: x"):
        model.load({**model.weights, "x": np.zeros(1)})
    with pytest.raises(induct.InputError, match=r'"embed.E" has shape \(1,\), and needs \(2, 16\)'):
        model.load({**model.weights, "embed.E": np.zeros(1)})


def test_models_are_pickled(model: induct.Model) -> None:
    clamped = model.clamp("layers.0", "previous-token")
    again = pickle.loads(pickle.dumps(clamped))
    np.testing.assert_array_equal(again.predict(TOKENS), clamped.predict(TOKENS))
    assert again.step == 60 and again.interventions == clamped.interventions
    patched = model.patch("layers.0.head_out", model.load({name: array * 2 for name, array in model.weights.items()}))
    again = pickle.loads(pickle.dumps(patched))
    np.testing.assert_array_equal(again.predict(TOKENS), patched.predict(TOKENS))


def test_the_minimal_model_has_activations_too() -> None:
    run = induct.train("minimal", set={**SMALL, "record.every": 20})
    seen = run.model().activations(TOKENS)
    assert seen["layers.0.attn_pattern"].shape[-1] == 7 and seen["logits"].shape == (7, 2)
    assert run.attention(TOKENS).svg
    with pytest.raises(induct.Error):
        run.model().ablate("layers.0.heads.0")
