"""Induct's models as PyTorch modules, written like their formulas.

    h = E[x]                                  (+ absolute position)
    h = h + block(norm h)                     for every block
    logits = norm(h) P

`norm` is the identity without layer norm. Row vectors multiply matrices from the left, and heads are contiguous blocks
of columns. Parameters have the names and shapes of Induct's tensors, so a snapshot is a state dict:

    recipe = tomllib.loads(pathlib.Path("runs/main/recipe.toml").read_text())
    weights = safetensors.numpy.load_file("runs/main/snapshots/step-001500.safetensors")
    model = build(recipe, weights)
    logits = model(torch.tensor([0, 1, 1, 0]))  # [4, k]

A recipe's interventions are not part of the module. Dropout acts in training mode; PyTorch draws its masks, so they are
not those of Induct's own run.

Every kind of block has a file of its name here, and every scheme of positions one in `positions`. They are found by
that name. Letters: k states, t length of a sequence, T longest sequence, d width, H heads of a layer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from ._minimal import FORMS, Minimal
from ._settings import Dropout, TransformerSettings, choice, setting
from ._transformer import Transformer

__all__ = ["Dropout", "Minimal", "Transformer", "TransformerSettings", "build", "weights_of"]


def build(recipe: Mapping[str, Any], weights: Mapping[str, npt.NDArray[np.float32] | Tensor]) -> Transformer | Minimal:
    """The model of a run's complete recipe with these weights: tensors of a snapshot, or a state dict.

    It is in evaluation mode: without dropout until `.train()`.
    """
    model: Transformer | Minimal
    if choice(recipe, "model.kind", ("transformer", "minimal")) == "minimal":
        form = choice(recipe, "model.form", FORMS)
        model = Minimal(setting(recipe, "task.states"), setting(recipe, "task.length"), form)
    else:
        model = Transformer(TransformerSettings.of(recipe))
    expected = dict(model.named_parameters())
    for name in weights:
        if name not in expected:
            raise ValueError(f"tensor {name}: found in the weights, but the model has only {', '.join(expected)}")
    with torch.no_grad():
        for name, parameter in expected.items():
            shape = list(parameter.shape)
            if name not in weights:
                raise ValueError(f"tensor {name}: not found in the weights, expected one of shape {shape}")
            found = list(weights[name].shape)
            if found != shape:
                raise ValueError(f"tensor {name}: found shape {found}, expected {shape}")
            parameter.copy_(torch.tensor(_array(weights[name])))
    return model.eval()


def weights_of(model: nn.Module) -> dict[str, npt.NDArray[np.float32]]:
    """A copy of the model's weights under the names of Induct's tensors."""
    return {name: _array(value).copy() for name, value in model.named_parameters()}


def _array(value: npt.NDArray[np.float32] | Tensor) -> npt.NDArray[np.float32]:
    return value.detach().float().cpu().numpy() if isinstance(value, Tensor) else value
