"""Whether a peer computes what Induct computes: the same predictions, the same steps, the same sequences."""

from __future__ import annotations

import csv
import json
import math
import shutil
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tensors
from environments import WORK, Failure, Session, output_of
from settings import BATCH, Setting, Sgd

PROMPTS = 3
REPLAYED_STEPS = 20
SAMPLES = 4096
TRAINED_STEPS = 10
TRAINED_LR = 1e-2
SHARP_START = 2.0
"""Weights for predictions start with this over the root of the width as their standard deviation, so that heads are sharp
and predictions depend on every weight; some steps at a high rate move gains and biases as well."""

PROBABILITY_TOLERANCE = 1e-5
MOVE_TOLERANCE = 0.01
"""Of a tensor's movement over the replay: AdamW divides by the gradient's size, so small ones show their rounding."""
STANDARD_ERRORS = 5.0
UNSEEN_STEP = 1000
"""A step that no run here trains on: prompts are from its batch."""

Tokens = list[list[int]]


@dataclass(frozen=True)
class Reference:
    """What Induct says of one setting."""

    setting: Setting
    folder: Path
    prompts: Tokens
    predictions: dict[tuple[int, int], list[float]]
    """Next-symbol probabilities by prompt and number of symbols seen."""
    losses: list[float]
    start: Path
    after: Path
    samples: Tokens


def sampled(induct: Path, setting: Setting, step: int, batch: int = BATCH) -> dict[str, list]:
    """The batch that a step of Induct trains on: its tokens, and the keys of its dropout if it has any."""
    overrides = [part for text in [*setting.overrides(), f"train.batch={batch}"] for part in ("--set", text)]
    command = [str(induct), "sample", "main", "--json", "--step", str(step), *overrides]
    return json.loads(output_of(command))


def trained(induct: Path, setting: Setting, folder: Path, extra: Sequence[str]) -> Path:
    """Trains the setting in a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    overrides = [part for text in [*setting.overrides(), *extra] for part in ("--set", text)]
    output_of([str(induct), "train", "main", "--out", str(folder), *overrides])
    return folder


def snapshot(run: Path, step: int) -> Path:
    return run / "snapshots" / f"step-{step:06}.safetensors"


def reference(induct: Path, setting: Setting) -> Reference:
    """Asks Induct, and leaves the questions for the peers beside the weights."""
    folder = WORK / "check" / setting.name
    folder.mkdir(parents=True, exist_ok=True)
    brief = ["record.snapshots=2", "record.test_sequences=64"]
    replay = [*brief, f"train.steps={REPLAYED_STEPS}", "record.every=1"]
    if setting.intervened:
        # `induct predict` leaves interventions out, so losses must tell whether a peer intervenes.
        replay.append(sharp_weights(setting))
    replayed = trained(induct, setting, folder / "replayed", replay)
    sharp = trained(induct, setting, folder / "sharp", [*brief, f"train.steps={TRAINED_STEPS}", *sharp_start(setting)])
    with (replayed / "metrics.csv").open(newline="") as file:
        losses = [float(row["train_loss"]) for row in csv.DictReader(file) if row["train_loss"]]
    prompts = [row[:-1] for row in sampled(induct, setting, step=UNSEEN_STEP, batch=PROMPTS)["tokens"]]
    lengths = (1, 2, setting.length // 2, setting.length)
    predictions = {
        (index, length): predicted(induct, sharp, prompt[:length])
        for index, prompt in enumerate(prompts)
        for length in lengths
    }
    asked = Reference(
        setting=setting,
        folder=folder,
        prompts=prompts,
        predictions=predictions,
        losses=losses,
        start=snapshot(replayed, 0),
        after=snapshot(replayed, REPLAYED_STEPS),
        samples=sampled(induct, setting, step=0, batch=SAMPLES)["tokens"],
    )
    batches = [sampled(induct, setting, step) for step in range(REPLAYED_STEPS)]
    questions = {
        "prompts": prompts,
        "batches": [batch["tokens"] for batch in batches],
        "dropout_keys": [batch["dropout_keys"] for batch in batches] if setting.dropout else [],
        "start": str(asked.start),
        "trained": str(snapshot(sharp, TRAINED_STEPS)),
        "samples": SAMPLES,
    }
    (folder / "questions.json").write_text(json.dumps(questions))
    return asked


def sharp_start(setting: Setting) -> list[str]:
    """Overrides that make predictions depend on every weight; the minimal model's do so by themselves."""
    if isinstance(setting.optimizer, Sgd):
        return []
    return [sharp_weights(setting), f"train.optimizer.lr={TRAINED_LR}"]


def sharp_weights(setting: Setting) -> str:
    return f"model.init_std={SHARP_START / math.sqrt(setting.width)}"


def predicted(induct: Path, run: Path, prompt: list[int]) -> list[float]:
    tokens = ",".join(map(str, prompt))
    return json.loads(output_of([str(induct), "predict", str(run), "--tokens", tokens, "--json"]))["model"]


