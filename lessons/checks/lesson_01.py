"""Checks of lesson 01: what is wrong with an answer, said so that it can be mended."""

import torch
from torch import Tensor

from muonlab.classroom.exercise import Answer, Look, Wrong, call, compare, rough
from muonlab.classroom.guarded import as_call
from muonlab.classroom.kinds import float_array


def _rotation(G: Tensor) -> Look:
    G = G.double()
    U, S, Vt = torch.linalg.svd(G, full_matrices=False)
    best, few = U @ Vt, len(S)
    square = G.shape[0] == G.shape[1]
    return best, [
        (
            -best,
            "This has the least gain: it is the direction of descent. The question asks for the largest sum, no minus.",
        ),
        (best.T, "This is the transpose: D has the shape of G. It is U Vᵀ, in this order."),
        (G / S[0], "You divided by the spectral norm. The small singular values stay small; each may be 1."),
        (G / G.norm(), "You divided by the Frobenius norm. Here only the largest singular value counts as length."),
        (G / S.sum(), "You divided by the sum of the singular values. Only the largest one counts as length."),
        (U[:, :1] @ Vt[:1], "You kept only the first direction. The others add no length: use all of them."),
        (U @ Vt.T if square else torch.nan, "svd returns Vᵀ, already transposed. You transposed it again."),
        (G, "This is G itself: U S Vᵀ. Leave the singular values out, or set each to 1."),
        (U / S @ Vt, "You divided by the singular values, so that yours are 1/σ. Leave them out."),
        (U / S.square() @ Vt, "You divided by σ², so that yours are 1/σ². Leave σ out."),
        (U * S.sqrt() @ Vt, "You took roots of the singular values. Each may be 1: leave them out."),
        (best / few**0.5, "You gave U Vᵀ the Frobenius norm 1. The rule is about the largest singular value."),
        (G.sign(), "This is the sign: no entry exceeds 1. The rule here is about singular values."),
        (G / G.norm(dim=1, keepdim=True), "You gave each row the length 1. The rule is about singular values."),
        (G / G.norm(dim=0, keepdim=True), "You gave each column the length 1. The rule is about singular values."),
        (2 * best, "The directions are right, but your singular values are 2; at most 1 is allowed."),
    ]


def _spectral_gain(D: Tensor, G: Tensor) -> str:
    if not D.isfinite().all():
        return "Your D holds NaN or infinity. Do not divide by something that may be 0."
    S, largest = torch.linalg.svdvals(G.double()), torch.linalg.svdvals(D)[0]
    if largest > 1 + 1e-4:
        return f"The largest singular value of your D is {largest:.3f}; at most 1 is allowed."
    return (
        f"The gain of your D is {(G.double() * D).sum():.3f}; {S.sum():.3f}, the sum of the singular values, "
        "is possible within the rules."
    )


def e2(answer: Answer) -> None:
    """Direction and length: minus the sum of the singular values over the curvature, times U Vᵀ."""
    cases = [(rough(1, 2, 3), 2.0), (rough(2, 4, 3), 0.5), (rough(5, 3, 3), 4.0)]
    compare(answer, cases, _length, returns=float_array, otherwise=_model, by_hand=True)


def _length(G: Tensor, curvature: float) -> Look:
    G = G.double()
    U, S, Vt = torch.linalg.svd(G, full_matrices=False)
    D, total, frobenius = U @ Vt, S.sum(), S.norm()
    best = -total / curvature * D
    return best, [
        (-best, "The size is right. The model is to be small, so D points against U Vᵀ: a minus is missing."),
        (-D, "This is the direction, of length 1. Put D = −t U Vᵀ into the model: which t makes it smallest?"),
        (D, "This is U Vᵀ. The model is to be small, so a minus is missing, and the length is t, not 1."),
        (-D / curvature, "The length holds the gain of U Vᵀ too: for D = −t U Vᵀ it is −t times the sum of the σ."),
        (-total * D, "The length does not depend on the curvature. It should: divide by it."),
        (-total * curvature * D, "You multiplied by the curvature. More curvature makes the step shorter."),
        (
            -2 * total / curvature * D,
            "Your step is twice too long: there the model is 0 again. Its lowest point is half way.",
        ),
        (
            -total / (2 * curvature) * D,
            "Your step is half as long as it should be: t² has the slope 2t, which cancels the 1/2.",
        ),
        (-S[0] / curvature * D, "You took the largest singular value for the length. The gain of U Vᵀ is their sum."),
        (
            -frobenius / curvature * D,
            "You took the Frobenius norm for the length. The gain of U Vᵀ is the sum of the σ.",
        ),
        (
            -G / curvature,
            "This is gradient descent: the answer for the Frobenius norm. Here the norm is the spectral one.",
        ),
        (G / curvature, "This is G over the curvature: the Frobenius norm's answer, without its minus."),
        (
            -total / curvature * G / S[0],
            "The length is right. The direction is G; every singular value may be as large as the first.",
        ),
        (
            -total / curvature * G / frobenius,
            "This has the direction of G. In the spectral norm the direction is U Vᵀ.",
        ),
        (-total / len(S) / curvature * D, "You took the mean of the singular values. The gain of U Vᵀ is their sum."),
        (
            -G.abs().sum() / curvature * D,
            "You summed the entries of G. The gain of U Vᵀ is the sum of the singular values.",
        ),
        (-S.square().sum() / curvature * D, "You summed the squares of the σ. The gain of U Vᵀ is the sum of the σ."),
    ]


