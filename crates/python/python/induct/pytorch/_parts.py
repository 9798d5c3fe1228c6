"""What blocks are made of, and how they are found."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from ._settings import TransformerSettings


class Block(nn.Module):
    """What stands between two states of the stream. Its forward gives what it adds, from what it reads.

    The class `Block` of a file takes the transformer's settings, and its own as keywords.
    """

    gathers: ClassVar[bool] = False
    """Whether a row of its output depends on other rows. It begins a layer then."""
    name: ClassVar[str] = ""
    """Where its tensors are in their layer; empty for those of the layer itself."""
    norm: ClassVar[str]
    """The name of its norm."""

    def __init__(self, model: TransformerSettings) -> None:
        super().__init__()


def parameter(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.zeros(shape))


def lags(length: int, device: torch.device) -> Tensor:
    """i - j for positions i, j, [t, t]. Negative ahead of i."""
    position = torch.arange(length, device=device)
    return position[:, None] - position


def check_length(tokens: Tensor, longest: int) -> None:
    if tokens.shape[-1] > longest:
        raise ValueError(f"a sequence of {tokens.shape[-1]} symbols, but this model sees at most {longest}")


@functools.cache
def found(package: str, name: str, key: str) -> ModuleType:
    """The file of a kind, by its name in recipes."""
    places = importlib.import_module(package).__path__
    files = [module.name for module in pkgutil.iter_modules(places) if module.name[0] != "_" and not module.ispkg]
    names = {file.replace("_", "-"): file for file in files}
    if name not in names:
        raise ValueError(f"{key} is {name!r}: expected one of {', '.join(sorted(names))}")
    return importlib.import_module(f"{package}.{names[name]}")
