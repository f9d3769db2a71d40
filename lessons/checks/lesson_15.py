"""Checks of lesson 15: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from muonlab.classroom.exercise import Mistakes, compare, rough
from muonlab.classroom.kinds import number


def e1(answer: Callable) -> None:
    """‖G‖_*² / ‖G‖_F² over ‖A‖_F² / ‖A‖_op²."""
    G = torch.tensor([[2.0, 0.0, 1.0], [0.0, 1.0, -1.0]])
    A = torch.tensor([[1.0, 0.0, 0.5], [2.0, 1.0, 0.0], [-1.0, 0.0, 1.0], [0.0, 3.0, 1.0]])
    cases = [(G, A), (rough(1, 5, 4), rough(2, 3, 4)), (rough(3, 2, 6), rough(4, 9, 6))]
    otherwise = (
        "The nuclear rank of G is (the sum of its singular values)² over the sum of their squares; the stable "
        "rank of A is the sum of the squares of its singular values over the largest square."
    )
    compare(answer, cases, _promises, returns=number, otherwise=otherwise)


def _nuclear(s: Tensor) -> Tensor:
    return s.sum() ** 2 / s.square().sum()


def _stable(s: Tensor) -> Tensor:
    return s.square().sum() / s[0] ** 2


def _promises(G: Tensor, A: Tensor) -> tuple[float, Mistakes]:
    s, a = (torch.linalg.svdvals(X.double()) for X in (G, A))
    nuclear, stable, op = _nuclear(s), _stable(a), torch.linalg.matrix_norm
    right = nuclear / stable
    found: list[tuple[Tensor | float, str]] = [
        (1 / right, "The quotient is upside down: the nuclear rank stands above."),
        (nuclear.sqrt() / stable, "Square the nuclear rank's two norms: ‖G‖_*² / ‖G‖_F²."),
        (nuclear / stable.sqrt(), "Square the stable rank's two norms: ‖A‖_F² / ‖A‖_op²."),
        (right.sqrt(), "Square the norms. Roots of both ranks have another quotient."),
        (right**2, "You squared once too often."),
        (nuclear / _stable(s), "You took the stable rank of G. It belongs to A."),
        (nuclear / _nuclear(a), "You took the nuclear rank of A too. A has the stable rank."),
        (_stable(s) / stable, "You took the stable rank of G too. G has the nuclear rank."),
        (_nuclear(a) / stable, "You took both ranks of A. The nuclear rank is of G."),
        (_stable(s) / _nuclear(a), "You took the stable rank of G over the nuclear rank of A: it is the other way."),
        (_nuclear(a) / _stable(s), "G and A have changed places."),
        (
            nuclear,
            "That is the nuclear rank alone; the stable rank of A is missing, or came out as 1. (`A.norm(2)` is "
            "the Frobenius norm. ‖A‖_op is the largest singular value.)",
        ),
        (stable, "That is the stable rank alone. It stands below the nuclear rank of G."),
        (nuclear * stable, "You multiplied the two ranks. Divide."),
        (1 / stable, "You squared each singular value before the sum. Sum first, then square."),
        (
            s.sum() ** 2 / s[0] ** 2 / stable,
            "You divided by the largest singular value of G. The nuclear rank has ‖G‖_F² below.",
        ),
        (s.sum() / s[0] / stable, "You divided by the largest singular value of G. The nuclear rank has ‖G‖_F² below."),
        (
            nuclear / (a.square().sum() / a[-1] ** 2),
            "You took the smallest singular value of A. ‖A‖_op is the largest.",
        ),
        (nuclear / (a.sum() / a[0]), "You took the sum of A's singular values. The stable rank takes their squares."),
        (nuclear / (a.sum() / a[0]) ** 2, "You took A's nuclear norm. The stable rank has its Frobenius norm."),
        (
            s.sum() ** 2 / a.square().sum(),
            "That is the promise of U Vᵀ alone: ‖G‖_*² / ‖A‖_F². Divide it by the other.",
        ),
        (s.square().sum() / a[0] ** 2, "That is the promise of the gradient's step alone. It stands below."),
        (
            nuclear / (A.square().sum() / op(A, 1) ** 2),
            "matrix_norm(A, 1) is the largest column sum. ‖A‖_op is the largest singular value.",
        ),
        (
            nuclear / (A.square().sum() / op(A, math.inf) ** 2),
            "matrix_norm(A, inf) is the largest row sum. ‖A‖_op is the largest singular value.",
        ),
        (
            nuclear / (A.square().sum() / A.abs().max() ** 2),
            "You took the largest entry of A. ‖A‖_op is its largest singular value.",
        ),
        (
            G.abs().sum() ** 2 / G.square().sum() / stable,
            "You summed the entries' sizes. The nuclear norm sums singular values.",
        ),
        (
            G.diagonal().sum() ** 2 / G.square().sum() / stable,
            "You took the trace. The nuclear norm sums singular values.",
        ),
        (len(s) / stable, "You took the number of G's directions, which its nuclear rank reaches if all are equal."),
        (nuclear / len(a), "You took the number of A's directions. Its stable rank counts the equal ones."),
        (nuclear - stable, "That is the difference. Divide."),
    ]
    return right.item(), found


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
    compare(answer, cases, _in_time, returns=number, within=1e-6, otherwise=otherwise)


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
