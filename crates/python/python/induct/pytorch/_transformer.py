"""Induct's models as PyTorch modules, written like their formulas.

    h = E[x]                                  (+ absolute position)
    h = h + softmax(scores(norm h)) values    (W_O), for every layer
    h = h + MLP(norm h)                       if it has one
    logits = norm(h) P

`norm` is the identity without layer norm. Row vectors multiply matrices from the left, and heads are contiguous blocks
of columns. Parameters have the names and shapes of Induct's tensors, so a snapshot is a state dict:

    recipe = tomllib.loads(pathlib.Path("runs/main/recipe.toml").read_text())
    weights = safetensors.numpy.load_file("runs/main/snapshots/step-001500.safetensors")
    model = build(recipe, weights)
    logits = model(torch.tensor([0, 1, 1, 0]))  # [4, k]

A recipe's interventions are not part of the module. Dropout acts in training mode; PyTorch draws its masks, so they are
not those of Induct's own run.

Letters: k states, t length of a sequence, T longest sequence, d width, H heads of a layer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

POSITIONS = ("relative-key", "relative-query", "absolute", "none")
OUTPUT_PROJECTIONS = ("several-heads", "always")
ACTIVATIONS = ("gelu", "relu")
FORMS = ("linear", "softmax")
NORM_EPSILON = 1e-5
MLP_FACTOR = 4
"""Hidden width of the MLP, in units of d."""


# --- settings ---


@dataclass(frozen=True)
class Dropout:
    """How often entries are set to zero in training."""

    embedding: float = 0.0
    """Entries of the stream below the first layer."""
    attention: float = 0.0
    """Entries of every attention pattern, after the softmax."""
    residual: float = 0.0
    """Entries of what attention and MLP add to the stream."""


@dataclass(frozen=True)
class TransformerSettings:
    states: int
    length: int
    width: int
    heads: tuple[int, ...]
    """One number per layer."""
    positions: str
    output_projection: str
    mlp: bool
    activation: str
    layer_norm: bool
    dropout: Dropout

    @classmethod
    def of(cls, recipe: Mapping[str, Any]) -> TransformerSettings:
        """The settings of a complete recipe, as a run's `recipe.toml` has it."""
        layers, width, heads = (_setting(recipe, f"model.{key}") for key in ("layers", "width", "heads"))
        heads = tuple(heads) if isinstance(heads, list | tuple) else (heads,) * layers
        if len(heads) != layers or any(count < 1 or width % count for count in heads):
            raise ValueError(f"model.heads is {heads}: expected {layers} numbers that divide the width, {width}")
        # Settings that came later are in a recipe only if they differ from the default.
        dropout = _setting(recipe, "model.dropout", default=0.0)
        rates = Dropout(**dropout) if isinstance(dropout, Mapping) else Dropout(dropout, dropout, dropout)
        return cls(
            states=_setting(recipe, "task.states"),
            length=_setting(recipe, "task.length"),
            width=width,
            heads=heads,
            positions=_choice(recipe, "model.positions", POSITIONS),
            output_projection=_choice(recipe, "model.output_projection", OUTPUT_PROJECTIONS, default="several-heads"),
            mlp=_setting(recipe, "model.mlp"),
            activation=_choice(recipe, "model.activation", ACTIVATIONS, default="gelu"),
            layer_norm=_setting(recipe, "model.layer_norm"),
            dropout=rates,
        )

    @property
    def relative(self) -> bool:
        """Whether each layer has a table of relative positions."""
        return self.positions in ("relative-key", "relative-query")

    def projects(self, layer: int) -> bool:
        """Whether a layer has an output projection."""
        return self.heads[layer] > 1 or self.output_projection == "always"


def _setting(recipe: Mapping[str, Any], key: str, default: Any = None) -> Any:
    table, name = key.split(".")
    value = recipe.get(table, {}).get(name, default)
    if value is None:
        raise ValueError(f"the recipe has no {key}; give a complete one, such as a run's recipe.toml")
    return value


def _choice(recipe: Mapping[str, Any], key: str, allowed: tuple[str, ...], default: str | None = None) -> str:
    value = _setting(recipe, key, default)
    if value not in allowed:
        raise ValueError(f"{key} is {value!r}: expected one of {', '.join(allowed)}")
    return str(value)


