"""What the peers share: their command line, the timing of stretches, the answers to a check."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import dropout
import tensors
from settings import BATCH, INIT_STD, INTERVENED, RECURRENT, SETTINGS, STRETCH, Setting

Weights = dict[str, np.ndarray]
"""Parameters under the names that Induct's snapshots give them."""

KNOWN = SETTINGS | INTERVENED | RECURRENT

Bits = dict[str, np.ndarray]
"""16 bits for each entry that dropout may drop (uint16), by site (`Setting.dropout_sites`); empty without dropout."""

MINIMAL_START = 0.01
"""v of the minimal model before training; its W_k starts at zero."""


class Peer(ABC):
    """One setting's training step in another framework."""

    name: str
    version: str

    def __init__(self, setting: Setting, threads: int) -> None:
        self.setting = setting
        self.threads = threads

    @abstractmethod
    def probabilities(self, weights: Weights, inputs: np.ndarray) -> np.ndarray:
        """Next-symbol probabilities [B, t, k] after every one of the inputs [B, t], without interventions."""

    @abstractmethod
    def forms(self) -> tuple[str, ...]:
        """Ways to run the training step, by name."""

    @abstractmethod
    def replay(self, form: str, weights: Weights, batches: np.ndarray, bits: Bits) -> tuple[np.ndarray, Weights]:
        """Trains on given batches [steps, B, t+1] with given bits [steps, B, ...]; the loss of each step, and the weights
        after the last."""

    @abstractmethod
    def stretch(self, form: str, weights: Weights) -> Callable[[], None]:
        """What samples and trains one stretch at every call, and waits for its end."""

    @abstractmethod
    def sample(self, count: int) -> np.ndarray:
        """Fresh sequences [count, t+1], each from a chain of its own."""

    @abstractmethod
    def bits(self) -> Bits:
        """Fresh bits [B, ...] of one step, drawn as where steps are timed."""


def initial_weights(setting: Setting) -> Weights:
    """Weights to start timing from: the shapes and the scale of Induct's."""
    k, t, d = setting.states, setting.length, setting.width
    if setting.kind == "minimal":
        return {
            "W_k": np.zeros((k, k), np.float32),
            "v": np.full(t, MINIMAL_START, np.float32),
        }

    def norm(name: str) -> dict[str, tuple[int, ...]]:
        return {f"{name}.gain": (d,), f"{name}.bias": (d,)}

    shapes: dict[str, tuple[int, ...]] = {"embed.E": (k, d)}
    if setting.positions == "absolute":
        shapes["embed.positions"] = (t, d)
    for layer in range(setting.layers):
        if setting.mamba is not None:
            shapes |= {f"layers.{layer}.mamba.{name}": shape for name, shape in setting.mamba.shapes(d).items()}
            continue
        names = ["W_Q", "W_K", "W_V"] + (["W_O"] if setting.projects else [])
        shapes |= {f"layers.{layer}.{name}": (d, d) for name in names}
        if setting.positions.startswith("relative"):
            shapes[f"layers.{layer}.v"] = (t, d)
        if setting.layer_norm:
            shapes |= norm(f"layers.{layer}.attn_norm")
        if setting.mlp:
            shapes[f"layers.{layer}.mlp.W_in"] = (d, 4 * d)
            shapes[f"layers.{layer}.mlp.b_in"] = (4 * d,)
            shapes[f"layers.{layer}.mlp.W_out"] = (4 * d, d)
            shapes[f"layers.{layer}.mlp.b_out"] = (d,)
            if setting.layer_norm:
                shapes |= norm(f"layers.{layer}.mlp_norm")
    if setting.layer_norm:
        shapes |= norm("final_norm")
    shapes["unembed.P"] = (d, k)
    generator = np.random.default_rng(0)

    def start(name: str, shape: tuple[int, ...]) -> np.ndarray:
        if name.endswith(".gain"):
            return np.ones(shape, np.float32)
        if len(shape) == 1:
            return np.zeros(shape, np.float32)
        std = setting.output_std if name.endswith(".W_O") else INIT_STD
        return std * generator.standard_normal(shape, np.float32)

    return {name: start(name, shape) for name, shape in shapes.items()}


def read_weights(path: Path) -> Weights:
    """A snapshot of Induct."""
    return {
        name: np.asarray(tensor.values, np.float32).reshape(tensor.shape)
        for name, tensor in tensors.read(path).items()
    }


