"""Checks of lesson 02: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from muonlab.classroom.exercise import Answer, Look, compare, rough
from muonlab.classroom.guarded import call, watched
from muonlab.classroom.kinds import Wrong, float_array
from muonlab.optim.coefficients import POLAR_EXPRESS, tolerates

Triple = tuple[float, float, float]
STEPS = 5
JORDAN = (3.4445, -4.7750, 2.0315)
BOARD = {  # growth, for exercise e4
    "Polar Express (five triples)": math.prod(a for a, _, _ in POLAR_EXPRESS[:STEPS]),
    "a search for one triple": 604.6,
    "Jordan's numbers": math.prod([JORDAN[0]] * STEPS),
}


def e1(answer: Answer) -> None:
    """One cubic step, 1.5 X - 0.5 X Xᵀ X."""
    cases = [(rough(0, 2, 3) / 4,), (rough(1, 4, 2) / 4,), (rough(2, 3, 3) / 5,)]
    compare(answer, cases, _cubic, returns=float_array, within=1e-5, otherwise=_became, by_hand=True)


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


def e3(answer: Answer) -> None:
    """Newton-Schulz: the division, the step, the loop, tall matrices and zeros are all right."""
    wide, other, tall = rough(0, 2, 3), rough(1, 3, 4), rough(3, 4, 2)
    cases = [(wide, 0), (other, 0), (wide, 1), (other, 1), (wide, 5), (other, 3), (tall, 0), (tall, 5)]
    zero = torch.zeros(2, 3)
    compare(answer, [*cases, (zero, 5)], _schulz, returns=float_array, within=1e-3, otherwise=_piece, by_hand=True)
    with watched(counted=True) as seen:
        call(answer, rough(5, 60, 4))
    needed = 5 * (4 * 4**2 * 60 + 2 * 4**3)
    if (times := seen.operations / needed) > 3:
        raise Wrong(
            f"The values are right, and for a matrix of 60 × 4 they cost {times:.0f} times the operations needed. "
            "A tall matrix is transposed first, so that X Xᵀ has the shorter side: 4 × 4 here, not 60 × 60."
        )


def _schulz(G: Tensor, steps: int) -> Look:
    G = G.double()
    size = G.norm().clamp(min=1e-30)

    def run(X: Tensor, steps: int = steps, t: Triple = JORDAN, divides: bool = False, once: bool = False) -> Tensor:
        first = X @ X.T
        for _ in range(steps):
            A = first if once else X @ X.T
            X = t[0] * X + (t[1] * A + t[2] * A @ A) @ X
            X = X / X.norm().clamp(min=1e-30) if divides else X
        return X

    def each(step: Callable[[Tensor, Tensor], Tensor], X: Tensor) -> Tensor:
        for _ in range(steps):
            X = step(X @ X.T, X)
        return X

    a, b, c = JORDAN
    X = G / size
    right, top = run(X), torch.linalg.matrix_norm(G, 2).clamp(min=1e-30)
    entry = G.abs().amax().clamp(min=1e-30)
    return right, [
        (run(G / top), "You divided by the largest singular value; finding it needs the SVD. Use G.norm()."),
        (run(G / size**2), "You divided by the square of the norm. Use G.norm() itself."),
        (run(G / entry), "You divided by the largest entry: singular values may still be above 1. Use G.norm()."),
        (run(X, t=(a, -b, c)), "The sign of b is lost: b is -4.7750."),
        (run(X, t=(a, c, b)), "b and c are exchanged: b is -4.7750, and c is 2.0315."),
        (run(X, t=(a, b, 0)), "The term with c is missing: c A A X."),
        (run(X, t=(0, b, c)), "The term a X is missing: X itself, times 3.4445."),
        (run(X, t=(1.875, -1.25, 0.375)), "These are the numbers of the classical quintic. Take Jordan's."),
        (each(lambda A, X: a * X + (b * A + c * A * A) @ X, X), "A * A squares each entry. A @ A is the product."),
        (each(lambda A, X: a * X + (b * A + c * A) @ X, X), "c multiplies A A, the Gram matrix times itself."),
        (run(X, 1 if steps else 0), "You took one step, whatever `steps` says."),
        (run(X, 5), "You took five steps, whatever `steps` says."),
        (run(X, steps + 1), "You took one step too many."),
        (run(X, max(steps - 1, 0)), "You took one step too few."),
        (run(X, once=True), "X changes in each step, and A with it: compute A = X Xᵀ inside the loop."),
        (run(X, divides=True), "You divided by the norm in each step. Once, at the beginning, is enough."),
        (right.T, "This is the transpose of what is right: the result has the shape of G."),
        (
            right.T if G.shape[0] > G.shape[1] else right,
            "A tall matrix comes back transposed: transpose the result again.",
        ),
        (_exact(G), "This is the exact polar factor. Newton-Schulz with Jordan's numbers gives something near."),
    ]


def _exact(G: Tensor) -> Tensor:
    U, S, Vt = torch.linalg.svd(G, full_matrices=False)
    return (U * (S > 0)) @ Vt


def _piece(came: Tensor, G: Tensor, steps: int) -> str:
    if not G.any():
        return "All is right but for a zero matrix, which must stay zero: 0 / 0 is NaN. Divide by max(norm, 1e-7)."
    if G.shape[0] > G.shape[1]:
        return "Wide matrices come out right. A tall one does not: transpose it first, and the result again."
    if steps == 0:
        return "Piece 1, the division, is not right: with steps = 0, what comes back is G / G.norm()."
    if steps == 1:
        return "The division is right. Piece 2, one step, is not: a X + (b A + c A A) X, where A = X Xᵀ."
    return "One step is right. Piece 3, the loop, is not: each step begins with the X that the one before left."


def e4(answer: Answer) -> str:
    """Numbers that beat Jordan's: one triple for all five steps, or one for each."""
    numbers = call(answer, returns=float_array)
    if numbers.shape not in ((3,), (STEPS, 3)):
        raise Wrong(f"Expected a, b, c, or five such triples; your result has the shape {tuple(numbers.shape)}.")
    if not numbers.isfinite().all():
        raise Wrong("Expected finite numbers; among yours is NaN or infinity.")
    triples = [(a, b, c) for a, b, c in numbers.expand(STEPS, 3).tolist()]
    growth = math.prod(a for a, _, _ in triples)
    ends = start = torch.logspace(math.log10(0.002), 0, 20_001, dtype=torch.float64)
    for a, b, c in triples:
        ends = ends * (a + ends**2 * (b + c * ends**2))
    ends = ends.nan_to_num(math.inf, math.inf, -math.inf)
    worst = torch.where(ends > 1, (ends - 1.21).abs() * (ends > 1.21), (0.68 - ends).clamp(min=0)).argmax()
    if not 0.68 <= ends[worst] <= 1.21:
        raise Wrong(
            f"A singular value of {start[worst]:.3g} ends at {ends[worst]:.3g}, and 0.68 to 1.21 is allowed. The "
            f"growth would be {growth:.4g}. In the explorer, look where the curve leaves that band."
        )
    if growth <= BOARD["Jordan's numbers"]:
        raise Wrong(f"All values end in the band. The growth is {growth:.1f}: not above Jordan's 484.9. Make a larger.")
    ahead = [name for name, score in BOARD.items() if score > growth]
    behind = " and ".join(f"{name}, {BOARD[name]:.0f}" for name in ahead)
    place = f"Behind {behind}." if ahead else "Nobody is ahead of you."
    breaks = next(e for e in range(1, 100) if not tolerates(tuple(triples), e / 100))
    return (
        f"Growth {growth:.1f}, rank {len(ahead) + 1} of {len(BOARD) + 1}; Jordan's is 484.9. {place} If each step began "
        f"with values {breaks} % too large, yours could grow without bound; Jordan's bear 4 %."
    )
