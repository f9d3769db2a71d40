"""The four numbers of a spectrum against their definitions, from an SVD of their own."""

import math

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from muonlab import GPT, GPTConfig
from muonlab.theory.spectra import (
    Isotropy,
    energies,
    isotropy,
    layer_spectra,
    nuclear_rank,
    stable_rank,
)


def by_definition(W):
    s = numpy.linalg.svd(W.double().numpy(), compute_uv=False)
    squares = s[s > 1e-7 * s[0]] ** 2
    q = squares / squares.sum()
    H = -sum(q * numpy.log(q))
    entropy = H / math.log(len(q)) if len(q) > 1 else 0
    high, low = numpy.percentile(squares, [75, 25])
    return entropy, math.exp(H), q[:10].sum(), high / low


def random(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


any_matrix = given(
    m=st.integers(1, 14),
    n=st.integers(1, 14),
    rank=st.integers(1, 14),
    scale=st.sampled_from([1e-30, 1.0, 1e30]),
    seed=st.integers(0, 99),
)


@any_matrix
def test_the_numbers_are_those_of_the_definition(m, n, rank, scale, seed):
    W = random(m, rank, seed=seed) @ random(rank, n, seed=seed + 1)
    found = isotropy(W * scale)
    assert found == pytest.approx(by_definition(W), rel=1e-5, abs=1e-9)
    assert isotropy(W.mT) == pytest.approx(found, rel=1e-5, abs=1e-9)


@any_matrix
def test_nuclear_and_stable_rank_are_quotients_of_norms(m, n, rank, scale, seed):
    W = random(m, rank, seed=seed) @ random(rank, n, seed=seed + 1)
    nuclear, frobenius, operator = (numpy.linalg.norm(W, kind) for kind in ("nuc", "fro", 2))
    assert nuclear_rank(W * scale) == pytest.approx(nuclear**2 / frobenius**2, rel=1e-5)
    assert stable_rank(W * scale) == pytest.approx(frobenius**2 / operator**2, rel=1e-9)


def test_both_ranks_count_equal_directions_and_part_where_they_are_unequal():
    Q = torch.linalg.qr(random(20, 12))[0]
    assert (nuclear_rank(Q), stable_rank(Q)) == pytest.approx((12.0, 12.0))
    W = torch.diag(torch.tensor([2.0, 1.0, 1.0]))
    assert (nuclear_rank(W), stable_rank(W)) == pytest.approx((16 / 6, 6 / 4))


def test_an_orthogonal_matrix_is_isotropic():
    Q = torch.linalg.qr(random(20, 12))[0]
    assert isotropy(Q) == pytest.approx((1.0, 12.0, 10 / 12, 1.0))


def test_a_matrix_of_rank_one_is_as_uneven_as_can_be():
    W = torch.outer(random(5), random(7))
    assert isotropy(W) == pytest.approx((0.0, 1.0, 1.0, 1.0))
    assert len(energies(W)) == 1


def test_flattening_a_spectrum_moves_every_number_towards_isotropy():
    W = random(16, 16) * torch.logspace(0, -2, 16)
    U, s, Vh = torch.linalg.svd(W)
    flatter = isotropy(U @ torch.diag(s.sqrt()) @ Vh)
    steep = isotropy(W)
    assert flatter.entropy > steep.entropy
    assert flatter.effective_rank > steep.effective_rank
    assert flatter.top_energy < steep.top_energy
    assert flatter.quartile_ratio < steep.quartile_ratio


@pytest.mark.parametrize(
    ("W", "message"),
    [
        (torch.zeros(3, 3), "not all of them 0"),
        (torch.full((3, 3), torch.nan), "finite"),
        (torch.ones(3), r"got shape \(3,\)"),
        (torch.ones(0, 3), "with entries"),
    ],
)
def test_a_matrix_without_a_spectrum_is_refused(W, message):
    with pytest.raises(ValueError, match=message):
        isotropy(W)


def test_the_spectra_of_a_plain_model_are_one_row_a_layer():
    """Records have this form; the explorer of lesson 09 reads it."""
    blocks = GPT(GPTConfig(vocab_size=8, layers=2, width=16, heads=2, gated=True)).blocks
    found = layer_spectra(blocks.named_parameters())
    assert list(found) == ["q", "k", "v", "o", "w_in", "w_gate", "w_out"]
    for layer in range(2):
        assert found["k"][layer] == list(isotropy(blocks[layer].attention.k.weight.detach()))


def test_each_expert_is_a_matrix_of_its_own_and_a_layer_gives_their_mean():
    shape = GPTConfig(vocab_size=8, layers=2, width=16, heads=2, attention="latent", experts=4)
    blocks = GPT(shape).blocks
    found = layer_spectra(blocks.named_parameters())
    attention = ["q", "q_rope", "kv_down", "k_rope", "k_up", "v_up", "o"]
    assert list(found) == [
        *(*attention, "router", "w_in", "w_out"),
        *("shared.w_in", "shared.w_out"),
    ]
    for layer, block in enumerate(blocks):
        stack = block.feedforward.w_in.weight.detach()
        each = [isotropy(stack[i]) for i in range(4)]
        for number, field in enumerate(Isotropy._fields):
            mean = sum(getattr(one, field) for one in each) / 4
            assert math.isclose(found["w_in"][layer][number], mean, rel_tol=1e-12)
        shared = isotropy(block.feedforward.shared.w_in.weight.detach())
        assert found["shared.w_in"][layer] == list(shared)
    as_one = isotropy(stack.flatten(0, 1))  # the experts' axis taken for rows
    assert abs(as_one.effective_rank - found["w_in"][1][1]) > 1


@pytest.mark.parametrize("size", [1e-150, 1e-20, 1e20, 1e150])
def test_the_size_of_a_matrix_changes_none_of_its_numbers(size):
    W = torch.randn(4, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert tuple(isotropy(size * W)) == pytest.approx(tuple(isotropy(W)), rel=1e-9)
