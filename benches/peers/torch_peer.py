"""Induct's training step in PyTorch on a CPU, eager and compiled."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

import peer
from settings import BATCH, STRETCH, Setting, Sgd

Weights = dict[str, Tensor]
Loss = Callable[[Weights, Tensor], Tensor]


# --- sequences ---


def sample(setting: Setting, count: int) -> Tensor:
    """Sequences [count, t+1], each from its own Dirichlet chain, started from the stationary law."""
    k, contexts = setting.states, setting.contexts
    # Exponentials over their sum are Dirichlet(1, ..., 1), and much cheaper than gamma variates.
    table = torch.empty(count, contexts, k).exponential_()
    table /= table.sum(2, keepdim=True)
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

    def attention(self, weights: Weights, layer: str, resid: Tensor) -> Tensor:
        """What a layer's heads write: softmax over j <= i of (q_i + v_{i-j}) . k_j / sqrt(d_head)."""
        batch, length, width = resid.shape
        heads, size = self.setting.heads, self.setting.head_width
        projected = resid @ torch.cat([weights[layer + name] for name in ("W_Q", "W_K", "W_V")], 1)
        queries, keys, values = projected.view(batch, length, 3, heads, size).permute(2, 0, 3, 1, 4)
        queries, keys, values = (part.reshape(-1, length, size) for part in (queries, keys * size**-0.5, values))
        bias = self.ahead.expand(len(keys), -1, -1)
        if self.setting.positions == "relative-key":
            bias = bias + self.positional(weights[layer + "v"], keys)
        scores = torch.baddbmm(bias, queries, keys.transpose(1, 2))
        mixed = torch.softmax(scores, -1) @ values
        mixed = mixed.view(batch, heads, length, size).transpose(1, 2).reshape(batch, length, width)
        return mixed @ weights[layer + "W_O"] if heads > 1 else mixed

    def positional(self, table: Tensor, keys: Tensor) -> Tensor:
        """v_{i-j} . k_j for all i, j [B H, t, t], from a product over lags whose rows are then shifted.

        Row j of the product holds lags 0 ... t-1. Padded to 2t and read again in rows of 2t-1, it starts j places
        further to the right: at column i = j + lag.
        """
        length, (heads, size) = self.setting.length, (self.setting.heads, self.setting.head_width)
        by_head = keys.view(-1, heads, length, size)
        by_lag = by_head @ table.view(length, heads, size).permute(1, 2, 0)
        padded = functional.pad(by_lag, (0, length)).view(len(keys), -1)
        shifted = padded[:, :-length].view(-1, length, 2 * length - 1)
        return shifted[:, :, :length].transpose(1, 2)

    def __call__(self, weights: Weights, inputs: Tensor) -> Tensor:
        """Logits [B, t, k]."""
        resid = functional.embedding(inputs, weights["embed.E"])
        if self.setting.positions == "absolute":
            resid = resid + weights["embed.positions"]
        for index in range(self.setting.layers):
            layer = f"layers.{index}."
            resid = resid + self.attention(weights, layer, resid)
            if self.setting.mlp:
                hidden = resid @ weights[layer + "mlp.W_in"] + weights[layer + "mlp.b_in"]
                hidden = functional.gelu(hidden, approximate="tanh")
                resid = resid + hidden @ weights[layer + "mlp.W_out"] + weights[layer + "mlp.b_out"]
        return resid @ weights["unembed.P"]


class Minimal:
    """mask(E W_k (M E)^T) E with M_ij = v_{i-j}."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.lag = lags(setting.length).clamp(min=0)
        self.triangle = torch.ones(setting.length, setting.length).tril()

    def __call__(self, weights: Weights, inputs: Tensor) -> Tensor:
        """Logits [B, t, k]."""
        symbols = functional.one_hot(inputs, self.setting.states).float()
        before = (weights["v"][self.lag] * self.triangle) @ symbols
        if self.setting.masked:
            scores = (symbols @ weights["W_k"]) @ before.transpose(1, 2)
            return (scores * self.triangle) @ symbols
        # The masked sum over j is a running sum of k x k tables: cheaper than t x t scores a sequence.
        counts = (before[..., :, None] * symbols[..., None, :]).cumsum(1)
        return torch.einsum("bpc,bpci->bpi", symbols @ weights["W_k"], counts)


# --- training ---


def loss_of(setting: Setting) -> Loss:
    """Mean cross-entropy over positions and sequences, of weights and tokens [B, t+1]."""
    model = Minimal(setting) if setting.kind == "minimal" else Transformer(setting)

    def loss(weights: Weights, tokens: Tensor) -> Tensor:
        logits = model(weights, tokens[:, :-1])
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

    def step(self, tokens: Tensor) -> Tensor:
        """One step on one batch [B, t+1]; the loss is of the weights before it."""
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(self.weights, tokens)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


class TorchPeer(peer.Peer):
    name = "torch"
    version = torch.__version__

    def __init__(self, setting: Setting, threads: int) -> None:
        super().__init__(setting, threads)
        torch.set_num_threads(threads)
        torch.manual_seed(0)

    def probabilities(self, weights: peer.Weights, inputs: np.ndarray) -> np.ndarray:
        model = Minimal(self.setting) if self.setting.kind == "minimal" else Transformer(self.setting)
        return torch.softmax(model(parameters(weights), torch.tensor(inputs, dtype=torch.long)), -1).detach().numpy()

    def forms(self) -> tuple[str, ...]:
        return ("eager", "compiled")

    def training(self, form: str, weights: peer.Weights) -> Training:
        loss = loss_of(self.setting)
        return Training(self.setting, weights, loss if form == "eager" else torch.compile(loss, dynamic=False))

    def replay(self, form: str, weights: peer.Weights, batches: np.ndarray) -> tuple[np.ndarray, peer.Weights]:
        training = self.training(form, weights)
        losses = [training.step(tokens) for tokens in torch.tensor(batches, dtype=torch.long)]
        after = {name: tensor.detach().numpy() for name, tensor in training.weights.items()}
        return torch.stack(losses).numpy(), after

    def stretch(self, form: str, weights: peer.Weights) -> Callable[[], None]:
        training = self.training(form, weights)

        def stretch() -> None:
            # The batches of a stretch are drawn side by side: t small operations for all of them.
            for tokens in sample(self.setting, STRETCH * BATCH).view(STRETCH, BATCH, -1):
                training.step(tokens)

        return stretch

    def sample(self, count: int) -> np.ndarray:
        return sample(self.setting, count).numpy()


if __name__ == "__main__":
    chosen = peer.arguments(__doc__)
    peer.keep_to_cores(chosen.threads)
    peer.run(TorchPeer, chosen)
