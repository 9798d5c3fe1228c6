"""Induct's training step under interventions in PyTorch: a model of modules, with forward hooks that
intervene, eager. `torch_peer.py` has the same interventions written into the model, compiled as well."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

import peer
from settings import Setting
from torch_peer import Bits, TorchPeer, Training, Transformer, Weights, optimizer_of


def previous_token(length: int) -> Tensor:
    """The pattern [t, t] of a head that attends to the symbol before; the first position attends to itself."""
    return torch.eye(length)[(torch.arange(length) - 1).clamp(min=0)]


class Embedding(nn.Module):
    def __init__(self, weights: Weights) -> None:
        super().__init__()
        self.E = nn.Parameter(weights["embed.E"])
        if "embed.positions" in weights:
            self.positions = nn.Parameter(weights["embed.positions"])

    def forward(self, inputs: Tensor) -> Tensor:
        resid = functional.embedding(inputs, self.E)
        return resid + self.positions if hasattr(self, "positions") else resid


class Pattern(nn.Module):
    """A module of its own, so that a hook can be put on what it gives."""

    def forward(self, scores: Tensor) -> Tensor:
        return torch.softmax(scores, -1)


class Attention(nn.Module):
    """One layer: what its heads write."""

    def __init__(self, setting: Setting, weights: Weights, layer: str) -> None:
        super().__init__()
        self.setting = setting
        self.parts = Transformer(setting)
        self.pattern = Pattern()
        for name, values in weights.items():
            if name.startswith(layer):
                self.register_parameter(name.removeprefix(layer), nn.Parameter(values))

    def forward(self, resid: Tensor) -> Tensor:
        batch, length, width = resid.shape
        heads, size = self.setting.heads, self.setting.head_width
        projected = resid @ torch.cat([self.W_Q, self.W_K, self.W_V], 1)
        parts = projected.view(batch, length, 3, heads, size).permute(2, 0, 3, 1, 4)
        queries, keys, values = (part.reshape(-1, length, size) for part in parts)
        keys = keys * size**-0.5
        bias = self.parts.ahead.expand(len(keys), -1, -1)
        if self.setting.positions == "relative-key":
            bias = bias + self.parts.with_keys(self.v, keys)
        pattern = self.pattern(torch.baddbmm(bias, queries, keys.transpose(1, 2)))
        mixed = (pattern @ values).view(batch, heads, length, size).transpose(1, 2).reshape(batch, length, width)
        return mixed @ self.W_O if self.setting.projects else mixed


class Unembedding(nn.Module):
    def __init__(self, weights: Weights) -> None:
        super().__init__()
        self.P = nn.Parameter(weights["unembed.P"])

    def forward(self, resid: Tensor) -> Tensor:
        return resid @ self.P


class Model(nn.Module):
    """Its parameters have the names of Induct's tensors."""

    def __init__(self, setting: Setting, weights: Weights) -> None:
        super().__init__()
        self.embed = Embedding(weights)
        self.layers = nn.ModuleList(Attention(setting, weights, f"layers.{layer}.") for layer in range(setting.layers))
        self.unembed = Unembedding(weights)

    def forward(self, inputs: Tensor) -> Tensor:
        """Logits [B, t, k]."""
        resid = self.embed(inputs)
        for layer in self.layers:
            resid = resid + layer(resid)
        return self.unembed(resid)


def intervene(model: Model, length: int) -> None:
    """Clamps the first layer's heads to the symbol before, and hides what they write from the logits."""
    pattern = previous_token(length)
    written: list[Tensor] = []

    def clamp(module: nn.Module, given: tuple[Tensor, ...], result: Tensor) -> Tensor:
        return pattern.expand_as(result)

    def keep(module: nn.Module, given: tuple[Tensor, ...], result: Tensor) -> None:
        written[:] = [result]

    def subtract(module: nn.Module, given: tuple[Tensor, ...]) -> Tensor:
        return given[0] - written.pop()

    model.layers[0].pattern.register_forward_hook(clamp)
    model.layers[0].register_forward_hook(keep)
    model.unembed.register_forward_pre_hook(subtract)


class ModuleTraining(Training):
    """Weights on their way, inside a module."""

    def __init__(self, setting: Setting, model: nn.Module, weights: Weights) -> None:
        self.weights = weights
        self.optimizer = optimizer_of(setting, weights)

        def loss(weights: Weights, tokens: Tensor, bits: Bits) -> Tensor:
            logits = model(tokens[:, :-1])
            return functional.cross_entropy(logits.reshape(-1, setting.states), tokens[:, 1:].reshape(-1))

        self.loss = loss


class ModulePeer(TorchPeer):
    """A model that is a module with hooks. What samples, steps and times is that of PyTorch's other peer."""

    @abstractmethod
    def module(self, setting: Setting, weights: peer.Weights) -> tuple[nn.Module, Weights]:
        """The model with its hooks, and its parameters under the names of Induct's tensors."""

    def probabilities(self, weights: peer.Weights, inputs: np.ndarray) -> np.ndarray:
        model, _ = self.module(self.setting.without_interventions, weights)
        return torch.softmax(model(torch.tensor(inputs, dtype=torch.long)), -1).detach().numpy()

    def forms(self) -> tuple[str, ...]:
        return ("eager",)

    def training(self, form: str, weights: peer.Weights) -> Training:
        return ModuleTraining(self.setting, *self.module(self.setting, weights))


class HooksPeer(ModulePeer):
    name = "hooks"

    def module(self, setting: Setting, weights: peer.Weights) -> tuple[nn.Module, Weights]:
        model = Model(setting, {name: torch.tensor(values) for name, values in weights.items()})
        if setting.intervened:
            intervene(model, setting.length)
        return model, dict(model.named_parameters())


if __name__ == "__main__":
    chosen = peer.arguments(__doc__)
    peer.keep_to_cores(chosen.threads)
    peer.run(HooksPeer, chosen)
