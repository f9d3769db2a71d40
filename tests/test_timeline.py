"""The timeline of a step: against hand-made sums, and against a simulation matrix by matrix."""

from functools import cache
from itertools import pairwise

import pytest
from test_cost import hand_counted

from muonlab.cost.formulas import Counts, muon_overhead
from muonlab.cost.plans import GPT_1B
from muonlab.cost.timeline import WAYS, Machine, ends, timeline
from muonlab.models.gpt import GPTConfig
from muonlab.optim.sharding import divide

NUMBERS = 2 * 50_304 * 2048 + 16 * 12 * 2048**2
WEIGHTS = 6 * (50_304 * 2048 + 16 * 12 * 2048**2) + 6 * 16 * 2 * 2048 * 2048  # and attention
SPEED = 0.4 * 989e12
TALL, SQUARE = 18 * 5 * 2048**3, 6 * 5 * 2048**3  # Newton-Schulz of (4C, C) and of (C, C)


@cache
def counts():
    return Counts(GPT_1B)


def seconds(gpus, way, sequences=1, **machine):
    return ends(timeline(counts(), gpus * sequences * 2048, 2048, gpus, way, Machine(**machine)))


def test_a_step_of_adamw_takes_its_products_where_links_keep_up():
    assert seconds(1, "AdamW") == pytest.approx(2048 * WEIGHTS / SPEED, rel=1e-12)
    sent = 3 * 4 * NUMBERS * 999 / 1000 / 400e9  # a server takes each byte in once, by eight cards
    assert sent < 2048 * WEIGHTS / SPEED == pytest.approx(seconds(1000, "AdamW"))


def test_a_step_waits_for_links_that_are_slow():
    sent = 3 * 4 * NUMBERS * 999 / 1000 / 50e9  # one card
    assert seconds(1000, "AdamW", cards=1) == pytest.approx(sent)
    assert sent > 5 * 2048 * WEIGHTS / SPEED


def test_within_a_server_cards_do_not_count():
    assert seconds(8, "owners", cards=1) == seconds(8, "owners")
    assert seconds(16, "owners", cards=1) > seconds(16, "owners")


def test_everybody_gathers_all_momenta_and_orthogonalizes_all():
    more = seconds(1000, "everybody") - seconds(1000, "AdamW")
    momenta = 2 * 16 * 12 * 2048**2 * 0.999
    assert more == pytest.approx(momenta / 400e9 + 16 * (4 * SQUARE + 2 * TALL) / SPEED)


def test_an_owner_gets_and_returns_a_matrix_by_its_own_card():
    more = seconds(1000, "owners") - seconds(1000, "AdamW")
    there = 2 * 4 * 2048**2 * 0.999 / 50e9
    assert more == pytest.approx(2 * there + TALL / SPEED)
    more = seconds(8, "owners") - seconds(8, "AdamW")  # 32 tall and 64 square matrices
    there = 2 * (4 * 4 + 8) * 2048**2 * 7 / 8 / 450e9
    assert more == pytest.approx(2 * there + (4 * TALL + 8 * SQUARE) / SPEED)


def test_alone_all_ways_of_muon_are_one():
    assert seconds(1, "owners") == seconds(1, "overlap") == seconds(1, "everybody")


def simulated(k, n, e, done, free):
    """Each of k equal matrices comes in e seconds, is orthogonalized in n, and goes in e.

    The momenta come one after another once the links are free, the last when backward is done; they
    go back once all have come.
    """
    come = [max(free + (i + 1) * e, done - (k - 2 - i) * e) for i in range(k)]
    ready, gone = done, come[-1]
    for here in come:
        ready = max(ready, here) + n
        gone = max(gone, ready) + e
    return gone