# --- attention ---


def lags(length: int, device: torch.device) -> Tensor:
    """i - j for positions i, j, [t, t]. Negative ahead of i."""
    position = torch.arange(length, device=device)
    return position[:, None] - position


def split_heads(x: Tensor, heads: int) -> Tensor:
    """[..., t, d] to [..., H, t, d_head]."""
    return x.reshape(*x.shape[:-1], heads, -1).transpose(-2, -3)


def merge_heads(x: Tensor) -> Tensor:
    """[..., H, t, d_head] to [..., t, d]."""
    return x.transpose(-2, -3).flatten(-2)


def attention_scores(q: Tensor, k: Tensor, v: Tensor | None, positions: str) -> Tensor:
    """Scores [..., H, t, t] of queries and keys [..., H, t, d_head] and relative positions v [H, T, d_head]:

    relative-key     A_ij = (q_i + v_{i-j}) . k_j / sqrt(d_head)
    relative-query   A_ij = q_i . (k_j + v_{i-j}) / sqrt(d_head)
    otherwise        A_ij = q_i . k_j / sqrt(d_head)

    They are -inf ahead of i.
    """
    t, d_head = q.shape[-2:]
    lag = lags(t, q.device)
    position, behind = torch.arange(t, device=q.device), lag.clamp(min=0)
    scores = q @ k.mT
    if v is not None and positions == "relative-key":
        scores = scores + (k @ v.mT)[..., position, behind]  # row j, column i - j
    if v is not None and positions == "relative-query":
        scores = scores + (q @ v.mT)[..., position[:, None], behind]  # row i, column i - j
    return (scores / math.sqrt(d_head)).masked_fill(lag < 0, -torch.inf)


# --- the transformer ---


def _parameter(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.zeros(shape))


class Embedding(nn.Module):
    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        self.E = _parameter(settings.states, settings.width)
        self.positions = _parameter(settings.length, settings.width) if settings.positions == "absolute" else None

    def forward(self, tokens: Tensor) -> Tensor:
        h = self.E[tokens]
        return h if self.positions is None else h + self.positions[: tokens.shape[-1]]


class Norm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))
        self.bias = _parameter(width)

    def forward(self, h: Tensor) -> Tensor:
        return functional.layer_norm(h, self.gain.shape, self.gain, self.bias, NORM_EPSILON)


class Mlp(nn.Module):
    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        d, hidden = settings.width, MLP_FACTOR * settings.width
        self.activation = settings.activation
        self.W_in, self.b_in = _parameter(d, hidden), _parameter(hidden)
        self.W_out, self.b_out = _parameter(hidden, d), _parameter(d)

    def forward(self, h: Tensor) -> Tensor:
        return activate(h @ self.W_in + self.b_in, self.activation) @ self.W_out + self.b_out


def activate(x: Tensor, activation: str) -> Tensor:
    return functional.relu(x) if activation == "relu" else functional.gelu(x, approximate="tanh")


class Layer(nn.Module):
    def __init__(self, settings: TransformerSettings, index: int) -> None:
        super().__init__()
        d = settings.width
        self.heads, self.positions = settings.heads[index], settings.positions
        self.attn_norm = Norm(d) if settings.layer_norm else nn.Identity()
        self.W_Q, self.W_K, self.W_V = _parameter(d, d), _parameter(d, d), _parameter(d, d)
        self.W_O = _parameter(d, d) if settings.projects(index) else None
        self.v = _parameter(settings.length, d) if settings.relative else None
        self.mlp_norm = Norm(d) if settings.mlp and settings.layer_norm else nn.Identity()
        self.mlp = Mlp(settings) if settings.mlp else None
        self.drop_pattern = nn.Dropout(settings.dropout.attention)
        self.drop_added = nn.Dropout(settings.dropout.residual)

    def attention(self, h: Tensor) -> Tensor:
        """What the heads add to the stream."""
        q, k, values = (split_heads(h @ W, self.heads) for W in (self.W_Q, self.W_K, self.W_V))
        v = None if self.v is None else split_heads(self.v, self.heads)
        pattern = torch.softmax(attention_scores(q, k, v, self.positions), -1)
        mixed = merge_heads(self.drop_pattern(pattern) @ values)
        return mixed if self.W_O is None else mixed @ self.W_O

    def forward(self, h: Tensor) -> Tensor:
        h = h + self.drop_added(self.attention(self.attn_norm(h)))
        if self.mlp is not None:
            h = h + self.drop_added(self.mlp(self.mlp_norm(h)))
        return h


