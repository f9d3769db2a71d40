"""Latent attention: its formula, its decoding with absorbed matrices, and what its cache holds."""

import math
from dataclasses import replace

import pytest
import torch

from muonlab import GPT, GPTConfig, route
from muonlab.models.attention import Attention, LatentAttention, norm, rope_tables, rotate

CONFIG = GPTConfig(vocab_size=50, context=16, layers=2, width=32, heads=4, attention="latent")
SHAPES = [{}, {"latent": 5, "rotary": 2}, {"heads": 1, "rotary": 8}, {"heads": 16, "latent": 32}]
SHAPES += [{"qk_norm": False}]


def build(seed=0, **changes):
    """A layer in float64, its tables, and an input (2, 12, C)."""
    config = replace(CONFIG, **changes)
    torch.manual_seed(seed)
    layer = GPT(config).blocks[0].attention.double()
    tables = [t.double() for t in rope_tables(16, config.rotary_width, 10_000.0)]
    return layer, tables, torch.randn(2, 12, 32, dtype=torch.float64)


def whole(layer, tables, x):
    return layer(x, *(t[: x.shape[1]] for t in tables))


def in_pieces(layer, tables, x, pieces):
    cache, found = None, []
    for some in x.split(pieces, dim=1):
        y, cache = layer.decode(some, *tables, cache)
        found.append(y)
    return torch.cat(found, dim=1), cache


def worst(a, b):
    return (a - b).abs().max().item()


@pytest.mark.parametrize("changes", SHAPES)
@pytest.mark.parametrize("pieces", [1, 12, 5, [3, 1, 1, 7]])
def test_decoding_with_absorbed_matrices_equals_the_whole_sequence(changes, pieces):
    layer, tables, x = build(**changes)
    decoded, cache = in_pieces(layer, tables, x, pieces)
    expected = whole(layer, tables, x)
    assert worst(decoded, expected) < 1e-10
    assert len(cache) == 12
    matrices = [*layer.parameters()]
    gradients = [torch.autograd.grad(y.square().sum(), matrices) for y in (decoded, expected)]
    assert max(map(worst, *gradients)) < 1e-9


def test_the_layer_agrees_with_the_formula_written_out():
    layer, (cos, sin), x = build()
    matrices = {name: p.detach() for name, p in layer.named_parameters()}
    for b in range(2):
        c = norm(x[b] @ matrices["kv_down.weight"].T)  # (T, r)
        s = rotate(norm(x[b] @ matrices["k_rope.weight"].T), cos[:12], sin[:12])
        heads = []
        for i in range(4):
            h, p = slice(8 * i, 8 * i + 8), slice(4 * i, 4 * i + 4)
            k, v = (c @ matrices[f"{name}_up.weight"][h].T for name in "kv")
            q = norm(x[b] @ matrices["q.weight"][h].T)
            turned = rotate(norm(x[b] @ matrices["q_rope.weight"][p].T), cos[:12], sin[:12])
            logits = (q @ k.T + turned @ s.T) / math.sqrt(8 + 4)
            logits = logits.masked_fill(torch.ones(12, 12).triu(1).bool(), -math.inf)
            heads.append(logits.softmax(-1) @ v)
        expected = torch.cat(heads, dim=-1) @ matrices["o.weight"].T
        assert worst(whole(layer, (cos, sin), x)[b], expected) < 1e-10


