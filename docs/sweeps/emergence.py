"""Compares a sweep over learning rate and batch with the published law of emergence.

    python docs/sweeps/emergence.py SWEEP/results.parquet --json docs/sweeps/emergence.json

Needs numpy and polars. The law (arXiv 2511.16893): tokens at emergence grow as the square root of batch times context.
An exponent is fitted to medians over seeds; its interval is that of 2,000 bootstrap samples of the seeds.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import polars as pl

CONTEXT = 100
SAMPLES = 2000


def exponent(batches: np.ndarray, onsets: np.ndarray) -> float:
    """The slope of tokens over batch, both as logarithms; a run without a transition counts as late."""
    tokens = np.log(np.median(onsets, axis=1) * batches * CONTEXT)
    return float(np.polyfit(np.log(batches), tokens, 1)[0])


def fitted(batches: np.ndarray, onsets: np.ndarray) -> dict:
    """The exponent with its interval, where every median is known."""
    random = np.random.default_rng(0)
    samples = []
    for _ in range(SAMPLES):
        chosen = random.integers(onsets.shape[1], size=onsets.shape[1])
        samples.append(exponent(batches, onsets[:, chosen]))
    samples = [sample for sample in samples if np.isfinite(sample)]
    low, high = np.quantile(samples, [0.025, 0.975])
    return {"exponent": round(exponent(batches, onsets), 3), "interval": [round(low, 3), round(high, 3)]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    table = pl.read_parquet(arguments.results).sort("train.optimizer.lr", "train.batch", "seed")
    rates = table["train.optimizer.lr"].unique().sort().to_list()
    batches = table["train.batch"].unique().sort().to_numpy().astype(float)
    onsets = table["onset.bigram"].cast(pl.Float64).fill_null(np.inf).to_numpy()
    onsets = onsets.reshape(len(rates), len(batches), -1)
    found = {
        "runs": len(table),
        "without_transition": int(np.isinf(onsets).sum()),
        "seeds": onsets.shape[2],
        "law": 0.5,
        "by_rate": {},
    }
    for rate, of_rate in zip(rates, onsets):
        small, large = batches <= 32, batches >= 64
        found["by_rate"][f"{rate:g}"] = {
            "all": fitted(batches, of_rate),
            "batch_to_32": fitted(batches[small], of_rate[small]),
            "batch_from_64": fitted(batches[large], of_rate[large]),
        }
    exponents = [of_rate["all"]["exponent"] for of_rate in found["by_rate"].values()]
    found["exponents"] = [min(exponents), max(exponents)]
    main_rate, main_batch = rates.index(1e-3), int(np.flatnonzero(batches == 64)[0])
    seen = float(np.median(onsets[main_rate, main_batch]))
    # A law with exponent 1/2 that is right at the smallest batch, or at the largest: what it says about the others.
    medians = np.median(onsets[main_rate], axis=1)
    from_smallest = medians[0] * np.sqrt(batches[0] / batches)
    found["main"] = {
        "steps_seen": seen,
        "steps_by_batch": {f"{b:g}": float(m) for b, m in zip(batches, medians)},
        "steps_by_the_law_from_the_smallest_batch": {f"{b:g}": round(float(s)) for b, s in zip(batches, from_smallest)},
    }
    steps_by_rate = {f"{rate:g}": float(np.median(of_rate[main_batch])) for rate, of_rate in zip(rates, onsets)}
    slope = np.polyfit(np.log(rates), np.log(list(steps_by_rate.values())), 1)[0]
    found["at_batch_64"] = {"steps_by_rate": steps_by_rate, "exponent_of_steps_over_rate": round(float(slope), 3)}
    text = json.dumps(found, indent=2)
    print(text)
    if arguments.json:
        arguments.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
