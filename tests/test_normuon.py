"""NorMuon against its formulas in loops, against Muon where the two must agree, and bad input."""

import copy
import math
from itertools import product

import pytest
import torch
from torch import nn

from muonlab import Muon, NorMuon, newton_schulz, polar
from muonlab.models.gpt import GPT, GPTConfig
from muonlab.optim.normuon import ROWS
from muonlab.optim.rules import RULES
from muonlab.optim.rules import zeros_for as start_of
from muonlab.training.build import build_optimizer
from muonlab.training.config import TrainConfig

SHAPES = [(1, 1), (4, 4), (3, 11), (17, 5), (9, 1), (1, 9)]
EPS = 1e-8


def parameters(shapes=SHAPES, dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    return [nn.Parameter(torch.randn(s, generator=generator).to(dtype)) for s in shapes]


def gradients(shapes, steps, dtype=torch.float64):
    generator = torch.Generator().manual_seed(1)
    return [[torch.randn(s, generator=generator).to(dtype) for s in shapes] for _ in range(steps)]


def run(optimizer, params, steps):
    for grads in gradients([p.shape for p in params], steps, params[0].dtype):
        for p, grad in zip(params, grads, strict=True):
            p.grad = grad
        optimizer.step()
    return [p.detach().clone() for p in params]


def by_loops(W, grads, scale, *, lr, beta2=0.95, decay=0.0, nesterov=True, mu=0.95):
    """Algorithm 1 of arXiv 2510.05491, an entry at a time."""
    m, n = W.shape
    W, M, v = W.clone(), torch.zeros_like(W), [0.0] * m
    for G in grads:
        M = mu * M + (1 - mu) * G
        O = polar(mu * M + (1 - mu) * G if nesterov else M)  # noqa: E741
        divided = torch.zeros_like(O)
        for i in range(m):
            mean = sum(O[i, j].item() ** 2 for j in range(n)) / n
            v[i] = beta2 * v[i] + (1 - beta2) * mean
            for j in range(n):
                divided[i, j] = O[i, j] / (math.sqrt(v[i]) + EPS)
        norm = math.sqrt(sum(x * x for x in divided.flatten().tolist()))
        if scale == "paper":
            size = 0.2 * lr * math.sqrt(m * n) / norm
        else:
            before = math.sqrt(sum(x * x for x in O.flatten().tolist()))
            size = lr * max(1, m / n) ** 0.5 * before / norm
        W = (1 - lr * decay) * W - size * divided
    return W


@pytest.mark.parametrize("scale", ["paper", "released"])
@pytest.mark.parametrize("options", [{}, {"nesterov": False}, {"beta2": 0.5}, {"beta2": 0.0}])
def test_ten_steps_equal_the_algorithm_in_loops(scale, options):
    ours, starts = parameters(), parameters()
    common = {"lr": 0.02, "weight_decay": 0.3, "ns_coefficients": "exact"}
    result = run(NorMuon(ours, scale=scale, **common, **options), ours, 10)
    for k, (mine, start) in enumerate(zip(result, starts, strict=True)):
        grads = [step[k] for step in gradients(SHAPES, 10)]
        expected = by_loops(start.detach(), grads, scale, lr=0.02, decay=0.3, **options)
        torch.testing.assert_close(mine, expected, rtol=1e-8, atol=1e-10)


def one_step(cls, G, **options):
    p = nn.Parameter(torch.zeros_like(G))
    p.grad = G
    cls([p], lr=1.0, weight_decay=0.0, **options).step()
    return -p.detach()


@pytest.mark.parametrize("shape", [(6, 9), (9, 6), (5, 5)])
def test_newton_schulz_in_float32_gives_rows_of_the_same_direction(shape):
    G = torch.randn(shape, generator=torch.Generator().manual_seed(3))
    O = newton_schulz(G, dtype=torch.float32)  # noqa: E741
    expected = O / O.norm(dim=1, keepdim=True)  # one step: v is the row's own mean square
    for scale in ("paper", "released"):
        step = one_step(NorMuon, G, scale=scale, ns_dtype=torch.float32)
        found = step / step.norm(dim=1, keepdim=True)
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)


def test_the_state_is_the_momentum_and_a_number_a_row():
    params = parameters([(7, 5), (2, 3, 4), (6, 2, 3, 3)], torch.float32)
    optimizer = NorMuon(params)
    run(optimizer, params, 2)
    numbers = [sum(t.numel() for t in optimizer.state[p].values()) for p in params]
    assert numbers == [7 * 5 + 7, 2 * 3 * 4 + 2 * 3, 6 * 18 + 6]  # mn + m for each matrix