def test_the_default_sizes_save_two_thirds_of_the_cache():
    one = torch.zeros(1, 1, dtype=torch.long)
    caches = [GPT(GPTConfig(attention=kind)).decode(one)[1] for kind in ("latent", "multi-head")]
    kept = [(layers[0].keys, layers[0].values) for layers in caches]
    assert [sum(t.untyped_storage().nbytes() // 4 for t in two) for two in kept] == [80, 256]
    # 128/2 + 32/2, 2 · 128 numbers in float32


def test_only_the_distance_between_tokens_counts():
    layer, tables, x = build()
    x[:, 6:] = x[:, :6]  # the same six tokens at positions 0 and at 6
    alone, _ = layer.decode(x[:, :6], *tables)
    shifted = [torch.roll(t, -6, dims=0) for t in tables]
    later, _ = layer.decode(x[:, 6:], *shifted)
    assert worst(alone, later) < 1e-7  # the tables are rounded to float32
    swapped, _ = layer.decode(x[:, [1, 0, 2, 3, 4, 5]], *tables)
    assert worst(alone[:, 5], swapped[:, 5]) > 1e-6  # but the order does


def test_the_logits_stay_under_the_stated_bound():
    layer, tables, x = build()
    logits = layer.logits(x, *(t[:12] for t in tables))
    largest = torch.linalg.matrix_norm(layer.k_up.weight.view(4, 8, 16), 2)[:, None, None]
    bound = (math.sqrt(8 * 16) * largest + 4) / math.sqrt(12)
    assert ((logits.abs() <= bound) | logits.isneginf()).all()


@pytest.mark.parametrize(
    ("muon", "adamw", "rule"),
    [
        (("QK", "VO"), (), "muon"),
        (("QK",), (), "adamw"),
        (("VO", "FFN"), (), "adamw"),
        (("VO", "KV_down"), (), "muon"),
        (("QK", "VO"), ("*.kv_down.weight",), "adamw"),
    ],
)
def test_the_shared_down_projection_goes_with_both_or_by_name(muon, adamw, rule):
    routes = {r.name: r for r in route(GPT(CONFIG), muon, adamw).routes}
    down = routes["blocks.1.attention.kv_down.weight"]
    assert down.rule == rule
    assert "keys and values share it" in down.reason


@pytest.mark.parametrize(
    ("group", "names"),
    [("Q", {"q", "q_rope"}), ("K", {"k_rope", "k_up"}), ("V", {"v_up"}), ("O", {"o"})],
)
def test_the_groups_of_latent_attention(group, names):
    routes = route(GPT(CONFIG), [group]).routes
    assert {r.name.split(".")[-2] for r in routes if r.rule == "muon"} == names


@pytest.mark.parametrize("heads", [1, 2, 4, 8, 16])
def test_the_default_widths_fit_every_head(heads):
    config = replace(CONFIG, heads=heads)
    latent = LatentAttention(config).kv_down.out_features
    assert latent == 16
    assert config.rotary_width % 2 == 0
    assert latent + config.rotary_width < 2 * 32


def test_one_matrix_for_queries_keys_and_values_computes_what_three_do():
    torch.manual_seed(0)
    apart = Attention(GPTConfig(width=16, heads=2))
    fused = Attention(GPTConfig(width=16, heads=2, fused_qkv=True))
    with torch.no_grad():
        fused.qkv.weight.copy_(torch.cat([apart.q.weight, apart.k.weight, apart.v.weight]))
        fused.o.weight.copy_(apart.o.weight)
    x, tables = torch.randn(2, 5, 16), rope_tables(5, 8, 10_000.0)
    torch.testing.assert_close(fused(x, *tables), apart(x, *tables))
    y, _ = fused.decode(x, *tables)
    torch.testing.assert_close(y, apart(x, *tables))
    routed = {r.name: r.reason.partition(":")[0] for r in route(fused, muon=("QKV", "O")).routes}
    assert routed == {"qkv.weight": "group QKV", "o.weight": "group O"}


@pytest.mark.parametrize("qk_norm", [True, False])
def test_plain_attention_is_the_formula_written_out(qk_norm):
    config = GPTConfig(context=6, width=16, heads=2, qk_norm=qk_norm)
    torch.manual_seed(0)
    layer, x, tables = Attention(config), torch.randn(6, 16), rope_tables(6, 8, 10_000.0)
    heads = []
    for h in (slice(0, 8), slice(8, 16)):
        q, k = (x @ matrix.weight[h].T for matrix in (layer.q, layer.k))
        q, k = (rotate(norm(part) if qk_norm else part, *tables) for part in (q, k))
        logits = q @ k.T / math.sqrt(8)
        assert not qk_norm or logits.abs().max() <= math.sqrt(8) + 1e-5  # what it is for
        logits = logits.masked_fill(torch.ones(6, 6).triu(1).bool(), -math.inf)
        heads.append(logits.softmax(-1) @ (x @ layer.v.weight[h].T))
    expected = torch.cat(heads, dim=-1) @ layer.o.weight.T
    torch.testing.assert_close(layer(x[None], *tables)[0], expected)
