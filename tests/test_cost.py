"""What a run costs: the model of it against counted products, and the memory it really holds."""

from dataclasses import replace
from itertools import product

import pytest
import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from muonlab import GPT, Muon, NorMuon, newton_schulz, route
from muonlab.cost import formulas as cost
from muonlab.models.gpt import GPTConfig
from muonlab.training.build import build_model
from muonlab.training.config import TrainConfig

CONFIG = TrainConfig(steps=1, batch=2, context=16)
SHAPES = [
    replace(CONFIG, attention=attention, experts=experts, gated=gated)
    for attention, experts, gated in product(("multi-head", "latent"), (0, 8), (False, True))
]
NAMES = [f"{c.attention}, {c.experts} experts{', gated' * c.gated}" for c in SHAPES]


@pytest.mark.parametrize("config", SHAPES, ids=NAMES)
def test_the_model_of_the_cost_has_the_matrices_of_the_model(config):
    model = build_model(config, 4096)
    ours = sum(m * n for _, m, n in cost._matrices(config)) + 2 * 4096 * 128
    assert ours == sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize("config", SHAPES, ids=NAMES)
def test_the_operations_of_a_run_are_those_that_torch_counts(config):
    model = build_model(config, 4096)
    tokens = torch.randint(4096, (2, 17), generator=torch.Generator().manual_seed(0))
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        model(tokens[:, :-1], tokens[:, 1:]).backward()
    assert cost.flops(replace(config, muon=())) == counter.get_total_flops()


@pytest.mark.parametrize("config", SHAPES, ids=NAMES)
def test_the_operations_of_muon_are_those_of_newton_schulz(config):
    model = build_model(config, 4096)
    with FlopCounterMode(display=False) as counter:
        for r in route(model).routes:
            if r.rule == "muon":
                newton_schulz(torch.ones(r.shape))
    added = cost.flops(config) - cost.flops(replace(config, muon=()))
    assert added == counter.get_total_flops()


def test_the_cost_of_a_run_is_that_of_its_products():
    few, many = (cost.flops(replace(CONFIG, batch=64, muon=(), steps=s)) for s in (10, 30))
    assert many == 3 * few
    assert few == pytest.approx(6 * (3 * 12 * 128**2 + 4096 * 128) * 10 * 1024, rel=0.1)


def test_the_weights_of_a_plain_run_take_sixteen_bytes_and_more_with_experts():
    one = replace(CONFIG, batch=1, context=1)
    weights = 16 * (3 * 12 * 128**2 + 2 * 4096 * 128)
    assert weights < cost.memory(one) < weights + 100_000
    mixture = build_model(replace(one, experts=32), 4096)
    more = sum(p.numel() for p in mixture.parameters()) - weights // 16
    assert cost.memory(replace(one, experts=32)) - cost.memory(one) == 16 * more + 3 * 128 * 19


def kept_for_backward(config):
    """Returns the bytes that the blocks keep, in bf16, parameters left out."""
    model, kept = build_model(config, 4096), {}
    own = {p.data_ptr() for p in model.parameters()}

    def keep(t):
        storage = t.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = (storage.nbytes(), t)  # alive, so its address stays its own
        return t

    with saved_tensors_hooks(keep, lambda t: t), torch.autocast("cpu", torch.bfloat16):
        x = torch.randn(config.batch, config.context, 128, requires_grad=True)
        for block in model.blocks:
            x = block(x, model.cos[: config.context], model.sin[: config.context])
    return sum(size for size, _ in kept.values())


@pytest.mark.parametrize("config", SHAPES, ids=NAMES)
def test_what_the_backward_pass_keeps_is_estimated_within_a_factor_of_two(config):
    config, half = (replace(config, batch=batch, context=64) for batch in (64, 32))
    logits = 10 * 32 * 64 * 4096
    estimate = cost.memory(config) - cost.memory(half) - logits
    measured = kept_for_backward(config) - kept_for_backward(half)  # without copies of the weights
    assert 0.5 < estimate / measured < 1.2


# Measured


SHAPE = GPTConfig(vocab_size=10, context=4, layers=1, width=8, heads=2, experts=4)


def after_a_step(make):
    torch.manual_seed(0)
    model = GPT(SHAPE)
    optimizer = make(model)
    model(torch.arange(4)[None], torch.arange(4)[None]).backward()
    optimizer.step()
    return model, optimizer, cost.bytes_held(model, optimizer)


def test_weights_gradients_and_the_states_of_three_optimizers():
    matrices = [r.shape for r in route(GPT(SHAPE)).routes if r.rule == "muon"]
    rows = sum(torch.Size(shape[:-1]).numel() for shape in matrices)
    numbers = sum(torch.Size(shape).numel() for shape in matrices)
    everything = sum(p.numel() for p in GPT(SHAPE).parameters())
    tensors = len(list(GPT(SHAPE).parameters()))
    rest, others = everything - numbers, tensors - len(matrices)
    states = {
        "AdamW": 2 * everything + tensors,  # a counter of steps each
        "Muon": numbers + 2 * rest + others,
        "NorMuon": numbers + rows + 2 * rest + others,  # m(n + 1) for an m×n matrix
    }
    makes = {
        "AdamW": lambda model: torch.optim.AdamW(model.parameters()),
        "Muon": lambda model: Muon(route(model).groups()),
        "NorMuon": lambda model: NorMuon(route(model).groups()),
    }
    for name, make in makes.items():
        _, _, held = after_a_step(make)
        assert held["parameters"] == held["gradients"] == 4 * everything
        assert held["state"] == 4 * states[name]
        assert (held["scratch"] > 0) == (name != "AdamW")


def test_shared_memory_counts_once_and_freed_gradients_do_not():
    model, optimizer, before = after_a_step(lambda model: Muon(route(model).groups()))
    model.head.weight = model.embedding.weight
    optimizer.zero_grad()
    after = cost.bytes_held(model, optimizer)
    assert after["parameters"] == before["parameters"] - 4 * 10 * 8
    assert after["gradients"] == 0
    assert after["state"] == before["state"]
