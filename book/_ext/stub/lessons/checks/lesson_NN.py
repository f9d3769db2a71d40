"""Checks of lesson NN: what is wrong with an answer, said so that it can be mended."""

from collections.abc import Callable

import torch

from muonlab.classroom.exercise import Mistakes, compare
from muonlab.classroom.kinds import float_array


def e1(answer: Callable) -> None:
    """Each value over their sum."""
    cases = [(torch.tensor([1.0, 3.0]),), (torch.tensor([0.5, 0.25, 4.0]),)]
    compare(
        answer, cases, _shares, returns=float_array, within=1e-5, otherwise="Divide by the sum."
    )


def _shares(values: torch.Tensor) -> tuple[torch.Tensor, Mistakes]:
    return values / values.sum(), [
        (values / values.max(), "That is each value over the largest. Divide by their sum."),
        (values / values.norm(), "That is each value over their length. Divide by their sum."),
        (values.sum() / values, "That is the sum over each value: upside down."),
    ]
