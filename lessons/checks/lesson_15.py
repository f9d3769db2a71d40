"""Checks of lesson 15: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from muonlab.classroom.exercise import Mistakes, compare, rough
from muonlab.classroom.kinds import array, number


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


def e2(answer: Callable) -> None:
    """G's singular vectors, the given singular values, and the norm of U Vᵀ."""
    cases = [
        (torch.tensor([[2.0, 0.0], [1.0, 1.0], [0.0, -3.0]]), torch.tensor([0.5, 2.0])),
        (rough(1, 3, 5), torch.tensor([1.0, 0.2, 1.7])),
        (rough(2, 6, 2), torch.tensor([0.9, 0.4])),
        (rough(3, 4, 4), torch.tensor([0.3, 1.5, 0.0, 0.8])),
    ]
    otherwise = (
        "X = U diag(s) Vᵀ, then X · √min(m, n) / ‖X‖_F. Value i of s, in the order given, goes with "
        "singular vectors i of G."
    )
    compare(answer, cases, _respectra, returns=array, otherwise=otherwise)


def _respectra(G: Tensor, s: Tensor) -> tuple[Tensor, Mistakes]:
    m, n = G.shape
    U, S, Vh = torch.linalg.svd(G.double(), full_matrices=False)
    s = s.double()
    X, size = (U * s) @ Vh, math.sqrt(len(s))

    def sized(X: Tensor) -> Tensor:
        return size * X / X.norm()

    down = s.sort(descending=True).values
    order = "You sorted s. Keep its order: value i goes with singular vectors i."
    return sized(X), [
        (X, "The spectrum is right, the norm is not: give it the Frobenius norm of U Vᵀ."),
        (X / X.norm(), "That has norm 1. U Vᵀ has the norm √(how many singular values there are)."),
        (
            X * G.norm() / X.norm(),
            "That has the norm of G. Muon's update has the norm of U Vᵀ, whatever G was.",
        ),
        (U @ Vh, "That is U Vᵀ itself: s is not in it."),
        (sized(G), "That is G, at another norm. Replace its singular values."),
        (G, "That is G. Replace its singular values by s, then set the norm."),
        (
            sized(U * s @ Vh.T) if n == len(s) else math.nan,
            "You multiplied by V where Vᵀ belongs: svd returns Vᵀ already.",
        ),
        (
            U * s @ Vh.T if n == len(s) else math.nan,
            "You multiplied by V where Vᵀ belongs: svd returns Vᵀ already. The norm is missing too.",
        ),
        (
            sized(s[:, None] * U @ Vh) if m == len(s) else math.nan,
            "You multiplied the rows of U. Singular value i belongs to column i of U.",
        ),
        (
            sized(U @ Vh * s) if n == len(s) else math.nan,
            "You multiplied the columns of U Vᵀ. s stands between U and Vᵀ.",
        ),
        (X * len(s) / X.norm(), "You scaled by the number of singular values. The norm of U Vᵀ is its root."),
        (X * max(m, n) ** 0.5 / X.norm(), "You took the longer side. U Vᵀ has min(m, n) singular values."),
        (X * m**0.5 / X.norm(), "You took the number of rows. U Vᵀ has min(m, n) singular values."),
        (X * n**0.5 / X.norm(), "You took the number of columns. U Vᵀ has min(m, n) singular values."),
        (
            X * (m * n) ** 0.5 / X.norm(),
            "You set the RMS of the entries to 1. The Frobenius norm shall be that of U Vᵀ.",
        ),
        (X * size, "You multiplied by the norm of U Vᵀ, and did not divide by the norm that X has."),
        (X / s.max(), "You set the largest singular value to 1. The Frobenius norm shall be that of U Vᵀ."),
        (X / s.mean(), "You set the mean of s to 1. The mean of its squares must be 1."),
        (X / s.sum(), "You set the sum of s to 1. The mean of its squares must be 1."),
        (X * len(s) / X.norm() ** 2, "You divided by the square of the norm. Divide by the norm."),
        (
            X / torch.linalg.matrix_norm(X, 2) * size,
            "You divided by the spectral norm of X. Divide by its Frobenius norm.",
        ),
        (sized(U * (S * s) @ Vh), "You multiplied G's singular values by s. Put s in their place."),
        (sized(U * (S + s) @ Vh), "You added s to G's singular values. Put s in their place."),
        (sized(U * s**2 @ Vh), "You squared s. Take it as it is."),
        (sized(U * s.sqrt() @ Vh), "You took roots of s. Take it as it is."),
        (sized(U * down @ Vh), order),
        (sized(U * down.flip(0) @ Vh), order),
        (sized(U * s.flip(0) @ Vh), "You turned s round. Keep its order: value i goes with singular vectors i."),
        (sized(X).mT, "Your result is transposed: it has the shape of G."),
        (size * s / s.norm(), "These are the new singular values. Put them between U and Vᵀ."),
        (-sized(X), "The sign is reversed. W ← W − … is a matter of the step."),
    ]
