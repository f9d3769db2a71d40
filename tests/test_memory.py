"""The associative memory and its theorems: against autograd, dense SVDs and the paper's numbers."""

import math
from typing import get_args

import pytest
import torch

from muonlab import theory
from muonlab.theory import embeddings, memory, theorems
from muonlab.theory.embeddings import coupled, gaussian, power_law, rotation, two_block
from muonlab.theory.theorems import TwoBlock, gradient_spectrum, imbalance_exponent, run_blocks

EYE = torch.eye(12, dtype=torch.float64)


def pair(name, K=12):
    return {
        "identity": lambda: (torch.eye(K, dtype=torch.float64),) * 2,
        "rotation": lambda: (rotation(K, 1), rotation(K, 2)),
        "coupled": lambda: coupled(K),
        "gaussian": lambda: (gaussian(8, K, 1), gaussian(10, K, 2)),
    }[name]()


def loss_of(W, E, values, p):
    """L(W) of the module's first lines."""
    return -(p * (values.T @ W @ E).softmax(dim=0).diagonal().log()).sum()


NAMES = ["identity", "rotation", "coupled", "gaussian"]


@pytest.mark.parametrize("name", NAMES)
def test_the_closed_gradient_is_autograds(name):
    E, values = pair(name)
    W = gaussian(len(values), len(E), 3).requires_grad_()
    p = power_law(12, 1.2)
    loss_of(W, E, values, p).backward()
    torch.testing.assert_close(-W.grad, memory.descent(W.detach(), E, values, p))


def test_an_orthonormal_memory_recalls_every_fact_and_a_crowded_one_does_not():
    E, values = rotation(12, 1), rotation(12, 2)
    assert memory.recall(memory.store(E, values), E, values).tolist() == list(range(12))
    E, values = gaussian(6, 200, 1), gaussian(6, 200, 2)
    right = memory.recall(memory.store(E, values), E, values) == torch.arange(200)
    assert 0 < right.double().mean() < 0.9


@pytest.mark.parametrize("rule", ["gd", "sign", "muon"])
@pytest.mark.parametrize(
    ("K", "L", "alpha"), [(12, 4, 0.8), (9, 1, 0.6), (5, 3, 0.8), (7, 6, 0.95), (2, 1, 0.7)]
)
def test_six_numbers_give_what_the_dense_run_gives(rule, K, L, alpha):
    lr = {"gd": 3.0, "sign": 0.3, "muon": 0.3}[rule]
    dense = memory.memorize(two_block(K, L, alpha), *[torch.eye(K).double()] * 2, rule, lr, 25)
    blocks = run_blocks(K, L, alpha, rule, lr, 25)
    torch.testing.assert_close(blocks.correct, dense.correct[:, [0, K - 1]])
    torch.testing.assert_close(blocks.loss, dense.loss)
    torch.testing.assert_close(blocks.gap, dense.gap)


def test_six_numbers_stand_for_this_matrix():
    made = TwoBlock(3, 1, a=1.0, b=2.0, c11=0.1, c12=0.2, c21=0.3, c22=0.4).dense()
    assert made.tolist() == [[1.1, 0.2, 0.2], [0.3, 2.4, 0.4], [0.3, 0.4, 2.4]]


@pytest.mark.parametrize(("rule", "lr"), [("gd", 3.0), ("muon", 0.3)])
def test_gd_and_muon_do_not_see_the_embedding(rule, lr):
    p = two_block(12, 4, 0.8)
    plain, *turned = (
        memory.memorize(p, *pair(name), rule, lr, 15)
        for name in ("identity", "rotation", "coupled")
    )
    for run in turned:
        torch.testing.assert_close(run.correct, plain.correct)


@pytest.mark.parametrize("rule", get_args(memory.StepRule))
def test_a_block_that_repeats_is_the_whole_embedding(rule):
    p, lr = two_block(12, 5, 0.8), 3.0 if rule == "gd" else 0.1
    whole = memory.memorize(p, *coupled(12), rule, lr, 8)
    blocks = memory.memorize(p, *embeddings.coupled_blocks(), rule, lr, 8)
    torch.testing.assert_close(blocks.correct, whole.correct)


@pytest.mark.parametrize("rule", ["newton_schulz", "polar_express"])
def test_newton_schulz_nearly_balances(rule):
    p = two_block(12, 4, 0.8)
    gd = memory.memorize(p, EYE, EYE, "gd", 3.0, 50)
    assert memory.memorize(p, EYE, EYE, rule, 0.3, 25).gap.max() < 0.1 < gd.gap.max()


def test_adam_without_memory_is_sign_descent_and_with_memory_torchs_adam():
    p = two_block(12, 3, 0.8)
    E, values = coupled(12)
    forgets = memory.memorize(p, E, values, "adam", 0.1, 10)
    torch.testing.assert_close(
        forgets.correct, memory.memorize(p, E, values, "sign", 0.1, 10).correct
    )
    run = memory.memorize(p, E, values, "adam", 0.1, 10, momentum=0.9, beta2=0.95)
    W = torch.zeros(12, 12).double().requires_grad_()
    adam = torch.optim.Adam([W], lr=0.1, betas=(0.9, 0.95), eps=1e-12)
    for _ in range(10):
        adam.zero_grad()
        loss_of(W, E, values, p).backward()
        adam.step()
    torch.testing.assert_close(run.correct[10], memory.answers(W.detach(), E, values).diagonal())


