"""A_ij = (q_i + v_{i-j}) . k_j."""

import torch
from torch import Tensor

from induct.pytorch._parts import lags

TABLE = True


def products(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    t = q.shape[-2]
    behind = lags(t, q.device).clamp(min=0)
    return q @ k.mT + (k @ v.mT)[..., torch.arange(t, device=q.device), behind]  # row j, column i - j
