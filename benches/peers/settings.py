"""The standard settings of `induct bench`, for the peers and for the recipes that check them; the minimal one twice, in both
ways that a peer may compute it."""

from __future__ import annotations

from dataclasses import dataclass

BATCH = 64
"""Sequences a step."""

STRETCH = 20
"""Steps in one stretch of timing, as in `induct bench`."""


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
        return kind.startswith("W_") or kind == "P"


@dataclass(frozen=True)
class Sgd:
    """Plain gradient descent."""

    lr: float


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
    mlp: bool = False
    masked: bool = False
    """Whether peers compute the minimal model with masked t x t scores, as its formula is written, not by running sums"""
    optimizer: AdamW | Sgd = AdamW()

    @property
    def contexts(self) -> int:
        """Rows of a transition table."""
        return self.states ** (self.ngram - 1)

    @property
    def bench(self) -> str:
        """What `induct bench` calls it."""
        return "minimal" if self.kind == "minimal" else self.name

    @property
    def head_width(self) -> int:
        return self.width // self.heads

    def overrides(self) -> list[str]:
        """The setting as `KEY=VALUE` for `--set` of `induct train` and `induct sample`."""
        task = [f"task.states={self.states}", f"task.ngram={self.ngram}", f"task.length={self.length}"]
        if self.kind == "minimal":
            model = ["model.kind=minimal"]
        else:
            model = [
                f"model.layers={self.layers}",
                f"model.heads={self.heads}",
                f"model.width={self.width}",
                f"model.positions={self.positions}",
                f"model.mlp={str(self.mlp).lower()}",
            ]
        return [*task, *model, f"train.batch={BATCH}", f"train.optimizer={self._optimizer()}"]

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
    )
}
