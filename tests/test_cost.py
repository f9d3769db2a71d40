"""What a run costs: the counts against products that torch counts, and the memory it holds."""

import json
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from profiled import most_bytes
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from muonlab import newton_schulz, route
from muonlab.cost import formulas as cost
from muonlab.cost import plans
from muonlab.data.load import load_corpus
from muonlab.data.task import with_words
from muonlab.models.gpt import SIZES
from muonlab.records.record import Record, append
from muonlab.records.store import RESULTS
from muonlab.studies.table1 import ALL_GROUPS as ALL
from muonlab.studies.table1 import TABLE_SEEDS, TIERS, one_rate, rows
from muonlab.sweeps.study import Place, Tuning
from muonlab.training.build import build_model, build_optimizer
from muonlab.training.config import TrainConfig
from muonlab.training.run import Run
from printing import cost as page

CONFIG = TrainConfig(steps=1, batch=2, context=16)
SHAPES = [
    replace(CONFIG, attention=attention, experts=experts, gated=gated)
    for attention, experts, gated in product(("multi-head", "latent"), (0, 8), (False, True))
]
NAMES = [f"{c.attention}, {c.experts} experts{', gated' * c.gated}" for c in SHAPES]
DOCS = SimpleNamespace(name="docs", measure=None, shape=partial(with_words, words=4096))
TASKS = [replace(CONFIG, corpus=name) for name in ("facts-6", "regression-4")]
GPU_TIMES = json.loads((RESULTS / "gpu-h200.json").read_text("utf-8"))["training, eager"][0]


@pytest.fixture(scope="module")
def table():
    return {row.name: row for row in page.cost_table()}


def hand_counted(m: int, n: int, steps: int) -> int:
    """Counts the additions and multiplications of Newton-Schulz product by product."""
    k, long = sorted((m, n))
    gram, square, last = (k, long, k), (k, k, k), (k, k, long)  # (p, q) by (q, r)
    return steps * sum(2 * p * q * r for p, q, r in (gram, square, last))


# A run


@pytest.mark.parametrize("config", SHAPES, ids=NAMES)
def test_the_operations_of_a_run_are_those_that_torch_counts(config):
    model = build_model(config, DOCS)
    tokens = torch.randint(4096, (2, 17), generator=torch.Generator().manual_seed(0))
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        model(tokens[:, :-1], tokens[:, 1:]).backward()
    assert cost.flops(replace(config, muon=(), steps=3)) == 3 * counter.get_total_flops()


@pytest.mark.parametrize("config", TASKS, ids=lambda config: config.corpus)
def test_a_run_is_counted_with_the_model_of_its_task(config):
    """Regression has no words, and facts have fewer than docs."""
    task = load_corpus(config.corpus)
    model = build_model(config, task)
    numbers = sum(p.numel() for p in model.parameters())
    assert cost._counts(config).numbers == numbers < cost._counts(CONFIG).numbers
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        model(*task.batch(0, 2, 16, 0)).backward()
    flops = cost.flops(replace(config, muon=()))
    assert flops == pytest.approx(counter.get_total_flops(), rel=0.002)  # a task's ends are small


@pytest.mark.parametrize("config", SHAPES, ids=NAMES)
def test_the_operations_of_muon_are_those_of_the_matrices_that_it_takes(config):
    model, plain = build_model(config, DOCS), cost.flops(replace(config, muon=()))
    for groups in (ALL, ("W_in", "Q")):
        with FlopCounterMode(display=False) as counter:
            for r in route(model, groups).routes:
                if r.rule == "muon":
                    newton_schulz(torch.ones(r.shape))
        assert cost.flops(replace(config, muon=groups)) - plain == counter.get_total_flops()
        one_step = cost.flops(replace(config, muon=groups, ns_steps=1)) - plain
        assert 5 * one_step == counter.get_total_flops()


@pytest.mark.parametrize("groups", [ALL, ()], ids=["Muon", "AdamW"])
def test_the_states_of_a_run_are_those_that_its_optimizer_keeps(groups):
    for config in (replace(c, muon=groups) for c in SHAPES):
        model = build_model(config, DOCS)
        optimizer = build_optimizer(config, model)
        model(*torch.randint(4096, (2, 2, 16))).backward()
        optimizer.step()
        params = [*model.parameters()]
        states = [t for state in optimizer.state.values() for t in state.values()]
        tensors = [*params, *(p.grad for p in params), *states]
        kept = sum(t.nbytes for t in tensors if isinstance(t, torch.Tensor))
        counters = 4 * len(params)  # of AdamW's steps
        assert cost._counts(config).states() == pytest.approx(kept, abs=counters)


