"""Checks of lesson 15: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable

from muonlab.classroom.exercise import Mistakes, compare
from muonlab.classroom.kinds import real_number

Runs = dict[int, float]


def e3(answer: Callable) -> None:
    """The loss at steps / longer, on the line between the two runs."""
    cases = [
        ({900: 2.7, 1200: 2.5}, 1200, 1.2),
        ({1200: 2.5, 900: 2.7}, 1200, 1.25),
        ({100: 4.0, 200: 3.0}, 300, 2.0),
        ({600: 3.0, 1000: 2.6}, 1000, 1.25),
        ({100: 4.0, 110: 3.0}, 115, 1.1),
    ]
    otherwise = (
        "Muon takes steps / longer steps in that time. Its loss there: that of the shorter run, plus the same part "
        "of the way to the longer run's loss."
    )
    compare(answer, cases, _in_time, returns=real_number, within=1e-6, otherwise=otherwise)


def _in_time(runs: Runs, steps: int, longer: float) -> tuple[float, Mistakes]:
    (few, high), (many, low) = sorted(runs.items())

    def at(n: float) -> float:
        return high + (n - few) / (many - few) * (low - high)

    n = steps / longer
    return at(n), [
        (
            at(steps),
            "That is the loss after as many steps as AdamW takes. In its time Muon takes fewer: steps / longer.",
        ),
        (at(steps * longer), "You multiplied. A longer step leaves time for fewer steps: divide by `longer`."),
        (at(steps * (2 - longer)), "20 % longer steps are not 20 % fewer: divide by `longer`."),
        *(
            (at(f(n)) if n % 1 else math.nan, "Do not round the steps: the line is between whole numbers, too.")
            for f in (math.floor, math.ceil, round)
        ),
        (at(round(n, -1)) if n % 10 else math.nan, "Do not round the steps to tens."),
        (n, "These are Muon's steps in that time. Asked is its loss after so many."),
        (low + high - at(n), "The two runs have changed places: the part of the way begins at the shorter run."),
        ((low + high) / 2, "That is the mean of the two. How far along is steps / longer?"),
        (low, "That is the loss of the longer run, for which there is no time."),
        (high, "That is the loss of the shorter run. There is time for more."),
        ((n - few) / (many - few), "That is the part of the way. Take that part of the way between the losses."),
        (
            high + (math.log(n / few) / math.log(many / few)) * (low - high),
            "That line is straight in the logarithm of the steps. Here it is straight in the steps.",
        ),
    ]


Shapes = list[tuple[int, int]]


def e4(answer: Callable) -> None:
    """Muon's operations over six times the model's numbers times the share."""
    cases = [
        ([(2, 3)], 10, 0.5),
        ([(3, 2), (4, 4)], 60, 0.1),
        ([(128, 512), (512, 128), (128, 128)], 250_000, 0.01),
    ]
    otherwise = (
        "Muon's operations, 5 (4 k² M + 2 k³) for each shape, are to be the share of the model's, "
        "6 · numbers · tokens. Solve for the tokens."
    )
    compare(answer, cases, _tokens, returns=real_number, within=1e-6, otherwise=otherwise)


def _tokens(shapes: Shapes, numbers: int, share: float) -> tuple[float, Mistakes]:
    sides = [sorted(shape) for shape in shapes]
    squares, cubes = sum(4 * k**2 * M for k, M in sides), sum(2 * k**3 for k, _ in sides)
    larger = sum(5 * (4 * M**2 * k + 2 * M**3) for k, M in sides)
    as_given = sum(5 * (4 * m**2 * n + 2 * m**3) for m, n in shapes)
    muon, model = 5 * (squares + cubes), 6 * numbers
    k, M = sides[-1]
    return muon / (model * share), [
        (muon / 5 / (model * share), "Muon takes five Newton-Schulz steps, not one."),
        (5 * squares / (model * share), "The term 2 k³ is missing."),
        (5 * cubes / (model * share), "The term 4 k² M is missing."),
        (larger / (model * share), "k is the smaller side of a matrix."),
        (as_given / (model * share), "k is the smaller side, whichever stands first: sort the shape."),
        (muon / (numbers * share), "Forward and backward take six operations for each number and token."),
        (muon * share / model, "A smaller share needs more tokens: divide by it."),
        (muon / model, "That is where the share is 1. Divide by the share, too."),
        (model * share / muon, "That is upside down: the share stands below, Muon above."),
        (muon * (1 - share) / (model * share), "The share is of the model's operations, not of both together."),
        (5 * (4 * k**2 * M + 2 * k**3) / (model * share), "That is the last matrix alone. Add up all of them."),
        (muon, "Those are Muon's operations. How many tokens make them the share of the model's?"),
    ]