def _model(D: Tensor, G: Tensor, curvature: float) -> str:
    G = G.double()
    if D.shape != G.shape or not D.isfinite().all():
        return "D has the shape of G, and no NaN or infinity."
    lowest = -(torch.linalg.svdvals(G).sum() ** 2) / (2 * curvature)
    value = (G * D).sum() + curvature / 2 * torch.linalg.matrix_norm(D, 2) ** 2
    return f"At your D the model is {value:.3f}; {lowest:.3f} is possible."


NORMS = {  # of each: the norm, the largest gain, and what the answer for one gradient looks like
    "Frobenius": (Tensor.norm, Tensor.norm),
    "largest entry": (lambda D: D.abs().max(), lambda G: G.abs().sum()),
    "spectral": (lambda D: torch.linalg.matrix_norm(D, 2), lambda G: torch.linalg.svdvals(G).sum()),
}


def e5(answer: Answer) -> None:
    """The steepest step of three norms: G over its norm, its sign, and U Vᵀ."""
    for norm in NORMS:
        cases = [(rough(seed, *size), norm) for seed, size in ((1, (2, 3)), (2, (4, 3)), (5, (3, 3)))]
        compare(answer, cases, _steepest, returns=float_array, otherwise=_gain, by_hand=True)


def _steepest(G: Tensor, norm: str) -> Look:
    U, S, Vt = torch.linalg.svd(G.double(), full_matrices=False)
    G, steps = G.double(), {"Frobenius": G.double() / S.norm(), "largest entry": G.double().sign(), "spectral": U @ Vt}
    best, others = steps.pop(norm), list(steps.items())
    if norm == "spectral":
        mistakes = [(value, text) for value, text in _rotation(G)[1] if not torch.as_tensor(value).equal(best)]
    else:
        mistakes = [(-best, "This is the direction of descent. The question asks for the largest sum: no minus.")]
        mistakes += [(value, f"This is the answer for the norm {name!r}.") for name, value in others]
        mistakes += [
            (best.T, "This is the transpose: D has the shape of G."),
            (G, "This is G itself. Its norm is not 1."),
            (2 * best, "The direction is right, but its norm is 2; at most 1 is allowed."),
            (G / S[0], "You divided by the largest singular value: that is the spectral norm."),
            (G / G.abs().sum(), "You divided by the sum of the sizes of all entries."),
            (G / G.abs().max(), "You divided by the largest entry. Is every entry as large as it may be?"),
            (G / S.norm() ** 2, "You divided by the squared norm: a root is missing."),
            (G / G.norm(dim=1, keepdim=True), "You gave each row the length 1. The norm is about the whole matrix."),
            (G / G.norm(dim=0, keepdim=True), "You gave each column the length 1. The norm is about the whole matrix."),
            (G.clamp(-1, 1), "You clipped the gradient. Small entries may be 1 in size as well."),
            (G.sign() / G.numel() ** 0.5, "You gave the signs the Frobenius norm 1."),
        ]
    return best, [(value, f"{norm}: {text}") for value, text in mistakes]


def _gain(D: Tensor, G: Tensor, norm: str) -> str:
    if D.shape != G.shape or not D.isfinite().all():
        return f"{norm}: D has the shape of G, and no NaN or infinity."
    size, largest = (of(x.double()).item() for of, x in zip(NORMS[norm], (D, G), strict=True))
    if size > 1 + 1e-4:
        return f"{norm}: the norm of your D is {size:.3f}; at most 1 is allowed."
    return f"{norm}: the gain of your D is {(G.double() * D).sum():.3f}; {largest:.3f} is possible within the rules."