def test_stacks_kernels_and_equal_shapes_are_stepped_as_if_alone():
    shapes = [(6, 4), (6, 4), (2, 6, 4), (6, 2, 2)]
    together = parameters(shapes)
    result = run(NorMuon(together), together, 3)
    for k in range(len(shapes)):
        alone = parameters(shapes)[k]
        optimizer = NorMuon([alone])
        for grads in gradients(shapes, 3):
            alone.grad = grads[k]
            optimizer.step()
        torch.testing.assert_close(result[k], alone.detach(), rtol=1e-9, atol=1e-12)


def test_zero_matrices_and_zero_rows_stay_finite():
    G = torch.randn(6, 3)
    G[2] = 0
    for grad, scale in product((torch.zeros(6, 3), G), ("paper", "released")):
        step = one_step(NorMuon, grad, scale=scale)
        assert step.isfinite().all()
        assert step[2].abs().max() == 0


def test_statistics_of_half_precision_weights_are_float32_and_survive_a_checkpoint():
    [p] = parameters([(6, 4)], torch.bfloat16)
    optimizer = NorMuon([p])
    run(optimizer, [p], 3)
    other = NorMuon([nn.Parameter(p.detach().clone())])
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    [state] = other.state.values()
    assert state[ROWS].dtype == torch.float32
    assert torch.equal(state[ROWS], optimizer.state[p][ROWS])


def test_its_adamw_groups_are_muons():
    ours, theirs = parameters([(5,), (3, 4)]), parameters([(5,), (3, 4)])
    result = run(NorMuon([{"params": ours, "rule": "adamw"}]), ours, 5)
    expected = run(Muon([{"params": theirs, "rule": "adamw"}]), theirs, 5)
    assert all(map(torch.equal, result, expected))


def test_a_state_of_muon_is_taken_up_with_new_statistics():
    [p] = parameters([(6, 4)])
    muon = Muon([p])
    run(muon, [p], 2)
    optimizer = NorMuon([p])
    optimizer.load_state_dict(muon.state_dict())
    run(optimizer, [p], 1)
    assert optimizer.state[p][ROWS].shape == (6,)


# --- the rules of the experiments --------------------------------------------------------------


@pytest.mark.parametrize("shape", [(12, 4), (4, 12), (6, 6)])
def test_the_neurons_side_is_divided_by_a_running_mean_of_its_squares(shape):
    draw = torch.Generator().manual_seed(2)
    first, last = torch.randn(2, *shape, dtype=torch.float64, generator=draw)
    group = {"momentum": 0.0, "nesterov": False, "ns_steps": 5, "ns_coefficients": "jordan"}
    group["ns_norm"] = "frobenius"
    follow, kept = RULES["neurons"].direction, RULES["neurons"].keeps
    state = start_of(first, kept)
    follow(first, state, group)
    found = follow(last, state, group)
    across = 1 if shape[0] >= shape[1] else 0  # a neuron is a row of w_in, a column of w_out
    square = [newton_schulz(G).square().mean(across, keepdim=True) for G in (first, last)]
    theirs = newton_schulz(last) / ((0.95 * 0.05 * square[0] + 0.05 * square[1]).sqrt() + EPS)
    unit = lambda D: D / D.norm()  # noqa: E731
    torch.testing.assert_close(unit(found), unit(theirs), rtol=1e-5, atol=1e-7)
    assert math.isclose(found.norm().item(), 0.2 * math.sqrt(math.prod(shape)), rel_tol=1e-9)


def test_runs_get_the_optimizer_that_their_rule_names():
    model = GPT(GPTConfig(layers=1, width=32, heads=2, vocab_size=64))
    for rule, scale in (("normuon", "paper"), ("normuon_released", "released")):
        optimizer = build_optimizer(TrainConfig(rule=rule), model)
        assert isinstance(optimizer, NorMuon)
        assert {group["scale"] for group in optimizer.param_groups} == {scale}


@pytest.mark.parametrize("rule", ["muon", "normuon", "normuon_released", "flat_adam"])
def test_update_rms_gives_entries_of_rms_a_fifth_under_every_rule(rule):
    net = GPT(GPTConfig(vocab_size=64, context=8, layers=1, width=64, heads=2))
    optimizer = build_optimizer(TrainConfig(rule=rule, lr=1.0, adjust_lr_fn="update_rms"), net)
    W = net.blocks[0].attention.q.weight
    ids = torch.randint(64, (2, 4, 8), generator=torch.Generator().manual_seed(0))
    net(*ids).backward()
    before = W.detach().clone()
    optimizer.step()
    assert (W - before).square().mean().sqrt().item() == pytest.approx(0.2, rel=0.02)
