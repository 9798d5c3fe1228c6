"""TransformerLens on Induct's checkpoints: its own hooks and caches."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
import torch
from induct import pytorch
from induct.lens import bridge
from runs import LENGTH, LISTS, TRANSFORMERS, Run, run
from torch import Tensor
from torch.nn import functional
from transformer_lens.hook_points import HookPoint
from transformer_lens.model_bridge import TransformerBridge

TOLERANCE = 1e-5


def heads_of(own: Run) -> list[int]:
    """The number of heads of every layer."""
    blocks = pytorch.TransformerSettings.of(own.recipe).blocks
    return [block["heads"] for block in blocks if block["kind"] == "attention"]


def bridged(name: str) -> tuple[Run, TransformerBridge]:
    own = run(name)
    return own, own.model.to_lens()


def assert_computes(logits: Tensor, expected: npt.NDArray[np.float32]) -> None:
    np.testing.assert_allclose(logits.detach().numpy(), expected, rtol=0, atol=TOLERANCE)


def previous_token(pattern: Tensor, hook: HookPoint) -> Tensor:
    """Everything attends to the symbol before, and the first one to itself."""
    before = (torch.arange(pattern.shape[-1]) - 1).clamp(min=0)
    return functional.one_hot(before, pattern.shape[-1]).to(pattern.dtype).expand_as(pattern)


def zero(activation: Tensor, hook: HookPoint) -> Tensor:
    return torch.zeros_like(activation)


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_logits_are_those_of_the_engine(name: str) -> None:
    own, model = bridged(name)
    (sequence,) = own.sequences(1)
    assert_computes(model(torch.tensor(sequence))[0], own.model.logits(sequence))


@pytest.mark.parametrize("name", LISTS)
def test_other_lists_of_blocks_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"^model\..* TransformerLens "):
        run(name).model.to_lens()


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_the_cache_has_the_usual_names(name: str) -> None:
    own, model = bridged(name)
    settings = pytorch.TransformerSettings.of(own.recipe)
    batch, d, k = 3, settings.width, settings.states
    logits, cache = model.run_with_cache(torch.tensor(own.sequences(batch)))
    expected: dict[str, tuple[int, ...]] = {"hook_embed": (batch, LENGTH, d), "unembed.hook_out": (batch, LENGTH, k)}
    for layer, heads in enumerate(heads_of(own)):
        block = f"blocks.{layer}."
        for hook in ("hook_resid_pre", "hook_resid_post", "hook_attn_out"):
            expected[block + hook] = (batch, LENGTH, d)
        for hook in ("hook_q", "hook_k", "hook_v", "hook_z"):
            expected[block + "attn." + hook] = (batch, LENGTH, heads, d // heads)
        for hook in ("hook_attn_scores", "hook_pattern"):
            expected[block + "attn." + hook] = (batch, heads, LENGTH, LENGTH)
        if mlp := next((block for block in settings.blocks if block["kind"] == "mlp"), None):
            for hook in ("hook_resid_mid", "hook_mlp_out"):
                expected[block + hook] = (batch, LENGTH, d)
            for hook in ("mlp.hook_pre", "mlp.hook_post"):
                expected[block + hook] = (batch, LENGTH, mlp.get("ratio", 4) * d)
    if settings.positions == "absolute":
        expected["hook_pos_embed"] = (batch, LENGTH, d)
    assert {hook: tuple(cache[hook].shape) for hook in expected} == expected
    torch.testing.assert_close(cache["unembed.hook_out"], logits)


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_scores_and_patterns_are_those_of_the_engine(name: str) -> None:
    own, model = bridged(name)
    (sequence,) = own.sequences(1)
    _, cache = model.run_with_cache(torch.tensor(sequence))
    seen = own.model.activations(sequence)
    for layer in range(len(heads_of(own))):
        for hook, name in (("hook_attn_scores", "attn_scores"), ("hook_pattern", "attn_pattern")):
            found = cache[f"blocks.{layer}.attn.{hook}"][0].detach().numpy()
            np.testing.assert_allclose(found, seen[f"layers.{layer}.{name}"], rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_clamped_pattern_is_a_clamp_of_the_engine(name: str) -> None:
    own, model = bridged(name)
    (sequence,) = own.sequences(1)
    logits = model.run_with_hooks(torch.tensor(sequence), fwd_hooks=[("blocks.0.attn.hook_pattern", previous_token)])
    assert_computes(logits[0], own.model.clamp("layers.0", "previous-token").logits(sequence))


@pytest.mark.parametrize("name", TRANSFORMERS)
@pytest.mark.parametrize("hook", ["attn.hook_pattern", "attn.hook_z", "hook_attn_out"])
def test_zeros_are_an_ablation_of_the_engine(name: str, hook: str) -> None:
    own, model = bridged(name)
    (sequence,) = own.sequences(1)
    with model.hooks(fwd_hooks=[(f"blocks.0.{hook}", zero)]):
        logits = model(torch.tensor(sequence))
    assert_computes(logits[0], own.model.ablate("layers.0.head_out").logits(sequence))


def test_one_head_of_several_can_be_ablated() -> None:
    own, model = bridged("heads-by-layer")
    (sequence,) = own.sequences(1)

    def without_head_2(z: Tensor, hook: HookPoint) -> Tensor:
        z = z.clone()
        z[:, :, 2] = 0.0
        return z

    model.add_hook("blocks.1.attn.hook_z", without_head_2)
    logits = model(torch.tensor(sequence))
    assert_computes(logits[0], own.model.ablate("layers.1.heads.2").logits(sequence))
    model.reset_hooks()
    assert_computes(model(torch.tensor(sequence))[0], own.model.logits(sequence))


@pytest.mark.parametrize(
    ("hook", "place"), [("hook_embed", "embed"), ("blocks.1.hook_resid_pre", "layers.1.resid_pre")]
)
def test_other_places_can_be_ablated(hook: str, place: str) -> None:
    own, model = bridged("relative-key")
    (sequence,) = own.sequences(1)
    logits = model.run_with_hooks(torch.tensor(sequence), fwd_hooks=[(hook, zero)])
    assert_computes(logits[0], own.model.ablate(place).logits(sequence))


@pytest.mark.parametrize("name", ["mlp-gelu", "mlp-relu-norm"])
def test_an_mlp_can_be_ablated(name: str) -> None:
    own, model = bridged(name)
    (sequence,) = own.sequences(1)
    logits = model.run_with_hooks(torch.tensor(sequence), fwd_hooks=[("blocks.0.hook_mlp_out", zero)])
    assert_computes(logits[0], own.model.ablate("layers.0.mlp_out").logits(sequence))


@pytest.mark.parametrize(("reader", "part"), [("queries", "q"), ("keys", "k"), ("values", "v")])
def test_a_path_to_one_reader_can_be_cut(reader: str, part: str) -> None:
    own, model = bridged("relative-key")
    (sequence,) = own.sequences(1)
    _, cache = model.run_with_cache(torch.tensor(sequence))

    def without_layer_0(read: Tensor, hook: HookPoint) -> Tensor:
        return read - cache["blocks.0.hook_attn_out"]

    logits = model.run_with_hooks(
        torch.tensor(sequence), fwd_hooks=[(f"blocks.1.attn.{part}.hook_in", without_layer_0)]
    )
    assert_computes(logits[0], own.model.ablate("layers.0.heads.0", to=f"layers.1.{reader}").logits(sequence))


def test_scores_can_be_changed_too() -> None:
    own, model = bridged("three-states-three-heads")
    tokens = torch.tensor(own.sequences(2))

    def ahead_only(scores: Tensor, hook: HookPoint) -> Tensor:
        return scores.where(scores == -torch.inf, 0.0)

    _, cache = model.run_with_cache(tokens)
    with model.hooks(fwd_hooks=[("blocks.1.attn.hook_attn_scores", ahead_only)]):
        _, changed = model.run_with_cache(tokens)
    uniform = torch.ones(LENGTH, LENGTH).tril() / torch.arange(1, LENGTH + 1)[:, None]
    torch.testing.assert_close(changed["blocks.1.attn.hook_pattern"], uniform.expand(2, 3, -1, -1))
    assert not torch.allclose(cache["blocks.1.hook_attn_out"], changed["blocks.1.hook_attn_out"])


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_heads_add_up(name: str) -> None:
    own, model = bridged(name)
    tokens = torch.tensor(own.sequences(2))
    whole = model(tokens)
    model.set_use_attn_result(True)
    logits, cache = model.run_with_cache(tokens)
    torch.testing.assert_close(logits, whole, rtol=0, atol=TOLERANCE)
    for layer in range(model.cfg.n_layers):
        by_head = cache[f"blocks.{layer}.attn.hook_result"]
        added = cache[f"blocks.{layer}.hook_attn_out"]
        torch.testing.assert_close(by_head.sum(-2), added, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_weights_have_the_layout_of_transformer_lens(name: str) -> None:
    own, model = bridged(name)
    settings = pytorch.TransformerSettings.of(own.recipe)
    d = settings.width
    np.testing.assert_array_equal(model.W_E.detach(), own.weights["embed.E"])
    np.testing.assert_array_equal(model.W_U.detach(), own.weights["unembed.P"])
    for layer, heads in enumerate(heads_of(own)):
        attention = model.blocks[layer].attn
        for matrix in ("W_Q", "W_K", "W_V"):
            by_head = own.weights[f"layers.{layer}.{matrix}"].reshape(d, heads, d // heads).transpose(1, 0, 2)
            np.testing.assert_array_equal(getattr(attention, matrix).detach(), by_head)
        w_o = own.weights.get(f"layers.{layer}.W_O", np.eye(d, dtype=np.float32))
        np.testing.assert_array_equal(attention.W_O.detach(), w_o.reshape(heads, d // heads, d))


@pytest.mark.parametrize("name", TRANSFORMERS)
@pytest.mark.filterwarnings("ignore:Adapter does not support")
def test_processed_weights_predict_the_same(name: str) -> None:
    own, model = bridged(name)
    (sequence,) = own.sequences(1)
    model.enable_compatibility_mode()
    # Logits are centred then, which no prediction sees.
    probabilities = torch.softmax(model(torch.tensor(sequence))[0], -1)
    assert_computes(probabilities, own.model.predict(sequence))


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_gradients_flow_to_all_weights_but_the_identity(name: str) -> None:
    own, model = bridged(name)
    torch.autograd.backward(model(torch.tensor(own.sequences(4)), return_type="loss"))
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    assert sum(parameter.numel() for parameter in trained) == sum(values.size for values in own.weights.values())
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in trained)


def test_state_dicts_hold_everything() -> None:
    own, model = bridged("relative-key")
    other = bridge(own.recipe, {name: np.zeros_like(values) for name, values in own.weights.items()})
    other.load_state_dict(model.state_dict())  # type: ignore[no-untyped-call]
    tokens = torch.tensor(own.sequences(2))
    torch.testing.assert_close(other(tokens), model(tokens))


def test_the_stream_can_enter_at_a_layer() -> None:
    own, model = bridged("layer-norm")
    tokens = torch.tensor(own.sequences(2))
    _, cache = model.run_with_cache(tokens)
    logits = model(cache["blocks.1.hook_resid_pre"], start_at_layer=1)
    torch.testing.assert_close(logits, model(tokens))


def test_the_minimal_model_is_refused() -> None:
    own = run("minimal-linear")
    with pytest.raises(ValueError, match=r'model\.kind is "minimal"'):
        bridge(own.recipe, own.weights)