class Unembedding(nn.Module):
    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        self.P = _parameter(settings.width, settings.states)

    def forward(self, h: Tensor) -> Tensor:
        return h @ self.P


class Transformer(nn.Module):
    """A causal transformer, of any architecture that a recipe can describe."""

    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        self.settings = settings
        self.embed = Embedding(settings)
        self.drop_embedding = nn.Dropout(settings.dropout.embedding)
        self.layers = nn.ModuleList(Layer(settings, index) for index in range(len(settings.heads)))
        self.final_norm = Norm(settings.width) if settings.layer_norm else nn.Identity()
        self.unembed = Unembedding(settings)

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens [..., t] to logits [..., t, k]."""
        check_length(tokens, self.settings.length)
        h = self.drop_embedding(self.embed(tokens))
        for layer in self.layers:
            h = layer(h)
        logits: Tensor = self.unembed(self.final_norm(h))
        return logits


def check_length(tokens: Tensor, longest: int) -> None:
    if tokens.shape[-1] > longest:
        raise ValueError(f"a sequence of {tokens.shape[-1]} symbols, but this model sees at most {longest}")


# --- the minimal model ---


class Minimal(nn.Module):
    """The paper's minimal model: f(E) = mask(E W_k (M E)^T) E, with one-hot rows E [t, k] and

    linear    M_ij = v_{i-j}
    softmax   M_ij = softmax over j <= i of v_{i-j}
    """

    def __init__(self, states: int, length: int, form: str) -> None:
        super().__init__()
        self.form = form
        self.W_k = _parameter(states, states)
        self.v = _parameter(length)

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens [..., t] to logits [..., t, k]."""
        check_length(tokens, len(self.v))
        E = functional.one_hot(tokens, len(self.W_k)).to(self.W_k.dtype)
        lag = lags(tokens.shape[-1], tokens.device)
        M = self.v[lag.clamp(min=0)]
        M = M.tril() if self.form == "linear" else torch.softmax(M.masked_fill(lag < 0, -torch.inf), -1)
        scores = (E @ self.W_k @ (M @ E).mT).tril()
        return scores @ E


# --- from and to Induct ---


def build(recipe: Mapping[str, Any], weights: Mapping[str, npt.NDArray[np.float32] | Tensor]) -> Transformer | Minimal:
    """The model of a run's complete recipe with these weights: tensors of a snapshot, or a state dict.

    It is in evaluation mode: without dropout until `.train()`.
    """
    model: Transformer | Minimal
    if _choice(recipe, "model.kind", ("transformer", "minimal")) == "minimal":
        form = _choice(recipe, "model.form", FORMS)
        model = Minimal(_setting(recipe, "task.states"), _setting(recipe, "task.length"), form)
    else:
        model = Transformer(TransformerSettings.of(recipe))
    expected = dict(model.named_parameters())
    for name in weights:
        if name not in expected:
            raise ValueError(f"tensor {name}: found in the weights, but the model has only {', '.join(expected)}")
    with torch.no_grad():
        for name, parameter in expected.items():
            shape = list(parameter.shape)
            if name not in weights:
                raise ValueError(f"tensor {name}: not found in the weights, expected one of shape {shape}")
            found = list(weights[name].shape)
            if found != shape:
                raise ValueError(f"tensor {name}: found shape {found}, expected {shape}")
            parameter.copy_(torch.tensor(_array(weights[name])))
    return model.eval()


def weights_of(model: nn.Module) -> dict[str, npt.NDArray[np.float32]]:
    """A copy of the model's weights under the names of Induct's tensors."""
    return {name: _array(value).copy() for name, value in model.named_parameters()}


def _array(value: npt.NDArray[np.float32] | Tensor) -> npt.NDArray[np.float32]:
    return value.detach().float().cpu().numpy() if isinstance(value, Tensor) else value
