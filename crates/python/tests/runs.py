"""Short runs of every architecture, and what Induct says about their models."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import induct
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

LENGTH = 24
STEPS = 30

TRANSFORMERS: dict[str, dict[str, Any]] = {
    "relative-key": {},
    "relative-query": {"model.positions": "relative-query"},
    "absolute": {"model.positions": "absolute"},
    "no-positions": {"model.positions": "none"},
    "one-layer-mlp": {"model.layers": 1, "model.mlp": True},
    "three-states-three-heads": {"task.states": 3, "model.heads": 3, "model.width": 24},
    "heads-by-layer": {"model.layers": 3, "model.heads": [1, 4, 2]},
    "always-projected": {"model.output_projection": "always"},
    "layer-norm": {"model.layer_norm": True},
    "mlp-gelu": {"model.mlp": True, "model.heads": 2},
    "mlp-relu-norm": {
        "model.mlp": True,
        "model.activation": "relu",
        "model.layer_norm": True,
        "model.positions": "absolute",
        "model.heads": [2, 1],
    },
    "released": {
        "model.positions": "relative-query",
        "model.layer_norm": True,
        "model.output_projection": "always",
        "model.dropout": {"embedding": 0.1, "attention": 0.1, "residual": 0.1, "positions": 0.1},
    },
    "rotary": {"model.positions": "rotary", "model.heads": 2},
    "listed": {
        "model.blocks": [{"kind": "attention", "heads": 2, "positions": "rotary"}, {"kind": "mlp", "ratio": 2}] * 2,
        "model.layer_norm": True,
    },
    "dropout-by-place": {"model.dropout": {"embedding": 0.1, "attention": 0.2}, "model.heads": 2},
}
# TransformerLens has no hooks for these.
LISTS: dict[str, dict[str, Any]] = {
    "mlp-first": {"model.blocks": ["mlp", "attention"]},
    "two-mlps": {
        "model.blocks": ["attention", "mlp", {"kind": "mlp", "ratio": 2, "activation": "relu"}, "attention"],
        "model.layer_norm": True,
    },
    "convolutions": {
        "model.blocks": [{"kind": "convolution", "length": 3}, {"kind": "attention", "convolution": 2}],
    },
    "mamba": {
        "model.blocks": ["mamba", {"kind": "mamba", "state": 8, "expand": 1, "heads": 4, "convolution": 0}],
        "model.layer_norm": True,
    },
    "tied-with-biases": {
        "model.tied": True,
        "model.biases": True,
        "model.heads": 2,
        "model.mlp": True,
        "model.mlp_ratio": 3,
        "model.activation": "gelu-exact",
    },
    "one-of-two-mlps": {"model.blocks": ["attention", "mlp", {"kind": "attention", "positions": "none"}]},
}
MINIMAL: dict[str, dict[str, Any]] = {
    "minimal-linear": {"model.form": "linear"},
    "minimal-softmax": {"model.form": "softmax", "task.states": 3},
}
ARCHITECTURES = [*TRANSFORMERS, *LISTS, *MINIMAL]


@dataclass(frozen=True)
class Run:
    model: induct.Model

    @property
    def recipe(self) -> dict[str, Any]:
        return self.model.recipe.to_dict()

    @property
    def weights(self) -> dict[str, npt.NDArray[np.float32]]:
        return self.model.weights

    @property
    def states(self) -> int:
        return self.model.states

    def sequences(self, count: int, length: int = LENGTH) -> Array:
        return np.random.default_rng(0).integers(self.states, size=(count, length))


@functools.cache
def run(name: str) -> Run:
    """A short run of an architecture, with large initial weights and rates, so that nothing is nearly zero."""
    settings: dict[str, Any] = {"task.length": LENGTH, "train.steps": STEPS, "record.test_sequences": 64}
    if name in MINIMAL:
        preset, settings = "minimal", settings | MINIMAL[name]
        settings |= {"model.start.w": 0.1, "model.start.v": 0.1, "train.optimizer.lr": 0.1}
    else:
        preset, settings = "main", settings | (TRANSFORMERS | LISTS)[name]
        settings |= {"model.init_std": 0.3, "train.optimizer.lr": 0.01}
    return Run(induct.train(preset, set=settings).model())
