"""Hooks of TransformerLens on a run: read a pattern, and put another one in its place.

    python hooks.py [--steps N]

It needs `pip install torch transformer-lens`. About ten seconds, most of them for imports.
"""

from __future__ import annotations

import argparse

import induct
import torch
from torch import Tensor
from torch.nn import functional
from transformer_lens.hook_points import HookPoint


def look_back_by_one(pattern: Tensor, hook: HookPoint) -> Tensor:
    """Every position attends to the one before it, the first to itself."""
    before = (torch.arange(pattern.shape[-1]) - 1).clamp(min=0)
    return functional.one_hot(before, pattern.shape[-1]).to(pattern.dtype).expand_as(pattern)


def main() -> None:
    parser = argparse.ArgumentParser(description="TransformerLens on a trained model.")
    parser.add_argument("--steps", type=int, default=2500)
    options = parser.parse_args()
    run = induct.train("main", set={"train.steps": options.steps})
    model, lens = run.model(), run.to_lens()
    tokens = run.recipe.batch(0).tokens[:, :-1]
    symbols = torch.tensor(tokens, dtype=torch.long)

    logits, cache = lens.run_with_cache(symbols)
    pattern = cache["blocks.0.attn.hook_pattern"][:, 0]  # [batch, t, t]
    back = pattern.diagonal(offset=-1, dim1=1, dim2=2).mean().item()
    print(f"layer 1 attends to the previous position by {back:.2f}")
    print(f"logits differ from Induct's by {(logits - torch.tensor(model.logits(tokens))).abs().max().item():.0e}")

    hooked = lens.run_with_hooks(symbols, fwd_hooks=[("blocks.0.attn.hook_pattern", look_back_by_one)])
    clamped = torch.tensor(model.clamp("layers.0", "previous-token").logits(tokens))
    print(f"with the hook, they differ from a clamped model's by {(hooked - clamped).abs().max().item():.0e}")


if __name__ == "__main__":
    main()
