"""Mamba-2 in its smallest form: a linear recurrence whose inputs, outputs and decay depend on the token.

    z = r W_z;  x, B, C = SiLU(conv(r W_x)), SiLU(conv(r W_B)), SiLU(conv(r W_C));  D = softplus(r W_dt + dt_bias)
    h_t = exp(-D_t e^A_log) h_{t-1} + D_t x_t B_t^T;  out_t = (h_t C_t * SiLU(z_t)) W_out

The e d entries of x are divided among heads, which have a D and an A each.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from . import _parts
from ._parts import parameter
from ._settings import TransformerSettings
from .convolution import convolved


class Block(_parts.Block):
    gathers = True
    name = "mamba"
    norm = "mamba_norm"

    def __init__(
        self, model: TransformerSettings, *, state: int = 16, expand: int = 2, heads: int = 1, convolution: int = 4
    ) -> None:
        super().__init__(model)
        d, wide = model.width, expand * model.width
        self.heads = heads
        self.W_x, self.W_B, self.W_C = parameter(d, wide), parameter(d, state), parameter(d, state)
        kernels = [parameter(convolution, size) if convolution > 1 else None for size in (wide, state, state)]
        self.conv_x, self.conv_B, self.conv_C = kernels
        self.W_z, self.W_dt = parameter(d, wide), parameter(d, heads)
        self.dt_bias, self.A_log = parameter(heads), parameter(heads)
        self.W_out = parameter(wide, d)

    def forward(self, r: Tensor) -> Tensor:
        def branch(W: Tensor, kernel: Tensor | None) -> Tensor:
            return functional.silu(r @ W if kernel is None else convolved(r @ W, kernel))

        x, B, C = branch(self.W_x, self.conv_x), branch(self.W_B, self.conv_B), branch(self.W_C, self.conv_C)
        D = functional.softplus(r @ self.W_dt + self.dt_bias)  # [..., t, H]
        decay = torch.exp(-D * self.A_log.exp())
        u = D[..., None] * x.reshape(*x.shape[:-1], self.heads, -1)  # [..., t, H, e d / H]
        h = torch.zeros_like(u[..., 0, :, :, None] * B[..., 0, None, None, :])  # [..., H, e d / H, N]
        rows = []
        for i in range(r.shape[-2]):
            h = decay[..., i, :, None, None] * h + u[..., i, :, :, None] * B[..., i, None, None, :]
            rows.append((h @ C[..., i, None, :, None]).flatten(-3))
        y = torch.stack(rows, -2)  # [..., t, e d]
        return y * functional.silu(r @ self.W_z) @ self.W_out
