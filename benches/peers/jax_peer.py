"""Induct's training step in JAX, in the fastest form found for a CPU: one compiled scan over steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import peer

# XLA sizes its thread pool by the cores it may use, when it is loaded.
CHOSEN = peer.arguments(__doc__) if __name__ == "__main__" else None
if CHOSEN is not None:
    peer.keep_to_cores(CHOSEN.threads)

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec  # noqa: E402

from settings import BATCH, STRETCH, AdamW, Recurrence, Setting, Sgd  # noqa: E402

Weights = dict[str, jax.Array]
Bits = dict[str, jax.Array]
"""16 bits for each entry that dropout may drop, by site."""
State = tuple[Weights, Any]
"""The weights and what the optimiser remembers."""

AXIS = "sequences"
"""What devices share out among themselves."""

NORM_EPSILON = 1e-5


# --- sequences ---


def stationary_law(chain: jax.Array) -> jax.Array:
    """Stationary laws [c, B] of chains [c, c, B], by elimination without subtraction (GTH)."""
    contexts = chain.shape[0]
    for last in range(contexts - 1, 0, -1):
        leaving = chain[last, :last]
        entering = chain[:last, last] / leaving.sum(0)
        chain = chain.at[:last, last].set(entering)
        chain = chain.at[:last, :last].add(entering[:, None] * leaving[None])
    law = jnp.ones_like(chain[:1, 0])
    for context in range(1, contexts):
        law = jnp.concatenate([law, (law * chain[:context, context]).sum(0, keepdims=True)])
    return law / law.sum(0)


def sample(setting: Setting, key: jax.Array, count: int) -> jax.Array:
    """Sequences [count, t+1], each from its own Dirichlet chain, started from the stationary law or a uniform one."""
    k, contexts = setting.states, setting.contexts
    table_key, start_key, step_key = jax.random.split(key, 3)
    # Exponentials over their sum are Dirichlet(1, ..., 1), and much cheaper than gamma variates.
    table = jax.random.exponential(table_key, (contexts, k, count))
    table = table / table.sum(1, keepdims=True)
    context = jnp.arange(contexts)
    if setting.start == "uniform":
        start = jax.random.randint(start_key, (count,), 0, contexts)
    else:
        successor = (context[:, None] * k + jnp.arange(k)) % contexts
        chain = jnp.zeros((contexts, contexts, count)).at[context[:, None], successor].set(table)
        start_below = jnp.cumsum(stationary_law(chain), 0)[:-1]
        start = (jax.random.uniform(start_key, (count,)) > start_below).sum(0)
    below = jnp.cumsum(table, 1)[:, :-1]

    def step(now: jax.Array, uniform: jax.Array) -> tuple[jax.Array, jax.Array]:
        # A sum over masked rows: XLA vectorises it, a gather it does not.
        row = jnp.where(now == context[:, None, None], below, 0.0).sum(0)
        symbol = (uniform > row).sum(0)
        return (now * k + symbol) % contexts, symbol

    first = setting.ngram - 1
    _, symbols = lax.scan(step, start, jax.random.uniform(step_key, (setting.length + 1 - first, count)))
    digits = [start // k**power % k for power in reversed(range(first))]
    return jnp.concatenate([jnp.stack(digits), symbols]).T


# --- models ---


def lags(length: int) -> np.ndarray:
    """i - j for positions i, j [t, t]; negative ahead of i."""
    return np.arange(length)[:, None] - np.arange(length)


def draw_bits(setting: Setting, key: jax.Array, batch: int) -> Bits:
    """Fresh bits [batch, ...] for all sites of dropout."""
    sites = {site: (batch, *shape) for site, shape in setting.dropout_sites().items()}
    if not sites:
        return {}
    ends = np.cumsum([math.prod(shape) for shape in sites.values()])
    # One draw for all, of 32 bits for two entries: as 16 bits an entry and a draw a site it takes longer.
    words = jax.random.bits(key, (-(-ends[-1] // 2),), np.uint32)
    parts = jnp.split(lax.bitcast_convert_type(words, np.uint16).reshape(-1)[: ends[-1]], ends[:-1])
    return {site: part.reshape(shape) for part, (site, shape) in zip(parts, sites.items(), strict=True)}


def dropped(setting: Setting, bits: Bits, site: str, values: jax.Array) -> jax.Array:
    """What dropout leaves of the values."""
    if site not in bits:
        return values
    return jnp.where(bits[site] >= setting.dropped_below, values * setting.kept_scale, 0.0)


def normed(setting: Setting, weights: Weights, norm: str, resid: jax.Array) -> jax.Array:
    """The stream after a layer norm, in models that have them."""
    if not setting.layer_norm:
        return resid
    centred = resid - resid.mean(-1, keepdims=True)
    scale = lax.rsqrt((centred * centred).mean(-1, keepdims=True) + NORM_EPSILON)
    return centred * scale * weights[norm + ".gain"] + weights[norm + ".bias"]


def attention(setting: Setting, weights: Weights, bits: Bits, layer: str, resid: jax.Array) -> jax.Array:
    """What a layer's heads write: softmax over j <= i of (q_i + v_{i-j}) . k_j / sqrt(d_head), or of
    q_i . (k_j + v_{i-j}) / sqrt(d_head)."""
    batch, length, width = resid.shape
    heads, size = setting.heads, setting.head_width

    def by_head(matrix: str) -> jax.Array:
        return (resid @ weights[layer + matrix]).reshape(batch, length, heads, size).transpose(0, 2, 1, 3)

    queries, keys, values = by_head("W_Q"), by_head("W_K"), by_head("W_V")
    if setting.positions == "relative-query":
        queries = queries * size**-0.5
    else:
        keys = keys * size**-0.5
    scores = jnp.einsum("bhid,bhjd->bhij", queries, keys)
    lag = lags(length)
    if setting.positions.startswith("relative"):
        table = weights[layer + "v"].reshape(length, heads, size).transpose(1, 0, 2)
    # One matrix product for every head and every j (or i), with the operands already in its order.
    if setting.positions == "relative-key":
        by_lag = table[:, np.maximum(lag.T, 0)]
        positional = jnp.einsum("hjbd,hjid->hjbi", keys.transpose(1, 2, 0, 3), by_lag)
        scores = scores + positional.transpose(2, 0, 3, 1)
    if setting.positions == "relative-query":
        by_lag = table[:, np.maximum(lag, 0)]
        positional = jnp.einsum("hibd,hijd->hibj", queries.transpose(1, 2, 0, 3), by_lag)
        scores = scores + positional.transpose(2, 0, 1, 3)
    pattern = jax.nn.softmax(jnp.where(lag >= 0, scores, -jnp.inf))
    pattern = dropped(setting, bits, layer + "pattern", pattern)
    mixed = jnp.einsum("bhij,bhjd->bhid", pattern, values)
    mixed = mixed.transpose(0, 2, 1, 3).reshape(batch, length, width)
    return mixed @ weights[layer + "W_O"] if setting.projects else mixed


def mlp(weights: Weights, layer: str, resid: jax.Array) -> jax.Array:
    """What a layer's MLP writes."""
    hidden = jax.nn.gelu(resid @ weights[layer + "mlp.W_in"] + weights[layer + "mlp.b_in"])
    return hidden @ weights[layer + "mlp.W_out"] + weights[layer + "mlp.b_out"]


