"""What recipes can say of models, blocks, sources, priors and optimisers, as the engine declares it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from . import _induct


@dataclass(frozen=True)
class Setting:
    """A key of a recipe's table."""

    key: str
    """Its name."""
    meaning: str
    """What it means, in a sentence or two."""
    takes: Literal["count", "number", "flag", "choice", "toml"]
    """What it takes: a whole number, a number, true or false, one of a few words, or anything else."""
    choices: dict[str, str]
    """The words that it takes, each with its meaning; empty if it takes something else."""
    default: str | None
    """Its default as TOML; ``None`` if it has to be set, or something else decides while it is unset."""


@dataclass(frozen=True)
class Kind:
    """A kind of thing with its settings."""

    kind: str
    """Its name in recipes."""
    meaning: str
    """What it is."""
    settings: tuple[Setting, ...]
    """Its settings, in order."""


@dataclass(frozen=True)
class Schema:
    """What has a kind in a recipe."""

    model: tuple[Kind, ...]
    """Of ``model``."""
    block: tuple[Kind, ...]
    """Of an entry of ``model.blocks``."""
    source: tuple[Kind, ...]
    """Of ``task.source``."""
    prior: tuple[Kind, ...]
    """Of ``task.prior``."""
    optimizer: tuple[Kind, ...]
    """Of ``train.optimizer``."""


def schema() -> Schema:
    """Every kind of model, block, source, prior and optimiser.

    Each has its settings: ``induct.schema().block[0].settings``."""
    found = json.loads(_induct.schema_json())
    return Schema(**{what: tuple(_kind(kind) for kind in kinds) for what, kinds in found.items()})


def _kind(of: dict[str, Any]) -> Kind:
    return Kind(of["kind"], of["meaning"], tuple(_setting(setting) for setting in of["settings"]))


def _setting(of: dict[str, Any]) -> Setting:
    takes = of["takes"]
    words = {word["name"]: word["meaning"] for word in takes["choice"]} if isinstance(takes, dict) else {}
    return Setting(of["key"], of["meaning"], "choice" if words else takes, words, of["default"])
