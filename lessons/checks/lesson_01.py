"""Checks of lesson 01: what is wrong with an answer, said so that it can be mended."""

import torch
from torch import Tensor

from muonlab.classroom.asking import shown
from muonlab.classroom.exercise import Answer, Look, Wrong, call, compare, rough
from muonlab.classroom.kinds import array, number


def e1(answer: Answer) -> None:
    """The steepest direction when no entry may exceed 1: the sign."""
    cases = [(torch.tensor(g),) for g in ([0.9, -0.1, 0.02, -3.0], [-0.4, 0.2], [0.3, -5.0, 7.0])]
    compare(answer, cases, _corner, returns=array, otherwise=_promise)
    g = torch.tensor([0.5, 0.0, -2.0])  # where g is 0, all that the rules allow is right
    d = call(answer, g, returns=array)
    if d.shape != g.shape or not d.isfinite().all():
        raise Wrong(
            "Your d holds NaN or infinity: one entry of g is 0 here. Do not divide by it.",
            f"Try `{shown(answer, (g,))}`.",
        )
    if (d - g.sign()).abs()[[0, 2]].max() > 1e-4 or d[1].abs() > 1:
        raise Wrong(_promise(d, g), f"Try `{shown(answer, (g,))}`: expected [1, 0, -1], got {d.tolist()}.")


def _corner(g: Tensor) -> Look:
    g = g.double()
    largest = torch.zeros_like(g)
    largest[g.abs().argmax()] = g[g.abs().argmax()].sign()
    return g.sign(), [
        (-g.sign(), "This is the direction of descent. The question asks for the d that promises most: no minus."),
        (
            g / g.abs().max(),
            "You scaled the gradient until its largest entry is 1. The smaller entries may move "
            "by 1 as well, at no extra cost: use that.",
        ),
        (g / g.max(), "You divided by the largest entry of g, which is not the largest in size."),
        (g / g.norm(), "This is the steepest direction of the Euclidean norm. Here only the largest entry counts."),
        (g / g.abs().sum(), "You divided by the sum of the sizes. Here only the largest entry counts."),
        (g, "This is the gradient itself. Choose each entry of d between −1 and 1."),
        (g.clamp(-1, 1), "You clipped the gradient. Its small entries may move by 1 as well, at no extra cost."),
        (largest, "Only one entry moves. Every entry may move by 1 at no extra cost."),
        (
            torch.ones_like(g),
            "Every entry of your d is 1. Where g is negative, 1 takes away from the sum.",
        ),
        (-torch.ones_like(g), "Every entry of your d is −1. Where g is positive, −1 takes away from the sum."),
        (2 * g.sign(), "The signs are right, the sizes are 2: no entry may exceed 1."),
        (g.sign() / len(g), "You divided the signs by their number. Each entry may be 1 in size."),
        (g.sign() / len(g) ** 0.5, "You gave the signs the Euclidean length 1. Here each entry may be 1 in size."),
        ((g > 0).double(), "Entries where g is negative stay at 0. Moving them by −1 adds to the sum too."),
    ]


def _promise(d: Tensor, g: Tensor) -> str:
    if not d.isfinite().all():
        return "Your d holds NaN or infinity. Do not divide by something that may be 0."
    if d.abs().max() > 1:
        return f"An entry of your d is {d.abs().max():.4g} in size; at most 1 is allowed."
    return f"Your d promises {g.double() @ d:.3f}; {g.double().abs().sum():.3f} is possible within the rules."


def e2(answer: Answer) -> None:
    """The steepest direction in the spectral norm: U Vᵀ."""
    cases = [(rough(1, 2, 3),), (rough(2, 4, 3),), (rough(5, 3, 3),)]
    compare(answer, cases, _rotation, returns=array, otherwise=_spectral_promise, by_hand=True)


def _rotation(G: Tensor) -> Look:
    G = G.double()
    U, S, Vt = torch.linalg.svd(G, full_matrices=False)
    best, few = U @ Vt, len(S)
    square = G.shape[0] == G.shape[1]
    return best, [
        (-best, "This promises the least: it points downhill. The question asks for the largest sum, no minus."),
        (best.T, "This is the transpose: D has the shape of G. It is U Vᵀ, in this order."),
        (G / S[0], "You divided by the spectral norm. The small singular values stay small; each may be 1."),
        (G / G.norm(), "You divided by the Frobenius norm. Here only the largest singular value is charged for."),
        (G / S.sum(), "You divided by the sum of the singular values. Only the largest one is charged for."),
        (U[:, :1] @ Vt[:1], "You kept only the first direction. The others are free as well: use all of them."),
        (U @ Vt.T if square else torch.nan, "svd returns Vᵀ, already transposed. You transposed it again."),
        (G, "This is G itself: U S Vᵀ. Leave the singular values out, or set each to 1."),
        (U / S @ Vt, "You divided by the singular values, so that yours are 1/σ. Leave them out."),
        (U / S.square() @ Vt, "You divided by σ². Dividing by σ once makes each singular value 1."),
        (U * S.sqrt() @ Vt, "You took roots of the singular values. Each may be 1: leave them out."),
        (best / few**0.5, "You gave U Vᵀ the Frobenius norm 1. The rule is about the largest singular value."),
        (G.sign(), "This is the sign: no entry exceeds 1. The rule here is about singular values."),
        (G / G.norm(dim=1, keepdim=True), "You gave each row the length 1. The rule is about singular values."),
        (G / G.norm(dim=0, keepdim=True), "You gave each column the length 1. The rule is about singular values."),
        (2 * best, "The directions are right, but your singular values are 2; at most 1 is allowed."),
    ]


