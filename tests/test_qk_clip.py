"""QK-Clip: it reads the largest logits, and multiplies a head's logits by tau over the largest."""

import math
from dataclasses import replace

import torch

from muonlab import GPT, GPTConfig
from muonlab.models.attention import LatentAttention, norm, rope_tables, rotate
from muonlab.models.qk_clip import QKClip, clip_factors

CONFIG = GPTConfig(vocab_size=50, context=16, layers=2, width=32, heads=4, attention="latent")
CONFIG = replace(CONFIG, qk_norm=False)
TOKENS = torch.randint(50, (3, 16), generator=torch.Generator().manual_seed(7))


def build(**changes):
    torch.manual_seed(0)
    model = GPT(replace(CONFIG, **changes)).double()
    for p in model.parameters():
        p.data.mul_(4)  # so that logits differ
    return model


def by_hand(layer, x):
    """The logits (B, H, T, T) in loops over texts, heads and pairs; keys to come are -inf."""
    W = {name: p.detach() for name, p in layer.named_parameters()}
    B, T, _ = x.shape
    cos, sin = (t.double() for t in rope_tables(16, 4, 10_000.0))
    found = torch.full((B, 4, T, T), -math.inf, dtype=torch.float64)
    for b in range(B):
        c = norm(x[b] @ W["kv_down.weight"].T)
        s = rotate(x[b] @ W["k_rope.weight"].T, cos[:T], sin[:T])
        for i in range(4):
            q = x[b] @ W["q.weight"][8 * i : 8 * i + 8].T
            turned = rotate(x[b] @ W["q_rope.weight"][4 * i : 4 * i + 4].T, cos[:T], sin[:T])
            k = c @ W["k_up.weight"][8 * i : 8 * i + 8].T
            for t in range(T):
                for u in range(t + 1):
                    product = torch.dot(q[t], k[u]) + torch.dot(turned[t], s[u])
                    found[b, i, t, u] = product / math.sqrt(8 + 4)
    return found


def inputs_of(model, tokens=TOKENS):
    """What each layer of attention gets, (layers, B, T, C)."""
    found = []
    layers = [m for m in model.modules() if isinstance(m, LatentAttention)]
    hooks = [m.register_forward_pre_hook(lambda m, given: found.append(given[0])) for m in layers]
    with torch.no_grad():
        model(tokens)
    for hook in hooks:
        hook.remove()
    return layers, found


def test_the_logits_are_those_of_the_formula_and_of_forward():
    layers, found = inputs_of(build())
    cos, sin = (t.double() for t in rope_tables(16, 4, 10_000.0))
    for layer, x in zip(layers, found, strict=True):
        expected = by_hand(layer, x)
        torch.testing.assert_close(layer.logits(x, cos, sin), expected)
        c = norm(x @ layer.kv_down.weight.T)
        v = torch.einsum("btr,hir->bhti", c, layer.v_up.weight.view(4, 8, 16))
        mean = (expected.softmax(-1) @ v).transpose(1, 2).flatten(2)
        torch.testing.assert_close(layer(x, cos, sin), mean @ layer.o.weight.T)


def test_the_largest_logits_are_those_of_the_last_pass_and_nothing_is_clipped_by_default():
    model = build()
    before = {name: p.clone() for name, p in model.named_parameters()}
    clip = QKClip(model)
    model(TOKENS[:1])
    model(TOKENS)
    found = clip.step()
    layers, inputs = inputs_of(model)
    expected = torch.stack(
        [by_hand(layer, x).amax((0, 2, 3)) for layer, x in zip(layers, inputs, strict=True)]
    )
    torch.testing.assert_close(found, expected.float())
    assert all(torch.equal(p, before[name]) for name, p in model.named_parameters())


def test_a_head_above_tau_ends_at_tau_and_the_others_stay():
    model = build()
    layers, inputs = inputs_of(model)
    before = [by_hand(layer, x) for layer, x in zip(layers, inputs, strict=True)]
    tops = torch.stack([logits.amax((0, 2, 3)) for logits in before])
    tau = tops.median().item()
    assert (tops > tau).any(1).all()
    assert (tops < tau).any()
    weights = {name: p.clone() for name, p in model.named_parameters()}
    clip = QKClip(model, tau)
    model(TOKENS)
    clip.step()
    gammas = (tau / tops).clamp(max=1)
    for layer, x, was, gamma in zip(layers, inputs, before, gammas[:, :, None, None], strict=True):
        torch.testing.assert_close(by_hand(layer, x), was * gamma, rtol=1e-5, atol=1e-5)
    scaled = ("q.weight", "k_up.weight", "q_rope.weight")
    for name, p in model.named_parameters():
        if not name.endswith(scaled):
            assert torch.equal(p, weights[name]), name
            continue
        layer = int(name.split(".")[1])
        power = 1 if name.endswith("q_rope.weight") else 0.5
        rows = len(p) // 4
        for head in range(4):
            part = slice(rows * head, rows * head + rows)
            ratio = p[part] / weights[name][part]
            expected = torch.full_like(ratio, gammas[layer, head].item() ** power)
            torch.testing.assert_close(ratio, expected, rtol=1e-5, atol=0)


def test_a_head_without_a_positive_logit_stays():
    logits = torch.full((1, 4, 3, 3), -2.0).triu(1).add(-2.0)
    S, *factors = clip_factors(logits, 0.5)
    assert torch.equal(S, torch.full((4,), -2.0))
    assert torch.equal(torch.stack(factors), torch.ones(3, 4))


def test_a_rule_of_ones_own_is_used_and_may_give_lists():
    model = build(layers=1)
    clip = QKClip(model, 0.5, rule=lambda logits, tau: [[tau] * 4, [2.0] * 4, [1.0] * 4, [0.0] * 4])
    before = {name: p.clone() for name, p in model.named_parameters()}
    model(TOKENS)
    assert torch.equal(clip.step(), torch.full((1, 4), 0.5))
    factors = {"q": 2, "q_rope": 0}
    for name, p in model.named_parameters():
        assert torch.equal(p, factors.get(name.split(".")[-2], 1) * before[name])
