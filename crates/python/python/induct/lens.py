"""TransformerLens on Induct's checkpoints: its hooks, caches and analyses work on transformers of attention and MLPs.

    model = bridge(recipe, weights)
    logits, cache = model.run_with_cache(tokens)
    cache["blocks.0.attn.hook_pattern"]  # [batch, heads, t, t]

TransformerLens wraps a module whose parts are modules: linear maps, norms, attention. `Wrapped` is such a module, with
the scores of `induct.pytorch`, and `Adapter` tells TransformerLens what is what. Hooks sit inside the computation: the
model goes on with what a hook returns, for scores and patterns too.

- Layers without an output projection have the identity as W_O, which does not train.
- `hook_q_input` and its like are absent. Hooks at `blocks.1.attn.q.hook_in`, `k.hook_in` and `v.hook_in` change what
  queries, keys or values read, after the norm.
- Layers may have different numbers of heads; `cfg.n_heads` is then the largest. The weights and activations of each
  layer are right, but do not use what stacks heads of all layers (`model.W_Q`, `cache.stack_head_results`).
- Every layer has attention and at most one MLP, and all have one or none. Other lists of blocks are refused.
- A recipe's interventions are not part of the model: hooks are there for that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from transformer_lens.config import TransformerBridgeConfig
from transformer_lens.factories.architecture_adapter_factory import ArchitectureAdapterFactory
from transformer_lens.model_bridge import ArchitectureAdapter, TransformerBridge
from transformer_lens.model_bridge.generalized_components import (
    AttentionBridge,
    BlockBridge,
    EmbeddingBridge,
    LinearBridge,
    MLPBridge,
    NormalizationBridge,
    PosEmbedBridge,
    UnembeddingBridge,
)
from transformer_lens.model_bridge.generalized_components.base import GeneralizedComponent
from transformer_lens.model_bridge.sources import build_bridge_from_module

from induct import pytorch
from induct.pytorch import attention, mlp
from induct.pytorch._parts import check_length
from induct.pytorch._transformer import NORM_EPSILON, Norm

ARCHITECTURE = "InductTransformer"


def bridge(recipe: Mapping[str, Any], weights: Mapping[str, npt.NDArray[np.float32] | Tensor]) -> TransformerBridge:
    """The model of a run's complete recipe with a snapshot's weights, inside TransformerLens."""
    if recipe.get("model", {}).get("kind") == "minimal":
        raise ValueError('model.kind is "minimal": TransformerLens has hooks for transformers only')
    model = cast(pytorch.Transformer, pytorch.build(recipe, weights))
    layers = _layers(model)
    wrapped = Wrapped(model, layers).eval()
    return build_bridge_from_module(
        wrapped, ARCHITECTURE, tl_config=_config(model.settings, layers), model_name="induct"
    )


@dataclass(frozen=True)
class Layer:
    """The blocks of a layer that TransformerLens has hooks for, and their norms."""

    attention: attention.Block
    attn_norm: Norm | None
    mlp: mlp.Block | None = None
    mlp_norm: Norm | None = None


def _layers(model: pytorch.Transformer) -> list[Layer]:
    layers: list[Layer] = []
    for index, (block, norm) in enumerate(model.blocks()):
        if isinstance(block, attention.Block) and block.conv_Q is None:
            layers.append(Layer(block, norm))
        elif isinstance(block, mlp.Block) and layers and layers[-1].mlp is None:
            layers[-1] = replace(layers[-1], mlp=block, mlp_norm=norm)
        else:
            kind = model.settings.blocks[index]["kind"]
            raise ValueError(
                f"model.blocks[{index}] is {kind!r}: TransformerLens has hooks for attention "
                "without convolution, with at most one MLP after it"
            )
    if model.settings.tied or model.settings.biases:
        raise ValueError("model.tied, model.biases: TransformerLens has hooks for models without them only")
    if any(layer.mlp and layer.mlp.activation == "gelu-exact" for layer in layers):
        raise ValueError('activation is "gelu-exact": TransformerLens has hooks for "gelu" and "relu" only')
    if len({layer.mlp and (layer.mlp.b_in.shape, layer.mlp.activation) for layer in layers}) > 1:
        raise ValueError("model.blocks: TransformerLens needs the same MLP in every layer, or none in any")
    return layers


def _config(settings: pytorch.TransformerSettings, layers: list[Layer]) -> TransformerBridgeConfig:
    heads, first_mlp = max(layer.attention.heads for layer in layers), layers[0].mlp
    return TransformerBridgeConfig(
        d_model=settings.width,
        d_head=settings.width // heads,
        n_heads=heads,
        n_layers=len(layers),
        n_ctx=settings.length,
        d_vocab=settings.states,
        d_mlp=0 if first_mlp is None else len(first_mlp.b_in),
        act_fn="relu" if first_mlp is not None and first_mlp.activation == "relu" else "gelu_new",
        eps=NORM_EPSILON,
        normalization_type="LN" if settings.layer_norm else None,
        # What is added to the stream: relative positions are a part of attention.
        positional_embedding_type="standard" if settings.positions == "absolute" else "none",
        attn_only=first_mlp is None,
        per_layer_head_dim=[settings.width // layer.attention.heads for layer in layers],
        # There is no tokenizer.
        default_prepend_bos=False,
        tokenizer_prepends_bos=False,
    )


# --- the module that is wrapped ---


def _linear(weight: Tensor, bias: Tensor | None = None) -> nn.Linear:
    """A module for x W + b, from W as Induct has it: [in, out]."""
    inputs, outputs = weight.shape
    linear = nn.Linear(inputs, outputs, bias=bias is not None)
    linear.weight = nn.Parameter(weight.detach().T.clone())
    if bias is not None:
        linear.bias = nn.Parameter(bias.detach().clone())
    return linear


def _table(weight: Tensor) -> nn.Embedding:
    rows, width = weight.shape
    return nn.Embedding(rows, width, _weight=weight.detach().clone())


def _positions(h: Tensor) -> Tensor:
    """0, 1, ... for a stream [batch, t, d], as a batch of one."""
    return torch.arange(h.shape[1], device=h.device)[None]


def _norm(norm: nn.Module | None) -> nn.Module:
    if not isinstance(norm, Norm):
        return nn.Identity()
    layer_norm = nn.LayerNorm(len(norm.gain), NORM_EPSILON)
    layer_norm.weight = nn.Parameter(norm.gain.detach().clone())
    layer_norm.bias = nn.Parameter(norm.bias.detach().clone())
    return layer_norm


class Attention(nn.Module):
    """The steps of a layer's attention. `AttentionSteps` puts them together, with hooks in between."""

    def __init__(self, block: attention.Block, drop_added: nn.Module, index: int) -> None:
        super().__init__()
        self.layer_idx, self.heads, self.positions = index, block.heads, block.positions
        self.q, self.k, self.v = _linear(block.W_Q), _linear(block.W_K), _linear(block.W_V)
        if block.W_O is None:
            self.o = _linear(torch.eye(len(block.W_V))).requires_grad_(False)
        else:
            self.o = _linear(block.W_O)
        self.relative = None if block.v is None else _table(block.v)
        self.drop_pattern, self.drop_added = block.drop_pattern, drop_added

    def scores(self, h: Tensor) -> Tensor:
        q, k = attention.split_heads(self.q(h), self.heads), attention.split_heads(self.k(h), self.heads)
        v = None
        if self.relative is not None:
            v = attention.split_heads(self.relative(_positions(h)), self.heads)
        return attention.scores(q, k, v, self.positions)

    def pattern(self, scores: Tensor) -> Tensor:
        pattern: Tensor = self.drop_pattern(torch.softmax(scores, -1))
        return pattern

    def mixed(self, pattern: Tensor, h: Tensor) -> Tensor:
        return attention.merge_heads(pattern @ attention.split_heads(self.v(h), self.heads))


