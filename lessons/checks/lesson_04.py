"""Checks of lesson 04: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable

import torch

from muonlab.classroom.exercise import Mistakes, NotYet, Wrong, call, expect, rounded
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


def e1(answer: Callable) -> None:
    """The first step whose loss is at most the goal; None when there is none."""
    steps, losses = [0, 50, 100, 150, 200], [9.0, 6.0, 5.0, 5.5, 4.0]
    index = "You returned the position in the list. Return the step that stands there."
    mistakes = [
        (50, "At that step the loss is still above the goal. Take the first step at or below it."),
        (200, "That is the last step at or below the goal. The question asks for the first."),
        (2, index),
        (1, index),
    ]
    _one_step(call(answer, steps, losses, 5.2), mistakes)
    strict = [(200, "A loss equal to the goal has reached it: use <=, not <.")]
    _one_step(call(answer, steps, losses, 5.0), strict)
    try:
        never = call(answer, steps, losses, 1.0)
    except NotYet:
        return  # None is the right answer for a goal that is never reached
    except Wrong as wrong:
        raise Wrong("A goal of 1.0 is never reached: return None then, not an error.") from wrong
    raise Wrong(f"A goal of 1.0 is never reached: return None then; {never!r} came.")


def _one_step(came: object, mistakes: Mistakes) -> None:
    number = came if isinstance(came, int | float) else math.nan
    expect(number, 100, mistakes, f"Expected step 100, got {came!r}.", within=0)


def e2(answer: Callable) -> None:
    """Mean difference ± 2.776 · standard error of the paired differences, five seeds."""
    a, b = torch.tensor([5.0, 5.4, 4.9, 5.2, 5.1]), torch.tensor([4.8, 5.1, 4.8, 5.0, 4.8])
    low, high = (float(value) for value in call(answer, a, b))
    mean, expected_low, expected_high, _ = paired_interval(a.tolist(), b.tolist())
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
