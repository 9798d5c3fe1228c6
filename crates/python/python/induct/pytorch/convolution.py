"""A short causal convolution of every column of the stream: y_i = sum_{l < w} k_l * x_{i-l}."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from . import _parts
from ._parts import parameter
from ._settings import TransformerSettings


class Block(_parts.Block):
    gathers = True
    name = "convolution"
    norm = "convolution_norm"

    def __init__(self, model: TransformerSettings, *, length: int = 4) -> None:
        super().__init__(model)
        self.kernel = parameter(length, model.width)

    def forward(self, h: Tensor) -> Tensor:
        return convolved(h, self.kernel)


def convolved(x: Tensor, kernel: Tensor) -> Tensor:
    """x [..., t, d] with a kernel [w, d], whose row 0 is the current position's."""
    t, length = x.shape[-2], len(kernel)
    before = functional.pad(x, (0, 0, length - 1, 0))
    shifted = (kernel[lag] * before[..., length - 1 - lag : length - 1 - lag + t, :] for lag in range(length))
    return sum(shifted, x.new_zeros(()))