def test_sign_descent_sees_it():
    p = two_block(12, 3, 0.8)
    plain = theory.train(p, EYE, EYE, "sign", 0.1, 30)  # the name that copies of lesson 00 call
    turned = memory.memorize(p, *coupled(12), "sign", 0.1, 30)
    assert plain.gap.max() < 1e-12
    assert turned.gap.max() > 0.1


@pytest.mark.parametrize(("K", "L", "alpha"), [(12, 4, 0.8), (30, 6, 0.8), (9, 2, 0.5)])
def test_the_spectrum_of_the_first_gradient(K, L, alpha):
    E, values = rotation(K, 1), rotation(K, 2)
    G = memory.descent(torch.zeros(K, K).double(), E, values, two_block(K, L, alpha))
    expected = [s for s, times in gradient_spectrum(K, L, alpha) for _ in range(times)]
    expected = torch.tensor(sorted(expected, reverse=True), dtype=torch.float64)
    torch.testing.assert_close(torch.linalg.svdvals(G), expected)


def test_the_blocks_of_the_first_muon_update():
    """Appendix D.5, λ = α²(1 − β)³ + (1 − α)²β³."""
    K, L, alpha = 999, 200, 0.8
    beta = L / K
    root = math.sqrt(alpha**2 * (1 - beta) ** 3 + (1 - alpha) ** 2 * beta**3)
    first = TwoBlock(K, L).descent(alpha / L, (1 - alpha) / (K - L)).direction("muon")
    assert (first.a, first.b) == (1.0, 1.0)
    assert [first.c11, first.c22, first.c12, first.c21] == pytest.approx(
        [
            ((1 - beta) ** 2 * alpha / root - 1) / (K * beta),
            (beta**2 * (1 - alpha) / root - 1) / (K * (1 - beta)),
            -beta * (1 - alpha) / root / K,
            -alpha * (1 - beta) / root / K,
        ],
        rel=1e-12,
    )


def test_the_matrix_of_signs_is_the_papers():
    K = 300  # with few facts the 1/K terms still turn some signs
    G = memory.descent(torch.zeros(K, K).double(), *coupled(K), two_block(K, 60, 0.8))
    A = torch.tensor([[2.0, 0, 0], [2, 0, 2], [-2, -2, -2]]).double()
    B = torch.tensor([[-1.0, -1, -1], [-1, -1, -1], [1, 1, 1]]).double()
    blocks = torch.kron(torch.eye(100).double(), A) + torch.kron(torch.ones(100, 100).double(), B)
    assert torch.equal(G.sign(), blocks)
    assert torch.linalg.svdvals(A).tolist() == pytest.approx([4.494, 1.604, 1.110], abs=1e-3)


# The paper's numbers, K = 999, α = 0.8


def one_step(K, L, alpha, rule, epsilon):
    """The worst probability after the one step whose size takes the best to 1 − ε."""
    step = TwoBlock(K, L).descent(alpha / L, (1 - alpha) / (K - L)).direction(rule)
    low, high = 0.0, 1e9
    for _ in range(200):
        middle = (low + high) / 2
        correct = [math.exp(x) for x in TwoBlock(K, L).add(step, middle).log_correct()]
        low, high = (low, middle) if max(correct) > 1 - epsilon else (middle, high)
    return min(correct)


@pytest.mark.parametrize("K", [30, 99, 999])
@pytest.mark.parametrize("epsilon", [0.1, 0.01])
def test_one_gd_step_is_the_closed_form(K, epsilon):
    L = K // 5
    closed = theorems.gd_worst(K, L, 0.8, epsilon)
    assert one_step(K, L, 0.8, "gd", epsilon) == pytest.approx(closed, rel=1e-9)


def test_the_exponent_and_the_balance_of_one_step():
    assert imbalance_exponent(0.8, 200 / 999) == pytest.approx(0.0626, abs=1e-4)
    assert one_step(999, 200, 0.8, "gd", 0.1) == pytest.approx(0.00177, rel=0.01)
    assert one_step(999, 200, 0.8, "muon", 0.1) > 0.899


def test_many_steps_muon_balanced_gd_not():
    muon = run_blocks(999, 200, 0.8, "muon", 0.5, 60)
    gd = run_blocks(999, 200, 0.8, "gd", 400.0, 400)
    sign = run_blocks(999, 200, 0.8, "sign", 0.1, 200)
    assert muon.gap.max() == pytest.approx(0.0012, abs=1e-4)
    assert gd.gap.max() == pytest.approx(0.958, abs=0.002)
    assert sign.gap.max() < 1e-12
    assert muon.loss[-1] < 1e-3


@pytest.mark.parametrize(("L", "steps", "largest"), [(198, 28, 0.341), (200, 37, 0.852)])
def test_sign_descent_on_coupled_embeddings(L, steps, largest):
    """With L = 200 one block of three straddles the border between frequent and rare facts."""
    run = memory.memorize(two_block(999, L, 0.8), *embeddings.coupled_blocks(), "sign", 0.1, steps)
    assert run.gap.max() == pytest.approx(largest, abs=1e-3)


def test_a_fact_that_never_comes_is_allowed_and_only_pushed_away():
    E = torch.eye(3, dtype=torch.float64)
    p = torch.tensor([0.5, 0.5, 0.0], dtype=torch.float64)
    run = memory.memorize(p, E, E, "gd", lr=1.0, steps=3)
    assert run.correct[-1, :2].min() > 1 / 3
    assert run.correct[-1, 2] == pytest.approx(1 / 3)
