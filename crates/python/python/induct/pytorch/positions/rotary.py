"""Rotary positions: queries and keys are turned by angles that grow with the position, so that their product depends
on the lag alone. Numbers c and c + d_head/2 of a head form a plane."""

import torch
from torch import Tensor

TABLE = False
BASE = 10_000.0


def products(q: Tensor, k: Tensor, v: None) -> Tensor:
    return turned(q) @ turned(k).mT


def turned(x: Tensor) -> Tensor:
    """Turns the planes of x [..., t, d_head] by p BASE^(-c / planes) at position p."""
    t, planes = x.shape[-2], x.shape[-1] // 2
    # Angles in double precision, as Induct has them.
    speed = BASE ** -(torch.arange(planes, dtype=torch.float64) / planes)
    angle = torch.arange(t, dtype=torch.float64)[:, None] * speed
    cos, sin = angle.cos().to(x), angle.sin().to(x)
    low, high = x.chunk(2, -1)
    return torch.cat([low * cos - high * sin, high * cos + low * sin], -1)