def _spectral_promise(D: Tensor, G: Tensor) -> str:
    if not D.isfinite().all():
        return "Your D holds NaN or infinity. Do not divide by something that may be 0."
    S, largest = torch.linalg.svdvals(G.double()), torch.linalg.svdvals(D)[0]
    if largest > 1 + 1e-4:
        return f"The largest singular value of your D is {largest:.3f}; at most 1 is allowed."
    return (
        f"Your D promises {(G.double() * D).sum():.3f}; {S.sum():.3f}, the sum of the singular values, "
        "is possible within the rules."
    )


def e3(answer: Answer) -> None:
    """How far a direction is from rotating with the problem."""
    Q = torch.tensor([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
    small = torch.tensor([[0.6, -0.8], [0.8, 0.6]])
    cases = [(torch.tanh, rough(3, 2, 3), small), (torch.sign, rough(4, 3, 2), Q), (torch.tanh, rough(5, 3, 3), Q)]
    otherwise = "It is the Frobenius norm of direction(Q @ G) - Q @ direction(G)."
    compare(answer, cases, _turned, returns=_error, otherwise=otherwise)


def _error(value: object) -> float:
    if isinstance(value, Tensor) and value.ndim == 2 and value.numel() > 1:
        raise Wrong("Your function returned a matrix, the difference itself. Return its Frobenius norm, one number.")
    return number(value)


def _turned(direction: Answer, G: Tensor, Q: Tensor) -> Look:
    after, before = direction(Q @ G), direction(G)
    d = after - Q @ before
    expected = d.norm()
    return expected, [
        (
            (after - before).norm(),
            "You compared with the direction before the rotation. It has to be rotated too: Q @ direction(G).",
        ),
        ((direction(Q.T @ G) - Q.T @ before).norm(), "You rotated with the transpose of Q."),
        ((after - Q.T @ before).norm(), "You rotated the direction back, with Qᵀ. Rotate it as G is rotated."),
        ((direction(Q @ before) - Q @ before).norm(), "You took the direction twice. Its input is Q @ G."),
        ((Q @ G - Q @ before).norm(), "You did not take the direction of the rotated gradient: direction(Q @ G)."),
        ((after - Q @ G).norm(), "You did not take the direction before rotating: Q @ direction(G)."),
        ((after + Q @ before).norm(), "You added the two. Take the norm of the difference."),
        (d.square().sum(), "You returned the square of the norm. The root is missing."),
        (
            torch.linalg.matrix_norm(d, 2),
            "This is the largest singular value. The question asks for the Frobenius norm.",
        ),
        (torch.linalg.svdvals(d).sum(), "This is the sum of the singular values, not the Frobenius norm."),
        (
            torch.linalg.matrix_norm(d, 1),
            "This is the largest column sum: ord=1. Leave ord out for the Frobenius norm.",
        ),
        (
            d.abs().sum(),
            "You added the sizes of the entries. The Frobenius norm adds their squares and takes the root.",
        ),
        (d.abs().max(), "This is the largest entry. The Frobenius norm takes all of them."),
        (d.sum(), "You added the entries. The Frobenius norm adds their squares and takes the root."),
        (d.abs().mean(), "This is the mean size of an entry. The Frobenius norm takes no mean."),
        (d.square().mean(), "This is the mean of the squares. The Frobenius norm is the root of their sum."),
        (d.square().mean().sqrt(), "This is the root of the mean square. The Frobenius norm takes no mean."),
        (d.norm() / before.norm(), "You divided by the norm of the direction. The question asks for the plain norm."),
        (
            ((Q @ G).sign() - Q @ G.sign()).norm() if direction is not torch.sign else expected,
            "You used the sign instead of the function `direction` that is given.",
        ),
        (after.norm() - (Q @ before).norm(), "You subtracted two norms. Take the norm of the difference."),
    ]
