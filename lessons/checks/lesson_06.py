"""Checks of lesson 06: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from muonlab.classroom.exercise import Mistakes, compare
from muonlab.classroom.kinds import Wrong, numbers


def e1(answer: Callable) -> None:
    """The log-likelihood of counts under Zipf's law with exponent s."""
    rare = torch.tensor([2.0, 5.0, 0.0, 1.0], dtype=torch.float64)  # not sorted, one never seen
    many = torch.tensor([3000.0, 4000.0, 900.0, 0.0, 1200.0, 500.0], dtype=torch.float64)
    cases = [(1.0, rare), (0.5, rare), (0.0, rare), (1.3, many)]

    def law(s: float, counts: Tensor) -> Tensor:
        return _powers(s, counts) / _powers(s, counts).sum()

    def right(s: float, counts: Tensor) -> Tensor:
        return (counts * law(s, counts).log()).sum()

    def seen(s: float, counts: Tensor) -> Tensor:
        return right(s, counts[counts > 0])

    def with_coefficient(s: float, counts: Tensor) -> Tensor:
        ways = (counts.sum() + 1).lgamma() - (counts + 1).lgamma().sum()
        return right(s, counts) + ways

    def look(s: float, c: Tensor) -> tuple[Tensor, Mistakes]:
        mistakes = [
            (
                (c * _powers(s, c).log()).sum(),
                "The probabilities do not sum to 1: divide by the sum of 1 / rˢ over all ranks.",
            ),
            (
                -right(s, c),
                "The sign is reversed: a log-likelihood is negative, and the best s makes it largest.",
            ),
            (
                right(s, c) / c.sum(),
                "That is the mean for one token. Weight by the counts, and do not divide by their sum.",
            ),
            (
                -right(s, c) / c.sum(),
                "That is the mean loss of one token. The log-likelihood is the sum over all tokens, and negative.",
            ),
            (right(s, c) / len(c), "You took the mean over the ranks. Add them up."),
            (
                law(s, c).log().sum(),
                "Each rank counted once. A token that occurs 50 times contributes 50 times.",
            ),
            (
                (c * law(s, c)).sum().log(),
                "You took the logarithm of a sum. Take the logarithm of each probability, then weight and add.",
            ),
            ((c * law(s, c)).sum(), "The logarithm is missing: add up counts times ln p."),
            (
                (c * _powers(s, c).log()).sum() - _powers(s, c).sum().log(),
                "The normalization stands once in the sum. Every token brings its own −ln of it.",
            ),
            (
                right(-s, c),
                "The sign of the exponent is reversed: rare ranks must have small probabilities.",
            ),
            (
                (c * (-s * _ranks(c)).log_softmax(0)).sum(),
                "Your probabilities fall like exp(−s r). Zipf's law is a power of the rank, r to the power −s.",
            ),
            (
                right(1.0, c),
                "Your result does not depend on s. The probabilities are r to the power −s, divided by their sum.",
            ),
            (
                torch.xlogy(c, c / c.sum()).sum(),
                "Those are the shares that were counted, whatever s is. The probabilities must come from Zipf's law.",
            ),
            (_from_rank(s, c, 2), "Your ranks begin with 2: the first rank is 1."),
            (
                right(s, c.sort(descending=True).values),
                "You sorted the counts. They come in the order of the ranks, which were found on other text.",
            ),
            (
                seen(s, c),
                "You left out ranks that are never seen. They count 0 times, but they are in the sum over all ranks.",
            ),
            (
                with_coefficient(s, c),
                "You counted the orders in which the tokens can come (a multinomial coefficient). Return Σ c ln p alone.",
            ),
            (c * law(s, c).log(), "Those are the terms, one for each rank. Return their sum."),
            *_bases(right(s, c)),
            (
                (law(s, c) ** c).prod().log(),
                "A product of thousands of probabilities is too small for the computer: it becomes 0. Add logarithms.",
            ),
            (
                (law(s, c) * c.log()).sum(),
                "The logarithm belongs to the probability, not to the count: add up counts times ln p.",
            ),
            (
                (c * (_powers(s, c) / c.sum()).log()).sum(),
                "You divided by the number of tokens. Divide the powers by their own sum, so that they are probabilities.",
            ),
            (right(s, c).exp(), "That is the likelihood itself, which is hardly above 0. Return its logarithm."),
            (
                -right(s, c) / len(c),
                "You took the mean over the ranks, with the sign of a loss. Add up, without a minus.",
            ),
            (_of((s ** -_ranks(c)), c), "You raised s to the power −r. Zipf's law is the rank to the power −s."),
            (
                _of(_powers(s, c).exp(), c),
                "A softmax takes exp of the powers. Divide the powers themselves by their sum.",
            ),
            (law(s, c).log(), "Those are the logarithms of the probabilities. Weight them by the counts, and add."),
        ]
        return right(s, c), mistakes

    otherwise = "Add up c · ln p over the ranks, p = r to the power −s, divided by the sum of these over all ranks."
    compare(answer, cases, look, returns=_finite, otherwise=otherwise)