@dataclass(frozen=True)
class Agreement:
    """How far a peer is from Induct."""

    probability: float
    """Largest difference of a probability."""
    loss: float
    """Largest difference of a loss over the replayed steps."""
    movement: float
    """Largest distance of a tensor after the replay, as a share of how far it moved."""
    sampling: float
    """Largest difference of a mean over sequences, or of the share that dropout keeps, in standard errors."""

    def __str__(self) -> str:
        return (
            f"probabilities within {self.probability:.1e}, losses of {REPLAYED_STEPS} steps within {self.loss:.1e}, "
            f"movement of weights within {self.movement:.1e}, sampled statistics within {self.sampling:.1f} standard errors"
        )

    def excesses(self, loss_tolerance: float) -> list[str]:
        """What is farther apart than rounding and chance allow."""
        limits = {
            "probability": PROBABILITY_TOLERANCE,
            "loss": loss_tolerance,
            "movement": MOVE_TOLERANCE,
            "sampling": STANDARD_ERRORS,
        }
        # `not <=` also catches what is no number.
        return [
            f"{name} {getattr(self, name):.3g} > {limit:g}"
            for name, limit in limits.items()
            if not getattr(self, name) <= limit
        ]


def check(peer: Session, asked: Reference) -> Agreement:
    """Compares the peer's answers, in all of its forms, with Induct's; raises where they differ."""
    (asked.folder / "answers.json").unlink(missing_ok=True)
    peer.ask({"check": str(asked.folder)})
    answers = json.loads((asked.folder / "answers.json").read_text())
    agreement = Agreement(
        probability=max(
            abs(ours - theirs)
            for (prompt, length), row in asked.predictions.items()
            for ours, theirs in zip(row, answers["probabilities"][prompt][length - 1], strict=True)
        ),
        loss=max(
            abs(ours - theirs)
            for replay in answers["replays"].values()
            for ours, theirs in zip(asked.losses, replay["losses"], strict=True)
        ),
        movement=max(movement_error(asked, replay["after"]) for replay in answers["replays"].values()),
        sampling=max(
            sampling_error(asked.samples, answers["samples"]),
            *(kept_error(asked.setting, **kept) for kept in answers["kept"].values()),
            0.0,
        ),
    )
    excesses = agreement.excesses(asked.setting.loss_tolerance)
    if excesses:
        raise Failure(
            f"{peer.name} computes something else than Induct at {asked.setting.name}: {'; '.join(excesses)}"
        )
    return agreement


def movement_error(asked: Reference, after: dict[str, list[float]]) -> float:
    """Distance of the replayed weights, as a share of the movement, of the worst tensor."""
    start, ours = tensors.read(asked.start), tensors.read(asked.after)
    if set(after) != set(ours):
        raise Failure(f"the tensors differ: {sorted(after)} against {sorted(ours)}")

    def share(name: str) -> float:
        error = math.dist(ours[name].values, after[name])
        moved = math.dist(ours[name].values, start[name].values)
        # What nothing reads does not move: the positions of a clamped layer.
        return error / moved if moved else (math.inf if error else 0.0)

    return max(share(name) for name in ours)


def sampling_error(ours: Tokens, theirs: Tokens) -> float:
    """Largest difference of means of what tells chains, orders and starts apart, in standard errors."""
    mine, other = statistics_of(ours), statistics_of(theirs)
    return max(deviation(mine[name], other[name]) for name in mine)


def kept_error(setting: Setting, share: float, of: int) -> float:
    """How far the share of entries that a site's dropout keeps is from the wanted one, in standard errors."""
    wanted = 1 / setting.kept_scale
    return abs(share - wanted) / math.sqrt(wanted * (1 - wanted) / of)


def statistics_of(sequences: Tokens) -> dict[str, list[float]]:
    """Numbers of every sequence, by name."""

    def share(sequence: list[int], lags: Sequence[int]) -> float:
        """How often a symbol equals those at all of the lags before it."""
        first = max(lags)
        hits = sum(all(sequence[i] == sequence[i - lag] for lag in lags) for i in range(first, len(sequence)))
        return hits / (len(sequence) - first)

    values: dict[str, list[float]] = {}
    for sequence in sequences:
        numbers = {
            "first symbol": float(sequence[0] == 0),
            "first repeats": float(sequence[0] == sequence[1]),
            "first and last": float(sequence[0] == sequence[-1]),
            "zeros": sequence.count(0) / len(sequence),
            "repeats": share(sequence, [1]),
            "repeats at two": share(sequence, [2]),
            "repeats twice": share(sequence, [1, 2]),
        }
        for name, number in numbers.items():
            values.setdefault(name, []).append(number)
            values.setdefault(f"{name}, squared", []).append(number**2)
    return values


def deviation(one: list[float], other: list[float]) -> float:
    """Difference of two means in standard errors."""
    error = math.sqrt(statistics.variance(one) / len(one) + statistics.variance(other) / len(other))
    return abs(statistics.fmean(one) - statistics.fmean(other)) / error
