"""Induct's training step in PyTorch on a CPU, eager and compiled."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

import peer
from settings import BATCH, DROPOUT_LEVELS, STRETCH, Setting, Sgd

Weights = dict[str, Tensor]
Bits = dict[str, Tensor]
"""16 bits for each entry that dropout may drop, less 2^15 (int16), by site."""
Loss = Callable[[Weights, Tensor, Bits], Tensor]

NORM_EPSILON = 1e-5
FIRST = "layers.0."
"""The layer that interventions are about."""
SIGN = np.uint16(DROPOUT_LEVELS // 2)
"""The bit by which int16 orders as uint16 does."""


# --- sequences ---


def sample(setting: Setting, count: int) -> Tensor:
    """Sequences [count, t+1], each from its own Dirichlet chain, started from the stationary law or a uniform one."""
    k, contexts = setting.states, setting.contexts
    # Exponentials over their sum are Dirichlet(1, ..., 1), and much cheaper than gamma variates.
    table = torch.empty(count, contexts, k).exponential_()
    table /= table.sum(2, keepdim=True)
    if setting.start == "uniform":
        now = torch.randint(contexts, (count,))
    else:
        chain = torch.zeros(count, contexts, contexts)
        successor = (torch.arange(contexts)[:, None] * k + torch.arange(k)) % contexts
        chain.scatter_(2, successor.expand(count, -1, -1), table)
        # pi (I - P + 1) = 1 for a stationary pi of sum one, where 1 is a matrix and a row of ones.
        system = (torch.eye(contexts) - chain + 1.0).transpose(1, 2)
        law = torch.linalg.solve(system, torch.ones(count, contexts))
        now = (torch.rand(count, 1) > law.cumsum(1)[:, :-1]).sum(1)
    first = setting.ngram - 1
    symbols = [now // k**power % k for power in reversed(range(first))]
    below = table.cumsum(2)[:, :, :-1].reshape(count * contexts, k - 1)
    row_of_first_context = torch.arange(count) * contexts
    for uniform in torch.rand(setting.length + 1 - first, count, 1):
        symbol = (uniform > below[row_of_first_context + now]).sum(1)
        symbols.append(symbol)
        now = (now * k + symbol) % contexts
    return torch.stack(symbols, 1)


def draw_bits(setting: Setting, batch: int) -> Bits:
    """Fresh bits [batch, ...] for all sites of dropout."""
    sites = {site: (batch, *shape) for site, shape in setting.dropout_sites().items()}
    counts = [math.prod(shape) for shape in sites.values()]
    # Numbers of 64 bits at once: a draw costs the same for any type.
    words = torch.empty(-(-sum(counts) // 4), dtype=torch.int64).random_(-(2**63), None)
    parts = words.view(torch.int16)[: sum(counts)].split(counts)
    return {site: part.view(shape) for part, (site, shape) in zip(parts, sites.items(), strict=True)}


# --- models ---


def lags(length: int) -> Tensor:
    """i - j for positions i, j [t, t]; negative ahead of i."""
    return torch.arange(length)[:, None] - torch.arange(length)


class Transformer:
    """Attention layers as Induct's documentation writes them."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        # -inf ahead of a position, and nothing behind it
        self.ahead = torch.zeros(setting.length, setting.length).masked_fill(lags(setting.length) < 0, -torch.inf)

    def dropped(self, bits: Bits, site: str, values: Tensor) -> Tensor:
        """What dropout leaves of the values."""
        if site not in bits:
            return values
        kept = bits[site] >= self.setting.dropped_below - DROPOUT_LEVELS // 2
        return values * (kept * self.setting.kept_scale)

    def normed(self, weights: Weights, norm: str, resid: Tensor) -> Tensor:
        """The stream after a layer norm, in models that have them."""
        if not self.setting.layer_norm:
            return resid
        shape = (self.setting.width,)
        return functional.layer_norm(resid, shape, weights[norm + ".gain"], weights[norm + ".bias"], NORM_EPSILON)

    def attention(self, weights: Weights, bits: Bits, layer: str, resid: Tensor) -> Tensor:
        """What a layer's heads write: softmax over j <= i of (q_i + v_{i-j}) . k_j / sqrt(d_head), or of
        q_i . (k_j + v_{i-j}) / sqrt(d_head)."""
        batch, length, width = resid.shape
        heads, size = self.setting.heads, self.setting.head_width
        if self.setting.intervened and layer == FIRST:
            # No pattern is needed to attend to the symbol before.
            values = resid @ weights[layer + "W_V"]
            before = torch.cat([values[:, :1], values[:, :-1]], 1)
            return before @ weights[layer + "W_O"] if self.setting.projects else before
        projected = resid @ torch.cat([weights[layer + name] for name in ("W_Q", "W_K", "W_V")], 1)
        queries, keys, values = projected.view(batch, length, 3, heads, size).permute(2, 0, 3, 1, 4)
        if self.setting.positions == "relative-query":
            queries = queries * size**-0.5
        else:
            keys = keys * size**-0.5
        queries, keys, values = (part.reshape(-1, length, size) for part in (queries, keys, values))
        bias = self.ahead.expand(len(keys), -1, -1)
        if self.setting.positions == "relative-key":
            bias = bias + self.with_keys(weights[layer + "v"], keys)
        if self.setting.positions == "relative-query":
            bias = bias + self.with_queries(weights[layer + "v"], queries)
        scores = torch.baddbmm(bias, queries, keys.transpose(1, 2))
        pattern = torch.softmax(scores, -1).view(batch, heads, length, length)
        pattern = self.dropped(bits, layer + "pattern", pattern)
        mixed = pattern.view(-1, length, length) @ values
        mixed = mixed.view(batch, heads, length, size).transpose(1, 2).reshape(batch, length, width)
        return mixed @ weights[layer + "W_O"] if self.setting.projects else mixed

    def with_keys(self, table: Tensor, keys: Tensor) -> Tensor:
        """v_{i-j} . k_j for all j <= i [B H, t, t], from a product over lags whose rows are then shifted.

        Row j of the product holds lags 0 ... t-1 and a zero. Read again in rows of t, it starts j places further to the
        right: at column i = j + lag; what stands left of it belongs to the row before.
        """
        length, (heads, size) = self.setting.length, (self.setting.heads, self.setting.head_width)
        by_head = keys.view(-1, heads, length, size)
        padded = functional.pad(table, (0, 0, 0, 1))
        by_lag = by_head @ padded.view(length + 1, heads, size).permute(1, 2, 0)
        return by_lag.view(len(keys), -1)[:, : length * length].view(-1, length, length).transpose(1, 2)

    def with_queries(self, table: Tensor, queries: Tensor) -> Tensor:
        """q_i . v_{i-j} for all j <= i [B H, t, t], from a product over lags whose rows are then shifted.

        Row i of the product holds a zero and lags t-1 ... 0. Without its first t entries and read again in rows of t,
        it has lag i-j at column j; what stands right of it belongs to the next row.
        """
        length, (heads, size) = self.setting.length, (self.setting.heads, self.setting.head_width)
        by_head = queries.view(-1, heads, length, size)
        padded = functional.pad(table.flip(0), (0, 0, 1, 0))
        by_lag = by_head @ padded.view(length + 1, heads, size).permute(1, 2, 0)
        return by_lag.view(len(queries), -1)[:, length:].view(-1, length, length)

    def mlp(self, weights: Weights, layer: str, resid: Tensor) -> Tensor:
        """What a layer's MLP writes."""
        hidden = resid @ weights[layer + "mlp.W_in"] + weights[layer + "mlp.b_in"]
        hidden = functional.gelu(hidden, approximate="tanh")
        return hidden @ weights[layer + "mlp.W_out"] + weights[layer + "mlp.b_out"]

    def __call__(self, weights: Weights, inputs: Tensor, bits: Bits) -> Tensor:
        """Logits [B, t, k]."""
        resid = functional.embedding(inputs, weights["embed.E"])
        if self.setting.positions == "absolute":
            resid = resid + weights["embed.positions"]
        resid = self.dropped(bits, "embed", resid)
        unseen: Tensor | None = None
        for index in range(self.setting.layers):
            layer = f"layers.{index}."
            written = self.attention(weights, bits, layer, self.normed(weights, layer + "attn_norm", resid))
            resid = resid + self.dropped(bits, layer + "attention", written)
            if self.setting.intervened and layer == FIRST:
                unseen = written
            if self.setting.mlp:
                written = self.mlp(weights, layer, self.normed(weights, layer + "mlp_norm", resid))
                resid = resid + self.dropped(bits, layer + "mlp", written)
        if unseen is not None:
            resid = resid - unseen
        return self.normed(weights, "final_norm", resid) @ weights["unembed.P"]


