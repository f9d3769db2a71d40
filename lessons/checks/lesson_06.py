"""Checks of lesson 06: what is wrong with an answer, said so that it can be mended."""

import math

import torch
from torch import Tensor

from muonlab.classroom.exercise import Answer, Look, compare, rough
from muonlab.classroom.kinds import float_array, number_or_array

TEXTS = (
    ((40, 12, 9, 4), (22, 16, 3, 5), (31, 11, 8, 0), (52, 9, 6, 2), (18, 14, 7, 6)),
    ((26, 30, 4), (22, 25, 9), (28, 31, 5), (25, 16, 2)),  # ranks come from other text, so no order is sure
    ((300, 160, 90, 80, 70), (410, 120, 110, 60, 30), (350, 190, 70, 90, 20), (280, 150, 130, 40, 60)),
)


def e4(answer: Answer) -> None:
    """The exponent and its interval: other draws of these blocks would move it about as far."""
    cases = []
    for seed, text in enumerate(TEXTS):
        blocks = torch.tensor(text, dtype=torch.float64)
        generator = torch.Generator().manual_seed(seed)
        cases.append((blocks, torch.randint(len(text), (9, len(text)), generator=generator)))
    otherwise = "The exponent is that of blocks.sum(0); low and high are quantiles of the exponents of all draws."
    compare(answer, cases, _fitted, returns=float_array, within=1e-3, otherwise=otherwise, by_hand=True)


def _fitted(blocks: Tensor, draws: Tensor) -> Look:
    logs = torch.arange(1, blocks.size(1) + 1, dtype=torch.float64).log()
    every = torch.stack([_exponent(blocks[draw].sum(0), logs) for draw in draws])
    s, ends = _exponent(blocks.sum(0), logs), torch.tensor([0.025, 0.975], dtype=torch.float64)
    low, high = every.quantile(ends)
    once = torch.stack([_exponent(blocks[draw.unique()].sum(0), logs) for draw in draws])
    alone = torch.stack([_exponent(block, logs) for block in blocks])
    from_two = torch.arange(2, blocks.size(1) + 2, dtype=torch.float64).log()
    c = blocks.sum(0)
    ordered = _exponent(c.sort(descending=True).values, logs)
    line = -torch.linalg.lstsq(torch.stack((logs, torch.ones_like(logs)), 1), c.log()[:, None]).solution[0, 0]
    half = 1.96 * every.std()

    def three(*values: Tensor) -> Tensor:
        return torch.stack(values)

    return three(s, low, high), [
        (three(s, s, s), "Piece 1 of 2, the exponent, is right. Now fit each draw: blocks[draw].sum(0)."),
        (three(low, s, high), "The order is exponent, low, high."),
        (three(s, high, low), "The low end comes before the high one."),
        (three(-s, -low, -high), "The sign is reversed: the law is r to the power −s, so s is positive."),
        (three(every.mean(), low, high), "The exponent is that of the whole text, not the mean of the draws'."),
        (three(every.median(), low, high), "The exponent is that of the whole text, not the median of the draws'."),
        (three(s, every.min(), every.max()), "These are the ends of all draws. Leave out 2.5 % on each side."),
        (
            three(s, *every.quantile(torch.tensor([0.05, 0.95]).double())),
            "These quantiles leave 5 % on each side: an interval of 90 %.",
        ),
        (three(s, s - half, s + half), "This is 1.96 standard deviations on each side. Take quantiles of the draws."),
        (three(s, low - s, high - s), "These are distances from s. Return the ends of the interval."),
        (
            three(s, *once.quantile(ends)),
            "You counted a block once that a draw takes twice: blocks[draw] repeats it.",
        ),
        (
            three(s, *alone.quantile(ends)),
            "You fitted single blocks. A draw is as many blocks as the text has, added.",
        ),
        (three(alone.mean(), low, high), "You took the mean of the blocks' exponents. Add the blocks, then fit once."),
        (
            three(_exponent(c, from_two), *_ends(blocks, draws, from_two, ends)),
            "Your ranks begin with 2: the first rank is 1.",
        ),
        (three(ordered, low, high), "You sorted the counts. They come in the order of the ranks, found on other text."),
        (
            three(line, low, high),
            "This is the slope of a line through logarithms. A rank seen twice then weighs as much as one seen a thousand times.",
        ),
        (
            three(line, line, line),
            "This is the slope of a line through logarithms. A rank seen twice then weighs as much as one seen a thousand times.",
        ),
    ]


def _ends(blocks: Tensor, draws: Tensor, logs: Tensor, ends: Tensor) -> Tensor:
    return torch.stack([_exponent(blocks[draw].sum(0), logs) for draw in draws]).quantile(ends)


def _exponent(counts: Tensor, logs: Tensor) -> Tensor:
    """The s at which the law's mean of ln r is that of the counts."""
    in_text = counts @ logs / counts.sum()
    low, high = -5.0, 5.0
    for _ in range(60):
        s = (low + high) / 2
        low, high = (s, high) if (-s * logs).softmax(0) @ logs > in_text else (low, s)
    return torch.tensor(low, dtype=torch.float64)


def e5(answer: Answer) -> None:
    """The same mean, and a worse tail: whoever reports the mean alone cannot see it."""
    cases = [
        (torch.tensor(shares), rough(n, 3).abs() + 3, worse)
        for n, (shares, worse) in enumerate((([0.5, 0.4, 0.1], 1.0), ([0.6, 0.1, 0.3], 0.5), ([0.2, 0.5, 0.3], -0.4)))
    ]
    otherwise = (
        "The tail adds its share times `worse` to the mean. The head must take off as much: divide by its share."
    )
    compare(answer, cases, _hidden, returns=number_or_array, within=1e-5, otherwise=otherwise)


def _hidden(shares: Tensor, losses: Tensor, worse: float) -> Look:
    w, before = shares.double(), losses.double()

    def moved(head: Tensor | float, middle: Tensor | float = 0.0, tail: float = worse) -> Tensor:
        return before + torch.tensor([float(head), float(middle), tail], dtype=torch.float64)

    pays = -w[2] * worse / w[0]
    right = moved(pays)
    return right, [
        (before, "The tail stayed as it was. It shall be `worse` nats higher."),
        (moved(0), "The head must pay: so the mean has risen."),
        (moved(-worse), "The head counts more than the tail: it need not fall by as much as the tail rises."),
        (moved(-w[2] * worse), "The tail adds this to the mean. Divide by the head's share to get its own fall."),
        (moved(-w[0] * worse / w[2]), "The shares have changed places: tail's share times `worse`, over the head's."),
        (moved(-pays), "The head's loss must fall when the tail's rises."),
        (moved(0, -w[2] * worse / w[1]), "The middle has paid. Let the head pay."),
        (moved(pays, tail=-worse), "The tail has got better. A worse tail has a higher loss."),
        (moved(pays, tail=0.0), "The tail stayed as it was. It shall be `worse` nats higher."),
        (
            moved(-w[2] * worse / (w[0] + w[1]), -w[2] * worse / (w[0] + w[1])),
            "Head and middle have paid together. Let the head alone pay.",
        ),
        (right - before, "These are the changes. Add them to the losses."),
        (w * right, "These are shares times losses. Return the losses."),
        (w @ right, "This is the mean. Return three losses."),
        (right.flip(0), "The order is head, middle, tail."),
        (moved(-worse * w[2] / math.sqrt(w[0])), "Divide by the head's share itself, not by its root."),
    ]
