"""Recipes: everything that determines a run."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _induct, _toml
from ._errors import RecipeError
from ._model import Model
from ._parts import _Part
from ._tokens import Tokens, as_rows

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class Settings(Mapping[str, Any]):
    """Settings of a recipe, as attributes and as a mapping."""

    def __init__(self, path: str, settings: Mapping[str, Any]) -> None:
        self.__dict__["_path"] = path
        self.__dict__["_settings"] = settings

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            there = ", ".join(self._settings)
            raise AttributeError(f"{self._path or 'the recipe'} has no setting {name!r}; it has {there}") from None

    def __setattr__(self, name: str, value: object) -> None:
        path = f"{self._path}.{name}" if self._path else name
        raise AttributeError(f"recipes do not change: recipe.replace({{{path!r}: {value!r}}}) gives another one")

    def __getitem__(self, name: str) -> Any:
        found = self._settings[name]
        path = f"{self._path}.{name}" if self._path else name
        return Settings(path, found) if isinstance(found, Mapping) else found

    def __iter__(self) -> Iterator[str]:
        return iter(self._settings)

    def __len__(self) -> int:
        return len(self._settings)

    def __dir__(self) -> list[str]:
        return sorted(self._settings)

    def __repr__(self) -> str:
        return f"Settings({dict(self._settings)!r})"


class Batch(NamedTuple):
    """The sequences of a training step, and the chains that wrote them."""

    tokens: npt.NDArray[np.uint8]
    """[batch, t + 1]"""
    tables: npt.NDArray[np.float64]
    """[batch, contexts, k]; for a task without tables, the distributions of all symbols but the first, [batch, t, k]"""

    @property
    def contexts(self) -> npt.NDArray[np.uint8]:
        """What a model sees of them: all but the last symbol, [batch, t]."""
        return self.tokens[:, :-1]


class Recipe:
    """Everything that determines a run. It does not change; :meth:`replace` gives another one.

    ``Recipe("main")`` is a preset, ``Recipe("mine.toml")`` a file, ``Recipe({"train": {"steps": 500}})`` a dict that
    says what differs from the defaults. Settings are attributes: ``recipe.train.optimizer.lr``.
    """

    _native: _induct.Recipe
    _named: tuple[_toml.Named, ...]

    def __init__(
        self,
        source: str | Path | Mapping[str, Any] | Recipe = "main",
        set: Mapping[str, Any] | None = None,
        *,
        seed: int | None = None,
    ) -> None:
        named: list[_toml.Named] = []
        overrides = _toml.overrides(source, named) if isinstance(source, Mapping) else []
        overrides += _toml.overrides(set or {}, named)
        if seed is not None:
            overrides += [f"seeds.init={_seed(seed)}", f"seeds.data={_seed(seed)}"]
        _check_names(named)
        if isinstance(source, Recipe):
            named = [*(old for old in source._named if not any(_replaces(new, old) for new in named)), *named]
        self._native = _read(source, overrides, [_native(part) for part in named])
        self._named = _still_named(named, self.to_toml())

    @classmethod
    def _of(cls, native: _induct.Recipe, named: tuple[_toml.Named, ...]) -> Recipe:
        recipe = cls.__new__(cls)
        recipe._native, recipe._named = native, named
        return recipe

    @classmethod
    def _of_text(cls, text: str, named: tuple[_toml.Named, ...] = ()) -> Recipe:
        return cls._of(_induct.Recipe.read(text, [], [_native(part) for part in named]), named)

    def replace(self, set: Mapping[str, Any] | None = None, *, seed: int | None = None) -> Recipe:
        """The recipe with other settings: ``recipe.replace({"train.steps": 500})``. A seed sets ``seeds.init`` and
        ``seeds.data``."""
        return Recipe(self, set, seed=seed)

    def to_toml(self) -> str:
        """The whole recipe as TOML: enough to repeat the run, except for the code of Python's functions."""
        return self._native.to_toml()

    def to_dict(self) -> dict[str, Any]:
        """The whole recipe as a dict."""
        return tomllib.loads(self.to_toml())

    def save(self, path: str | Path) -> Path:
        """Writes it to a file that ``induct train`` and :class:`Recipe` read."""
        path = Path(path)
        path.write_text(self.to_toml(), encoding="utf-8")
        return path

    @property
    def identity(self) -> str:
        """Identifies a run of it: a digest of the recipe, of the version of the numerics, and of the instructions."""
        return self._native.identity

    def differences(self, other: Recipe) -> dict[str, tuple[str | None, str | None]]:
        """The keys in which another recipe differs, with both values as TOML."""
        return {key: (old, new) for key, old, new in self._native.differences(other._native)}

    def batch(self, step: int = 0) -> Batch:
        """Exactly the batch that a step trains on."""
        if not isinstance(step, (int, np.integer)) or not 0 <= step < 2**63:
            raise RecipeError(f"step = {step!r} is not allowed: a whole number from 0 on", "step", repr(step))
        return Batch(*self._native.batch(int(step)))

    @property
    def strategies(self) -> list[str]:
        """The names of the strategies that its task has, and of its own."""
        return self._native.strategies()

    def predict(self, strategy: str, tokens: Tokens) -> npt.NDArray[np.float64]:
        """A strategy's distribution of the next symbol at every position: [t, k], or [n, t, k] for several
        sequences."""
        rows, single = as_rows(tokens, int(self.task.states))
        found = [self._native.predict(strategy, row) for row in rows]
        return found[0] if single else np.stack(found)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(Settings("", self.to_dict()), name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.to_dict()})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recipe) and self.to_toml() == other.to_toml()

    def __hash__(self) -> int:
        return hash(self.to_toml())

    def __reduce__(self) -> tuple[Any, ...]:
        return Recipe._of_text, (self.to_toml(), self._named)

    def __repr__(self) -> str:
        differs = Recipe({}).differences(self)
        shown = ", ".join(f"{key} = {new}" for key, (_, new) in differs.items() if key != "name")
        return f"<Recipe {self.name}: {shown or 'the defaults'}>"