def e4(answer: Answer) -> None:
    """Dense inputs lead to U Vᵀ, one-hot inputs to normalized rows, factors to the sign."""
    _case(answer, "dense", [rough(1, 2, 3), rough(2, 4, 3), rough(5, 3, 3)], _rotation, _spectral_gain)
    _case(answer, "one-hot", [rough(1, 2, 3), rough(2, 4, 3), rough(5, 3, 3)], _rows, _row_gain)
    factors = [torch.tensor(g) for g in ([0.9, -0.1, 0.02, -3.0], [-0.4, 0.2], [0.3, -5.0, 7.0])]
    _case(answer, "factors", factors, _corner, _entry_gain)
    G = torch.tensor([[3.0, 4.0], [0.0, 0.0], [0.0, -2.0]])  # a token that no input of the batch held
    D = call(answer, "one-hot", G, returns=float_array)
    example = f"Try `{as_call(answer, ('one-hot', G))}`."
    if D.shape != G.shape or not D.isfinite().all():
        raise Wrong("one-hot: a row of G may be 0, as that of a token that did not occur. Do not divide by 0.", example)
    if (D - torch.tensor([[0.6, 0.8], [0, 0], [0, -1]]))[[0, 2]].abs().max() > 1e-4 or D[1].norm() > 1 + 1e-4:
        raise Wrong("one-hot: where a row of G is 0, the other rows are still to have the length 1.", example)


def _case(answer: Answer, inputs: str, gradients: list[Tensor], look: Answer, otherwise: Answer) -> None:
    def named(_: str, G: Tensor) -> Look:
        best, mistakes = look(G)
        return best, [(value, f"{inputs}: {message}") for value, message in mistakes]

    def told(D: Tensor, _: str, G: Tensor) -> str:
        return f"{inputs}: {otherwise(D, G) if D.shape == G.shape else 'D has the shape of G.'}"

    compare(answer, [(inputs, G) for G in gradients], named, returns=float_array, otherwise=told)


def _rows(G: Tensor) -> Look:
    G = G.double()
    U, _, Vt = torch.linalg.svd(G, full_matrices=False)
    length = G.norm(dim=1, keepdim=True)
    best = G / length
    return best, [
        (-best, "This is the direction of descent. The question asks for the largest sum, no minus."),
        (U @ Vt, "This is U Vᵀ, the answer for dense inputs. A one-hot x meets one row of D and no other."),
        (G / G.norm(dim=0, keepdim=True), "You normalized the columns. x @ D with a one-hot x is a row of D."),
        (G / length.max(), "You divided by the longest row. The others may have the length 1 as well."),
        (G / G.norm(), "You divided by the Frobenius norm. Each row may have the length 1, whatever the others are."),
        (G.sign(), "The sign makes each row longer than 1: its length is the root of the number of columns."),
        (G.sign() / G.shape[1] ** 0.5, "Each row has the length 1, but not the direction of the row of G."),
        (
            G / G.abs().sum(1, keepdim=True),
            "You divided by the sum of sizes of a row. The length of an output is Euclidean.",
        ),
        (G / G.abs().amax(1, keepdim=True), "You divided by the largest entry of a row. The length is Euclidean."),
        (G / length.square(), "You divided by the squared length of a row: the root is missing."),
        (torch.softmax(G, 1), "A softmax keeps no sign. Divide each row by its length."),
        (G, "This is G itself. Give each row the length 1."),
    ]


def _row_gain(D: Tensor, G: Tensor) -> str:
    if not D.isfinite().all():
        return "Your D holds NaN or infinity. Do not divide by something that may be 0."
    if (largest := D.norm(dim=1).max()) > 1 + 1e-4:
        return f"A row of your D has the length {largest:.3f}, so a one-hot x moves the output that far; 1 is allowed."
    best = G.double().norm(dim=1).sum()
    return f"The gain of your D is {(G.double() * D).sum():.3f}; {best:.3f}, the sum of the rows' lengths, is possible."


def _corner(g: Tensor) -> Look:
    g = g.double()
    largest = torch.zeros_like(g)
    largest[g.abs().argmax()] = g[g.abs().argmax()].sign()
    return g.sign(), [
        (-g.sign(), "This is the direction of descent. The question asks for the d with the largest gain: no minus."),
        (
            g / g.abs().max(),
            "You scaled the gradient until its largest entry is 1. The smaller entries may move "
            "by 1 as well, at the same length: use that.",
        ),
        (g / g.max(), "You divided by the largest entry of g, which is not the largest in size."),
        (g / g.norm(), "This is the steepest direction of the Euclidean norm. Here only the largest entry counts."),
        (g / g.abs().sum(), "You divided by the sum of the sizes. Here only the largest entry counts."),
        (g, "This is the gradient itself. Choose each entry of d between −1 and 1."),
        (g.clamp(-1, 1), "You clipped the gradient. Its small entries may move by 1 as well, at the same length."),
        (largest, "Only one entry moves. Every entry may move by 1 at the same length."),
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


def _entry_gain(d: Tensor, g: Tensor) -> str:
    if not d.isfinite().all():
        return "Your d holds NaN or infinity. Do not divide by something that may be 0."
    if d.abs().max() > 1:
        return f"An entry of your d is {d.abs().max():.4g} in size; at most 1 is allowed."
    return f"The gain of your d is {g.double() @ d:.3f}; {g.double().abs().sum():.3f} is possible within the rules."
