"""Sends every record of a run to a tracker while it trains.

    python trackers.py [print|wandb|tensorboard|trackio] [--steps N]

A callback gets a mapping from columns to numbers, which is what trackers log. `print` needs nothing installed.
"""

from __future__ import annotations

import argparse
import importlib
import math
from collections.abc import Callable
from typing import Any

import induct

Callback = Callable[[induct.Record], object]


def to_print(recipe: induct.Recipe) -> Callback:
    return lambda record: print(f"step {record.step:4}: kl_truth {record['kl_truth']:.4f}")


def to_wandb(recipe: induct.Recipe) -> Callback:
    wandb: Any = importlib.import_module("wandb")
    wandb.init(project="induct", config=recipe.to_dict())
    return lambda record: wandb.log(_numbers(record), step=record.step)


def to_trackio(recipe: induct.Recipe) -> Callback:
    trackio: Any = importlib.import_module("trackio")
    trackio.init(project="induct", config=recipe.to_dict())
    return lambda record: trackio.log(_numbers(record), step=record.step)


def to_tensorboard(recipe: induct.Recipe) -> Callback:
    writer: Any = importlib.import_module("torch.utils.tensorboard").SummaryWriter("tensorboard")
    writer.add_text("recipe", f"```toml\n{recipe.to_toml()}```")
    return lambda record: [writer.add_scalar(key, value, record.step) for key, value in _numbers(record).items()]


def _numbers(record: induct.Record) -> dict[str, float]:
    """What has a value: step 0 has no training loss. Trackers count steps themselves."""
    return {name: value for name, value in record.items() if name != "step" and not math.isnan(value)}


TRACKERS = {"print": to_print, "wandb": to_wandb, "tensorboard": to_tensorboard, "trackio": to_trackio}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Trains a run that a tracker follows.")
    parser.add_argument("tracker", nargs="?", choices=TRACKERS, default="print")
    parser.add_argument("--steps", type=int, default=400)
    options = parser.parse_args()
    recipe = induct.Recipe("main", {"train.steps": options.steps, "record.every": 100})
    induct.train(recipe, callback=TRACKERS[options.tracker](recipe))
