"""Causal attention: out_i = sum_j softmax_j(A_ij / sqrt(d_head)) u_j (W_O) by head, with A as `positions` have it."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from . import _parts
from ._parts import found, lags, parameter
from ._settings import TransformerSettings
from .convolution import convolved


class Block(_parts.Block):
    gathers = True
    norm = "attn_norm"

    def __init__(
        self, model: TransformerSettings, *, heads: int = 1, positions: str | None = None, convolution: int = 0
    ) -> None:
        super().__init__(model)
        d = model.width
        if heads < 1 or d % heads:
            raise ValueError(f"heads is {heads}: expected a number that divides the width, {d}")
        self.heads, self.positions = heads, positions or model.positions
        projects = heads > 1 or model.output_projection == "always"
        has_table = found(f"{__package__}.positions", self.positions, "model.positions").TABLE
        kernels = [parameter(convolution, d) if convolution else None for _ in range(3)]
        self.conv_Q, self.conv_K, self.conv_V = kernels
        self.W_Q, self.W_K, self.W_V = parameter(d, d), parameter(d, d), parameter(d, d)
        self.W_O = parameter(d, d) if projects else None
        self.v = parameter(model.length, d) if has_table else None
        has_bias = (model.biases, model.biases, model.biases, model.biases and projects)
        self.b_Q, self.b_K, self.b_V, self.b_O = (parameter(d) if has else None for has in has_bias)
        self.drop_pattern = nn.Dropout(model.dropout.attention)
        self.drop_positions = nn.Dropout(model.dropout.positions)

    def forward(self, h: Tensor) -> Tensor:
        read = (h if kernel is None else convolved(h, kernel) for kernel in (self.conv_Q, self.conv_K, self.conv_V))
        weights = ((self.W_Q, self.b_Q), (self.W_K, self.b_K), (self.W_V, self.b_V))
        products = (x @ W if b is None else x @ W + b for x, (W, b) in zip(read, weights, strict=True))
        q, k, values = (split_heads(x, self.heads) for x in products)
        pattern = torch.softmax(self.scores(q, k), -1)
        mixed = merge_heads(self.drop_pattern(pattern) @ values)
        if self.W_O is None:
            return mixed
        return mixed @ self.W_O if self.b_O is None else mixed @ self.W_O + self.b_O

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        if self.v is None or not self.training or self.drop_positions.p == 0.0:
            return scores(q, k, None if self.v is None else split_heads(self.v, self.heads), self.positions)
        behind = lags(q.shape[-2], q.device)
        # Every pair of positions has a vector, with a mask of its own: [H, t, t, d_head].
        by_pair = self.drop_positions(self.v[behind.clamp(min=0)])
        by_pair = by_pair.unflatten(-1, (self.heads, -1)).movedim(-2, 0)
        meets = q.unsqueeze(-2) if self.positions == "relative-query" else k.unsqueeze(-3)
        products: Tensor = q @ k.mT + (meets * by_pair).sum(-1)
        return (products / math.sqrt(q.shape[-1])).masked_fill(behind < 0, -torch.inf)


def scores(q: Tensor, k: Tensor, v: Tensor | None, positions: str) -> Tensor:
    """Scores [..., H, t, t] of queries and keys [..., H, t, d_head] and vectors by lag v [H, T, d_head], if the
    scheme of positions has them. They are -inf ahead of i."""
    t, d_head = q.shape[-2:]
    scheme = found(f"{__package__}.positions", positions, "model.positions")
    products: Tensor = scheme.products(q, k, v)
    return (products / math.sqrt(d_head)).masked_fill(lags(t, q.device) < 0, -torch.inf)


def split_heads(x: Tensor, heads: int) -> Tensor:
    """[..., t, d] to [..., H, t, d_head]."""
    return x.reshape(*x.shape[:-1], heads, -1).transpose(-2, -3)


def merge_heads(x: Tensor) -> Tensor:
    """[..., H, t, d_head] to [..., t, d]."""
    return x.transpose(-2, -3).flatten(-2)