def kept_for_backward(config, bf16):
    """Returns the bytes that the blocks keep, parameters left out."""
    model, kept = build_model(config, DOCS), {}
    own = {p.data_ptr() for p in model.parameters()}

    def keep(t):
        storage = t.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = (storage.nbytes(), t)  # alive, so its address stays its own
        return t

    autocast = torch.autocast("cpu", torch.bfloat16, enabled=bf16)
    with saved_tensors_hooks(keep, lambda t: t), autocast:
        x = torch.randn(config.batch, config.context, 128, requires_grad=True)
        for block in model.blocks:
            x = block(x, model.cos[: config.context], model.sin[: config.context])
    return sum(size for size, _ in kept.values())


@pytest.mark.parametrize("precision", ["bf16", "fp32"])
@pytest.mark.parametrize("config", SHAPES, ids=NAMES)
def test_what_the_backward_pass_keeps_is_estimated_within_a_tenth(config, precision):
    half = replace(config, batch=8, context=64, precision=precision)
    config = replace(half, batch=16)
    logits = 12 * 8 * 64 * 4096
    estimate = cost.bytes_needed(config) - cost.bytes_needed(half) - logits
    bf16 = precision == "bf16"
    # the difference is without copies of the weights
    measured = kept_for_backward(config, bf16) - kept_for_backward(half, bf16)
    assert 0.9 < estimate / measured < 1.1


def peak_of_a_step(config):
    """Returns the most bytes that a step has allocated at once, beside weights and averages."""
    run = Run(config, load_corpus(config.corpus))
    run.train_step()
    return most_bytes(run.train_step)


@pytest.mark.parametrize("precision", ["bf16", "fp32"])
def test_what_a_step_needs_at_once_grows_with_its_tokens_as_estimated(precision):
    few = TrainConfig(steps=2, batch=8, context=64, precision=precision, device="cpu")
    many = replace(few, batch=24)
    measured = peak_of_a_step(many) - peak_of_a_step(few)
    assert cost.bytes_needed(many) - cost.bytes_needed(few) == pytest.approx(measured, rel=0.05)


def test_pieces_let_the_papers_tier_fit_a_card_of_24_gb():
    run = replace(TIERS["paper"].base, precision="bf16")
    enough = cost.least_pieces(run, 24e9)
    needed = [cost.bytes_needed(replace(run, pieces=pieces)) for pieces in (enough, 2)]
    assert needed[0] < 24e9 < needed[1]
    assert cost.least_pieces(run, 2e9) is None  # its weights and states alone take more


def test_beside_a_gpu_a_run_on_the_cpu_is_estimated_in_its_own_precision(monkeypatch):
    monkeypatch.setattr(cost, "pick_device", lambda name: torch.device("cuda"))
    monkeypatch.setattr("muonlab.machine.fast_bf16", lambda device: device.type == "cuda")
    here, there = (cost.bytes_needed(TrainConfig(size="small", device=d)) for d in ("cpu", "auto"))
    assert there < here == cost.bytes_needed(TrainConfig(size="small", precision="fp32"))


def test_a_run_that_does_not_fit_is_told_its_pieces(monkeypatch):
    run = TrainConfig(batch=64, context=64, device="cpu")
    for divisor, remedy in ((1.5, "take --pieces 2"), (100, "take a smaller model or batch")):
        free = SimpleNamespace(available=cost.bytes_needed(run) / divisor)
        monkeypatch.setattr(cost.psutil, "virtual_memory", lambda free=free: free)
        with pytest.raises(ValueError, match=remedy):
            cost.check_memory(run)


def test_a_run_says_how_often_it_passes_over_its_text():
    base = TIERS["paper"].base
    words = "655,360,000 tokens: 6.6 passes over fineweb; fineweb-7 has enough"
    assert cost.passes(base).strip().endswith(words)
    assert cost.passes(replace(base, corpus="fineweb-7")) == ""
    longest = replace(base, steps=10**6, corpus="fineweb-103")
    assert cost.passes(longest).endswith("passes over fineweb-103\n"), "no more is published"
    tokens = len(load_corpus("facts-6").train)
    facts = TrainConfig(corpus="facts-6", steps=3 * tokens, batch=1, context=1)
    assert "3.0 passes over facts-6\n" in cost.passes(facts)
    assert cost.passes(replace(facts, corpus="regression-4")) == ""  # new prompts at each step


