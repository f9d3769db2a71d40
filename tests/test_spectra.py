"""The four numbers of a spectrum against their definitions, from an SVD of their own."""

import math

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from muonlab import GPT, GPTConfig
from muonlab.theory.spectra import isotropy, layer_spectra


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
    scale=st.sampled_from([1e-150, 1e-20, 1.0, 1e150]),
    seed=st.integers(0, 99),
)


@any_matrix
@settings(deadline=None)  # the machine may be busy
def test_the_numbers_are_those_of_the_definition(m, n, rank, scale, seed):
    W = random(m, rank, seed=seed) @ random(rank, n, seed=seed + 1)
    found = isotropy(W * scale)
    assert found == pytest.approx(by_definition(W), rel=1e-5, abs=1e-9)
    assert isotropy(W.mT) == pytest.approx(found, rel=1e-5, abs=1e-9)


def test_equal_directions_are_isotropic_and_a_single_one_is_as_uneven_as_can_be():
    Q = torch.linalg.qr(random(20, 12))[0]
    assert isotropy(Q) == pytest.approx((1.0, 12.0, 10 / 12, 1.0))
    W = torch.outer(random(5), random(7))
    assert isotropy(W) == pytest.approx((0.0, 1.0, 1.0, 1.0))


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
    assert list(found) == [*attention, "router", "w_in", "w_out", "shared.w_in", "shared.w_out"]
    for layer, block in enumerate(blocks):
        stack = block.feedforward.w_in.weight.detach()
        means = [sum(numbers) / 4 for numbers in zip(*map(isotropy, stack), strict=True)]
        assert found["w_in"][layer] == pytest.approx(means, rel=1e-12)
        shared = isotropy(block.feedforward.shared.w_in.weight.detach())
        assert found["shared.w_in"][layer] == list(shared)
    as_one = isotropy(stack.flatten(0, 1))  # the experts' axis taken for rows
    assert abs(as_one.effective_rank - found["w_in"][1][1]) > 1