class Mlp(nn.Module):
    def __init__(self, block: mlp.Block, drop_added: nn.Module) -> None:
        super().__init__()
        self.activation = block.activation
        self.fc_in, self.fc_out = _linear(block.W_in, block.b_in), _linear(block.W_out, block.b_out)
        self.drop_added = drop_added

    def forward(self, h: Tensor) -> Tensor:
        added: Tensor = self.drop_added(self.fc_out(mlp.activate(self.fc_in(h), self.activation)))
        return added


class Block(nn.Module):
    def __init__(self, layer: Layer, drop_added: nn.Module, index: int) -> None:
        super().__init__()
        self.ln1 = _norm(layer.attn_norm)
        self.attn = Attention(layer.attention, drop_added, index)
        if layer.mlp is not None:
            self.ln2 = _norm(layer.mlp_norm)
            self.mlp = Mlp(layer.mlp, drop_added)

    def forward(self, h: Tensor) -> tuple[Tensor]:
        h = h + self.attn(self.ln1(h))
        if hasattr(self, "mlp"):
            h = h + self.mlp(self.ln2(h))
        # TransformerLens makes a tuple of it in any case.
        return (h,)


class Wrapped(nn.Module):
    """A transformer whose parts are modules. Their names differ from those that TransformerLens gives them,
    because it would take one for the other."""

    def __init__(self, model: pytorch.Transformer, layers: list[Layer]) -> None:
        super().__init__()
        self.length = model.settings.length
        self.tok_embed = _table(model.embed.E)
        self.pos = None if model.embed.positions is None else _table(model.embed.positions)
        self.drop_embedding = model.drop_embedding
        self.layers = nn.ModuleList(Block(layer, model.drop_added, index) for index, layer in enumerate(layers))
        self.ln_out = _norm(model.final_norm)
        assert model.unembed.P is not None, "models with tied embeddings are refused"
        self.head = _linear(model.unembed.P)

    def forward(self, input_ids: Tensor | None = None, inputs_embeds: Tensor | None = None) -> Tensor:
        """Logits [batch, t, k] of tokens [batch, t], or of a stream [batch, t, d] that enters in their place."""
        if input_ids is not None:
            check_length(input_ids, self.length)
            h = self.tok_embed(input_ids)
            if self.pos is not None:
                h = h + self.pos(_positions(h))
        else:
            h = inputs_embeds
        h = self.drop_embedding(h)
        for block in self.layers:
            (h,) = block(h)
        logits: Tensor = self.head(self.ln_out(h))
        return logits