def e2(answer: Callable) -> None:
    """The loss of each token for a model that knows only frequencies, one occurrence added."""
    cases = [
        (torch.tensor([1, 3, 0]),),
        (torch.tensor([0, 7, 2, 0, 1]),),
        (torch.tensor([40_000, 3, 900_000, 0, 2_000_000, 71]),),
    ]

    def p(c: Tensor) -> Tensor:
        return (c.double() + 1) / (c.sum() + len(c))

    def right(c: Tensor) -> Tensor:
        return -p(c).log()

    def look(c: Tensor) -> tuple[Tensor, Mistakes]:
        mistakes = [
            (
                -(c / c.sum()).log(),
                "A token that the text never shows has an infinite loss. Add 1 to each count first.",
            ),
            (p(c).log(), "The sign is reversed: a loss is −ln p, and p is below 1."),
            (p(c), "These are the probabilities. The loss is −ln of them."),
            (
                -((c + 1.0) / c.sum()).log(),
                "The probabilities sum to more than 1: adding 1 to each of V counts adds V to the total.",
            ),
            (
                -((c + 1.0) / (c.sum() + 1)).log(),
                "You added 1 to the total too few times: once for each token of the vocabulary.",
            ),
            (
                -((c + 1.0) / (c.sum() + (c > 0).sum())).log(),
                "V is the size of the vocabulary, len(counts): tokens that were never seen have got a 1 as well.",
            ),
            (
                -(c / (c.sum() + len(c))).log(),
                "The 1 is missing in the numerator: (count + 1) / (N + V).",
            ),
            (
                -(c.double().clamp(min=1) / c.double().clamp(min=1).sum()).log(),
                "You added 1 only where the count was 0. Add it to every count.",
            ),
            (
                -(c.double().clamp(min=1) / (c.sum() + len(c))).log(),
                "You raised only the counts of 0 to 1. Add 1 to every count.",
            ),
            (
                -(c.double().clamp(min=1) / c.sum()).log(),
                "You raised only the counts of 0, and not the total. Add 1 to every count, and V to the total.",
            ),
            (
                p(c) * right(c),
                "You weighted the losses by the probabilities. Return the loss of each token itself.",
            ),
            (
                c * right(c),
                "You weighted the losses by the counts. Return the loss of one occurrence of each token.",
            ),
            (
                (p(c) * right(c)).sum(),
                "That is one number, a mean weighted by the probabilities. Return the loss of each token.",
            ),
            (
                (c * right(c)).sum() / c.sum(),
                "That is one number, the mean loss of the text. Return the loss of each token.",
            ),
            ((c * right(c)).sum(), "That is one number, the loss of the whole text. Return one for each token."),
            (right(c).mean(), "That is one number, a mean. Return the loss of each token."),
            (
                torch.full((len(c),), len(c)).log(),
                "Your model guesses blindly: every token has the probability 1/V. Use how often each occurs.",
            ),
            *(
                (
                    value,
                    "A softmax of the counts takes exp of them. The frequencies are the counts divided by their sum.",
                )
                for value in (-(c + 1.0).log_softmax(0), -(c + 1.0).softmax(0).log())
            ),
            (
                -(c + 1.0).log(),
                "Divide by the total N + V before the logarithm: p must be a probability.",
            ),
            (-p(c).log1p(), "You took ln(1 + p). The loss is −ln p."),
            (-(p(c) / (1 - p(c))).log(), "You took odds, p / (1 − p). The loss is −ln p."),
            (
                right(c.sort(descending=True).values),
                "You sorted the counts. The loss of token i must stand at place i.",
            ),
            *_bases(right(c)),
            (-((c + 1) / c.sum() + len(c)).log(), "Put the total in brackets: (count + 1) / (N + V)."),
            (-(c + 1 / c.sum() + len(c)).log(), "Two brackets are missing: (count + 1) / (N + V)."),
            (-(c / c.sum() + 1).log(), "Add 1 to the count, not to the share: (count + 1) / (N + V)."),
            (
                -((c + 1) // (c.sum() + len(c))).log(),
                "// cuts off what is behind the point, so every probability is 0. Divide with /.",
            ),
            (1 - p(c), "The loss is −ln p, not 1 − p."),
            (right(c).sum(), "That is one number, the sum over the vocabulary. Return the loss of each token."),
            (right(c)[None], "There is a dimension too many, of size 1. Return the shape (V,)."),
            (right(c)[c > 0], "You left out the tokens that never occur. They have a loss too, the largest."),
        ]
        return right(c), mistakes

    otherwise = "The loss of token i is −ln of (its count + 1) / (the sum of the counts + how many tokens there are)."
    compare(answer, cases, look, returns=numbers, otherwise=otherwise)


def e3(answer: Callable) -> None:
    """The share of each class in the drop of the mean loss."""
    cases = [
        tuple(map(torch.tensor, case))
        for case in (
            ([0.5, 0.3, 0.2], [4.0, 8.0, 9.0], [2.0, 7.0, 11.0]),  # one class gets worse
            ([0.6, 0.1, 0.3], [2.0, 3.0, 5.0], [3.0, 2.0, 6.0]),  # the mean gets worse
            ([0.2, 0.5, 0.3], [8.0, 9.0, 7.0], [3.0, 6.5, 6.0]),
        )
    ]

    def gain(w: Tensor, b: Tensor, a: Tensor) -> Tensor:
        return w * (b - a)

    def right(w: Tensor, b: Tensor, a: Tensor) -> Tensor:
        return gain(w, b, a) / gain(w, b, a).sum()

    def look(w: Tensor, b: Tensor, a: Tensor) -> tuple[Tensor, Mistakes]:
        mistakes = [
            (
                (b - a) / (b - a).sum(),
                "You forgot the shares: a class with half of the tokens moves the mean by half of its drop.",
            ),
            (gain(w, b, a), "These are nats. Divide by the drop of the mean, so that the three sum to 1."),
            (-gain(w, b, a), "These are nats, below 0 where the loss fell. Take before − after, and divide."),
            (
                -right(w, b, a),
                "The sign is reversed: a class whose loss falls with the mean has a positive share of the gain.",
            ),
            ((b - a) / b, "You divided by each class's own loss before. Divide by the drop of the mean."),
            (
                gain(w, b, a) / b,
                "You divided each part by the class's own loss before. Divide by the drop of the mean.",
            ),
            (
                gain(w, b, a) / (w @ b),
                "You divided by the mean before. Divide by how far the mean fell.",
            ),
            (
                gain(w, b, a) / (w @ a),
                "You divided by the mean that is left. Divide by how far the mean fell.",
            ),
            (
                gain(w, b, a) / (b - a).sum(),
                "You divided by the sum of the drops. Divide by the drop of the mean, in which each drop is weighted.",
            ),
            (
                gain(w, b, a) / (b - a).mean(),
                "You divided by a mean in which the classes count alike. In the mean loss, each counts with its share.",
            ),
            (
                (b - a) / (w @ (b - a)),
                "You divided by the drop of the mean, but a class brings only its share of the text times its drop.",
            ),
            (
                w * a / (w @ a),
                "Those are the classes' shares of the loss that is left, not of what was won.",
            ),
            (
                w * b / (w @ b),
                "Those are the classes' shares of the loss before, not of what was won.",
            ),
            (
                w * b / (w @ b) - w * a / (w @ a),
                "You subtracted two shares of the loss. Take each class's part of the drop, then divide once.",
            ),
            (
                gain(w, b, a).abs() / gain(w, b, a).abs().sum(),
                "A loss that rises counts as a negative gain: do not take the absolute value.",
            ),
            (
                gain(w, b, a) / gain(w, b, a).abs().sum(),
                "The three must sum to 1: do not take the absolute value of the gains that you divide by.",
            ),
            (
                gain(w, b, a) / gain(w, b, a).sum().abs(),
                "The three must sum to 1, also where the mean rose: do not take the absolute value of its drop.",
            ),
            (
                right(w, b, a).clamp(0, 1),
                "You cut the shares at 0 and 1. A class that gets worse has a negative share, and the rest more than 1.",
            ),
            (right(w, b, a).clamp(min=0), "You cut the shares at 0. A class that gets worse has a negative share."),
            (
                gain(w, b, a).clamp(min=0) / gain(w, b, a).clamp(min=0).sum(),
                "You left out the class that gets worse. It has a negative share.",
            ),
            (gain(w, b, a).softmax(0), "A softmax is not a share: divide each gain by the sum of the gains."),
            (gain(w, b, a).sum(), "That is one number, the drop of the mean. Return a share for each class."),
            (gain(w, b, a) / gain(w, b, a).max(), "You divided by the largest gain. Divide by their sum."),
            (100 * right(w, b, a), "These are percent. Return shares that sum to 1."),
            (w, "Those are the shares of the text. Multiply by the drops, then divide by the sum."),
            (
                gain(w, b, a) / gain(w, b, a).norm(),
                "You divided by the norm. Divide by the sum, so that the three sum to 1.",
            ),
            (gain(w, b, a).mean(), "That is one number. Return a share for each class."),
            (
                w * b - a / (w * b - a).sum(),
                "Brackets are missing: first the fall of each class, b − a, then times its share, then divided.",
            ),
        ]
        return right(w, b, a), mistakes

    otherwise = (
        "Each class brings its share of the text times its fall, before − after; divide by the sum of the three."
    )
    compare(answer, cases, look, returns=numbers, otherwise=otherwise)


def _ranks(counts: Tensor) -> Tensor:
    return torch.arange(1, len(counts) + 1, dtype=torch.float64)


def _powers(s: float, counts: Tensor) -> Tensor:
    return _ranks(counts) ** -s


def _from_rank(s: float, counts: Tensor, first: int) -> Tensor:
    return _of((_ranks(counts) - 1 + first) ** -s, counts)


def _of(power: Tensor, counts: Tensor) -> Tensor:
    """The log-likelihood when the probabilities are in the ratio of `power`."""
    return (counts * (power / power.sum()).log()).sum()


def _finite(value: Any) -> float | Tensor:
    came = numbers(value)
    if isinstance(came, float) and math.isnan(came):
        raise Wrong(
            "Your function returned nan: somewhere stands 0/0, ∞/∞ or 0 · ln 0. The first rank is 1, not 0, "
            "and a token that is never seen has counts of 0, but no probability of 0."
        )
    return came


def _bases(right: Tensor) -> Mistakes:
    natural = "Nats need the natural one, torch.log."
    return [
        (right / math.log(2), f"You took the logarithm to base 2. {natural}"),
        (right / math.log(10), f"You took the logarithm to base 10. {natural}"),
    ]
