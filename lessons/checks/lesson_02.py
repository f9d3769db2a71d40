"""Checks of lesson 02: what is wrong with an answer, said so that it can be mended."""

import math

import torch
from torch import Tensor

from muonlab.classroom.exercise import Answer, Look, compare, rough
from muonlab.classroom.kinds import array, number

Triples = list[tuple[float, float, float]]


def e1(answer: Answer) -> None:
    """One cubic step, 1.5 X - 0.5 X Xᵀ X."""
    cases = [(rough(0, 2, 3) / 4,), (rough(1, 4, 2) / 4,), (rough(2, 3, 3) / 5,)]
    compare(answer, cases, _cubic, returns=array, within=1e-5, otherwise=_became, by_hand=True)


def _cubic(X: Tensor) -> Look:
    X = X.double()
    cube = X @ X.T @ X
    fifth = cube @ X.T @ X
    right, unit = 1.5 * X - 0.5 * cube, X / X.norm()
    return right, [
        (1.5 * X + 0.5 * cube, "The sign of the cubic term is wrong: 1 must stay at 1, so a + b = 1."),
        (-0.5 * X + 1.5 * cube, "The factors are exchanged: a + b = 1 and a + 3b = 0 give a = 3/2, b = -1/2."),
        (2 * X - cube, "a = 2, b = -1 keeps 1 at 1, but the curve is not flat there: p'(1) must be 0."),
        (3 * X - cube, "a = 3, b = -1 is flat at 1, but p(1) is 2: divide both by 2."),
        (1.5 * X - 1.5 * cube, "a = 3/2, b = -3/2 sends 1 to 0. From a + b = 1, b is -1/2."),
        (1.5 * X - 0.5 * X**3, "X**3 cubes each entry. A cube of the singular values is X @ X.T @ X."),
        (X - 0.5 * cube, "The linear term lost its factor 3/2."),
        (1.5 * X - cube, "The cubic term lost its factor 1/2."),
        (1.5 * X, "The cubic term is missing: - 0.5 X Xᵀ X."),
        (-0.5 * cube, "The linear term is missing: 1.5 X."),
        (X, "X came back unchanged."),
        (cube, "This is X Xᵀ X, the cube alone: p has two terms, a X and b X Xᵀ X."),
        (15 / 8 * X - 10 / 8 * cube + 3 / 8 * fifth, "This is the quintic. The cubic has two terms."),
        (right.T, "This is the transpose of what is right: the result has the shape of X."),
        (right / right.norm(), "You divided the result by its norm. The step alone is asked for."),
        (
            1.5 * unit - 0.5 * unit @ unit.T @ unit,
            "You divided by the norm first. Here the input is small enough already.",
        ),
        (1.5 * right - 0.5 * right @ right.T @ right, "These are two steps. One is asked for."),
        ([1.5, -0.5], "These are a and b, and they are right. Return the matrix a X + b X Xᵀ X."),
    ]


def _became(Y: Tensor, X: Tensor) -> str:
    U, S, Vt = torch.linalg.svd(X.double(), full_matrices=False)
    s, came = S[0].item(), (U[:, 0] @ Y @ Vt[0]).item()
    return f"A singular value {s:.3f} should become {1.5 * s - 0.5 * s**3:.3f}; yours became {came:.3f}."


def e2(answer: Answer) -> None:
    """The product of the factors a."""
    long = [(8.0, -20.0, 15.0), (4.0, -3.0, 0.5), (1.5, -0.5, 0.25), (2.0, -1.25, 0.375)]
    cases: list[tuple[Triples]] = [([(3.0, -2.5, 0.75), (2.0, -1.5, 0.25)],), (long,), (long[:0:-1],)]
    otherwise = "Close to 0 each step multiplies by its own a, since x³ and x⁵ vanish beside x."
    compare(answer, cases, _growth, returns=number, within=1e-5, otherwise=otherwise, by_hand=True)


