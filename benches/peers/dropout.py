"""The random bits of Induct's dropout, computed as docs/models.md describes them."""

from __future__ import annotations

import math

import numpy as np

from settings import Setting


def bits(setting: Setting, keys: np.ndarray) -> dict[str, np.ndarray]:
    """16 bits for each entry that may be dropped, by site [steps, B, ...], of sequences with keys [steps, B, 2]."""
    drawn: dict[str, np.ndarray] = {}
    first = 0
    for site, shape in setting.dropout_sites().items():
        rows, columns = math.prod(shape[:-1]), shape[-1]
        # Two entries side by side share a hash; every row starts with a new one.
        pairs = rows * ((columns + 1) // 2)
        hashes = hashed(keys, np.arange(first, first + pairs, dtype=np.uint32))
        halves = np.stack([hashes, hashes >> np.uint32(16)], -1).astype(np.uint16)
        by_row = halves.reshape(*keys.shape[:-1], rows, -1)[..., :columns]
        drawn[site] = by_row.reshape(*keys.shape[:-1], *shape)
        first += pairs
    return drawn


def hashed(keys: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """32 bits [..., n] for numbers [n] and keys [..., 2]."""
    mixed = numbers + keys[..., :1]
    mixed ^= mixed >> np.uint32(16)
    mixed *= np.uint32(0x7FEB352D)
    mixed ^= mixed >> np.uint32(15)
    mixed += keys[..., 1:]
    mixed *= np.uint32(0x846CA68B)
    mixed ^= mixed >> np.uint32(16)
    return mixed
