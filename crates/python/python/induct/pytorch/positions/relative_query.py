"""A_ij = q_i . (k_j + v_{i-j})."""

import torch
from torch import Tensor

from induct.pytorch._parts import lags

TABLE = True


def products(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    t = q.shape[-2]
    behind = lags(t, q.device).clamp(min=0)
    return q @ k.mT + (q @ v.mT)[..., torch.arange(t, device=q.device)[:, None], behind]  # row i, column i - j
