"""Checks of lesson 06: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable

import torch

from muonlab.classroom.exercise import Wrong, call, expect, rounded


def e1(answer: Callable) -> None:
    """The log-likelihood of counts under Zipf's law with exponent s."""
    counts = torch.tensor([50.0, 20.0, 20.0, 10.0], dtype=torch.float64)
    for s in (1.3, 0.0):
        _one_likelihood(float(call(answer, s, counts)), s, counts)


def _one_likelihood(came: float, s: float, counts: torch.Tensor) -> None:
    ranks = torch.arange(1, len(counts) + 1, dtype=torch.float64)
    power = ranks**-s
    p = power / power.sum()
    expected = (counts * p.log()).sum().item()
    mistakes = [
        (
            (counts * power.log()).sum(),
            "The probabilities do not sum to 1: divide by the sum of 1 / rˢ over all ranks.",
        ),
        (-expected, "The sign is reversed: a log-likelihood is negative, and the best s makes it largest."),
        (expected / counts.sum(), "That is the mean for one token. Weight by the counts, and do not divide."),
        (p.log().sum(), "Each rank counted once. A token that occurs 50 times contributes 50 times."),
        (
            (counts * power.log()).sum() - power.sum().log(),
            "The normalization stands once in the sum. Every token brings its own −ln of it.",
        ),
        (
            (counts * (ranks**s / (ranks**s).sum()).log()).sum(),
            "The sign of the exponent is reversed: rare ranks must have small probabilities.",
        ),
    ]
    otherwise = f"For s = {s} and the counts 50, 20, 20, 10 expected {expected:.3f}, got {came:.3f}."
    expect(came, expected, mistakes, otherwise, within=1e-5)


def e2(answer: Callable) -> None:
    """The loss of each token for a model that knows only frequencies, one occurrence added."""
    counts = torch.tensor([7, 2, 1, 0])
    came = call(answer, counts, shape=(4,)).double()
    n, size = counts.sum().item(), len(counts)
    p = (counts.double() + 1) / (n + size)
    if not came.isfinite().all():
        raise Wrong("A token that the text never shows has an infinite loss. Add 1 to each count first.")
    mistakes = [
        (p.log(), "The sign is reversed: a loss is −ln p, and p is below 1."),
        (-p.log2(), "You took the logarithm to base 2. Nats need the natural one, torch.log."),
        (p, "These are the probabilities. The loss is −ln of them."),
        (-((counts + 1.0) / n).log(), "They sum to more than 1: adding 1 to each of V counts adds V to the total."),
        (
            -((counts + 1.0) / (n + 1)).log(),
            "You added 1 to the total too few times: once for each token of the vocabulary.",
        ),
        (-p * p.log(), "You weighted the losses by the probabilities. Return the loss of each token itself."),
        (
            torch.full((4,), math.log(size)),
            "You counted every token of the vocabulary once. Use how often each occurs.",
        ),
    ]
    otherwise = f"For the counts 7, 2, 1, 0 expected {rounded(-p.log())}, got {rounded(came)}."
    expect(came, -p.log(), mistakes, otherwise, within=1e-5)


def e3(answer: Callable) -> None:
    """The share of each class in the drop of the mean loss."""
    shares = torch.tensor([0.5, 0.4, 0.1], dtype=torch.float64)
    before = torch.tensor([8.0, 8.0, 8.0], dtype=torch.float64)
    after = torch.tensor([3.0, 6.0, 9.0], dtype=torch.float64)
    came = call(answer, shares, before, after, shape=(3,)).double()
    drop = before - after
    gain = shares * drop
    mistakes = [
        (
            drop / drop.sum(),
            "You forgot the shares: a class with half of the tokens moves the mean by half of its drop.",
        ),
        (gain, "These are nats. Divide by the drop of the mean, so that the three sum to 1."),
        (-gain / gain.sum(), "The sign is reversed: a class whose loss falls has a positive share of the gain."),
        (drop / before, "You divided by each class's own loss before. Divide by the drop of the mean."),
        (gain / (shares @ before), "You divided by the mean before. Divide by how far the mean fell."),
        (
            shares * after / (shares @ after),
            "Those are the classes' shares of the loss that is left, not of what was won.",
        ),
        (gain.abs() / gain.abs().sum(), "A loss that rises counts as a negative gain: do not take the absolute value."),
    ]
    otherwise = (
        f"For shares 0.5, 0.4, 0.1 and losses 8, 8, 8 that become 3, 6, 9 expected {rounded(gain / gain.sum())}, "
        f"got {rounded(came)}."
    )
    expect(came, gain / gain.sum(), mistakes, otherwise, within=1e-5)
