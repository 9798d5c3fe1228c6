"""Python's values as TOML, and the functions and models among them as names."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ._errors import RecipeError


@runtime_checkable
class Named(Protocol):
    """What a recipe names rather than contains: a function, or a model's weights."""

    def _as_setting(self) -> dict[str, Any]: ...


def value(of: object, named: list[Named], path: str) -> str:
    """A value as TOML. What it names is added to `named`."""
    if isinstance(of, Named):
        if not any(other is of for other in named):
            named.append(of)
        return value(of._as_setting(), named, path)
    if isinstance(of, np.generic):
        of = of.item()
    if isinstance(of, np.ndarray):
        of = of.tolist()
    if isinstance(of, bool):
        return "true" if of else "false"
    if isinstance(of, int):
        return str(of)
    if isinstance(of, float):
        return _number(of)
    if isinstance(of, str):
        return _text(of)
    if isinstance(of, Mapping):
        entries = [f"{_key(key, path)} = {value(inner, named, f'{path}.{key}')}" for key, inner in of.items()]
        return "{" + ", ".join(entries) + "}"
    if isinstance(of, Iterable) and not isinstance(of, (bytes, bytearray)):
        return "[" + ", ".join(value(inner, named, f"{path}[{at}]") for at, inner in enumerate(of)) + "]"
    allowed = "a number, a text, true or false, a list or a dict"
    kind = type(of).__name__
    raise RecipeError(f"{path} = {of!r} is not allowed: {allowed}, not {kind}", path, repr(of), allowed)


def entries(of: Mapping[str, object], named: list[Named], path: str) -> str:
    """The inside of an inline table."""
    return value(of, named, path)[1:-1]


def overrides(settings: Mapping[str, Any], named: list[Named]) -> list[str]:
    """Settings as `key.path=value`. Keys may be dotted, and values may be nested."""
    found: list[str] = []

    def add(path: str, of: object) -> None:
        # Tables with a kind are set whole: their other keys depend on it.
        if isinstance(of, Mapping) and "kind" not in of:
            for key, inner in of.items():
                add(f"{path}.{_key(key, path)}" if path else _key(key, path, dotted=True), inner)
        else:
            found.append(f"{path}={value(of, named, path)}")

    if not isinstance(settings, Mapping):
        allowed = "a dict, such as {'train.steps': 500}"
        raise RecipeError(f"set = {settings!r} is not allowed: {allowed}", "set", repr(settings), allowed)
    add("", settings)
    return found


def _key(key: object, path: str, dotted: bool = False) -> str:
    parts = key.split(".") if isinstance(key, str) and dotted else [key]
    if not all(isinstance(part, str) and part and part.replace("_", "").replace("-", "").isalnum() for part in parts):
        allowed = "keys are words such as train.steps"
        raise RecipeError(f"{path or 'set'}: {key!r} is not a key: {allowed}", str(key), None, allowed)
    return str(key)


def _number(of: float) -> str:
    if math.isnan(of):
        return "nan"
    if math.isinf(of):
        return "inf" if of > 0 else "-inf"
    text = repr(of)
    # TOML wants a digit on both sides of a point, and 1e-05 as it is.
    return text if any(mark in text for mark in ".e") else f"{text}.0"


def _text(of: str) -> str:
    # TOML's basic strings are JSON's, but for DEL.
    return json.dumps(of, ensure_ascii=False).replace("\x7f", "\\u007f")
