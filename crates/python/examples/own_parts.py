"""A prior, a strategy and a measure of your own, in one run.

    python own_parts.py [--quick]

The run records how far the model is from counting only the last 20 symbols, and how much the last position attends to
the first one. It takes about five seconds, or two with --quick.
"""

from __future__ import annotations

import argparse

import induct
import numpy as np
import numpy.typing as npt


@induct.prior(least=0.6)
def sticky(rng: np.random.Generator, least: float) -> npt.ArrayLike:
    stay = rng.uniform(least, 1, size=2)
    return [[stay[0], 1 - stay[0]], [1 - stay[1], stay[1]]]


@induct.strategy(window=20)
def recent(tokens: npt.NDArray[np.uint8], window: float) -> npt.ArrayLike:
    """Bigrams of the last few symbols, with one count added to each."""
    last = tokens[-int(window) :]
    followers = last[1:][last[:-1] == last[-1]]
    counts = np.bincount(followers, minlength=2) + 1
    return list(counts / counts.sum())


@induct.measure(scope="head", range=(0, 1))
def to_first(seen: induct.Activations) -> npt.ArrayLike:
    """Attention of the last position to the first."""
    return [seen[f"layers.{layer}.attn_pattern"][:, 0, -1, 0].mean() for layer in range(2)]


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains with parts that are Python functions.")
    parser.add_argument("--quick", action="store_true", help="only a few hundred steps")
    steps = 300 if parser.parse_args().quick else 4000
    recipe = induct.Recipe(
        {
            "name": "own-parts",
            "task": {"prior": {"kind": "pool", "size": 10_000, "of": sticky}},
            "record": {"custom_strategies": [recent], "custom_measures": [to_first]},
            "train": {"steps": steps},
        }
    )
    print(run := induct.train(recipe))
    for column in ("kl_truth", "kl_bigram", "kl_recent", "layers.0.heads.0.to_first", "layers.1.heads.0.to_first"):
        print(f"{column:26} {run.metrics[column][-1]:.4f}")


if __name__ == "__main__":
    main()
