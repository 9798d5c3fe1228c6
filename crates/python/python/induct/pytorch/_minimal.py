"""The paper's minimal model."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from ._parts import check_length, lags, parameter

FORMS = ("linear", "softmax")


class Minimal(nn.Module):
    """The paper's minimal model: f(E) = mask(E W_k (M E)^T) E, with one-hot rows E [t, k] and

    linear    M_ij = v_{i-j}
    softmax   M_ij = softmax over j <= i of v_{i-j}
    """

    def __init__(self, states: int, length: int, form: str) -> None:
        super().__init__()
        self.form = form
        self.W_k = parameter(states, states)
        self.v = parameter(length)

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens [..., t] to logits [..., t, k]."""
        check_length(tokens, len(self.v))
        E = functional.one_hot(tokens, len(self.W_k)).to(self.W_k.dtype)
        lag = lags(tokens.shape[-1], tokens.device)
        M = self.v[lag.clamp(min=0)]
        M = M.tril() if self.form == "linear" else torch.softmax(M.masked_fill(lag < 0, -torch.inf), -1)
        scores = (E @ self.W_k @ (M @ E).mT).tril()
        return scores @ E