@dataclass(frozen=True)
class Timing:
    """Milliseconds a step, one number a stretch."""

    stretches: list[float]

    @property
    def median(self) -> float:
        return statistics.median(self.stretches)


class Clock:
    """Times a peer's forms again and again; each is compiled once, when it is first timed."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.stretches: dict[str, Callable[[], None]] = {}

    def measure(self, seconds: float) -> dict[str, Any]:
        """Times every form for about that long, at least for a stretch; reports the fastest."""
        timings = {form: self.timing(form, seconds) for form in self.peer.forms()}
        fastest = min(timings, key=lambda name: timings[name].median)
        timing = timings[fastest]
        return {
            "peer": self.peer.name,
            "version": self.peer.version,
            "setting": self.peer.setting.name,
            "threads": self.peer.threads,
            "form": fastest,
            "forms": {name: timing.median for name, timing in timings.items()},
            "ms_per_step": timing.median,
            "best": min(timing.stretches),
            "stretches": timing.stretches,
        }

    def timing(self, form: str, seconds: float) -> Timing:
        if form not in self.stretches:
            self.stretches[form] = self.peer.stretch(form, initial_weights(self.peer.setting))
            # Compiles, and warms up.
            self.stretches[form]()
        stretch = self.stretches[form]
        measured: list[float] = []
        start = time.perf_counter()
        while not measured or time.perf_counter() - start < seconds:
            begin = time.perf_counter()
            stretch()
            measured.append(1e3 * (time.perf_counter() - begin) / STRETCH)
        return Timing(measured)


def answer(peer: Peer, folder: Path) -> None:
    """Answers `questions.json` of a check: what the peer predicts, how it trains, what it samples."""
    questions = json.loads((folder / "questions.json").read_text())
    prompts = np.asarray(questions["prompts"], np.int32)
    batches = np.asarray(questions["batches"], np.int32)
    start, trained = (read_weights(Path(questions[name])) for name in ("start", "trained"))
    bits = dropout.bits(peer.setting, np.asarray(questions["dropout_keys"], np.uint32))
    replays = {}
    for form in peer.forms():
        losses, after = peer.replay(form, start, batches, bits)
        weights = {name: values.ravel().tolist() for name, values in after.items()}
        replays[form] = {"losses": losses.tolist(), "after": weights}
    answers = {
        "probabilities": peer.probabilities(trained, prompts).tolist(),
        "replays": replays,
        "samples": peer.sample(questions["samples"]).tolist(),
        "kept": {
            site: {"share": float((drawn >= peer.setting.dropped_below).mean()), "of": drawn.size}
            for site, drawn in peer.bits().items()
        },
    }
    (folder / "answers.json").write_text(json.dumps(answers))


def keep_to_cores(threads: int) -> None:
    """Leaves this process only as many cores as threads, where the system allows it."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[:threads])


def arguments(description: str) -> argparse.Namespace:
    """The command line of a peer."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--setting", choices=KNOWN, default="main", help="what is trained (main)")
    parser.add_argument("--seconds", type=float, default=3.0, help="time spent on each form (3)")
    parser.add_argument("--threads", type=int, default=2, help="cores to use (2)")
    parser.add_argument("--json", action="store_true", help="print every stretch, as JSON")
    parser.add_argument("--serve", action="store_true", help="answer requests on standard input, one a line")
    return parser.parse_args()


def serve(peer: Peer) -> None:
    """Answers requests: `{"check": FOLDER}` with `{}` once that is done, `{"seconds": S}` with timings.

    One process does both for a setting, round after round, because compiling takes longer than timing.
    """
    clock = Clock(peer)
    # Whatever a framework prints belongs to the messages, not between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        request = json.loads(line)
        answered: dict[str, Any] = {}
        if "check" in request:
            answer(peer, Path(request["check"]))
        else:
            answered = clock.measure(request["seconds"])
        print(json.dumps(answered), file=answers, flush=True)


def run(create: Callable[[Setting, int], Peer], chosen: argparse.Namespace) -> None:
    """Does what the command line asks for."""
    peer = create(KNOWN[chosen.setting], chosen.threads)
    if chosen.serve:
        serve(peer)
        return
    measured = Clock(peer).measure(chosen.seconds)
    if chosen.json:
        print(json.dumps(measured))
        return
    forms = ", ".join(f"{name} {ms:.3f}" for name, ms in measured["forms"].items())
    print(f"{peer.name} {peer.version}, {peer.setting.name}, {BATCH} sequences a step: ms a step: {forms}")