class Minimal:
    """mask(E W_k (M E)^T) E with M_ij = v_{i-j}. It has no dropout, so its bits are empty."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.lag = lags(setting.length).clamp(min=0)
        self.triangle = torch.ones(setting.length, setting.length).tril()

    def __call__(self, weights: Weights, inputs: Tensor, bits: Bits) -> Tensor:
        """Logits [B, t, k]."""
        symbols = functional.one_hot(inputs, self.setting.states).float()
        before = (weights["v"][self.lag] * self.triangle) @ symbols
        if self.setting.masked:
            scores = (symbols @ weights["W_k"]) @ before.transpose(1, 2)
            return (scores * self.triangle) @ symbols
        # The masked sum over j is a running sum of k x k tables: cheaper than t x t scores a sequence.
        counts = (before[..., :, None] * symbols[..., None, :]).cumsum(1)
        return torch.einsum("bpc,bpci->bpi", symbols @ weights["W_k"], counts)


def model_of(setting: Setting) -> Minimal | Transformer:
    return Minimal(setting) if setting.kind == "minimal" else Transformer(setting)


# --- training ---


def loss_of(setting: Setting) -> Loss:
    """Mean cross-entropy over positions and sequences, of weights and tokens [B, t+1]."""
    model = model_of(setting)

    def loss(weights: Weights, tokens: Tensor, bits: Bits) -> Tensor:
        logits = model(weights, tokens[:, :-1], bits)
        return functional.cross_entropy(logits.reshape(-1, setting.states), tokens[:, 1:].reshape(-1))

    return loss


def parameters(weights: peer.Weights) -> Weights:
    return {name: torch.tensor(values, requires_grad=True) for name, values in weights.items()}


def optimizer_of(setting: Setting, weights: Weights) -> torch.optim.Optimizer:
    rule = setting.optimizer
    if isinstance(rule, Sgd):
        return torch.optim.SGD(weights.values(), lr=rule.lr, fused=True)
    groups = [
        {
            "params": [tensor for name, tensor in weights.items() if rule.decays(name) == decays],
            "weight_decay": rule.weight_decay if decays else 0.0,
        }
        for decays in (True, False)
    ]
    return torch.optim.AdamW(groups, lr=rule.lr, betas=rule.betas, eps=rule.epsilon, fused=True)


class Training:
    """Weights on their way."""

    def __init__(self, setting: Setting, weights: peer.Weights, loss: Loss) -> None:
        self.weights = parameters(weights)
        self.optimizer = optimizer_of(setting, self.weights)
        self.loss = loss

    def step(self, tokens: Tensor, bits: Bits) -> Tensor:
        """One step on one batch [B, t+1]; the loss is of the weights before it."""
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(self.weights, tokens, bits)
        loss.backward()
        for tensor in self.weights.values():
            if tensor.grad is None:
                # A clamped pattern's queries and keys: without a gradient, AdamW would leave out their decay as well.
                tensor.grad = torch.zeros_like(tensor)
        self.optimizer.step()
        return loss.detach()


class TorchPeer(peer.Peer):
    name = "torch"
    version = torch.__version__

    def __init__(self, setting: Setting, threads: int) -> None:
        super().__init__(setting, threads)
        torch.set_num_threads(threads)
        torch.manual_seed(0)
        self.losses: dict[str, Loss] = {}

    def probabilities(self, weights: peer.Weights, inputs: np.ndarray) -> np.ndarray:
        model = model_of(self.setting.without_interventions)
        logits = model(parameters(weights), torch.tensor(inputs, dtype=torch.long), bits={})
        return torch.softmax(logits, -1).detach().numpy()

    def forms(self) -> tuple[str, ...]:
        return ("eager", "compiled")

    def training(self, form: str, weights: peer.Weights) -> Training:
        if form not in self.losses:
            loss = loss_of(self.setting)
            self.losses[form] = loss if form == "eager" else torch.compile(loss, dynamic=False)
        return Training(self.setting, weights, self.losses[form])

    def replay(
        self, form: str, weights: peer.Weights, batches: np.ndarray, bits: peer.Bits
    ) -> tuple[np.ndarray, peer.Weights]:
        training = self.training(form, weights)
        signed = {site: torch.tensor((drawn ^ SIGN).view(np.int16)) for site, drawn in bits.items()}
        losses = [
            training.step(tokens, {site: drawn[step] for site, drawn in signed.items()})
            for step, tokens in enumerate(torch.tensor(batches, dtype=torch.long))
        ]
        after = {name: tensor.detach().numpy() for name, tensor in training.weights.items()}
        return torch.stack(losses).numpy(), after

    def stretch(self, form: str, weights: peer.Weights) -> Callable[[], None]:
        training = self.training(form, weights)

        def stretch() -> None:
            # The batches of a stretch are drawn side by side: t small operations for all of them.
            for tokens in sample(self.setting, STRETCH * BATCH).view(STRETCH, BATCH, -1):
                training.step(tokens, draw_bits(self.setting, BATCH))

        return stretch

    def sample(self, count: int) -> np.ndarray:
        return sample(self.setting, count).numpy()

    def bits(self) -> peer.Bits:
        return {site: drawn.numpy().view(np.uint16) ^ SIGN for site, drawn in draw_bits(self.setting, BATCH).items()}


if __name__ == "__main__":
    chosen = peer.arguments(__doc__)
    peer.keep_to_cores(chosen.threads)
    peer.run(TorchPeer, chosen)
