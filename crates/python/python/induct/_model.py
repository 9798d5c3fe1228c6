"""Models: activations by name, predictions, interventions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import numpy.typing as npt

from . import _induct, _toml
from ._errors import InputError
from ._figure import Figure
from ._threads import count_threads
from ._tokens import Tokens, as_rows

if TYPE_CHECKING:
    from torch import nn

    from ._recipe import Recipe

Array = npt.NDArray[np.float32]


class Activations(Mapping[str, Array]):
    """What a model computes on one sequence or on several, by name: ``embed``, ``layers.0.attn_pattern``, ``logits``, …

    Of one sequence, arrays have the shapes that the library's documentation gives, such as [heads, t, t]; of several,
    the first dimension counts sequences.
    """

    def __init__(self, model: Model, tokens: npt.NDArray[np.uint8], single: bool = False) -> None:
        self.model = model
        """The model."""
        self.tokens = tokens[0] if single else tokens
        """What it saw."""
        self._rows = tokens
        self._single = single
        self._arrays: dict[str, Array] | None = None

    @property
    def step(self) -> int:
        """The step of training whose weights the model has."""
        return self.model.step

    def _all(self) -> dict[str, Array]:
        if self._arrays is None:
            found = self.model._native.run(self._rows)
            self._arrays = {name: array[0] if self._single else array for name, array in found}
        return self._arrays

    def __getitem__(self, name: str) -> Array:
        arrays = self._all()
        if name not in arrays:
            raise InputError(f'there is no activation "{name}"; there are {", ".join(arrays)}')
        return arrays[name]

    def __contains__(self, name: object) -> bool:
        return name in self._all()

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in self.items())
        return f"<Activations: {shapes}>"


class Model:
    """A model at given weights, under interventions if there are any. It never changes: methods return another one."""

    def __init__(self, native: _induct.Model, origin: str = "memory", named: tuple[_toml.Named, ...] = ()) -> None:
        self._native = native
        self._origin = origin
        self._named = named

    @property
    def step(self) -> int:
        """The step of training that its weights are from."""
        return self._native.step

    @property
    def states(self) -> int:
        """Number of symbols, k."""
        return self._native.states

    @property
    def length(self) -> int:
        """The longest context, t."""
        return self._native.length

    @property
    def recipe(self) -> Recipe:
        """The recipe of its run, with the interventions that it is under."""
        from ._recipe import Recipe

        return Recipe._of_text(self._native.recipe_toml(), self._named)

    @property
    def interventions(self) -> list[dict[str, Any]]:
        """The interventions that it is under, as recipes write them."""
        return cast("list[dict[str, Any]]", self.recipe.to_dict().get("intervene", []))

    @property
    def weights(self) -> dict[str, Array]:
        """Its weights by tensor, for reading only, without copies."""
        return {name: array.reshape(shape) for name, shape, array in self._native.tensors()}

    def load(self, weights: Mapping[str, Any] | nn.Module) -> Model:
        """The same model with other weights: by tensor, as :attr:`weights` gives them, or those of a PyTorch module
        that :meth:`to_torch` made."""
        if not isinstance(weights, Mapping):
            from . import pytorch

            weights = pytorch.weights_of(weights)
        own = self.weights
        unknown = [name for name in weights if name not in own]
        missing = [name for name in own if name not in weights]
        if unknown or missing:
            wrong = f"unknown: {', '.join(unknown)}" if unknown else f"missing: {', '.join(missing)}"
            raise InputError(f"these are not the tensors of this model ({wrong}); it has {', '.join(own)}")
        tensors = []
        for name, there in own.items():
            array = np.asarray(_as_array(weights[name]), dtype=np.float32)
            if array.shape != there.shape:
                raise InputError(f'tensor "{name}" has shape {array.shape}, and needs {there.shape}')
            tensors.append((name, np.ascontiguousarray(array).ravel()))
        return Model(self._native.with_tensors(tensors), self._origin, self._named)

    def activations(self, tokens: Tokens) -> Activations:
        """Everything that it computes on a sequence, or on several of equal length, by name."""
        rows, single = as_rows(tokens, self.states)
        seen = Activations(self, rows, single)
        seen._all()
        return seen

    def logits(self, tokens: Tokens) -> Array:
        """Logits at every position: [t, k], or [n, t, k] for several sequences."""
        rows, single = as_rows(tokens, self.states)
        logits = self._native.logits(rows)
        return logits[0] if single else logits

    def predict(self, tokens: Tokens) -> Array:
        """The distribution of the next symbol at every position: [t, k], or [n, t, k] for several sequences."""
        rows, single = as_rows(tokens, self.states)
        probabilities = self._native.probabilities(rows)
        return probabilities[0] if single else probabilities

    def attention(self, tokens: Tokens) -> Figure:
        """A picture of what every head attends to on a sequence. Its data are the patterns and scores."""
        rows, single = as_rows(tokens, self.states)
        if not single:
            raise InputError("attention is drawn of one sequence; give one, or look at activations(tokens)")

        def data() -> dict[str, Any]:
            seen = self.activations(rows[0])
            kept = {name: array for name, array in seen.items() if ".attn_" in name}
            return {"tokens": rows[0], **kept}

        return Figure(self._native.attention(rows[0]), data)

    def evaluate(
        self, sequences: int = 4096, *, on: Recipe | Mapping[str, Any] | None = None, threads: int | None = None
    ) -> dict[str, dict[str, float]]:
        """How far the truth and the strategies are from it, on fresh sequences, in nats: KL(truth ‖ model) under
        ``truth``, KL(strategy ‖ model) under each strategy. Each has the mean at the last position, ``kl``, its
        standard error ``se``, and both over all positions, ``kl_all`` and ``se_all``.

        Sequences are those of its own task; with `on`, of another recipe's, or with settings that differ:
        ``model.evaluate(on={"task.prior": "iid"})``."""
        from ._recipe import Recipe

        other = self.recipe.replace(on) if isinstance(on, Mapping) else on
        if other is not None and not isinstance(other, Recipe):
            raise TypeError(f"on is a recipe, or settings that differ, not {on!r}")
        found: dict[str, dict[str, float]] = {}
        for name, (mean, se), everywhere in self._native.evaluate(
            _count(sequences, "sequences"), count_threads(threads), other._native if other is not None else None
        ):
            found[name] = {"kl": mean, "se": se}
            if everywhere is not None:
                found[name] |= {"kl_all": everywhere[0], "se_all": everywhere[1]}
        return found

    def worth(
        self,
        sequences: int = 4096,
        instead: Literal["zero", "mean", "resample"] = "zero",
        threads: int | None = None,
    ) -> dict[str, dict[str, float]]:
        """What each part is worth: how much KL(truth ‖ model) grows, in nats, if something meaningless stands in its
        place. Parts are heads, MLPs, the embedding, and the paths between them."""
        parts = self._native.worth(_count(sequences, "sequences"), instead, count_threads(threads))
        return {part: {"worth": mean, "se": se} for part, mean, se in parts}

    def ablate(
        self,
        at: str,
        *,
        instead: Literal["zero", "mean", "resample"] = "zero",
        to: str | None = None,
        part: Literal["uniform"] | None = None,
    ) -> Model:
        """The model without a part: ``layers.0.heads.0``, ``layers.0.mlp_out``, ``embed``; for one reader only, if `to`
        names it."""
        return self._under({"kind": "ablate", "at": at, "with": instead, "to": to, "part": part})

    def clamp(self, at: str, pattern: str | Model) -> Model:
        """The model with a head's attention held at a pattern: ``"previous-token"``, ``"induction"``, ``"uniform"``,
        ``"same-token"``, ``"lag:3"``, or what another model's weights give on the same sequence."""
        return self._under({"kind": "clamp", "at": at, "pattern": pattern})

    def patch(self, at: str, source: Model | Literal["resample"], *, to: str | None = None) -> Model:
        """The model with an activation as it is with another model's weights on the same sequence, or on another
        sequence of the batch."""
        return self._under({"kind": "patch", "at": at, "with": source, "to": to})

    def without_interventions(self) -> Model:
        """The same weights under no intervention."""
        return Model(self._native.under([], []), self._origin, self._named)

    def _under(self, entry: dict[str, Any]) -> Model:
        named: list[_toml.Named] = []
        text = _toml.value({key: value for key, value in entry.items() if value is not None}, named, "intervene")
        before = [_toml.value(there, [], "intervene") for there in self.interventions]
        models = [model._native for model in named if isinstance(model, Model)]
        return Model(self._native.under([*before, text], models), self._origin, (*self._named, *named))

    def to_torch(self) -> nn.Module:
        """A small PyTorch module with the same weights. Interventions do not come along."""
        from . import pytorch

        return pytorch.build(self.recipe.to_dict(), self.weights)

    def to_lens(self) -> Any:
        """The same weights in TransformerLens, whose hooks then work on them. Interventions do not come along."""
        from . import lens

        return lens.bridge(self.recipe.to_dict(), self.weights)

    def _as_setting(self) -> dict[str, Any]:
        return {"run": self._origin, "step": self.step, "weights": self._native.digest}

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.recipe, list(self.weights.values()), self.step, self._origin)

    def __repr__(self) -> str:
        numbers = sum(array.size for array in self.weights.values())
        changed = "".join(f", {entry['kind']} {entry.get('at', '')}" for entry in self.interventions)
        return f"<Model: {self.states} symbols, {numbers} weights after step {self.step}{changed}>"


def _rebuilt(recipe: Recipe, tensors: list[Array], step: int, origin: str) -> Model:
    native = _induct.model_of(recipe._native, [np.ascontiguousarray(tensor).ravel() for tensor in tensors], step)
    return Model(native, origin, recipe._named)


def _as_array(weights: Any) -> Any:
    """Tensors of PyTorch may be on another device and want a gradient."""
    detach = getattr(weights, "detach", None)
    return detach().cpu().numpy() if detach is not None else weights


def _count(number: int, name: str) -> int:
    if not isinstance(number, (int, np.integer)) or isinstance(number, bool) or not 2 <= number <= 10**8:
        raise InputError(f"{name} = {number!r} is not allowed: a whole number from 2 to 100,000,000")
    return int(number)