# Plans


def test_an_estimate_adds_the_runs_up():
    short, long = TrainConfig(steps=10), TrainConfig(steps=40, batch=32)
    nine = plans.estimate([short] * 8 + [long], speed=1e9)
    assert nine.flop == pytest.approx(8 * cost.flops(short) + cost.flops(long))
    assert nine.runs == 9
    assert nine.hours == pytest.approx(nine.flop / 1e9 / 3600)


def test_the_speed_of_this_machine_is_counted_operations_over_the_seconds_of_a_step(monkeypatch):
    config = replace(CONFIG, steps=100, corpus="facts-6")
    step = cost.flops(config) / 100

    def train_step(run):
        run.step_seconds.append(2 if run.step_seconds else 9)

    monkeypatch.setattr(plans.Run, "train_step", train_step)
    assert plans.speed(config, load_corpus("facts-6")) == step / 2


def test_muons_overhead_is_the_closed_form():
    width, batch = 768, 65_536
    shapes = 4 * [(width, width)] + 2 * [(4 * width, width)]
    muon = sum(hand_counted(m, n, 5) for m, n in shapes)
    model = 6 * batch * sum(m * n for m, n in shapes)
    assert cost.muon_overhead(width, batch) == pytest.approx(muon / model, rel=1e-12)


def test_attention_and_the_head_lower_muons_overhead():
    counts = cost.Counts(SIZES["paper"])
    ratio = sum(counts.muon_flops()) / counts.flops(65_536, 1024)
    assert 0.5 < ratio / cost.muon_overhead(768, 65_536) < 1


def test_six_n_d_is_most_of_what_a_large_run_takes(table):
    row, n = table["70B, 1,000 GPUs"], cost.Counts(plans.GPT_70B).numbers
    assert 69e9 < n < 71e9
    assert row.flop == pytest.approx(6 * n * 20 * n, rel=0.1)
    # Meta gives 1.7 million A100-hours for 2T tokens with Llama 2 70B (arXiv 2307.09288, table 2)
    theirs = 1_720_320 * 1.4 / 2 * 312 / 989
    assert row.gpu_hours == pytest.approx(theirs, rel=0.25)


def test_the_ablation_costs_what_its_runs_cost_and_eight_gpus_take_an_eighth_of_the_hours(table):
    tier = TIERS["paper"]
    tuning = one_rate(tier.base, tier.rates)
    runs = [*tuning, *(replace(config, muon=ALL) for config in tuning)] + [
        replace(tier.base, gated=gated, muon=groups)
        for gated in (False, True)
        for groups in len(TABLE_SEEDS) * rows(gated)
    ]
    assert len(runs) == 2 * 18 + 3 * 36
    alone = table["160M ablation, 1 GPU"]
    # the table counts every run as all Muon; cost.flops knows which matrices are AdamW's
    assert 1 < alone.flop / sum(map(cost.flops, runs)) < 1.02
    assert alone.hours == alone.gpu_hours == pytest.approx(alone.flop / 989e12 / 0.4 / 3600)
    apart = table["160M ablation, 8 GPUs, a run on each"]
    assert apart.hours == pytest.approx(alone.hours / 8)
    assert apart.gpu_hours == pytest.approx(alone.gpu_hours)
    assert apart.sent == (0, 0)


def test_sharded_weights_are_sent_twelve_bytes_a_parameter_and_a_momentum_to_one_of_all(table):
    shared, n = table["160M ablation, 8 GPUs share each run"], 2 * 50304 * 768 + 12 * 12 * 768**2
    adamw, muon = shared.sent
    assert adamw == pytest.approx(12 * n * 7 / 8)
    assert muon - adamw == pytest.approx(4 * 12 * 12 * 768**2 * 7 / 8 / 8)
    owned = 2 * (4 * 3 + 6) * 768**2 * 7 / 8  # bytes: 24 tall and 48 square matrices, 8 owners
    assert shared.link_seconds == pytest.approx((adamw + 2 * owned) / 450e9)


def test_a_server_takes_each_byte_in_once_by_all_its_network_cards(table):
    for name in ("1B, 1,000 GPUs", "70B, 1,000 GPUs"):
        row = table[name]
        assert row.link_seconds > row.sent[0] / (8 * 50e9)  # and an owner gets its matrix alone
        assert row.link_seconds < row.seconds  # sending hides behind computing


