"""Induct's training step under interventions with TransformerLens: its HookedTransformer, attention only, with
hooks at its hook points. It has absolute positions and a W_O, and here no biases, so it is the model of
`intervened-absolute`."""

from __future__ import annotations

from importlib import metadata

import torch
from torch import Tensor, nn
from transformer_lens import HookedTransformer, HookedTransformerConfig
from transformer_lens.hook_points import HookPoint

import peer
from hooks_peer import ModulePeer, previous_token
from settings import Setting
from torch_peer import Weights

OUTSIDE = {"embed.E": "embed.W_E", "embed.positions": "pos_embed.W_pos", "unembed.P": "unembed.W_U"}


def lens_name(tensor: str) -> str:
    """What TransformerLens calls a tensor of Induct."""
    if tensor in OUTSIDE:
        return OUTSIDE[tensor]
    _, layer, matrix = tensor.split(".")
    return f"blocks.{layer}.attn.{matrix}"


def hooked_transformer(setting: Setting) -> HookedTransformer:
    if setting.positions != "absolute" or not setting.projects or setting.mlp or setting.layer_norm or setting.dropout:
        raise SystemExit(f"{setting.name} is not a model of TransformerLens: attention only, absolute positions, W_O")
    return HookedTransformer(
        HookedTransformerConfig(
            n_layers=setting.layers,
            n_heads=setting.heads,
            d_model=setting.width,
            d_head=setting.head_width,
            n_ctx=setting.length,
            d_vocab=setting.states,
            attn_only=True,
            normalization_type=None,
            device="cpu",
        )
    )


def intervene(model: HookedTransformer, length: int) -> None:
    """Clamps the first layer's heads to the symbol before, and hides what they write from the logits."""
    pattern = previous_token(length)
    written: list[Tensor] = []

    def clamp(result: Tensor, hook: HookPoint) -> Tensor:
        return pattern.expand_as(result)

    def keep(result: Tensor, hook: HookPoint) -> None:
        written[:] = [result]

    def subtract(result: Tensor, hook: HookPoint) -> Tensor:
        return result - written.pop()

    model.add_hook("blocks.0.attn.hook_pattern", clamp)
    model.add_hook("blocks.0.hook_attn_out", keep)
    model.add_hook(f"blocks.{model.cfg.n_layers - 1}.hook_resid_post", subtract)


class LensPeer(ModulePeer):
    name = "lens"
    version = metadata.version("transformer-lens")

    def module(self, setting: Setting, weights: peer.Weights) -> tuple[nn.Module, Weights]:
        model = hooked_transformer(setting)
        known = dict(model.named_parameters())
        for parameter in known.values():
            # Biases stay at zero: Induct's attention has none.
            parameter.requires_grad_(False).zero_()
        tensors = {name: known[lens_name(name)] for name in weights}
        for name, parameter in tensors.items():
            values = torch.tensor(weights[name])
            if name.startswith("layers."):
                values = by_head(name, values, setting)
            parameter.copy_(values)
            parameter.requires_grad_(True)
        if setting.intervened:
            intervene(model, setting.length)
        return model, tensors


def by_head(name: str, values: Tensor, setting: Setting) -> Tensor:
    """A layer's matrix with an axis of heads in front, as TransformerLens has it."""
    heads, size, width = setting.heads, setting.head_width, setting.width
    if name.endswith("W_O"):
        return values.view(heads, size, width)
    return values.view(width, heads, size).transpose(0, 1)


if __name__ == "__main__":
    chosen = peer.arguments(__doc__)
    peer.keep_to_cores(chosen.threads)
    peer.run(LensPeer, chosen)
