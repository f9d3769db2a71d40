"""Checks of lesson 07: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable

import torch

from muonlab.classroom.exercise import Wrong, call
from muonlab.theory.memory import two_block


def e1(answer: Callable) -> None:
    """log((K - 1)(1 - ε)/ε) divided by the largest frequency."""
    for p, epsilon in ((two_block(12, 4, 0.8), 0.1), (two_block(30, 6, 0.8).flip(0), 0.02)):
        came = float(call(answer, p, epsilon))
        K, top, low = len(p), p.max().item(), p.min().item()
        odds = (1 - epsilon) / epsilon
        expected = math.log((K - 1) * odds) / top
        if math.isclose(came, expected, rel_tol=1e-6):
            continue
        others = {
            "The factor K − 1 is missing: there are K − 1 wrong answers.": math.log(odds) / top,
            "You counted K wrong answers; one of the K is right.": math.log(K * odds) / top,
            "You divided by the smallest frequency. The best fact is the most frequent one.": math.log(
                (K - 1) * odds
            )
            / low,
            "The odds are upside down: at probability 1 − ε they are (1 − ε)/ε.": math.log(
                (K - 1) / odds
            )
            / top,
            "You multiplied by the frequency. A more frequent fact needs a smaller step.": math.log(
                (K - 1) * odds
            )
            * top,
            "1 − ε is a probability, not odds: divide it by ε.": math.log((K - 1) * (1 - epsilon))
            / top,
            "The logarithm is missing: solve exp(η p) = (K − 1)(1 − ε)/ε.": (K - 1) * odds / top,
        }
        _explain(came, others)
        raise Wrong(
            f"With K = {K}, the largest p = {top:.4f} and ε = {epsilon}, the step size is {expected:.3f}; yours is {came:.3f}."
        )


def e2(answer: Callable) -> None:
    """odds/(1 + odds), with odds = ((K - 1)(1 - ε)/ε)^r / (K - 1)."""
    for K, r, epsilon in ((999, 0.0625, 0.1), (30, 0.25, 0.02)):
        came = float(call(answer, K, r, epsilon))
        best = (1 - epsilon) / epsilon
        odds = ((K - 1) * best) ** r / (K - 1)
        expected = odds / (1 + odds)
        if math.isclose(came, expected, rel_tol=1e-6):
            continue
        grown = ((K - 1) * best) ** r
        others = {
            "These are the odds. The probability is odds / (1 + odds).": odds,
            "You forgot to divide by the K − 1 wrong answers.": grown / (1 + grown),
            "The power r is missing: this is the best fact, at 1 − ε.": 1 - epsilon,
            "The power must be r, not 1/r: a rare fact moves more slowly.": _probability(
                ((K - 1) * best) ** (1 / r) / (K - 1)
            ),
            "The power r takes in K − 1 too: exp(η p_max) = (K − 1)(1 − ε)/ε.": _probability(
                best**r / (K - 1)
            ),
            "r multiplies the exponent, so it is a power. You multiplied by it.": _probability(
                r * best
            ),
            "That is the order of magnitude in the theorem. Here the exact value is asked.": epsilon
            ** -r
            * K ** (r - 1),
            "You counted K wrong answers; one of the K is right.": _probability(
                (K * best) ** r / K
            ),
        }
        _explain(came, others)
        raise Wrong(
            f"For K = {K}, r = {r} and ε = {epsilon} the probability is {expected:.6f}; you returned {came:.6f}."
        )


def e3(answer: Callable) -> None:
    """The diagonal minus the largest other entry of each column."""
    generator = torch.Generator().manual_seed(0)
    first = torch.randn(6, 6, generator=generator, dtype=torch.float64)
    second = -torch.rand(5, 5, generator=generator, dtype=torch.float64) - 0.5
    for M in (first, second):
        came = call(answer, M, shape=(len(M),)).double()
        own, wrong = M.diagonal(), M.clone().fill_diagonal_(-torch.inf)
        if torch.allclose(came, own - wrong.amax(0)):
            continue
        others = {
            "You took the maximum of each row. Column k holds the answers to key k: use dim=0.": own
            - wrong.amax(1),
            "The right answer is among those you took the maximum of. Leave the diagonal out.": own
            - M.amax(0),
            "The sign is turned: right logit minus wrong logit.": wrong.amax(0) - own,
            "You subtracted the mean of the wrong logits. The largest one is the competitor.": own
            - (M.sum(0) - own) / (len(M) - 1),
            "You subtracted the smallest wrong logit. The largest one is the competitor.": own
            - M.clone().fill_diagonal_(torch.inf).amin(0),
            "You set the diagonal to 0, which wins when all wrong logits are negative. Use -torch.inf.": own
            - M.clone().fill_diagonal_(0).amax(0),
            "You compared with the largest size. A very negative logit is no competitor.": own
            - M.clone().fill_diagonal_(0).abs().amax(0),
        }
        for message, value in others.items():
            if torch.allclose(came, value):
                raise Wrong(message)
        expected = (own - wrong.amax(0))[0].item()
        raise Wrong(
            f"The margin of the first fact should be {expected:.3f}; yours is {came[0].item():.3f}."
        )


def _probability(odds: float) -> float:
    return odds / (1 + odds)


def _explain(came: float, others: dict[str, float]) -> None:
    for message, value in others.items():
        if math.isclose(came, value, rel_tol=1e-6):
            raise Wrong(message)
