"""The model: its counts, its causality, its rotary positions, and what it refuses."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from muonlab.models.attention import rope_tables, rotate
from muonlab.models.feedforward import FeedForward
from muonlab.models.gpt import GPT, SIZES, GPTConfig
from muonlab.optim.routing import route

CONFIG = GPTConfig(vocab_size=50, context=16, layers=2, width=32, heads=4)


def build(config=CONFIG, seed=0):
    torch.manual_seed(seed)
    return GPT(config)


def some_tokens(batch=3, length=12, seed=1, vocab_size=50):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(vocab_size, (batch, length), generator=generator)


def count(model):
    return sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize(
    ("size", "layers", "width", "total"),
    [
        ("tiny", 3, 128, 3 * 12 * 128**2 + 2 * 4096 * 128),
        ("small", 6, 384, 6 * 12 * 384**2 + 2 * 4096 * 384),
        ("paper", 12, 768, 162_201_600),
    ],
)
def test_the_named_sizes_have_the_stated_counts_and_gated_almost_the_same(
    size, layers, width, total
):
    with torch.device("meta"):
        plain, gated = GPT(SIZES[size]), GPT(replace(SIZES[size], gated=True))
    assert count(plain) == total
    assert count(plain.blocks) == layers * 12 * width**2
    assert count(gated.blocks) == pytest.approx(count(plain.blocks), rel=0.01)


def test_every_parameter_is_a_matrix_and_routes_by_the_papers_groups():
    model = build(replace(CONFIG, gated=True))
    assert all(p.ndim == 2 for p in model.parameters())
    reasons = {r.name: (r.rule, r.reason) for r in route(model).routes}
    assert reasons.pop("embedding.weight")[0] == reasons.pop("head.weight")[0] == "adamw"
    assert {rule for rule, _ in reasons.values()} == {"muon"}
    assert reasons["blocks.0.attention.q.weight"][1] == "group QK"
    assert reasons["blocks.1.attention.o.weight"][1] == "group VO"
    assert reasons["blocks.1.feedforward.w_gate.weight"][1] == "group FFN"


def test_the_plain_model_holds_nothing_of_latent_attention_or_of_experts():
    """Stored checkpoints and records depend on these names."""
    block = [f"blocks.0.attention.{name}.weight" for name in "qkvo"]
    block += [f"blocks.0.feedforward.{name}.weight" for name in ("w_in", "w_out")]
    state = build(replace(CONFIG, layers=1)).state_dict()
    assert list(state) == ["embedding.weight", *block, "head.weight"]


def test_the_loss_starts_near_the_logarithm_of_the_vocabulary():
    config = replace(SIZES["tiny"], vocab_size=1000)
    tokens = some_tokens(8, 65, vocab_size=1000)
    loss = build(config)(tokens[:, :-1], tokens[:, 1:])
    assert loss.item() == pytest.approx(math.log(1000), abs=0.1)


def test_the_loss_is_the_mean_of_the_losses_by_token():
    model, tokens, targets = build(), some_tokens(), some_tokens(seed=2)
    by_token = model(tokens, targets, reduction="none")
    expected = -model(tokens).log_softmax(-1).gather(-1, targets[..., None])[..., 0]
    assert torch.allclose(by_token, expected, atol=1e-6)
    assert torch.allclose(model(tokens, targets), expected.mean(), atol=1e-6)


@pytest.mark.parametrize(
    "change", [{}, {"gated": True}, {"attention": "latent"}, {"attention": "latent", "experts": 8}]
)
def test_a_changed_token_changes_no_earlier_logit_and_some_later_one(change):
    model, tokens = build(replace(CONFIG, **change)).eval(), some_tokens()
    changed = tokens.clone()
    changed[:, 7] = (changed[:, 7] + 1) % 50
    before, after = model(tokens), model(changed)
    torch.testing.assert_close(before[:, :7], after[:, :7], rtol=0, atol=1e-6)
    assert ((before[:, 7:] - after[:, 7:]).abs().amax(dim=(0, 2)) > 1e-5).all()


def test_rope_products_depend_on_the_distance_alone():
    cos, sin = rope_tables(64, 8, 10_000.0)
    torch.manual_seed(0)
    q, k = torch.randn(2, 8)
    everywhere = [rotate(x.expand(1, 1, 64, 8), cos, sin)[0, 0] for x in (q, k)]
    products = everywhere[0] @ everywhere[1].T  # (64, 64), by the two positions
    for distance in (0, 1, 5, 40):
        diagonal = products.diagonal(-distance)
        assert torch.allclose(diagonal, diagonal[0].expand_as(diagonal), atol=1e-4)
    assert (products.diagonal(-1)[0] - products.diagonal(-5)[0]).abs() > 1e-3
    assert torch.allclose(everywhere[0][0], q)


@pytest.mark.parametrize("gated", [False, True])
def test_the_feed_forward_agrees_with_the_formula_written_out(gated):
    torch.manual_seed(0)
    module, x = FeedForward(replace(CONFIG, gated=gated)), torch.randn(2, 5, 32)
    h = F.gelu(x @ module.w_in.weight.T)
    if gated:
        h = h * (x @ module.w_gate.weight.T)
    assert torch.allclose(module(x), h @ module.w_out.weight.T, atol=1e-6)


def test_a_model_that_cannot_fit_may_still_be_planned():
    with torch.device("meta"):
        assert len(GPT(replace(CONFIG, vocab_size=10**12)).head.weight) == 10**12
