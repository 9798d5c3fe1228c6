"""Processor time of a training step of a recurrent layer, in Induct and in JAX: what can be compared on a machine that
others use too. Run it in JAX's environment:

    target/peers/jax/bin/python benches/peers/cpu.py target/release/induct
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from functools import partial

import jax
import jax_peer
import peer
from settings import BATCH, RECURRENT, Setting

STEPS = 500
ROUNDS = 5
LIGHT = ["record.every=1000", "record.snapshots=2", "record.test_sequences=8", "record.tests=[]"]


def ours(induct: str, setting: Setting) -> float:
    """Milliseconds a step of Induct on one thread: what more steps add to a run."""

    def spent(steps: int) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        overrides = [*setting.overrides(), *LIGHT, f"train.steps={steps}"]
        with tempfile.TemporaryDirectory() as folder:
            command = [induct, "train", "main", "--threads", "1", "--out", f"{folder}/run"]
            command += [part for text in overrides for part in ("--set", text)]
            subprocess.run(command, check=True, capture_output=True)
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

    return 1e3 * (spent(2 * STEPS) - spent(STEPS)) / STEPS


def theirs(setting: Setting, rounds: int) -> list[float]:
    """Milliseconds a step of JAX, of all its threads, without sampling."""
    state = jax_peer.start(setting, peer.initial_weights(setting))
    tokens = jax_peer.sample(setting, jax.random.key(0), BATCH)
    step = jax.jit(partial(jax_peer.train_step, setting, None))
    jax.block_until_ready(step(state, tokens, {}))
    times = []
    for _ in range(rounds):
        begin = time.process_time()
        jax.block_until_ready(step(state, tokens, {}))
        times.append(1e3 * (time.process_time() - begin))
    return times


def shown(times: list[float]) -> str:
    times = sorted(times)
    return f"{times[len(times) // 2]:.3g} ms ({times[0]:.3g}–{times[-1]:.3g})"


if __name__ == "__main__":
    print("Induct", shown([ours(sys.argv[1], RECURRENT["mamba"]) for _ in range(ROUNDS)]), flush=True)
    for name, setting in RECURRENT.items():
        print("JAX", name, shown(theirs(setting, ROUNDS)), flush=True)
