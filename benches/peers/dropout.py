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
        entries = np.arange(first, first + math.prod(shape), dtype=np.uint32)
        drawn[site] = hashed(keys, entries).reshape(*keys.shape[:-1], *shape)
        first += len(entries)
    return drawn


def hashed(keys: np.ndarray, entries: np.ndarray) -> np.ndarray:
    """16 bits [..., n] for entries [n] of sequences with keys [..., 2]: two entries share one hash of 32."""
    mixed = entries // np.uint32(2) + keys[..., :1]
    mixed ^= mixed >> np.uint32(16)
    mixed *= np.uint32(0x7FEB352D)
    mixed ^= mixed >> np.uint32(15)
    mixed += keys[..., 1:]
    mixed *= np.uint32(0x846CA68B)
    mixed ^= mixed >> np.uint32(16)
    return (mixed >> (np.uint32(16) * (entries % np.uint32(2)))).astype(np.uint16)
