"""Snapshot files (safetensors: header length, JSON header, raw little-endian data), F32 only."""

from __future__ import annotations

import json
import struct
import sys
from array import array
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Tensor:
    """Numbers in row-major order."""

    shape: tuple[int, ...]
    values: array


def read(path: Path) -> dict[str, Tensor]:
    """The tensors of a file, by name."""
    content = path.read_bytes()
    (header_length,) = struct.unpack_from("<Q", content)
    data_start = 8 + header_length
    header = json.loads(content[8:data_start])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        if entry["dtype"] != "F32":
            raise ValueError(f"{path}: {name} is {entry['dtype']}, not F32")
        start, end = entry["data_offsets"]
        values = array("f", content[data_start + start : data_start + end])
        if sys.byteorder == "big":
            values.byteswap()
        tensors[name] = Tensor(tuple(entry["shape"]), values)
    return tensors
