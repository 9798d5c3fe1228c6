"""Parts of a recipe that are Python functions: tasks, priors, strategies, measures."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import pickle
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar, overload

import numpy as np
import numpy.typing as npt

from . import _induct
from ._errors import RecipeError
from ._model import Activations, Model

Scope = Literal["run", "layer", "head", "position"]
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class _Part(Generic[F]):
    function: F
    """The function itself."""
    name: str
    """What recipes, columns and figures call it."""
    settings: Mapping[str, float] = field(default_factory=dict)
    """The numbers that it depends on, which it takes as keywords: runs with other settings are other runs."""
    _takes = 1

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"{type(self).__name__.lower()} needs a function, not {self.function!r}")
        settings = {key: float(number) for key, number in self.settings.items()}
        object.__setattr__(self, "settings", settings)
        try:
            inspect.signature(self.function).bind(*[None] * self._takes, **settings)
        except TypeError as error:
            kind, first = type(self).__name__.lower(), next(iter(settings), None)
            count = "one argument" if self._takes == 1 else f"{self._takes} arguments"
            places = "_, " * self._takes
            takes = f": it takes its settings as keywords, as in f({places}{first})" if first else f": it takes {count}"
            raise TypeError(f'{kind} "{self.name}": {error}{takes}') from None
        except ValueError:
            pass  # Functions of C may not tell what they take.

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **{**self.settings, **kwargs})

    def _bound(self, settings: Mapping[str, float]) -> Callable[..., Any]:
        """The function with the settings that a recipe has."""
        if unknown := sorted(settings.keys() ^ self.settings.keys()):
            allowed = f"the settings of {self.name} are {', '.join(self.settings) or 'none'}"
            raise RecipeError(
                f"settings.{unknown[0]}: no such setting; {allowed}", f"settings.{unknown[0]}", None, allowed
            )
        return functools.partial(self.function, **settings) if settings else self.function

    def __reduce__(self) -> tuple[Any, ...]:
        # A decorated function is not what its name stands for: the part is.
        more = tuple(getattr(self, name) for name in self.__dataclass_fields__ if name != "function")
        return _rebuilt, (type(self), _packed(self), more)

    def _entry(self) -> dict[str, Any]:
        return {"name": self.name, **({"settings": dict(self.settings)} if self.settings else {})}


@dataclass(frozen=True)
class Prior(_Part[Callable[..., npt.ArrayLike]]):
    """A prior over chains: a function that draws a table, one row per context, from a random generator."""

    def _as_setting(self) -> dict[str, Any]:
        return {"kind": "custom", **self._entry()}

    def _native(self) -> _induct.Part:
        def make(settings: dict[str, float]) -> Callable[[int, int, int, int], npt.NDArray[np.float64]]:
            function, rng = self._bound(settings), _generators()

            def draw(first: int, second: int, contexts: int, states: int) -> npt.NDArray[np.float64]:
                table = np.asarray(function(rng(first, second)), dtype=np.float64)
                if table.shape != (contexts, states):
                    raise ValueError(
                        f'prior "{self.name}" returned an array of shape {table.shape}, and needs '
                        f"{(contexts, states)}: one row per context, one column per symbol"
                    )
                return table

            return draw

        return _induct.Part.prior(self.name, make)


def _generators() -> Callable[[int, int], np.random.Generator]:
    """Gives the generator of two seeds, which the next call by the same thread changes."""
    own = threading.local()

    def of(first: int, second: int) -> np.random.Generator:
        if not hasattr(own, "rng"):
            own.rng = np.random.Generator(np.random.Philox(key=0))
            own.start = own.rng.bit_generator.state
        # A new generator with this key would draw the same, and take ten times as long to make.
        own.start["state"]["key"] = np.array([first, second], dtype=np.uint64)
        own.rng.bit_generator.state = own.start
        rng: np.random.Generator = own.rng
        return rng

    return of


@dataclass(frozen=True)
class Strategy(_Part[Callable[..., npt.ArrayLike]]):
    """A predictor: a function from the symbols so far to the distribution of the next one."""

    def _as_setting(self) -> dict[str, Any]:
        return self._entry()

    def _make(self, settings: Mapping[str, float]) -> Callable[[npt.NDArray[np.uint8], int], list[float]]:
        function = self._bound(settings)

        def predict(tokens: npt.NDArray[np.uint8], states: int) -> list[float]:
            answer = np.asarray(function(tokens), dtype=np.float64)
            if answer.shape != (states,):
                raise ValueError(
                    f'strategy "{self.name}" returned an array of shape {answer.shape}, and needs ({states},): '
                    "one probability per symbol"
                )
            return [float(p) for p in answer]

        return predict

    def _native(self) -> _induct.Part:
        return _induct.Part.strategy(self.name, self._make)


@dataclass(frozen=True)
class Task(_Part[Callable[..., tuple[npt.ArrayLike, npt.ArrayLike]]]):
    """A task: a function that draws a sequence, and says which law each of its symbols follows."""

    ladder: Sequence[str | Strategy] = ("uniform", "unigram", "bigram")
    """The strategies that phases are read from, simplest first: names of built-in ones, or parts."""
    _takes = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "ladder", tuple(self.ladder))
        for part in self.ladder:
            if isinstance(part, Strategy) and part.settings:
                raise TypeError(
                    f'strategy "{part.name}" has settings, and recipes name those of task "{self.name}" alone: '
                    "make the strategy with numbers, and give them to the task as settings"
                )

    def _names(self) -> list[str]:
        return [part if isinstance(part, str) else part.name for part in self.ladder]

    def _as_setting(self) -> dict[str, Any]:
        return {"kind": "custom", **self._entry(), "ladder": self._names()}

    def _native(self) -> _induct.Part:
        def make(settings: dict[str, float]) -> Callable[[int, int, int, int], tuple[Any, Any]]:
            function, rng = self._bound(settings), _generators()

            def draw(first: int, second: int, length: int, states: int) -> tuple[Any, Any]:
                symbols, laws = function(rng(first, second), length)
                symbols, laws = np.asarray(symbols), np.ascontiguousarray(laws, dtype=np.float64)
                if symbols.shape != (length,) or laws.shape != (length, states):
                    raise ValueError(
                        f'task "{self.name}" returned arrays of shapes {symbols.shape} and {laws.shape}, and needs '
                        f"{(length,)} and {(length, states)}: the symbols, and the law that each of them follows"
                    )
                if not ((symbols >= 0) & (symbols < states)).all():
                    raise ValueError(f'task "{self.name}" returned symbols that are not from 0 to {states - 1}')
                return symbols.astype(np.uint8), laws

            return draw

        calls = [None if isinstance(part, str) else part._make({}) for part in self.ladder]
        return _induct.Part.task(self.name, make, list(zip(self._names(), calls, strict=True)))


@dataclass(frozen=True)
class Measure(_Part[Callable[..., npt.ArrayLike]]):
    """A number that runs record: a function of the activations on 32 test sequences."""

    scope: Scope = "run"
    """What it has one value for: the run, or every layer, head or position."""
    meaning: str = ""
    """What it is, in a sentence: the label of axes."""
    unit: str = ""
    """Its unit; empty for a bare number."""
    range: tuple[float, float] = (-np.inf, np.inf)
    """The smallest and the largest value that it should have."""

    def _as_setting(self) -> dict[str, Any]:
        entry = {**self._entry(), "scope": self.scope, "meaning": self.meaning}
        if self.unit:
            entry["unit"] = self.unit
        if tuple(self.range) != (-np.inf, np.inf):
            entry["range"] = [float(end) for end in self.range]
        return entry

    def _native(self) -> _induct.Part:
        def make(
            settings: dict[str, float],
        ) -> Callable[[_induct.Model, npt.NDArray[np.uint8], list[str]], list[float]]:
            function = self._bound(settings)

            def read(model: _induct.Model, tokens: npt.NDArray[np.uint8], columns: list[str]) -> list[float]:
                numbers = np.asarray(_flat(function(Activations(Model(model), tokens))), dtype=np.float64).ravel()
                if numbers.size != len(columns):
                    raise ValueError(
                        f'measure "{self.name}" returned {numbers.size} numbers, and needs {len(columns)}: '
                        f"{', '.join(columns[:4])}{', …' if len(columns) > 4 else ''}"
                    )
                return [float(number) for number in numbers]

            return read

        low, high = self.range
        return _induct.Part.measure(self.name, make, self.scope, self.meaning, self.unit, (float(low), float(high)))


def _packed(part: _Part[Any]) -> Any:
    """The function in a form that any pickler takes: where it can be found, or itself."""
    function = part.function
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    found: Any = sys.modules.get(module) if module else None
    for inner in name.split("."):
        found = getattr(found, inner, None)
    if found is not part:
        return function
    if module == "__main__":
        # Another process may have another main module; cloudpickle, which Dask and joblib bring, takes the code along.
        with contextlib.suppress(ImportError):
            import cloudpickle

            return _Pickled(cloudpickle.dumps(function))
    return _Place(str(module), name)


@dataclass(frozen=True)
class _Place:
    """Where a decorated function is found."""

    module: str
    name: str


@dataclass(frozen=True)
class _Pickled:
    """A function as cloudpickle writes it."""

    code: bytes


def _rebuilt(kind: type[_Part[Any]], function: Any, more: tuple[Any, ...]) -> Any:
    if isinstance(function, _Place):
        found: Any = importlib.import_module(function.module)
        for inner in function.name.split("."):
            found = getattr(found, inner)
        function = found.function
    elif isinstance(function, _Pickled):
        function = pickle.loads(function.code)
    return kind(function, *more)


def _flat(values: Any) -> Any:
    """Lists of heads by layer may differ in length."""
    if isinstance(values, (list, tuple)):
        return np.concatenate([np.asarray(inner, dtype=np.float64).ravel() for inner in values]) if values else []
    return values


def _name(function: Callable[..., Any], name: str | None, mark: str) -> str:
    return name if name is not None else getattr(function, "__name__", "part").replace("_", mark)


@overload
def prior(function: Callable[..., npt.ArrayLike], /) -> Prior: ...
@overload
def prior(*, name: str | None = None, **settings: float) -> Callable[[Callable[..., npt.ArrayLike]], Prior]: ...
def prior(function: Any = None, /, *, name: str | None = None, **settings: float) -> Any:
    """Makes a prior of a function, as a decorator.

    The function takes a :class:`numpy.random.Generator`, the only source of chance that it may use, and returns a
    transition table: an array with one row per context and one column per symbol. The numbers that it depends on are
    its settings, which it takes as keywords: recipes carry them, and sweeps can vary them::

        @induct.prior(least=0.8)
        def sticky(rng, least):
            stay = rng.uniform(least, 1)
            return [[stay, 1 - stay], [1 - stay, stay]]

        induct.train("main", set={"task.prior": sticky})

    It is called once per sequence of every batch: 256,000 times in the main preset. Wrapped in a pool,
    ``{"kind": "pool", "size": 10_000, "of": sticky}``, it draws 10,000 chains when a run starts, once for training and
    once for tests.
    """

    def made(function: Callable[..., npt.ArrayLike]) -> Prior:
        return Prior(function, _name(function, name, "-"), settings)

    return made if function is None else made(function)


@overload
def task(function: Callable[..., tuple[npt.ArrayLike, npt.ArrayLike]], /) -> Task: ...
@overload
def task(
    *, name: str | None = None, ladder: Sequence[str | Strategy] = Task.ladder, **settings: float
) -> Callable[[Callable[..., tuple[npt.ArrayLike, npt.ArrayLike]]], Task]: ...
def task(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    ladder: Sequence[str | Strategy] = Task.ladder,
    **settings: float,
) -> Any:
    """Makes a task of a function, as a decorator.

    The function takes a :class:`numpy.random.Generator`, the only source of chance that it may use, and the number of
    symbols, t + 1. It returns the symbols, and the law that each of them follows: an array with one row per symbol,
    the truth that models are compared with. Phases are read from the strategies of its ladder::

        @induct.task(ladder=["uniform", "unigram", "bigram"], slips=0.1)
        def mirrored(rng, length, slips):
            symbols, laws = np.zeros(length, dtype=int), np.full((length, 2), 0.5)
            for i in range(length):
                if i > length // 2:
                    laws[i] = np.where(np.arange(2) == symbols[length - 1 - i], 1 - slips, slips)
                symbols[i] = rng.choice(2, p=laws[i])
            return symbols, laws

        induct.train("main", set={"task.source": mirrored, "task.length": 20})

    It is called once per sequence of every batch.
    """

    def made(function: Callable[..., tuple[npt.ArrayLike, npt.ArrayLike]]) -> Task:
        return Task(function, _name(function, name, "-"), settings, ladder)

    return made if function is None else made(function)


@overload
def strategy(function: Callable[..., npt.ArrayLike], /) -> Strategy: ...
@overload
def strategy(*, name: str | None = None, **settings: float) -> Callable[[Callable[..., npt.ArrayLike]], Strategy]: ...
def strategy(function: Any = None, /, *, name: str | None = None, **settings: float) -> Any:
    """Makes a strategy of a function, as a decorator.

    The function takes the symbols so far, at least one, and returns the distribution of the next one. Runs record
    how far the model is from it, in the column ``kl_NAME``::

        @induct.strategy
        def again(tokens):
            return np.where(np.arange(2) == tokens[-1], 0.9, 0.1)

        induct.train("main", set={"record.custom_strategies": [again]})
    """

    def made(function: Callable[..., npt.ArrayLike]) -> Strategy:
        return Strategy(function, _name(function, name, "-"), settings)

    return made if function is None else made(function)


@overload
def measure(function: Callable[..., npt.ArrayLike], /) -> Measure: ...
@overload
def measure(
    *,
    name: str | None = None,
    scope: Scope = "run",
    meaning: str | None = None,
    unit: str = "",
    range: tuple[float, float] = (-np.inf, np.inf),
    **settings: float,
) -> Callable[[Callable[..., npt.ArrayLike]], Measure]: ...
def measure(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    scope: Scope = "run",
    meaning: str | None = None,
    unit: str = "",
    range: tuple[float, float] = (-np.inf, np.inf),
    **settings: float,
) -> Any:
    """Makes a measure of a function, as a decorator.

    The function takes the :class:`Activations` of the model on 32 sequences of the test set, and returns a number; with
    ``scope="head"``, one per head by layer::

        @induct.measure(scope="head", range=(0, 1))
        def sink(seen):
            '''Attention of the last position to the first.'''
            return [seen[f"layers.{layer}.attn_pattern"][:, :, -1, 0].mean(axis=0) for layer in range(2)]

        induct.train("main", set={"record.custom_measures": [sink]})
    """

    def made(function: Callable[..., npt.ArrayLike]) -> Measure:
        said = meaning if meaning is not None else (function.__doc__ or "").strip().split("\n")[0]
        return Measure(
            function, _name(function, name, "_"), settings, scope=scope, meaning=said, unit=unit, range=range
        )

    return made if function is None else made(function)
