"""The transformer: a residual stream and a list of blocks."""

from __future__ import annotations

import inspect

import torch
from torch import Tensor, nn
from torch.nn import functional

from ._parts import Block, check_length, found, parameter
from ._settings import TransformerSettings

NORM_EPSILON = 1e-5


class Embedding(nn.Module):
    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        self.E = parameter(settings.states, settings.width)
        self.positions = parameter(settings.length, settings.width) if settings.positions == "absolute" else None

    def forward(self, tokens: Tensor) -> Tensor:
        h = self.E[tokens]
        return h if self.positions is None else h + self.positions[: tokens.shape[-1]]


class Norm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))
        self.bias = parameter(width)

    def forward(self, h: Tensor) -> Tensor:
        return functional.layer_norm(h, self.gain.shape, self.gain, self.bias, NORM_EPSILON)


class Unembedding(nn.Module):
    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        self.P = None if settings.tied else parameter(settings.width, settings.states)
        self.bias = parameter(settings.states) if settings.biases else None

    def forward(self, h: Tensor, embedding: Tensor) -> Tensor:
        logits = h @ (embedding.mT if self.P is None else self.P)
        return logits if self.bias is None else logits + self.bias


class Transformer(nn.Module):
    """A causal transformer, of any architecture that a recipe can describe.

    A layer is a block that gathers, such as attention, and those up to the next one that do not, such as MLPs:
    ``layers[0]`` is the first layer's attention, and ``layers[0].mlp`` its MLP.
    """

    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        self.settings = settings
        self.embed = Embedding(settings)
        self.drop_embedding = nn.Dropout(settings.dropout.embedding)
        self.drop_added = nn.Dropout(settings.dropout.residual)
        self.layers = nn.ModuleList()
        self.order: list[tuple[str, str]] = []
        """The names of every block and of its norm; the latter is empty without layer norm."""
        for index in range(len(settings.blocks)):
            self._append(index)
        self.final_norm = Norm(settings.width) if settings.layer_norm else nn.Identity()
        self.unembed = Unembedding(settings)

    def _append(self, index: int) -> None:
        block = _block(self.settings, index)
        if block.gathers or not self.layers:
            self.layers.append(nn.Module() if block.name else block)
        layer = f"layers.{len(self.layers) - 1}"
        name = self._add(f"{layer}.{block.name}", block) if block.name else layer
        norm = self._add(f"{layer}.{block.norm}", Norm(self.settings.width)) if self.settings.layer_norm else ""
        self.order.append((name, norm))

    def _add(self, name: str, module: nn.Module) -> str:
        """Adds a module under a name; under a number below it, if others have the name."""
        parent, _, last = name.rpartition(".")
        others = sum(taken == name or taken.startswith(f"{name}.") for pair in self.order for taken in pair)
        if others:
            parent, last = name, str(others)
        self.get_submodule(parent).add_module(last, module)
        return f"{parent}.{last}"

    def blocks(self) -> list[tuple[Block, Norm | None]]:
        """All blocks in order, each with its norm if there is one."""
        return [(self.get_submodule(name), self.get_submodule(norm) if norm else None) for name, norm in self.order]  # type: ignore[misc]

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens [..., t] to logits [..., t, k]."""
        check_length(tokens, self.settings.length)
        h = self.drop_embedding(self.embed(tokens))
        for block, norm in self.blocks():
            h = h + self.drop_added(block(h if norm is None else norm(h)))
        logits: Tensor = self.unembed(self.final_norm(h), self.embed.E)
        return logits


def _block(settings: TransformerSettings, index: int) -> Block:
    """A block, from the file of its kind."""
    own = dict(settings.blocks[index])
    kind = own.pop("kind")
    where = f"model.blocks[{index}]"
    made = found(__package__ or "", kind, f"{where}.kind").Block
    allowed = list(inspect.signature(made).parameters)[1:]
    if unknown := [key for key in own if key not in allowed]:
        raise ValueError(f"{where}.{unknown[0]} has no formula in PyTorch yet; {kind} takes {', '.join(allowed)}")
    block: Block = made(settings, **own)
    return block