def test_an_owner_works_and_waits_for_one_matrix_when_there_are_more_gpus(table):
    row = table["1B, 1,000 GPUs"]
    assert row.muon_time > 5 * row.muon_flop  # of 1,000 GPUs only 96 own a matrix
    products, sent = hand_counted(8192, 2048, 5) / 989e12 / 0.4, 2 * 8192 * 2048 * 0.999 / 50e9
    assert row.muon_time * row.seconds == pytest.approx(products + 2 * sent)


def test_a_plan_keeps_what_its_runs_keep(table):
    alone, shared = (table[f"160M ablation, {n}"] for n in ("1 GPU", "8 GPUs share each run"))
    assert alone.states == 12 * 12 * 12 * 768**2 + 16 * 2 * 50304 * 768
    assert shared.states == alone.states / 8
    assert shared.activations == alone.activations / 8
    run = replace(TIERS["paper"].base, precision="bf16", muon=ALL)
    assert alone.states + alone.activations == cost.bytes_needed(run)


def test_the_page_shows_the_table_of_today():
    path = Path(__file__).parents[1] / "book" / "tables" / "cost.md"
    assert path.read_text(encoding="utf-8") == page.report()


def test_hours_here_grow_with_the_runs():
    one = float(cost.hours_here([TrainConfig()] * 100).split()[1])
    ten = float(cost.hours_here([TrainConfig()] * 1000).split()[1])
    assert 4 < ten / one < 25  # the speed is measured anew, on a machine that may be busy


# Minutes on a card: only of steps that somebody has timed

GPU_RACE = TrainConfig(size="small", steps=1000, batch=32, context=256)


@pytest.mark.parametrize(
    ("who", "options"),
    [("AdamW", {"muon": ()}), ("Muon", {}), ("NorMuon", {"rule": "normuon"})],
)
def test_the_minutes_of_a_run_are_those_of_its_timed_steps(who, options):
    of_a_step, run = GPU_TIMES[f"{who} ms"] / 60_000, replace(GPU_RACE, **options)
    assert plans.minutes(run) == pytest.approx(1000 * of_a_step)
    assert plans.minutes(replace(run, steps=250, seed=3)) == pytest.approx(250 * of_a_step)


NEVER_TIMED = [
    {"muon": ("VO", "FFN")},
    {"rule": "sgd"},
    {"batch": 128, "context": 64},  # as many tokens
    {"size": "wide", "batch": 128, "context": 64},
    {"size": "paper", "context": 1024},  # timed with more words
    {"corpus": "docs-512"},
    {"gated": True},
    {"pieces": 2},
    {"precision": "fp32"},
    {"ns_steps": 30},
    {"ns_coefficients": "exact"},  # an SVD of each matrix
]


@pytest.mark.parametrize("options", NEVER_TIMED, ids=str)
def test_what_nobody_has_timed_has_no_minutes(options):
    assert plans.minutes(replace(GPU_RACE, **options)) is None


def test_what_is_left_of_a_study_stands_in_its_order_with_the_minutes_that_are_known(tmp_path):
    timed, other = replace(GPU_RACE, muon=()), replace(GPU_RACE, batch=16)
    trials = Tuning("made-1", [timed, replace(timed, lr=0.1)], ("lr",))
    phases = {
        "made-finals": trials.at_new_seeds(2),
        "made-1": trials.grid,
        "made-both": lambda at: [timed, other],
        "made-none": lambda at: [],
    }
    half = GPU_TIMES["AdamW ms"] / 60  # minutes of 1000 steps
    append(Record(vars(timed), [1.0], [0.1], [], 1), tmp_path / "made-1.jsonl")
    *lines, last = plans.left(phases, Place(tmp_path)).splitlines()
    assert [line.split() for line in lines] == [
        ["phase", "runs", "missing", "minutes", "on", "an", "NVIDIA", "H200"],
        ["1", "made-finals", "after", "its", "trials"],
        ["2", "made-1", "2", "1", f"{half:.1f}"],
        ["3", "made-both", "2", "2", "not", "timed"],
        ["4", "made-none", "0", "0"],
    ]
    assert last.startswith(f"{2 * half:.1f} minutes on an NVIDIA H200, one run after")
    assert last.endswith("Not timed: 1 runs, and what follows from trials.")
    del phases["made-1"], phases["made-both"]
    assert "H200" not in plans.left(phases, Place(tmp_path))
