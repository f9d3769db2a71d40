"""Checks of lesson 07: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable

import torch

from muonlab.classroom.exercise import call, expect
from muonlab.theory.memory import two_block


def e1(answer: Callable) -> None:
    """log((K - 1)(1 - ε)/ε) divided by the largest frequency."""
    for p, epsilon in ((two_block(12, 4, 0.8), 0.1), (two_block(30, 6, 0.8).flip(0), 0.02)):
        came = float(call(answer, p, epsilon))
        K, top, low = len(p), p.max().item(), p.min().item()
        odds = (1 - epsilon) / epsilon
        expected = math.log((K - 1) * odds) / top
        mistakes = [
            (math.log(odds) / top, "The factor K − 1 is missing: there are K − 1 wrong answers."),
            (math.log(K * odds) / top, "You counted K wrong answers; one of the K is right."),
            (
                math.log((K - 1) * odds) / low,
                "You divided by the smallest frequency. The best fact is the most frequent one.",
            ),
            (math.log((K - 1) / odds) / top, "The odds are upside down: at probability 1 − ε they are (1 − ε)/ε."),
            (
                math.log((K - 1) * odds) * top,
                "You multiplied by the frequency. A more frequent fact needs a smaller step.",
            ),
            (math.log((K - 1) * (1 - epsilon)) / top, "1 − ε is a probability, not odds: divide it by ε."),
            ((K - 1) * odds / top, "The logarithm is missing: solve exp(η p) = (K − 1)(1 − ε)/ε."),
        ]
        otherwise = f"With K = {K}, the largest p = {top:.4f} and ε = {epsilon}, the step size is {expected:.3f}; yours is {came:.3f}."
        expect(came, expected, mistakes, otherwise, within=1e-6)


def e2(answer: Callable) -> None:
    """odds/(1 + odds), with odds = ((K - 1)(1 - ε)/ε)^r / (K - 1)."""
    for K, r, epsilon in ((999, 0.0625, 0.1), (30, 0.25, 0.02)):
        came = float(call(answer, K, r, epsilon))
        best = (1 - epsilon) / epsilon
        odds = ((K - 1) * best) ** r / (K - 1)
        expected = odds / (1 + odds)
        grown = ((K - 1) * best) ** r
        mistakes = [
            (odds, "These are the odds. The probability is odds / (1 + odds)."),
            (grown / (1 + grown), "You forgot to divide by the K − 1 wrong answers."),
            (1 - epsilon, "The power r is missing: this is the best fact, at 1 − ε."),
            (
                _probability(((K - 1) * best) ** (1 / r) / (K - 1)),
                "The power must be r, not 1/r: a rare fact moves more slowly.",
            ),
            (_probability(best**r / (K - 1)), "The power r takes in K − 1 too: exp(η p_max) = (K − 1)(1 − ε)/ε."),
            (_probability(r * best), "r multiplies the exponent, so it is a power. You multiplied by it."),
            (
                epsilon**-r * K ** (r - 1),
                "That is the order of magnitude in the theorem. Here the exact value is asked.",
            ),
            (_probability((K * best) ** r / K), "You counted K wrong answers; one of the K is right."),
        ]
        otherwise = (
            f"For K = {K}, r = {r} and ε = {epsilon} the probability is {expected:.6f}; you returned {came:.6f}."
        )
        expect(came, expected, mistakes, otherwise, within=1e-6)


def e3(answer: Callable) -> None:
    """The diagonal minus the largest other entry of each column."""
    generator = torch.Generator().manual_seed(0)
    first = torch.randn(6, 6, generator=generator, dtype=torch.float64)
    second = -torch.rand(5, 5, generator=generator, dtype=torch.float64) - 0.5
    for M in (first, second):
        came = call(answer, M, shape=(len(M),)).double()
        own, wrong = M.diagonal(), M.clone().fill_diagonal_(-torch.inf)
        mistakes = [
            (own - wrong.amax(1), "You took the maximum of each row. Column k holds the answers to key k: use dim=0."),
            (own - M.amax(0), "The right answer is among those you took the maximum of. Leave the diagonal out."),
            (wrong.amax(0) - own, "The sign is turned: right logit minus wrong logit."),
            (
                own - (M.sum(0) - own) / (len(M) - 1),
                "You subtracted the mean of the wrong logits. The largest one is the competitor.",
            ),
            (
                own - M.clone().fill_diagonal_(torch.inf).amin(0),
                "You subtracted the smallest wrong logit. The largest one is the competitor.",
            ),
            (
                own - M.clone().fill_diagonal_(0).amax(0),
                "You set the diagonal to 0, which wins when all wrong logits are negative. Use -torch.inf.",
            ),
            (
                own - M.clone().fill_diagonal_(0).abs().amax(0),
                "You compared with the largest size. A very negative logit is no competitor.",
            ),
        ]
        expected = own - wrong.amax(0)
        otherwise = f"The margin of the first fact should be {expected[0]:.3f}; yours is {came[0]:.3f}."
        expect(came, expected, mistakes, otherwise, within=1e-5)


def _probability(odds: float) -> float:
    return odds / (1 + odds)
