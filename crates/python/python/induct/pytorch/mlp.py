"""The MLP: activation(x W_in + b_in) W_out + b_out."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from . import _parts
from ._parts import parameter
from ._settings import TransformerSettings

ACTIVATIONS = ("gelu", "relu", "gelu-exact")


class Block(_parts.Block):
    name = "mlp"
    norm = "mlp_norm"

    def __init__(self, model: TransformerSettings, *, ratio: int = 4, activation: str | None = None) -> None:
        super().__init__(model)
        d, hidden = model.width, ratio * model.width
        self.activation = activation or model.activation
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"activation is {self.activation!r}: expected one of {', '.join(ACTIVATIONS)}")
        self.W_in, self.b_in = parameter(d, hidden), parameter(hidden)
        self.W_out, self.b_out = parameter(hidden, d), parameter(d)

    def forward(self, h: Tensor) -> Tensor:
        return activate(h @ self.W_in + self.b_in, self.activation) @ self.W_out + self.b_out


def activate(x: Tensor, activation: str) -> Tensor:
    if activation == "relu":
        return functional.relu(x)
    return functional.gelu(x, approximate="none" if activation == "gelu-exact" else "tanh")