def convolved(kernel: jax.Array, values: jax.Array) -> jax.Array:
    """SiLU of a causal convolution of every column with a kernel of its own."""
    before, length = len(kernel) - 1, values.shape[1]
    padded = jnp.pad(values, ((0, 0), (before, 0), (0, 0)))
    return jax.nn.silu(sum(tap * padded[:, before - lag :][:, :length] for lag, tap in enumerate(kernel)))


CHUNK = 32
"""Positions of a chunk of a recurrence."""


def recurrence(how: Recurrence, log_decays: jax.Array, u: jax.Array, b: jax.Array, c: jax.Array) -> jax.Array:
    """y_t = h_t C_t of h_t = a_t h_{t-1} + u_t B_t^T, given ln a [B, t, H], u [B, t, H, P], B and C [B, t, N]."""
    batch, length, heads, size = u.shape
    if how == "chunks":
        # Within a chunk as a product with masked scores, from chunk to chunk by the states: Mamba-2's own form.
        short = -length % CHUNK

        def by_chunk(values: jax.Array) -> jax.Array:
            padded = jnp.pad(values, ((0, 0), (0, short)) + ((0, 0),) * (values.ndim - 2))
            return padded.reshape(batch, -1, CHUNK, *values.shape[2:])

        log_decays, u, b, c = (by_chunk(values) for values in (log_decays, u, b, c))
        sums = jnp.cumsum(log_decays, 2).transpose(0, 3, 1, 2)
        lag = lags(CHUNK)
        weights = jnp.where(lag >= 0, jnp.exp(jnp.where(lag >= 0, sums[..., :, None] - sums[..., None, :], 0.0)), 0.0)
        scores = jnp.einsum("bqin,bqjn->bqij", c, b)[:, None] * weights
        y = jnp.einsum("bhqij,bqjhp->bqihp", scores, u)
        left = jnp.exp(sums[..., -1:] - sums)
        added = jnp.einsum("bhqj,bqjhp,bqjn->qbhpn", left, u, b)

        def carry(h: jax.Array, now: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            decay, added = now
            return decay[..., None, None] * h + added, h

        decays = jnp.exp(sums[..., -1]).transpose(2, 0, 1)
        _, states = lax.scan(carry, jnp.zeros_like(added[0]), (decays, added))
        y = y + jnp.einsum("bqin,qbhpn,bhqi->bqihp", c, states, jnp.exp(sums))
        return y.reshape(batch, -1, heads, size)[:, :length]
    # Sequences last, which vectors run along: a [t, H, 1, 1, B], u [t, H, P, 1, B], B and C [t, 1, 1, N, B].
    decays = jnp.exp(log_decays).transpose(1, 2, 0)[:, :, None, None]
    u = u.transpose(1, 2, 3, 0)[:, :, :, None]
    b, c = (values.transpose(1, 2, 0)[:, None, None] for values in (b, c))
    if how == "associative":

        def joined(one: tuple[jax.Array, jax.Array], other: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            return one[0] * other[0], other[0] * one[1] + other[1]

        _, states = lax.associative_scan(joined, (decays, u * b))
        return (states * c).sum(3).transpose(3, 0, 1, 2)

    def step(h: jax.Array, now: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        decay, u, b, c = now
        h = decay * h + u * b
        return h, (h * c).sum(2)

    zeros = jnp.zeros((heads, size, b.shape[3], batch), u.dtype)
    return lax.scan(step, zeros, (decays, u, b, c))[1].transpose(3, 0, 1, 2)


def mamba(setting: Setting, weights: Weights, layer: str, resid: jax.Array) -> jax.Array:
    """What a layer's Mamba block writes: h_t C_t, gated and projected, of a recurrence that reads x, B, C and its decay."""
    (batch, length, _), heads = resid.shape, setting.mamba.heads
    x, b, c = (convolved(weights[f"{layer}conv_{name}"], resid @ weights[f"{layer}W_{name}"]) for name in "xBC")
    gate = jax.nn.silu(resid @ weights[layer + "W_z"])
    steps = jax.nn.softplus(resid @ weights[layer + "W_dt"] + weights[layer + "dt_bias"])
    u = steps[..., None] * x.reshape(batch, length, heads, -1)
    y = recurrence(setting.recurrence, -steps * jnp.exp(weights[layer + "A_log"]), u, b, c)
    return (y.reshape(batch, length, -1) * gate) @ weights[layer + "W_out"]


def transformer(setting: Setting, weights: Weights, inputs: jax.Array, bits: Bits) -> jax.Array:
    """Logits [B, t, k]."""
    resid = jax.nn.one_hot(inputs, setting.states) @ weights["embed.E"]
    if setting.positions == "absolute":
        resid = resid + weights["embed.positions"]
    resid = dropped(setting, bits, "embed", resid)
    for index in range(setting.layers):
        layer = f"layers.{index}."
        if setting.mamba is not None:
            resid = resid + mamba(setting, weights, f"{layer}mamba.", resid)
            continue
        written = attention(setting, weights, bits, layer, normed(setting, weights, layer + "attn_norm", resid))
        resid = resid + dropped(setting, bits, layer + "attention", written)
        if setting.mlp:
            written = mlp(weights, layer, normed(setting, weights, layer + "mlp_norm", resid))
            resid = resid + dropped(setting, bits, layer + "mlp", written)
    return normed(setting, weights, "final_norm", resid) @ weights["unembed.P"]


def minimal(setting: Setting, weights: Weights, inputs: jax.Array) -> jax.Array:
    """Logits [B, t, k] of mask(E W_k (M E)^T) E with M_ij = v_{i-j}."""
    symbols = jax.nn.one_hot(inputs, setting.states)
    lag = lags(setting.length)
    positional = jnp.where(lag >= 0, weights["v"][np.maximum(lag, 0)], 0.0)
    before = jnp.einsum("js,bsc->bjc", positional, symbols)
    if setting.masked:
        scores = jnp.einsum("bpc,bjc->bpj", symbols @ weights["W_k"], before)
        return jnp.where(lag >= 0, scores, 0.0) @ symbols
    # The masked sum over j is a running sum of k x k tables: cheaper than t x t scores a sequence, and as a
    # product with a triangle of ones cheaper than cumsum.
    pairs = before[..., :, None] * symbols[..., None, :]
    counts = jnp.einsum("pj,bjci->bpci", np.tri(setting.length, dtype=np.float32), pairs)
    return jnp.einsum("bpc,bpci->bpi", symbols @ weights["W_k"], counts)


def logits(setting: Setting, weights: Weights, inputs: jax.Array, bits: Bits) -> jax.Array:
    """Logits [B, t, k] of the setting's model."""
    if setting.kind == "minimal":
        return minimal(setting, weights, inputs)
    return transformer(setting, weights, inputs, bits)


def loss(setting: Setting, weights: Weights, tokens: jax.Array, bits: Bits) -> jax.Array:
    """Mean cross-entropy over positions and sequences."""
    scores = logits(setting, weights, tokens[:, :-1], bits)
    targets = jax.nn.one_hot(tokens[:, 1:], setting.states)
    return (jax.nn.logsumexp(scores, -1) - (scores * targets).sum(-1)).mean()


# --- training ---


def start(setting: Setting, weights: peer.Weights) -> State:
    """The state before the first step."""
    params = {name: jnp.asarray(values) for name, values in weights.items()}
    if isinstance(setting.optimizer, Sgd):
        return params, ()
    return params, (jax.tree.map(jnp.zeros_like, params), jax.tree.map(jnp.zeros_like, params), jnp.float32(0))


def adamw(rule: AdamW, state: State, grads: Weights) -> State:
    weights, (first, second, count) = state
    (beta_1, beta_2), count = rule.betas, count + 1
    first = jax.tree.map(lambda m, g: beta_1 * m + (1 - beta_1) * g, first, grads)
    second = jax.tree.map(lambda s, g: beta_2 * s + (1 - beta_2) * g * g, second, grads)
    step_size = rule.lr / (1 - beta_1**count)
    root = lax.rsqrt(1 - beta_2**count)

    def moved(name: str) -> jax.Array:
        shrink = 1 - rule.lr * rule.weight_decay if rule.decays(name) else 1.0
        return shrink * weights[name] - step_size * first[name] / (jnp.sqrt(second[name]) * root + rule.epsilon)

    return {name: moved(name) for name in weights}, (first, second, count)


def train_step(
    setting: Setting, axis: str | None, state: State, tokens: jax.Array, bits: Bits
) -> tuple[State, jax.Array]:
    """One step on one batch [B, t+1], or on one device's part of it; the loss is of the weights before the step."""
    value, grads = jax.value_and_grad(partial(loss, setting))(state[0], tokens, bits)
    if axis is not None:
        value, grads = lax.pmean((value, grads), axis)
    rule = setting.optimizer
    if isinstance(rule, Sgd):
        return (jax.tree.map(lambda w, g: w - rule.lr * g, state[0], grads), ()), value
    return adamw(rule, state, grads), value


def train_on(
    setting: Setting, axis: str | None, state: State, batches: jax.Array, bits: Bits
) -> tuple[State, jax.Array]:
    """Steps through batches [steps, B, t+1] with bits [steps, B, ...]."""
    return lax.scan(lambda state, given: train_step(setting, axis, state, *given), state, (batches, bits))


def train_stretch(
    setting: Setting, axis: str | None, batch: int, state: State, key: jax.Array
) -> tuple[State, jax.Array, jax.Array]:
    """Samples the batches of a stretch side by side, then steps through them."""
    next_key, key = jax.random.split(key)
    if axis is not None:
        key = jax.random.fold_in(key, lax.axis_index(axis))
    sample_key, bits_key = jax.random.split(key)
    batches = sample(setting, sample_key, STRETCH * batch).reshape(STRETCH, batch, -1)

    def step(state: State, given: tuple[jax.Array, jax.Array]) -> tuple[State, jax.Array]:
        tokens, key = given
        return train_step(setting, axis, state, tokens, draw_bits(setting, key, batch))

    state, losses = lax.scan(step, state, (batches, jax.random.split(bits_key, STRETCH)))
    return state, next_key, losses


class JaxPeer(peer.Peer):
    """One device with a pool of threads, or one device a thread with a part of the batch each."""

    name = "jax"
    version = jax.__version__

    def __init__(self, setting: Setting, threads: int) -> None:
        super().__init__(setting, threads)
        jax.config.update("jax_num_cpu_devices", threads)

    def forms(self) -> tuple[str, ...]:
        divides = self.threads > 1 and BATCH % self.threads == 0
        return ("scan", "sharded scan") if divides else ("scan",)

    def probabilities(self, weights: peer.Weights, inputs: np.ndarray) -> np.ndarray:
        params, _ = start(self.setting, weights)
        return np.asarray(jax.nn.softmax(logits(self.setting, params, inputs, bits={})))

    def replay(
        self, form: str, weights: peer.Weights, batches: np.ndarray, bits: peer.Bits
    ) -> tuple[np.ndarray, peer.Weights]:
        state, given = start(self.setting, weights), (jnp.asarray(batches), jax.tree.map(jnp.asarray, bits))
        if form == "scan":
            train = jax.jit(partial(train_on, self.setting, None))
        else:
            parts = PartitionSpec(None, AXIS)
            train = self.over_devices(partial(train_on, self.setting, AXIS), (PartitionSpec(), parts, parts))
            given = jax.device_put(given, NamedSharding(self.mesh(), parts))
        (after, _), losses = train(state, *given)
        return np.asarray(losses), {name: np.asarray(values) for name, values in after.items()}

    def stretch(self, form: str, weights: peer.Weights) -> Callable[[], None]:
        state, key = start(self.setting, weights), jax.random.key(0)
        if form == "scan":
            train = jax.jit(partial(train_stretch, self.setting, None, BATCH), donate_argnums=0)
        else:
            part = partial(train_stretch, self.setting, AXIS, BATCH // self.threads)
            train = self.over_devices(part, (PartitionSpec(), PartitionSpec()))
            # Where later calls find them: elsewhere, the second call would compile again.
            state, key = jax.device_put((state, key), NamedSharding(self.mesh(), PartitionSpec()))

        def stretch() -> None:
            nonlocal state, key
            state, key, losses = train(state, key)
            jax.block_until_ready((state, losses))

        return stretch

    def sample(self, count: int) -> np.ndarray:
        return np.asarray(jax.jit(sample, static_argnums=(0, 2))(self.setting, jax.random.key(1), count))

    def bits(self) -> peer.Bits:
        return jax.tree.map(np.asarray, draw_bits(self.setting, jax.random.key(2), BATCH))

    def mesh(self) -> jax.sharding.Mesh:
        return jax.make_mesh((self.threads,), (AXIS,))

    def over_devices(self, function: Callable[..., Any], inputs: tuple[PartitionSpec, ...]) -> Callable[..., Any]:
        """Runs a function on every device; what it gives back must be the same on all of them."""
        mapped = jax.shard_map(
            function, mesh=self.mesh(), in_specs=inputs, out_specs=PartitionSpec(), check_vma=False
        )
        return jax.jit(mapped, donate_argnums=0)


if __name__ == "__main__":
    peer.run(JaxPeer, CHOSEN)
