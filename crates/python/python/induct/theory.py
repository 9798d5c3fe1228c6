"""The minimal model's exact gradients, and the paper's formulas checked against them."""

from __future__ import annotations

from typing import Any

from . import _command


def ledger() -> list[dict[str, Any]]:
    """Every formula and claim of the paper with a verdict and its evidence."""
    entries: list[dict[str, Any]] = _command.answer("theory")["entries"]
    return entries


def step(*, length: int | None = None, **options: Any) -> dict[str, Any]:
    """Exact W_k and v of the minimal model after each gradient step; options are those of ``induct theory step``."""
    return dict(_command.answer("theory", "step", *_options(length=length, **options)))


def gradient(a: float, b: float, *, length: int | None = None, **options: Any) -> dict[str, Any]:
    """The exact gradient for the chain that stays in its states with probabilities a and b; options are those of
    ``induct theory gradient``."""
    return dict(_command.answer("theory", "gradient", *_options(a=a, b=b, length=length, **options)))


def _options(**options: Any) -> list[str]:
    given = {name: value for name, value in options.items() if value is not None}
    return [word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", str(value))]
