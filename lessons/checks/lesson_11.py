"""Checks of lesson 11: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable

import torch

from muonlab.classroom.exercise import Mistakes, call, expect, rounded

SHAPES = {
    "embedding.weight": (50, 6),
    "blocks.0.attention.v.weight": (6, 6),
    "blocks.0.attention.o.weight": (6, 6),
    "blocks.0.feedforward.w_in.weight": (24, 6),
    "blocks.0.feedforward.w_out.weight": (6, 24),
    "blocks.1.attention.v.weight": (6, 6),
    "blocks.1.attention.o.weight": (6, 6),
    "blocks.1.feedforward.w_in.weight": (24, 6),
    "blocks.1.feedforward.w_out.weight": (6, 24),
}


def e1(answer: Callable) -> None:
    """How many numbers the matrices of a group hold."""
    for kinds, expected in (({"w_out"}, 288), ({"v", "o"}, 144)):
        _one_count(int(call(answer, dict(SHAPES), set(kinds))), kinds, expected)


def _one_count(came: int, kinds: set[str], expected: int) -> None:
    chosen = [s for name, s in SHAPES.items() if name.split(".")[-2] in kinds]
    inside = [s for name, s in SHAPES.items() if any(kind in name for kind in kinds)]
    mistakes = [
        (len(chosen), "These are matrices. A matrix of m rows and n columns holds m · n numbers."),
        (
            sum(m + n for m, n in chosen),
            "You added rows and columns. A matrix of m rows and n columns holds m · n numbers.",
        ),
        (
            sum(m * n for m, n in chosen) // 2,
            "You counted one layer. The group is the matrices of this kind in every layer.",
        ),
        (
            sum(m * n for m, n in inside),
            'Too many names fit: the letter "o" also stands in "blocks". Compare a whole part of the name.',
        ),
        (sum(m * n for m, n in SHAPES.values()), "You counted every matrix. Take only those whose kind is asked for."),
    ]
    otherwise = (
        f"For the kinds {', '.join(sorted(kinds))} in the two layers of a small model expected "
        f"{expected}, got {came}. The kind is the part of the name before .weight."
    )
    expect(came, expected, mistakes, otherwise)


def e2(answer: Callable) -> None:
    """The recovered share of the gap, seed by seed."""
    row = torch.tensor([4.5, 5.0, 4.8], dtype=torch.float64)
    adamw = torch.tensor([5.0, 5.1, 5.2], dtype=torch.float64)
    muon = torch.tensor([4.0, 4.7, 4.2], dtype=torch.float64)
    came = call(answer, row, adamw, muon, shape=(3,)).double()
    gap = adamw - muon
    expected = (adamw - row) / gap
    mistakes = [
        ((row - muon) / gap, "That is the share that is still missing: all Muon must come out as 1, all AdamW as 0."),
        (-expected, "The sign is reversed: a row with a lower loss than all AdamW has a positive share."),
        (adamw - row, "These are nats. Divide by the gap between all AdamW and all Muon."),
        ((adamw - row) / adamw, "You divided by AdamW's loss. Divide by the gap between all AdamW and all Muon."),
        (
            (adamw - row) / gap.mean(),
            "You divided by the mean gap. Divide each seed by its own gap: a seed moves all three.",
        ),
        (gap / (adamw - row), "The fraction is upside down: the gap stands below."),
    ]
    _expect_by_seed(came, expected, mistakes)


def e3(answer: Callable) -> None:
    """The gain of two groups together beyond the sum of their gains, seed by seed."""
    base = torch.tensor([5.0, 5.2, 5.1], dtype=torch.float64)
    a = torch.tensor([4.7, 5.1, 4.8], dtype=torch.float64)
    b = torch.tensor([4.6, 4.8, 4.9], dtype=torch.float64)
    both = torch.tensor([4.5, 4.9, 4.4], dtype=torch.float64)
    came = call(answer, base, a, b, both, shape=(3,)).double()
    expected = (base - both) - (base - a) - (base - b)
    mistakes = [
        (-expected, "The sign is reversed: groups that gain less together than apart give a negative number."),
        (both - a - b, "These are sums of losses. Take gains: the loss of all AdamW minus the row's."),
        (base - both, "That is the gain of both. Subtract the gain of each group alone."),
        ((base - both) - (base - a), "You subtracted the gain of one group only."),
        ((base - both) - (base - b), "You subtracted the gain of the second group only."),
        (
            (base - both) - torch.maximum(base - a, base - b),
            "You compared with the better of the two. Compare with the sum of both gains.",
        ),
        (
            (base - both) - ((base - a) + (base - b)) / 2,
            "You compared with the mean of the two gains. Compare with their sum.",
        ),
    ]
    _expect_by_seed(came, expected, mistakes)


def _expect_by_seed(came: torch.Tensor, expected: torch.Tensor, mistakes: Mistakes) -> None:
    otherwise = f"For three seeds expected {rounded(expected)}, got {rounded(came)}."
    if math.isclose(came.std().item(), 0, abs_tol=1e-9):
        otherwise = "All seeds came out alike. Return one number for each seed, not their mean."
    expect(came, expected, mistakes, otherwise, within=1e-5)