# --- what TransformerLens needs to know ---


class AttentionSteps(AttentionBridge):
    """Attention with hooks between its steps."""

    supports_split_qkv_fork = False
    supports_attn_result = True

    @property
    def attention(self) -> Attention:
        return cast(Attention, self.original_component)

    def forward(self, h: Tensor) -> Tensor:
        h = self.hook_in(h)
        scores = self.hook_attn_scores(self.attention.scores(h))
        pattern = self.hook_pattern(self.attention.pattern(scores))
        z = self.attention.mixed(pattern, h)
        if getattr(self.config, "use_attn_result", False):
            z = self.o.hook_in(z)
            by_head = z.reshape(*z.shape[:-1], self.attention.heads, -1)
            added = self._compute_per_head_result(by_head, *by_head.shape[-2:])
        else:
            added = self.o(z)
        added = self.hook_out(self.attention.drop_added(added))
        return cast(Tensor, added)

    def _get_n_heads(self, use_kv: bool = False) -> int:
        return self.attention.heads

    def _check_head_split_width(self, mat: Tensor, n_heads: int) -> None:
        """Any number of heads is right: it is this layer's own."""


class Adapter(ArchitectureAdapter):
    """Where the parts of `Wrapped` are."""

    def __init__(self, cfg: TransformerBridgeConfig) -> None:
        super().__init__(cfg)
        if len(set(cfg.per_layer_head_dim or [])) == 1:
            self.weight_processing_conversions = {**self._qkvo_weight_conversions(include_biases=True)}
        else:
            # TransformerLens folds norms into heads of one size only.
            self.supports_fold_ln = False
            self.supports_center_writing_weights = False
        attention: dict[str, GeneralizedComponent] = {name: LinearBridge(name=name) for name in ("q", "k", "v", "o")}
        attention["relative"] = EmbeddingBridge(name="relative")
        attention["relative"].optional = True
        parts: dict[str, GeneralizedComponent] = {
            "ln1": self.norm("ln1"),
            "attn": AttentionSteps(name="attn", config=self.cfg, submodules=attention),
        }
        if not cfg.attn_only:
            linear: dict[str, GeneralizedComponent] = {
                "in": LinearBridge(name="fc_in"),
                "out": LinearBridge(name="fc_out"),
            }
            parts["ln2"] = self.norm("ln2")
            parts["mlp"] = MLPBridge(name="mlp", config=self.cfg, submodules=linear)
        blocks = BlockBridge(name="layers", config=self.cfg, submodules=parts)
        absent = {"hook_attn_in", "hook_q_input", "hook_k_input", "hook_v_input"}
        if cfg.attn_only:
            absent |= {"hook_resid_mid", "hook_mlp_out"}
        blocks.hook_aliases = {alias: target for alias, target in blocks.hook_aliases.items() if alias not in absent}
        self.component_mapping = {"embed": EmbeddingBridge(name="tok_embed")}
        if cfg.positional_embedding_type == "standard":
            self.component_mapping["pos_embed"] = PosEmbedBridge(name="pos")
        self.component_mapping["blocks"] = blocks
        self.component_mapping["ln_final"] = self.norm("ln_out")
        self.component_mapping["unembed"] = UnembeddingBridge(name="head")

    def norm(self, name: str) -> GeneralizedComponent:
        if self.cfg.normalization_type is None:
            return GeneralizedComponent(name=name, config=self.cfg)
        return NormalizationBridge(name=name, config=self.cfg)


ArchitectureAdapterFactory.register_adapter(ARCHITECTURE, Adapter)
