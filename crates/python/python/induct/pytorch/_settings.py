"""What a complete recipe says of a transformer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Dropout:
    """How often entries are set to zero in training."""

    embedding: float = 0.0
    """Entries of the stream below the first layer."""
    attention: float = 0.0
    """Entries of every attention pattern, after the softmax."""
    residual: float = 0.0
    """Entries of what blocks add to the stream."""
    positions: float = 0.0
    """Entries of the vectors of relative positions: one mask for each pair of positions, shared by the batch."""


@dataclass(frozen=True)
class TransformerSettings:
    """A transformer, as its blocks see it."""

    states: int
    length: int
    width: int
    positions: str
    output_projection: str
    activation: str
    biases: bool
    tied: bool
    layer_norm: bool
    dropout: Dropout
    blocks: tuple[dict[str, Any], ...]
    """The settings of every block, `kind` among them."""

    @classmethod
    def of(cls, recipe: Mapping[str, Any]) -> TransformerSettings:
        """The settings of a complete recipe, as a run's `recipe.toml` has it."""
        # Settings that came later are in a recipe only if they differ from the default.
        dropout = setting(recipe, "model.dropout", default=0.0)
        rates = Dropout(**dropout) if isinstance(dropout, Mapping) else Dropout(dropout, dropout, dropout)
        return cls(
            states=setting(recipe, "task.states"),
            length=setting(recipe, "task.length"),
            width=setting(recipe, "model.width"),
            positions=setting(recipe, "model.positions"),
            output_projection=setting(recipe, "model.output_projection", default="several-heads"),
            activation=setting(recipe, "model.activation", default="gelu"),
            biases=setting(recipe, "model.biases", default=False),
            tied=setting(recipe, "model.tied", default=False),
            layer_norm=setting(recipe, "model.layer_norm"),
            dropout=rates,
            blocks=tuple(_blocks(recipe)),
        )


def _blocks(recipe: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The blocks that a recipe lists, or those that it counts."""
    listed = setting(recipe, "model.blocks", default=[])
    if listed:
        return [{"kind": block} if isinstance(block, str) else dict(block) for block in listed]
    layers, width, heads = (setting(recipe, f"model.{key}") for key in ("layers", "width", "heads"))
    heads = tuple(heads) if isinstance(heads, list | tuple) else (heads,) * layers
    if len(heads) != layers or any(count < 1 or width % count for count in heads):
        raise ValueError(f"model.heads is {heads}: expected {layers} numbers that divide the width, {width}")
    ratio = setting(recipe, "model.mlp_ratio", default=4)
    mlp = [{"kind": "mlp", "ratio": ratio}] if setting(recipe, "model.mlp") else []
    return [block for count in heads for block in ({"kind": "attention", "heads": count}, *mlp)]


def setting(recipe: Mapping[str, Any], key: str, default: Any = None) -> Any:
    table, name = key.split(".")
    value = recipe.get(table, {}).get(name, default)
    if value is None:
        raise ValueError(f"the recipe has no {key}; give a complete one, such as a run's recipe.toml")
    return value


def choice(recipe: Mapping[str, Any], key: str, allowed: tuple[str, ...]) -> str:
    value = setting(recipe, key)
    if value not in allowed:
        raise ValueError(f"{key} is {value!r}: expected one of {', '.join(allowed)}")
    return str(value)
