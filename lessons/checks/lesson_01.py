"""Checks of lesson 01: what is wrong with an answer, said so that it can be mended."""

from collections.abc import Callable

import torch
from torch import Tensor

from muonlab import polar
from muonlab.classroom.exercise import Wrong, call, expect


def e1(answer: Callable) -> None:
    """The steepest direction when no entry may exceed 1: the sign."""
    g = torch.tensor([0.9, -0.1, 0.002, -3.0, 0.0])
    d = call(answer, g, shape=(5,)).double()
    g = g.double()
    if not d.isfinite().all():
        raise Wrong("Your d holds NaN: one entry of g is 0 here. Do not divide by it.")
    if torch.equal(d, -g.sign()):
        raise Wrong("This is the direction of descent. The question asks for the d that promises most: no minus.")
    if d.abs().max() > 1 + 1e-6:
        raise Wrong(f"An entry of your d is {d.abs().max():.2f} in size; at most 1 is allowed.")
    if torch.allclose(d.abs(), (g / g.abs().max()).abs()):
        raise Wrong(
            "You scaled the gradient until its largest entry is 1. The smaller entries may move "
            "by 1 as well, at no extra cost: use that."
        )
    if torch.allclose(d, g / g.norm(), atol=1e-6):
        raise Wrong("This is the steepest direction of the Euclidean norm. Here only the largest entry counts.")
    if d.count_nonzero() == 1:
        raise Wrong("Only one entry moves. Every entry may move by 1 at no extra cost.")
    if not (g @ d) > g.abs().sum() - 1e-5:
        raise Wrong(f"Your d promises {g @ d:.3f}; {g.abs().sum():.3f} is possible within the rules.")


def e2(answer: Callable) -> None:
    """The steepest direction in the spectral norm: U Vᵀ."""
    for rows, columns in ((4, 4), (3, 5), (5, 3)):
        G = torch.randn(rows, columns, generator=torch.Generator().manual_seed(rows))
        _one_spectral(call(answer, G, shape=(rows, columns)).double(), G.double())


def _one_spectral(D: Tensor, G: Tensor) -> None:
    best = polar(G)
    U, S, Vt = torch.linalg.svd(G, full_matrices=False)
    if torch.allclose(D, -best, atol=1e-4):
        raise Wrong("This promises the least: it points downhill. The question asks for the largest sum, no minus.")
    if torch.allclose(D, G / S[0], atol=1e-4):
        raise Wrong("You divided by the spectral norm. The small singular values stay small; each may be 1.")
    if torch.allclose(D, G / G.norm(), atol=1e-4):
        raise Wrong("You divided by the Frobenius norm. Here only the largest singular value is charged for.")
    if torch.allclose(D, U[:, :1] @ Vt[:1], atol=1e-4):
        raise Wrong("You kept only the first direction. The others are free as well: use all of them.")
    if D.shape[0] == D.shape[1] and torch.allclose(D, U @ Vt.T, atol=1e-4):
        raise Wrong("svd returns Vᵀ, already transposed. You transposed it again.")
    if torch.linalg.matrix_norm(D.double(), ord=2) > 1 + 1e-4:
        raise Wrong("The largest singular value of your D is above 1, which the rules forbid.")
    if not torch.allclose(D, best, atol=1e-4):
        raise Wrong(
            f"Your D promises {(G * D).sum():.3f}; {S.sum():.3f}, the sum of the singular values, "
            "is possible within the rules."
        )


def e3(answer: Callable) -> None:
    """How far a direction is from rotating with the problem."""
    generator = torch.Generator().manual_seed(0)
    G = torch.randn(3, 4, generator=generator)
    Q = torch.linalg.qr(torch.randn(3, 3, generator=generator)).Q
    _one_error(answer, torch.sign, "the sign", G, Q)
    _one_error(answer, lambda M: M.clamp(-0.3, 0.3), "a clipped gradient", G, Q)


def _one_error(answer: Callable, direction: Callable, name: str, G: Tensor, Q: Tensor) -> None:
    error = float(call(answer, direction, G, Q))
    difference = direction(Q @ G) - Q @ direction(G)
    expected = difference.norm().item()
    mistakes = [
        (
            (direction(Q @ G) - direction(G)).norm(),
            "You compared with the direction before the rotation. It has to be rotated too: Q @ direction(G).",
        ),
        ((direction(Q.T @ G) - Q.T @ direction(G)).norm(), "You rotated with the transpose of Q."),
        (difference.square().sum(), "You returned the square of the norm."),
        (
            torch.linalg.matrix_norm(difference, ord=2),
            "You returned the largest singular value; the question asks for the Frobenius norm.",
        ),
        (
            ((Q @ G).sign() - Q @ G.sign()).norm(),
            "You used the sign instead of the function `direction` that is given.",
        ),
    ]
    otherwise = f"For a random G and Q the error of {name} is {expected:.3f}; you returned {error:.3f}."
    expect(error, expected, mistakes, otherwise)
