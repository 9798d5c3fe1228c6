"""What is compared, for the peers and for Induct: the standard settings of `induct bench` (the minimal one twice, in both
ways that a peer may compute it), models as others build them, and experiments with interventions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

BATCH = 64
"""Sequences a step."""

STRETCH = 20
"""Steps in one stretch of timing."""

INIT_STD = 0.02

DROPOUT_LEVELS = 65536
"""16 bits decide whether dropout keeps an entry, so a rate is a multiple of one over this."""


@dataclass(frozen=True)
class AdamW:
    """Adam with decoupled weight decay, on matrices that multiply activations only."""

    lr: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.95)
    epsilon: float = 1e-8
    weight_decay: float = 0.1

    @staticmethod
    def decays(tensor: str) -> bool:
        """Whether weight decay acts on the tensor of that name."""
        kind = tensor.rsplit(".", 1)[-1]
        return kind.startswith(("W_", "conv_")) or kind == "P"


@dataclass(frozen=True)
class Sgd:
    """Plain gradient descent."""

    lr: float


Recurrence = Literal["chunks", "steps", "associative"]
"""Chunk by chunk, in the form that Mamba-2 is trained in; position by position; or as an associative scan."""


@dataclass(frozen=True)
class Mamba:
    """A block of Mamba-2 in its smallest form; the letters are those of Induct's documentation."""

    state: int = 16
    """N"""
    expand: int = 2
    heads: int = 1
    convolution: int = 4

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        """Its tensors in a stream of that width."""
        wide, taps = self.expand * width, self.convolution
        return {
            "W_x": (width, wide),
            "conv_x": (taps, wide),
            "W_B": (width, self.state),
            "conv_B": (taps, self.state),
            "W_C": (width, self.state),
            "conv_C": (taps, self.state),
            "W_z": (width, wide),
            "W_dt": (width, self.heads),
            "dt_bias": (self.heads,),
            "A_log": (self.heads,),
            "W_out": (wide, width),
        }

    def override(self) -> str:
        """It as a block of a recipe."""
        settings = f"state={self.state}, expand={self.expand}, heads={self.heads}, convolution={self.convolution}"
        return f'{{kind="mamba", {settings}}}'