def _growth(triples: Triples) -> Look:
    a, b, c = zip(*triples, strict=True)
    n, right = len(a), math.prod(a)
    return right, [
        (sum(a), "You added the factors. Each step multiplies what the step before left."),
        (a[0] ** n, "You took a power of the first a. The numbers may change from step to step."),
        (a[-1] ** n, "You took a power of the last a. The numbers may change from step to step."),
        (max(a) ** n, "You took a power of the largest a. Each step has its own."),
        (a[0], "You returned the first factor only. What do the other steps do?"),
        (a[-1], "You returned the last factor only. What do the other steps do?"),
        (math.prod(a[1:]), "The first step is missing from your product."),
        (math.prod(a[:-1]), "The last step is missing from your product."),
        (math.prod(map(sum, triples)), "You multiplied a + b + c, which is p(1). Close to 0 only a counts."),
        (
            math.prod(map(math.prod, triples)),
            "You multiplied all three numbers of each step. Close to 0 only a counts.",
        ),
        (sum(map(math.prod, triples)), "You added products of a, b and c. Close to 0 only a counts: multiply those."),
        (math.prod(b), "You multiplied the b. The number that multiplies x itself is a, the first."),
        (math.prod(c), "You multiplied the c. The number that multiplies x itself is a, the first."),
        (0.0, "You got 0. A product starts from 1, and the growth of 0 itself is not what is asked for."),
        (math.log(right), "This is the logarithm of the growth. Return the growth itself."),
        (right ** (1 / n), "This is the growth of one step on average. All the steps together are asked for."),
        (sum(a) / n, "This is the mean of the factors. Each step multiplies what the step before left."),
        (1 / right, "This is upside down: the value grows, so the factor is above 1."),
        (right - 1, "You took 1 away. The factor is what the value is multiplied by."),
    ]


def e3(answer: Answer) -> None:
    """steps (4 k² n + 2 k³), k the shorter side."""
    cases = [(2, 3, 1), (3, 2, 4), (64, 256, 5), (256, 64, 5), (100, 100, 3), (16384, 4096, 5)]
    otherwise = "A step has three products: X Xᵀ, A A, and one with X. Add 2pqr for each, over all steps."
    compare(answer, cases, _operations, returns=number, within=1e-9, otherwise=otherwise)


def _operations(rows: int, columns: int, steps: int) -> Look:
    k, n = sorted((rows, columns))
    gram, square, last = 2 * k * k * n, 2 * k**3, 2 * k * k * n
    right = steps * (gram + square + last)

    def oriented(p: int, q: int) -> int:
        return steps * (4 * p * p * q + 2 * p**3)

    tall_wrong = "A tall matrix is transposed first: the Gram matrix has the shorter side."
    return right, [
        (gram + square + last, "You counted one step. Multiply by `steps`."),
        (5 * (gram + square + last), "You took 5 steps, whatever `steps` says."),
        (steps * (gram + square), "You counted one product with X; a step has two, XXᵀ and the last one."),
        (steps * (gram + last), "The product A A is missing: 2k³ more in each step."),
        (steps * gram, "You counted XXᵀ alone. A step has three products."),
        (steps * square, "You counted A A alone. A step has three products."),
        (right // 2, "A multiplication and an addition count as two: the factor 2 is missing."),
        (2 * right, "You counted each operation twice. A product of (p, q) by (q, r) costs 2pqr."),
        (
            steps * (gram + last + square // 2),
            "A A costs 2k³, a multiplication and an addition for each: you counted k³.",
        ),
        (oriented(rows, columns), tall_wrong),
        (oriented(columns, rows), "A wide matrix is not transposed: the Gram matrix XXᵀ has rows × rows entries."),
        (oriented(n, k), "You took the longer side for k. The Gram matrix has the shorter side."),
        (3 * steps * gram, "You counted A A like a product with X. It is k × k by k × k: 2k³."),
        (steps * (gram + last + 2 * n**3), "A A is k × k, with the shorter side: it costs 2k³, not 2n³."),
        (steps * (gram + last + 2 * k * k), "A A is a product of matrices: it costs 2k³, not 2k²."),
        (steps * (gram + last) + square, "A A is computed in each step, not once: 2k³ for each."),
        (gram + steps * (square + last), "XXᵀ is computed in each step anew, not once: X changes."),
        (steps * (gram + last + 2 * square), "You counted A A twice. b A + c A A needs it once."),
    ]
