"""Does layer 1 learn the parents of a causal graph? (Nichani et al., arXiv 2402.14735)

    python3 benches/causal-graph/run.py target/release/induct

Each seed has a graph, weights and data of its own. The loss counts the last prediction only, as in the paper, where
the last symbol has no parent: it is the question. So rows of layer 1 are counted whose position has a parent and is
not the last. A row is right if its largest weight is on the parent. Written before the runs: at least 99 % of rows.
"""

import json
import random
import statistics
import subprocess
import sys
import tempfile

STATES, LENGTH, STEPS, SEEDS, SEQUENCES = 10, 20, 12_000, range(21, 26), 64


def main() -> None:
    induct = sys.argv[1]
    shares, weights, losses = [], [], []
    for seed in SEEDS:
        parents = [random.Random(f"{seed} {position}").randrange(position) for position in range(1, LENGTH)]
        parents.append(LENGTH - 1)  # the last prediction follows from the last symbol
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([induct, "train", "causal-graph", "--out", f"{folder}/run", *settings(seed, parents)],
                           check=True, capture_output=True)
            seen = [answer(induct, "attention", f"{folder}/run", "--sequence", str(n)) for n in range(SEQUENCES)]
            excess = answer(induct, "eval", f"{folder}/run", "--sequences", "8192")
        rows = [(row, parents[i - 1]) for one in seen for i, row in enumerate(first(one)) if 0 < i < LENGTH - 1]
        shares.append(statistics.mean(max(range(len(row)), key=row.__getitem__) == parent for row, parent in rows))
        weights.append(statistics.mean(row[parent] for row, parent in rows))
        losses.append(excess["model"]["kl_truth"] - excess["strategies"]["parent"]["kl_truth"])
        print(f"seed {seed}: {shares[-1]:.4f} of rows, weight {weights[-1]:.3f}", file=sys.stderr, flush=True)
    print(f"largest weight on the parent: {summary(shares)} of rows; weight on it: {summary(weights)}; "
          f"loss above the parent strategy: {summary(losses)} nats")


def settings(seed: int, parents: list[int]) -> list[str]:
    chosen = {
        "task.source.parents": parents, "train.positions": '"last"', "model.heads": 1, "model.width": 64,
        "train.steps": STEPS, "train.batch": 256, "train.optimizer.weight_decay": 0.0, "record.every": 600,
        "record.snapshots": 2, "seeds.init": seed, "seeds.data": seed,
    }
    return [word for key, value in chosen.items() for word in ("--set", f"{key}={value}")]


def first(answer: dict) -> list[list[float]]:
    return next(head["attn_pattern"] for head in answer["heads"] if head["layer"] == 0)


def answer(induct: str, *arguments: str) -> dict:
    return json.loads(subprocess.run([induct, *arguments, "--json"], check=True, capture_output=True).stdout)


def summary(values: list[float]) -> str:
    return f"{statistics.median(values):.4f} ({min(values):.4f}–{max(values):.4f})"


main()
