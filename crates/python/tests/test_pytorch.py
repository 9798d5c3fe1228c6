"""PyTorch modules compute what Induct's engine does."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from induct import pytorch
from runs import ARCHITECTURES, LENGTH, run
from torch.nn import functional

TOLERANCE = 1e-5


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_logits_are_those_of_the_engine_and_weights_come_back(name: str) -> None:
    own = run(name)
    module = own.model.to_torch()
    sequences = own.sequences(2)
    logits = module(torch.tensor(sequences))
    assert logits.shape == (2, LENGTH, own.states)
    np.testing.assert_allclose(logits.detach().numpy(), own.model.logits(sequences), rtol=0, atol=TOLERANCE)
    np.testing.assert_array_equal(own.model.load(module).logits(sequences), own.model.logits(sequences))


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_sequence_needs_no_batch_and_may_be_short(name: str) -> None:
    own = run(name)
    model = pytorch.build(own.recipe, own.weights)
    tokens = torch.tensor(own.sequences(3))
    whole = model(tokens)
    torch.testing.assert_close(model(tokens[1]), whole[1])
    torch.testing.assert_close(model(tokens[:, :5]), whole[:, :5])


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_weights_make_the_round_trip(name: str) -> None:
    own = run(name)
    model = pytorch.build(own.recipe, own.weights)
    assert set(model.state_dict()) == set(own.weights)
    again = pytorch.weights_of(model)
    # It is a copy, which further training leaves as it is.
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1.0)
    assert all(values.dtype == np.float32 for values in again.values())
    for tensor, values in own.weights.items():
        np.testing.assert_array_equal(again[tensor], values)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_state_dict_will_do(name: str) -> None:
    own = run(name)
    model = pytorch.build(own.recipe, own.weights)
    tokens = torch.tensor(own.sequences(1))
    torch.testing.assert_close(pytorch.build(own.recipe, model.state_dict())(tokens), model(tokens))


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_tensor_gets_a_gradient(name: str) -> None:
    own = run(name)
    model = pytorch.build(own.recipe, own.weights).train()
    tokens = torch.tensor(own.sequences(4))
    logits = model(tokens[:, :-1])
    torch.autograd.backward(functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()))
    for tensor, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, tensor


@pytest.mark.parametrize(("name", "varies"), [("relative-key", False), ("released", True), ("dropout-by-place", True)])
def test_dropout_acts_in_training_mode_only(name: str, varies: bool) -> None:
    own = run(name)
    model = pytorch.build(own.recipe, own.weights)
    tokens = torch.tensor(own.sequences(2))
    assert torch.equal(model(tokens), model(tokens))
    model.train()
    assert torch.equal(model(tokens), model(tokens)) != varies


def test_dropout_is_where_the_recipe_has_it() -> None:
    settings = pytorch.TransformerSettings.of(run("dropout-by-place").recipe)
    assert settings.dropout == pytorch.Dropout(embedding=0.1, attention=0.2, residual=0.0)
    settings = pytorch.TransformerSettings.of(run("released").recipe)
    assert settings.dropout == pytorch.Dropout(embedding=0.1, attention=0.1, residual=0.1, positions=0.1)


def test_a_missing_tensor_is_named() -> None:
    own = run("relative-key")
    weights = {tensor: values for tensor, values in own.weights.items() if tensor != "layers.1.v"}
    with pytest.raises(ValueError, match=r"tensor layers\.1\.v: not found in the weights, .* shape \[24, 16\]"):
        pytorch.build(own.recipe, weights)


def test_a_wrong_shape_is_named() -> None:
    own = run("relative-key")
    weights = own.weights | {"layers.0.W_K": np.zeros((16, 8), np.float32)}
    with pytest.raises(ValueError, match=r"tensor layers\.0\.W_K: found shape \[16, 8\], expected \[16, 16\]"):
        pytorch.build(own.recipe, weights)


def test_a_tensor_too_many_is_named() -> None:
    own = run("relative-key")
    weights = own.weights | {"layers.0.W_O": np.zeros((16, 16), np.float32)}
    with pytest.raises(ValueError, match=r"tensor layers\.0\.W_O: found in the weights, but the model has only embed"):
        pytorch.build(own.recipe, weights)


def test_weights_of_another_architecture_are_refused() -> None:
    with pytest.raises(ValueError, match=r"tensor embed\.positions"):
        pytorch.build(run("relative-key").recipe, run("absolute").weights)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (
            "positions",
            "alibi",
            "model.positions is 'alibi': expected one of absolute, none, relative-key, relative-query",
        ),
        ("blocks", ["lstm"], r"model.blocks\[0\].kind is 'lstm': expected one of attention, convolution"),
        ("blocks", [{"kind": "mlp", "gate": True}], r"model.blocks\[0\].gate has no formula in PyTorch yet; mlp takes"),
        ("heads", 3, r"model.heads is \(3, 3\): expected 2 numbers that divide the width, 16"),
        ("heads", [1], r"model.heads is \(1,\): expected 2 numbers"),
        ("kind", "lstm", "model.kind is 'lstm': expected one of transformer, minimal"),
        ("width", None, "the recipe has no model.width"),
    ],
)
def test_a_wrong_setting_is_named(key: str, value: object, message: str) -> None:
    own = run("relative-key")
    recipe = copy.deepcopy(own.recipe)
    recipe["model"][key] = value
    with pytest.raises(ValueError, match=message):
        pytorch.build(recipe, own.weights)


@pytest.mark.parametrize("name", ["absolute", "minimal-linear"])
def test_a_longer_sequence_is_refused(name: str) -> None:
    own = run(name)
    model = pytorch.build(own.recipe, own.weights)
    with pytest.raises(ValueError, match="a sequence of 25 symbols, but this model sees at most 24"):
        model(torch.zeros(LENGTH + 1, dtype=torch.long))