@dataclass(frozen=True)
class Setting:
    """What is trained; the letters are those of Induct's documentation."""

    name: str
    states: int = 2
    """k"""
    ngram: int = 2
    """n: the next symbol depends on the n-1 before it"""
    length: int = 100
    """t: a sequence has t+1 symbols"""
    kind: str = "transformer"
    layers: int = 2
    heads: int = 1
    width: int = 16
    positions: str = "relative-key"
    """or relative-query, absolute"""
    mlp: bool = False
    mamba: Mamba | None = None
    """What every layer is, in place of attention and an MLP"""
    recurrence: Recurrence = "chunks"
    """How a peer computes that; Induct's step is the same"""
    layer_norm: bool = False
    """Before attention, before the MLP and before the output"""
    output_projection: bool = False
    """Whether there is a W_O although there is one head"""
    output_std: float = INIT_STD
    """Standard deviation of the entries of W_O before training"""
    dropout: float = 0.0
    """In training: on the embedding, on attention patterns and on what a layer adds to the stream"""
    start: str = "stationary"
    """or uniform: the law of the first n-1 symbols"""
    masked: bool = False
    """Whether peers compute the minimal model with masked t x t scores, as its formula is written, not by running sums"""
    intervened: bool = False
    """Whether the heads of the first of two layers attend to the symbol before (the first position to itself), and the
    logits do not see what they write"""
    optimizer: AdamW | Sgd = AdamW()
    loss_tolerance: float = 1e-4
    """How far a peer's losses may be from Induct's over the replayed steps"""

    @property
    def contexts(self) -> int:
        """Rows of a transition table."""
        return self.states ** (self.ngram - 1)

    @property
    def without_interventions(self) -> Setting:
        return replace(self, intervened=False)

    @property
    def head_width(self) -> int:
        return self.width // self.heads

    @property
    def projects(self) -> bool:
        """Whether layers have a W_O."""
        return self.heads > 1 or self.output_projection

    @property
    def dropped_below(self) -> int:
        """Of DROPOUT_LEVELS values, how many drop an entry."""
        return int(self.dropout * DROPOUT_LEVELS + 0.5)

    @property
    def kept_scale(self) -> float:
        """What multiplies the entries that dropout keeps."""
        return DROPOUT_LEVELS / (DROPOUT_LEVELS - self.dropped_below)

    def dropout_sites(self) -> dict[str, tuple[int, ...]]:
        """Where dropout acts, with the shape of one sequence's mask; nowhere if the rate is zero."""
        if not self.dropped_below:
            return {}
        stream = (self.length, self.width)
        sites: dict[str, tuple[int, ...]] = {"embed": stream}
        for layer in range(self.layers):
            sites[f"layers.{layer}.pattern"] = (self.heads, self.length, self.length)
            sites[f"layers.{layer}.attention"] = stream
            if self.mlp:
                sites[f"layers.{layer}.mlp"] = stream
        return sites

    def overrides(self) -> list[str]:
        """The setting as `KEY=VALUE` for `--set`, on top of the preset `main`."""
        task = [f"task.states={self.states}", f"task.ngram={self.ngram}", f"task.length={self.length}"]
        if self.start != "stationary":
            task.append(f"task.start={self.start}")
        if self.kind == "minimal":
            model = ["model.kind=minimal"]
        elif self.mamba is not None:
            blocks = ", ".join([self.mamba.override()] * self.layers)
            model = [f"model.blocks=[{blocks}]", f"model.width={self.width}"]
        else:
            model = [
                f"model.layers={self.layers}",
                f"model.heads={self.heads}",
                f"model.width={self.width}",
                f"model.positions={self.positions}",
                f"model.mlp={str(self.mlp).lower()}",
                f"model.layer_norm={str(self.layer_norm).lower()}",
            ]
            if self.output_projection:
                model.append("model.output_projection=always")
            if self.output_std != INIT_STD:
                model.append(f"model.init_std={{default={INIT_STD}, W_O={self.output_std}}}")
            if self.dropout:
                model.append(f"model.dropout={self.dropout}")
        train = [f"train.batch={BATCH}", f"train.optimizer={self._optimizer()}"]
        return [*task, *model, *train, *([f"intervene={self._interventions()}"] if self.intervened else [])]

    def _interventions(self) -> str:
        clamp = '{kind="clamp", at="layers.0", pattern="previous-token"}'
        ablations = [f'{{kind="ablate", at="layers.0.heads.{head}", to="logits"}}' for head in range(self.heads)]
        return f"[{', '.join([clamp, *ablations])}]"

    def _optimizer(self) -> str:
        rule = self.optimizer
        if isinstance(rule, Sgd):
            return f'{{kind="sgd", lr={rule.lr}}}'
        return (
            f'{{kind="adamw", lr={rule.lr}, betas=[{rule.betas[0]}, {rule.betas[1]}], '
            f"epsilon={rule.epsilon}, weight_decay={rule.weight_decay}}}"
        )


SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting("main"),
        Setting("three-states", states=3),
        Setting("trigram-wide", ngram=3, length=200, width=48, heads=3),
        Setting("many-states", states=10, length=200, width=32),
        Setting("one-layer-mlp", layers=1, mlp=True, positions="absolute"),
        Setting("minimal", kind="minimal", optimizer=Sgd(lr=2e-3)),
        Setting("minimal-masked", kind="minimal", masked=True, optimizer=Sgd(lr=2e-3)),
        Setting("relative-query", positions="relative-query"),
        Setting("layer-norm", layer_norm=True),
        Setting("layer-norm-relative-query", layer_norm=True, positions="relative-query"),
        Setting("layer-norm-mlp", layer_norm=True, mlp=True),
        Setting("ten-states-mlp", states=10, length=128, width=64, heads=4, layer_norm=True, mlp=True),
        Setting(
            "released",
            positions="relative-query",
            layer_norm=True,
            output_projection=True,
            output_std=0.01,
            dropout=0.1,
            start="uniform",
            optimizer=AdamW(lr=5e-4),
        ),
    )
}

INTERVENED: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting("intervened", intervened=True, loss_tolerance=1e-5),
        Setting("intervened-absolute", positions="absolute", output_projection=True, intervened=True),
    )
}
"""Compared by `intervene.py`; the second is the model that TransformerLens can build."""

RECURRENT: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting("mamba", length=512, layers=1, width=8, mamba=Mamba()),
        Setting("mamba-steps", length=512, layers=1, width=8, mamba=Mamba(), recurrence="steps"),
        Setting("mamba-associative", length=512, layers=1, width=8, mamba=Mamba(), recurrence="associative"),
    )
}
"""Compared by `recurrent.py`: one model, in the ways that a peer may compute it."""
