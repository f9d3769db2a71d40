"""Checks of lesson 11: what is wrong with an answer, said so that it can be mended."""

from collections.abc import Callable

import torch
from torch import Tensor

from muonlab.classroom.exercise import Mistakes, compare
from muonlab.classroom.kinds import array


def e2(answer: Callable) -> None:
    """The recovered share of the gap, seed by seed."""
    cases = [  # among them a row below all Muon, one above all AdamW, a seed in which Muon is behind
        _losses([4.5, 5.0], [5.0, 5.1], [4.0, 4.4]),
        _losses([3.7, 5.3, 4.8], [5.0, 5.1, 5.2], [4.0, 4.7, 4.1]),
        _losses([4.9, 4.2, 4.7, 4.4], [4.8, 4.6, 4.5, 4.9], [5.1, 4.3, 4.0, 4.3]),
    ]
    otherwise = "All AdamW must give 0 and all Muon 1, in every seed."
    compare(answer, cases, _shares, returns=array, otherwise=otherwise)


def _shares(row: Tensor, adamw: Tensor, muon: Tensor) -> tuple[Tensor, Mistakes]:
    gain, gap = adamw - row, adamw - muon
    right = gain / gap
    divide = "Divide by the gap between all AdamW and all Muon."
    above, below = "A row above all AdamW has a negative share", "one below all Muon more than 1."
    return right, [
        ((row - muon) / gap, "That is the share that is still missing: all Muon must come out as 1, all AdamW as 0."),
        (-right, "The sign is reversed: a row with a lower loss than all AdamW has a positive share."),
        (gain, f"These are nats. {divide}"),
        (-gain, "That is what the row costs, in nats. Its share of the gap is asked for."),
        (gap, "That is the gap. Which share of it does the row recover?"),
        (gain / adamw, f"You divided by AdamW's loss. {divide}"),
        (gain / muon, f"You divided by Muon's loss. {divide}"),
        (gain / row, f"You divided by the row's loss. {divide}"),
        (gain / (row - muon), "You divided by the rest of the way. Divide by the whole gap."),
        (gain / gap.mean(), "You divided by the mean gap. Divide each seed by its own gap: a seed moves all three."),
        (
            (adamw.mean() - row) / gap.mean(),
            "You took means of AdamW and Muon over the seeds. A seed moves all three: compare within a seed.",
        ),
        (right.mean(), "That is the mean over the seeds. Return one number for each seed."),
        (
            right.mean().expand_as(row),
            "All seeds came out alike. Return one number for each seed, not their mean.",
        ),
        (gain.mean() / gap.mean(), "That is the share of the mean losses. Return one number for each seed."),
        (gap / gain, "The fraction is upside down: the gap stands below."),
        (right.clamp(0, 1), f"You cut the share at 0 and 1. {above}, {below}"),
        (right.clamp(min=0), f"You cut the share at 0. {above}."),
        (right.clamp(max=1), "You cut the share at 1. A row below all Muon has more than 1."),
        (right.abs(), f"You dropped the sign. {above}."),
        (gain / gap.abs(), "You dropped the sign of the gap: in a seed in which Muon is behind, it is negative."),
        (gain.abs() / gap, f"You dropped the sign of the gain. {above}."),
        (100 * right, "These are per cent. A share of 1 is all Muon."),
    ]


def e3(answer: Callable) -> None:
    """The gain of two groups together beyond the sum of their gains, seed by seed."""
    cases = [  # in the second, groups cost, alone or both
        _losses([5.0, 5.2], [4.7, 5.1], [4.6, 4.8], [4.5, 4.9]),
        _losses([5.0, 5.2, 5.1, 4.9], [4.7, 5.5, 4.8, 5.2], [4.6, 4.8, 5.3, 5.0], [4.1, 4.5, 4.4, 5.4]),
    ]
    otherwise = "There are three gains, each base minus a loss: that of both, less the two of each group alone."
    compare(answer, cases, _beyond, returns=array, otherwise=otherwise)


def _beyond(base: Tensor, a: Tensor, b: Tensor, both: Tensor) -> tuple[Tensor, Mistakes]:
    gain_a, gain_b, gain = base - a, base - b, base - both
    right = gain - gain_a - gain_b
    losses = "You subtracted the losses of the two groups. Subtract their gains, base − a and base − b."
    return right, [
        (-right, "The sign is reversed: groups that gain less together than apart give a negative number."),
        (both - a - b, "These are sums of losses. Take gains: the loss of all AdamW minus the row's."),
        (gain - a - b, losses),
        (-gain - a - b, losses),
        (gain + gain_a + gain_b, "You added all three gains. Subtract the two of the groups alone."),
        (gain - gain_a + gain_b, "A bracket is missing: both gains alone are subtracted."),
        (gain_a + gain_b, "That is the sum of the gains alone. What do both gain beyond it?"),
        (gain, "That is the gain of both. Subtract the gain of each group alone."),
        (-gain, "That is what both cost. Take gains, and subtract those of each group alone."),
        (a - both, "You subtracted the gain of the first group only."),
        (b - both, "You subtracted the gain of the second group only."),
        (torch.minimum(a, b) - both, "You compared with the better of the two. Compare with the sum of both gains."),
        (torch.maximum(a, b) - both, "You compared with the worse of the two. Compare with the sum of both gains."),
        ((a + b) / 2 - both, "You compared with the mean of the two gains. Compare with their sum."),
        (gain / (gain_a + gain_b), "That is a ratio. Subtract the sum of the gains."),
        (gain - gain_a * gain_b, "You multiplied the two gains. Gains in nats add up."),
        (
            gain.clamp(min=0) - gain_a.clamp(min=0) - gain_b.clamp(min=0),
            "You cut gains at 0. A group may cost: then its gain is negative.",
        ),
        (
            right.clamp(min=0),
            "You cut the result at 0. Groups that gain less together than apart give a negative number.",
        ),
        (right.abs(), "You dropped the sign: it says whether both gain more or less than the sum."),
        (
            gain.abs() - gain_a.abs() - gain_b.abs(),
            "You dropped the signs of gains. A group may cost: then its gain is negative.",
        ),
        (right.mean(), "That is the mean over the seeds. Return one number for each seed."),
        (
            right.mean().expand_as(base),
            "All seeds came out alike. Return one number for each seed, not their mean.",
        ),
        (100 * right, "That is a hundred times as much. Return nats."),
    ]


def _losses(*rows: list[float]) -> tuple[Tensor, ...]:
    return tuple(torch.tensor(row) for row in rows)
