"""What training would cost elsewhere, against hand computations."""

from itertools import product
from pathlib import Path

import pytest

from muonlab.cost import formulas as cost
from muonlab.cost import plans as budget
from muonlab.cost import table as budget_table
from muonlab.models.gpt import GPT, SIZES, GPTConfig
from muonlab.studies.table1 import TIERS

TABLE = {row.name: row for row in budget.cost_table()}


def counted_flops(m: int, n: int, steps: int) -> int:
    """Counts the additions and multiplications of Newton-Schulz product by product."""
    k, long = sorted((m, n))
    gram, square, last = (k, long, k), (k, k, k), (k, k, long)  # (p, q) by (q, r)
    return steps * sum(2 * p * q * r for p, q, r in (gram, square, last))


@pytest.mark.parametrize("gated", [False, True])
def test_a_step_of_the_model_is_six_for_each_weight_and_token(gated):
    shape = GPTConfig(vocab_size=64, context=8, layers=2, width=12, heads=2, gated=gated)
    model, muon = budget.step_flops(shape, tokens=100, ns_steps=3)
    matrices = [p.shape for p in GPT(shape).blocks.parameters()]
    weights = sum(m * n for m, n in matrices) + 64 * 12  # the embedding only looks up
    # a token meets `context` others, twice: a product forward, two backward, 2 · 12 each
    attention = 2 * 3 * 2 * 12 * 8 * shape.layers
    assert model == (6 * weights + attention) * 100
    assert muon == sum(counted_flops(m, n, 3) for m, n in matrices)


@pytest.mark.parametrize(("width", "batch"), [*product((128, 768), (1024, 65_536))])
def test_muons_overhead_is_the_closed_form(width, batch):
    shapes = 4 * [(width, width)] + 2 * [(4 * width, width)]
    muon = sum(counted_flops(m, n, 5) for m, n in shapes)
    model = 6 * batch * sum(m * n for m, n in shapes)
    assert budget.muon_overhead(width, batch) == pytest.approx(muon / model, rel=1e-12)


def test_attention_and_the_head_lower_muons_overhead():
    model, muon = budget.step_flops(SIZES["paper"], 65_536)
    assert 0.5 < muon / model / budget.muon_overhead(768, 65_536) < 1


def test_six_n_d_is_most_of_what_a_large_run_takes():
    row = TABLE["70B, 1,000 GPUs"]
    n = row.parameters
    assert 69e9 < n < 71e9
    assert row.flop == pytest.approx(6 * n * 20 * n, rel=0.1)
    # Meta gives 1.7 million A100-hours for 2T tokens with Llama 2 70B (arXiv 2307.09288, table 2)
    theirs = 1_720_320 * 1.4 / 2 * 312 / 989
    assert row.gpu_hours == pytest.approx(theirs, rel=0.25)


def test_the_ablation_costs_what_its_runs_cost_and_eight_gpus_take_an_eighth_of_the_hours():
    runs = budget.ablation_runs()
    assert len(runs) == 2 * 18 + 3 * 36
    alone = TABLE["160M ablation, 1 GPU"]
    assert alone.parameters == 2 * 50304 * 768 + 12 * 12 * 768**2
    # the table counts every run as all Muon; cost.flops knows which are AdamW's
    assert alone.flop == pytest.approx(sum(map(cost.flops, runs)), rel=0.01)
    assert alone.hours == alone.gpu_hours == pytest.approx(alone.flop / 989e12 / 0.4 / 3600)
    apart = TABLE["160M ablation, 8 GPUs, a run on each"]
    assert apart.hours == pytest.approx(alone.hours / 8)
    assert apart.gpu_hours == pytest.approx(alone.gpu_hours)
    assert apart.sent == (0, 0, 0)


def test_sharded_weights_are_sent_twelve_bytes_a_parameter_and_muons_sixteen():
    shape = GPTConfig(vocab_size=1, context=8, layers=50, width=64, heads=2)  # matrices, nearly all
    inner = 50 * 12 * 64**2
    adamw, owners, at_most = budget.bytes_sent(shape, 1000)
    assert adamw / inner == pytest.approx(12, rel=0.002)
    assert at_most / inner == pytest.approx(16, rel=0.002)
    assert owners - adamw == pytest.approx((at_most - adamw) / 1000)
    assert budget.bytes_sent(shape, 2)[0] == 12 * (inner + 2 * 64) / 2  # half is one's own


def test_the_busiest_owner_has_one_matrix_when_there_are_more_gpus():
    assert budget.busiest([18.0, 18.0, 6.0], 1000) == 18
    assert budget.busiest([18.0, 18.0, 6.0], 1) == 42
    row = TABLE["1B, 1,000 GPUs"]
    assert row.muon_time > 5 * row.muon_flop  # of 1,000 GPUs only 96 own a matrix
    speed = 989e12 * 0.4
    assert row.muon_time * row.seconds == pytest.approx(counted_flops(8192, 2048, 5) / speed)


def test_memory_is_twelve_bytes_a_number_of_muon_and_sixteen_of_adamw():
    alone, shared = (TABLE[f"160M ablation, {n}"] for n in ("1 GPU", "8 GPUs share each run"))
    assert alone.states == 12 * 12 * 12 * 768**2 + 16 * 2 * 50304 * 768
    assert shared.states == alone.states / 8
    assert shared.activations == alone.activations / 8
    config = TIERS["paper"].base
    assert alone.states + alone.activations < cost.memory(config)  # which counts AdamW's two


def test_links_that_are_too_slow_lengthen_a_run():
    row = TABLE["70B, 1,000 GPUs"]
    assert row.link_seconds == pytest.approx(row.sent.owners / 50e9)
    assert row.slowdown == pytest.approx(row.link_seconds / row.seconds)
    assert row.slowdown > 1
    assert TABLE["160M ablation, 8 GPUs share each run"].slowdown == 1


def test_the_page_shows_the_table_of_today():
    page = Path(__file__).parents[1] / "book" / "tables" / "cost.md"
    assert page.read_text(encoding="utf-8") == budget_table.report()
    assert budget_table.report().count("\n") == 2 * (2 + len(TABLE)) + 1


def test_a_batch_that_cannot_be_shared_is_refused():
    plan = budget.Plan("odd", SIZES["paper"], tokens=1e9, batch=65_536, gpus=7)
    with pytest.raises(ValueError, match="65,536 tokens cannot be shared equally by 7 GPUs"):
        budget.cost(plan)
