"""Checks of lesson 04: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable

import torch

from muonlab.classroom.exercise import Answer, Look, Wrong, call, compare, expect, rounded
from muonlab.classroom.kinds import number
from muonlab.statistics import paired_interval


def e3(answer: Callable) -> None:
    """The mean loss of the tokens of each class."""
    losses = torch.tensor([1.0, 2.0, 6.0, 4.0, 10.0, 20.0])
    tokens = torch.tensor([4, 0, 0, 1, 3, 3])
    classes = torch.tensor([0, 1, 2, 2, 0])
    came = [float(value) for value in call(answer, losses, tokens, classes)]
    expected = [3.0, 4.0, 15.0]
    if len(came) != 3:
        raise Wrong(f"Return three numbers: head, middle, tail; {len(came)} came.")
    mistakes = [
        (
            [9.0, 4.0, 30.0],
            "These are sums. A class with many tokens then looks bad for its size: divide by their number.",
        ),
        (
            [1.5, 4 / 6, 5.0],
            "You divided by the number of all tokens; divide by the number of tokens in the class.",
        ),
        (expected[::-1], "The order is reversed: class 0 is the head."),
        ([losses.mean().item()] * 3, "All three are the overall mean: select the tokens of a class first."),
    ]
    otherwise = f"Expected {expected} for six tokens, got {rounded(came)}. Is classes[tokens] the mask?"
    expect(came, expected, mistakes, otherwise, within=1e-5)


def e1(answer: Answer) -> None:
    """The first step whose loss is at most the goal; None when there is none."""
    steps, losses = [0, 50, 100, 150, 200, 250], [9.0, 6.0, 5.0, 5.5, 4.0, 4.5]
    cases = [(steps, losses, goal) for goal in (5.2, 5.0, 1.0)]
    otherwise = "The first step whose loss is at or below the goal is asked for; None when there is none."
    compare(answer, cases, _first_step, returns=number, within=0, otherwise=otherwise)


def _first_step(steps: list[int], losses: list[float], goal: float) -> Look:
    reached = [place for place, loss in enumerate(losses) if loss <= goal]
    below = [place for place, loss in enumerate(losses) if loss < goal]
    first = reached[0] if reached else None
    index = "You returned the position in the list. Return the step that stands there."
    nearest = min(steps, key=lambda step: abs(losses[steps.index(step)] - goal))
    return _at(steps, first), [
        (_at(steps, below[0] if below else None), "A loss equal to the goal has reached it: use <=, not <."),
        (_at(steps, reached[-1] if reached else None), "That is the last step at or below the goal. Take the first."),
        (first, index),
        (nearest, "That is the step whose loss is nearest to the goal. Take the first at or below it."),
    ]


def _at(steps: list[int], place: int | None) -> int | None:
    return None if place is None else steps[place]


def e2(answer: Callable) -> None:
    """Mean difference ± 2.776 · standard error of the paired differences, five seeds."""
    a, b = torch.tensor([5.0, 5.4, 4.9, 5.2, 5.1]), torch.tensor([4.8, 5.1, 4.8, 5.0, 4.8])
    low, high = (float(value) for value in call(answer, a, b))
    mean, expected_low, expected_high = paired_interval(a.tolist(), b.tolist())
    d = a - b
    t, root = 2.776, math.sqrt(5)
    halves = [
        (t * d.std().item(), "You divided the spread by nothing: the error of a mean is sd / √n."),
        (1.96 * d.std().item() / root, "You used 1.96, which is for many seeds. With five, t = 2.776."),
        (
            t * math.sqrt((a.var() + b.var()).item() / 5),
            "You used the spread of the two groups. Pair first: the difference of each seed cancels what the seed adds.",
        ),
        (
            t * d.std(correction=0).item() / root,
            "You divided by n in the spread; from a sample divide by n − 1, as torch.std does.",
        ),
    ]
    middle, half = (low + high) / 2, (high - low) / 2
    mistakes = [((-mean - half, -mean + half), "The sign is reversed: the question asks for a − b.")]
    mistakes += [((middle - h, middle + h), message) for h, message in halves]
    otherwise = f"Expected about ({expected_low:.3f}, {expected_high:.3f}), got ({low:.3f}, {high:.3f})."
    expect((low, high), (expected_low, expected_high), mistakes, otherwise, within=5e-4)
