"""Checks of lesson 11: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable

import torch

from muonlab.classroom.exercise import Wrong, call

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
    if came == expected:
        return
    chosen = [s for name, s in SHAPES.items() if name.split(".")[-2] in kinds]
    inside = [s for name, s in SHAPES.items() if any(kind in name for kind in kinds)]
    others = {
        "These are matrices. A matrix of m rows and n columns holds m · n numbers.": len(chosen),
        "You added rows and columns. A matrix of m rows and n columns holds m · n numbers.": sum(
            m + n for m, n in chosen
        ),
        "You counted one layer. The group is the matrices of this kind in every layer.": sum(
            m * n for m, n in chosen
        )
        // 2,
        'Too many names fit: the letter "o" also stands in "blocks". Compare a whole part of the '
        "name.": sum(m * n for m, n in inside),
        "You counted every matrix. Take only those whose kind is asked for.": sum(
            m * n for m, n in SHAPES.values()
        ),
    }
    for message, value in others.items():
        if came == value:
            raise Wrong(message)
    raise Wrong(
        f"For the kinds {', '.join(sorted(kinds))} in the two layers of a small model expected "
        f"{expected}, got {came}. The kind is the part of the name before .weight."
    )


def e2(answer: Callable) -> None:
    """The recovered share of the gap, seed by seed."""
    row = torch.tensor([4.5, 5.0, 4.8], dtype=torch.float64)
    adamw = torch.tensor([5.0, 5.1, 5.2], dtype=torch.float64)
    muon = torch.tensor([4.0, 4.7, 4.2], dtype=torch.float64)
    came = call(answer, row, adamw, muon, shape=(3,)).double()
    gap = adamw - muon
    expected = (adamw - row) / gap
    others = {
        "That is the share that is still missing: all Muon must come out as 1, all AdamW as 0.": (
            row - muon
        )
        / gap,
        "The sign is reversed: a row with a lower loss than all AdamW has a positive share.": -expected,
        "These are nats. Divide by the gap between all AdamW and all Muon.": adamw - row,
        "You divided by AdamW's loss. Divide by the gap between all AdamW and all Muon.": (
            adamw - row
        )
        / adamw,
        "You divided by the mean gap. Divide each seed by its own gap: a seed moves all three.": (
            adamw - row
        )
        / gap.mean(),
        "The fraction is upside down: the gap stands below.": gap / (adamw - row),
    }
    _diagnose(came, expected, others)


def e3(answer: Callable) -> None:
    """The gain of two groups together beyond the sum of their gains, seed by seed."""
    base = torch.tensor([5.0, 5.2, 5.1], dtype=torch.float64)
    a = torch.tensor([4.7, 5.1, 4.8], dtype=torch.float64)
    b = torch.tensor([4.6, 4.8, 4.9], dtype=torch.float64)
    both = torch.tensor([4.5, 4.9, 4.4], dtype=torch.float64)
    came = call(answer, base, a, b, both, shape=(3,)).double()
    expected = (base - both) - (base - a) - (base - b)
    others = {
        "The sign is reversed: groups that gain less together than apart give a negative number.": -expected,
        "These are sums of losses. Take gains: the loss of all AdamW minus the row's.": both
        - a
        - b,
        "That is the gain of both. Subtract the gain of each group alone.": base - both,
        "You subtracted the gain of one group only.": (base - both) - (base - a),
        "You subtracted the gain of the second group only.": (base - both) - (base - b),
        "You compared with the better of the two. Compare with the sum of both gains.": (
            base - both
        )
        - torch.maximum(base - a, base - b),
        "You compared with the mean of the two gains. Compare with their sum.": (base - both)
        - ((base - a) + (base - b)) / 2,
    }
    _diagnose(came, expected, others)


def _diagnose(came: torch.Tensor, expected: torch.Tensor, others: dict[str, torch.Tensor]) -> None:
    if torch.allclose(came, expected, atol=1e-5):
        return
    for message, value in others.items():
        if torch.allclose(came, value, atol=1e-5):
            raise Wrong(message)
    if math.isclose(came.std().item(), 0, abs_tol=1e-9):
        raise Wrong("All seeds came out alike. Return one number for each seed, not their mean.")
    raise Wrong(
        f"For three seeds expected {[round(v, 3) for v in expected.tolist()]}, "
        f"got {[round(v, 3) for v in came.tolist()]}."
    )