def _read(source: object, overrides: list[str], parts: list[Any]) -> _induct.Recipe:
    if isinstance(source, Recipe):
        return _induct.Recipe.read(source.to_toml(), overrides, parts)
    if isinstance(source, Mapping):
        return _induct.Recipe.read("", overrides, parts)
    if isinstance(source, str):
        found = _induct.Recipe.named(source, overrides, parts)
        if found is not None:
            return found
    if not isinstance(source, (str, Path)):
        allowed = "the name of a preset, a TOML file, a dict or a Recipe"
        raise RecipeError(f"recipe = {source!r} is not allowed: {allowed}", "recipe", repr(source), allowed)
    try:
        text = _text(Path(source))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not a text file"
        names = ", ".join(preset.name for preset in presets())
        raise RecipeError(
            f"{source} is not a preset, and cannot be read as a file ({why}); the presets are {names}", "recipe"
        ) from None
    return _induct.Recipe.read(text, overrides, parts)


_MOST_BYTES = 1 << 20


def _text(path: Path) -> str:
    """The text of a file that may be anything: a pipe may never end, and a device may have no end."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is not a regular file")
    with path.open("rb") as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise OSError(errno.EFBIG, f"it has more than the {_MOST_BYTES} bytes that a recipe may have")
    return data.decode("utf-8")


def _replaces(new: _toml.Named, old: _toml.Named) -> bool:
    """Whether recipes call both the same."""
    return isinstance(new, _Part) and type(new) is type(old) and new.name == getattr(old, "name", None)


def _check_names(named: list[_toml.Named]) -> None:
    for at, part in enumerate(named):
        for other in named[:at]:
            if _replaces(part, other) and part.function is not other.function:  # type: ignore[attr-defined]
                kind, name = type(part).__name__.lower(), part.name  # type: ignore[attr-defined]
                allowed = "two functions need two names"
                raise RecipeError(
                    f'name = "{name}" is not allowed: there is another {kind} of that name; {allowed}',
                    "name",
                    name,
                    allowed,
                )


def _still_named(named: list[_toml.Named], text: str) -> tuple[_toml.Named, ...]:
    """Those that the recipe with this text still names."""

    def word(part: _toml.Named) -> str:
        return _toml.value(part._as_setting()["weights" if isinstance(part, Model) else "name"], [], "")

    return tuple(part for part in named if f"= {word(part)}" in text)


def _native(part: _toml.Named) -> Any:
    if isinstance(part, Model):
        return part._native
    assert isinstance(part, _Part)
    return part._native()  # type: ignore[attr-defined]


def _seed(seed: int) -> int:
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**63:
        allowed = "a whole number from 0 on"
        raise RecipeError(f"seed = {seed!r} is not allowed: {allowed}", "seed", repr(seed), allowed)
    return int(seed)


@dataclass(frozen=True)
class Preset:
    """A recipe that has a name."""

    name: str
    about: str
    """What it shows, in a line."""
    origin: str
    """Where it comes from: ``printed`` in the paper, ``released`` by its authors, or ``recommended``."""


def presets(all: bool = False) -> list[Preset]:
    """The built-in recipes; with `all`, also the points of series and the settings of benchmarks."""
    return [Preset(name, about, origin) for name, about, origin, listed in _induct.settings() if listed or all]
