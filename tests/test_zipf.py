"""The Zipf exponent against samples whose exponent is known, and against a grid search."""

import numpy as np
import pytest
import torch

from muonlab.data.corpus import Corpus
from muonlab.data.zipf import exponent, exponent_interval, ranked_blocks, zipf


@pytest.mark.parametrize("s", [0.0, 0.7, 1.0, 1.6])
def test_exact_frequencies_give_their_exponent(s):
    r = np.arange(1, 1001)
    assert exponent(r**-s) == pytest.approx(s, abs=1e-9)
    assert exponent(r[99:] ** -s, first=100) == pytest.approx(s, abs=1e-9)
    assert zipf(1000, s).numpy() == pytest.approx(r**-s / (r**-s).sum())


def test_the_fit_is_the_maximum_of_the_likelihood():
    counts = np.random.default_rng(1).multinomial(5000, zipf(50, 1.2).numpy())
    grid = np.linspace(0.5, 2, 3001)
    likelihood = [counts @ zipf(50, s).log().numpy() for s in grid]
    assert exponent(counts) == pytest.approx(grid[np.argmax(likelihood)], abs=1e-3)


def test_ninety_five_percent_of_intervals_hold_the_truth():
    generator, p = np.random.default_rng(0), zipf(30, 1.0).numpy()
    intervals = [exponent_interval(generator.multinomial(50, p, size=40)) for _ in range(30)]
    assert 25 <= sum(low <= 1.0 <= high for _, low, high in intervals) <= 29


def test_blocks_that_differ_widen_the_interval():
    generator = np.random.default_rng(0)
    same = [generator.multinomial(500, zipf(30, 1.0).numpy()) for _ in range(20)]
    mixed = [generator.multinomial(500, zipf(30, s).numpy()) for s in [0.7, 1.3] * 10]
    width = [np.diff(exponent_interval(np.stack(b))[1:])[0] for b in (same, mixed)]
    assert width[1] > 2 * width[0]


def corpus(tokens, vocab_size):
    return Corpus("test", tokens.int(), tokens.int(), vocab_size, "", 1, None, None)


def test_ranks_come_from_other_blocks_than_counts():
    tokens = torch.tensor([2, 2, 2, 0, 0, 1]).repeat(100)  # 200 blocks of three
    assert ranked_blocks(corpus(tokens, 4)).tolist() == [[0, 2, 1, 0]] * 100


def test_a_sample_of_known_exponent_is_found_again():
    torch.manual_seed(0)
    tokens = torch.multinomial(zipf(200, 1.1), 100_000, replacement=True)
    found, low, high = exponent_interval(ranked_blocks(corpus(tokens, 200)))
    assert low < found < high
    assert found == pytest.approx(1.1, abs=0.02)