@pytest.mark.parametrize("cards", [8, 1])
@pytest.mark.parametrize("sequences", [1, 8])
@pytest.mark.parametrize("gpus", [2, 8, 16, 96, 1000])
def test_overlap_is_what_a_simulation_gives(gpus, sequences, cards):
    machine = Machine(cards=cards)
    bars = timeline(counts(), gpus * sequences * 2048, 2048, gpus, "AdamW", machine)
    model = sequences * 2048 * WEIGHTS / SPEED
    once = 4 * NUMBERS * (gpus - 1) / gpus / machine.to_all(gpus)
    owned = divide(dict(enumerate([TALL] * 32 + [SQUARE] * 64)), gpus)
    cost = [sum(TALL if i < 32 else SQUARE for i in own) for own in owned]
    size = [sum(4 if i < 32 else 1 for i in own) * 2048**2 for own in owned]
    k = len(owned[cost.index(max(cost))])
    e = 2 * max(size) * (gpus - 1) / gpus / machine.to_one(gpus) / k
    expected = simulated(k, max(cost) / SPEED / k, e, ends(bars), max(model / 3, once) + 2 * once)
    spent = seconds(gpus, "overlap", sequences, cards=cards)
    assert spent == pytest.approx(expected, rel=1e-9)
    assert spent <= 1.000001 * seconds(gpus, "owners", sequences, cards=cards)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("cards", [8, 1])
def test_no_two_bars_of_a_lane_meet(way, cards):
    for gpus in (1, 8, 16, 96, 1000):
        bars = timeline(counts(), gpus * 2048, 2048, gpus, way, Machine(cards=cards))
        for lane in ("GPU", "links"):
            spans = sorted((bar.start, bar.end) for bar in bars if bar.lane == lane)
            assert all(a[1] <= b[0] + 1e-12 for a, b in pairwise(spans))
            assert not spans or spans[0][0] >= -1e-12


# Experts


def test_the_rule_for_experts_is_kimi_k2_counted_matrix_by_matrix():
    """Sizes: arXiv 2507.20534; latent attention as in DeepSeek-V3 (arXiv 2412.19437)."""
    C, heads = 7168, 64
    attention = [(1536, C), (heads * 192, 1536), (512 + 64, C), (heads * 256, 512)]
    attention += [(C, heads * 128)]
    expert, dense = [(2048, C)] * 3, [(18_432, C)] * 3
    everywhere = 61 * attention + dense + 60 * expert  # a shared expert in each of 60 layers
    routed = 60 * 384 * expert
    muon = sum(hand_counted(*shape, 5) for shape in everywhere + routed)
    size = [sum(m * n for m, n in shapes) for shapes in (everywhere, routed)]
    total, active = sum(size), size[0] + size[1] * 8 / 384
    ends = 2 * 163_840 * C
    assert total + ends == pytest.approx(1.04e12, rel=0.02)  # as published
    assert active + ends == pytest.approx(32.6e9, rel=0.02)
    counted = muon / (6 * (active + ends / 2) * 67e6)  # an embedding is looked up
    assert counted == pytest.approx(0.0038, abs=0.0001)
    assert muon_overhead(C, 67e6, 1.04e12 / 32.6e9, 2048) == pytest.approx(counted, rel=0.05)
    assert muon_overhead(C, 67e6) == pytest.approx(0.00045, abs=0.00001)


def test_the_rule_for_experts_is_about_that_of_a_model_of_ours():
    shape = GPTConfig(layers=2, width=512, heads=4, experts=256, expert_hidden=128)
    counts = Counts(shape)
    head = shape.vocab_size * shape.width
    active = counts.multiplied - head
    counted = sum(counts.muon_flops()) / (6 * active * 4096)
    rule = muon_overhead(512, 4096, counts.muon_numbers / active, 128)
    assert rule == pytest.approx(counted, rel=0.2)  # attention's matrices are dearer


def test_an_expert_as_wide_as_a_dense_layer_is_dense():
    dense = muon_overhead(256, 1000)
    attention, feedforward = (muon_overhead(256, 1000, 1, hidden) for hidden in (256, 1024))
    assert (4 * attention + 8 * feedforward) / 12 == pytest.approx(dense)  # by weights
