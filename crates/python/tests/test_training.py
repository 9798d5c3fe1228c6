"""Twenty steps of training, written out in PyTorch from docs/models.md: from the same weights, on the same batches and
with the same masks, they end at the same weights."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import induct
import numpy as np
import numpy.typing as npt
import pytest
import torch
from conftest import command
from torch import Tensor
from torch.nn import functional

STEPS = 20
TOLERANCE = 1e-4

SETTINGS: dict[str, dict[str, Any]] = {
    "main": {},
    "decay-all": {"train.optimizer.decay": "all", "train.optimizer.weight_decay": 2.0},
    "decay-all-sgd": {"train.optimizer": {"kind": "sgd", "lr": 0.1, "weight_decay": 0.1, "decay": "all"}},
    "clip": {"train.clip": 0.1},
    "last": {"train.positions": "last"},
    "some-positions": {"train.positions": {"from": 3, "until": 9}},
    "law": {"train.labels": "law"},
    "lecun-normal": {"model.init_std": "lecun-normal", "model.layer_norm": True},
    "tied": {"model.tied": True},
    "tied-norm": {"model.tied": True, "model.layer_norm": True, "model.mlp": True, "train.optimizer.decay": "all"},
    "biases": {"model.biases": True, "model.heads": 2},
    "biases-relative-query": {"model.biases": True, "model.positions": "relative-query", "model.layer_norm": True},
    "exact-gelu": {"model.mlp": True, "model.mlp_ratio": 2, "model.activation": "gelu-exact", "model.biases": True},
    "zipf-pool": {"task.prior": {"kind": "pool", "size": 5, "weights": "zipf", "of": "dirichlet"}},
    "released": {
        "model.positions": "relative-query",
        "model.layer_norm": True,
        "model.output_projection": "always",
        "model.dropout": {"embedding": 0.1, "attention": 0.1, "residual": 0.1, "positions": 0.1},
    },
    "dropped-positions-with-heads": {
        "model.heads": 2,
        "model.mlp": True,
        "model.dropout": {"positions": 0.3, "attention": 0.2},
    },
}


@dataclass
class Masks:
    """What dropout multiplies entries with in a step, place by place in the order of the forward."""

    rates: dict[str, float]
    keys: npt.NDArray[np.uint64]
    """[batch, 2]"""
    batch_keys: npt.NDArray[np.uint64]
    """[2]"""
    pairs: int = field(default=0)

    def of_place(self, name: str, rows: int, columns: int) -> Tensor:
        """[batch, rows, columns]"""
        first = self.pairs
        self.pairs += rows * math.ceil(columns / 2)
        return mask(self.rates.get(name, 0.0), self.keys, first, rows, columns)

    def of_positions(self, layer: int, t: int, d: int) -> Tensor:
        """[t, t, d]"""
        first = layer * t * t * math.ceil(d / 2)
        return mask(self.rates.get("positions", 0.0), self.batch_keys, first, t * t, d).reshape(t, t, d)


def mask(rate: float, keys: npt.NDArray[np.uint64], first: int, rows: int, columns: int) -> Tensor:
    """Of one place: [..., rows, columns] for keys [..., 2]."""
    low = np.uint64(0xFFFFFFFF)
    n = (np.uint64(first) + np.arange(rows * math.ceil(columns / 2), dtype=np.uint64)) & low
    x = (n + keys[..., 0, None]) & low
    x ^= x >> np.uint64(16)
    x = (x * np.uint64(0x7FEB352D)) & low
    x ^= x >> np.uint64(15)
    x = (x + keys[..., 1, None]) & low
    x = (x * np.uint64(0x846CA68B)) & low
    x ^= x >> np.uint64(16)
    bits = np.stack([x & np.uint64(0xFFFF), x >> np.uint64(16)], -1).reshape(*x.shape[:-1], rows, -1)[..., :columns]
    dropped = math.floor(65536 * rate + 0.5)
    return torch.tensor(np.where(bits >= dropped, 65536 / (65536 - dropped), 0.0))


def forward(model: dict[str, Any], weights: dict[str, Tensor], tokens: Tensor, masks: Masks) -> Tensor:
    """Logits, [batch, t, k]."""
    (t, d), positions = (tokens.shape[1], model["width"]), model["positions"]

    def norm(name: str, x: Tensor) -> Tensor:
        if not model["layer_norm"]:
            return x
        return functional.layer_norm(x, [d], weights[f"{name}.gain"], weights[f"{name}.bias"], 1e-5)

    def linear(x: Tensor, matrix: str, bias: str) -> Tensor:
        return x @ weights[matrix] + weights.get(bias, torch.zeros(()))

    stream = weights["embed.E"][tokens] * masks.of_place("embedding", t, d)
    lag = torch.arange(t)[:, None] - torch.arange(t)
    for layer in range(model["layers"]):
        own = f"layers.{layer}"
        x = norm(f"{own}.attn_norm", stream)
        queries, keys, values = (linear(x, f"{own}.W_{name}", f"{own}.b_{name}") for name in "QKV")
        # [t, t, d]
        relative = weights[f"{own}.v"][lag.clamp(min=0)] * masks.of_positions(layer, t, d)
        averages = []
        for columns in torch.arange(d).chunk(model["heads"]):
            q, k, u, r = queries[..., columns], keys[..., columns], values[..., columns], relative[..., columns]
            term = "bic,ijc->bij" if positions == "relative-query" else "bjc,ijc->bij"
            scores = q @ k.mT + torch.einsum(term, q if positions == "relative-query" else k, r)
            scores = (scores / math.sqrt(len(columns))).masked_fill(lag < 0, -torch.inf)
            averages.append((torch.softmax(scores, -1) * masks.of_place("attention", t, t)) @ u)
        written = torch.cat(averages, -1)
        if f"{own}.W_O" in weights:
            written = linear(written, f"{own}.W_O", f"{own}.b_O")
        stream = stream + written * masks.of_place("residual", t, d)
        if model["mlp"]:
            hidden = linear(norm(f"{own}.mlp_norm", stream), f"{own}.mlp.W_in", f"{own}.mlp.b_in")
            exact = model.get("activation") == "gelu-exact"
            active = functional.gelu(hidden, approximate="none" if exact else "tanh")
            written = linear(active, f"{own}.mlp.W_out", f"{own}.mlp.b_out")
            stream = stream + written * masks.of_place("residual", t, d)
    stream = norm("final_norm", stream)
    if model.get("tied", False):
        return stream @ weights["embed.E"].T + weights.get("unembed.bias", torch.zeros(()))
    return linear(stream, "unembed.P", "unembed.bias")


def loss_of(train: dict[str, Any], logits: Tensor, tokens: Tensor, tables: Tensor) -> Tensor:
    """What is minimised. Tables are [batch, k, k]."""
    judged = train.get("positions", "all")
    if judged == "last":
        span = slice(-1, None)
    else:
        span = slice(None) if judged == "all" else slice(judged.get("from", 0), judged.get("until"))
    target = tokens[:, 1:]
    if train.get("labels") == "law":
        # n = 2: the law of the next token is the current one's row.
        target = tables[torch.arange(len(tokens))[:, None], tokens[:, :-1]]
    return functional.cross_entropy(logits[:, span].flatten(0, 1), target[:, span].flatten(0, 1))


def optimizer_of(train: dict[str, Any], weights: dict[str, Tensor]) -> torch.optim.Optimizer:
    settings = train["optimizer"]
    decays = {True: settings["weight_decay"], False: 0.0}

    def is_matrix(name: str) -> bool:
        return name.split(".")[-1].startswith("W_") or name == "unembed.P" or settings.get("decay") == "all"

    groups: list[dict[str, Any]] = [
        {
            "params": [value for name, value in weights.items() if is_matrix(name) == decay],
            "weight_decay": decays[decay],
        }
        for decay in (True, False)
    ]
    if settings["kind"] == "sgd":
        return torch.optim.SGD(groups, settings["lr"], settings["momentum"])
    first, second = settings["betas"]
    return torch.optim.AdamW(groups, settings["lr"], (first, second), settings["epsilon"])


def masks_of(path: Path, model: dict[str, Any], batch: int) -> Iterator[Masks]:
    """Those of every step, from the keys that the command prints."""
    rates = model.get("dropout", {})
    for step in range(STEPS):
        if not rates:
            yield Masks({}, np.zeros((batch, 2), np.uint64), np.zeros(2, np.uint64))
            continue
        printed = command("sample", str(path), "--step", str(step), "--json")
        assert printed.returncode == 0, printed.stderr
        sample = json.loads(printed.stdout)
        keys, batch_keys = (np.array(sample[name], np.uint64) for name in ("dropout_keys", "batch_dropout_keys"))
        yield Masks(rates, keys, batch_keys)


@pytest.mark.parametrize("name", SETTINGS)
def test_twenty_steps_end_where_they_do_in_pytorch(name: str, tmp_path: Path) -> None:
    # Large weights, so that no gradient is nearly zero, and a batch that does not fill its blocks.
    usual = {"task.length": 12, "model.init_std": 0.3, "train.batch": 13, "train.optimizer.lr": 3e-3}
    small = {"train.steps": STEPS, "record.every": STEPS, "record.snapshots": 2, "record.test_sequences": 8}
    kept = {key: value for key, value in usual.items() if not ("train.optimizer" in SETTINGS[name] and ".lr" in key)}
    recipe = induct.Recipe("main", kept | small | {"record.tests": []} | SETTINGS[name])
    run = induct.train(recipe)
    settings = recipe.to_dict()
    start = run.model(0).weights
    weights = {tensor: torch.tensor(value, dtype=torch.float64) for tensor, value in start.items()}
    for value in weights.values():
        value.requires_grad_()
    optimizer = optimizer_of(settings["train"], weights)
    masks = masks_of(recipe.save(tmp_path / "recipe.toml"), settings["model"], settings["train"]["batch"])
    for step, own in enumerate(masks):
        batch = recipe.batch(step)
        tokens = torch.tensor(batch.tokens.astype(np.int64))
        optimizer.zero_grad()
        logits = forward(settings["model"], weights, tokens[:, :-1], own)
        torch.autograd.backward(loss_of(settings["train"], logits, tokens, torch.tensor(batch.tables)))
        if "clip" in settings["train"]:
            torch.nn.utils.clip_grad_norm_(weights.values(), settings["train"]["clip"])
        optimizer.step()
    for tensor, found in run.model(STEPS).weights.items():
        if tensor.endswith(".b_K") and settings["model"]["positions"] == "relative-query":
            # It adds the same to all scores of a row, so its gradient is nothing but rounding.
            continue
        expected = weights[tensor].detach().numpy()
        assert np.abs(expected - start[tensor]).max() > 10 * TOLERANCE, f"{tensor} has not moved"
        np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE, err_msg=tensor)
