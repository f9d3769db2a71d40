"""Checks of lesson 09: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from muonlab.classroom.exercise import Mistakes, compare
from muonlab.classroom.kinds import float_array, number_or_array


def e1(answer: Callable) -> None:
    """The effective rank: how many equal directions would have the same entropy."""
    cases = [
        (torch.tensor([1.0, 3.0]),),
        (torch.tensor([0.5, 4.0, 1.0, 2.0]),),
        (torch.full((5,), 0.25),),
        (torch.tensor([0.03, 0.01, 0.02]),),
    ]

    def look(s: Tensor) -> tuple[Tensor, Mistakes]:
        s = s.double()
        energy, n = s**2, len(s)
        q, of_sigma, direction = energy / energy.sum(), s / s.sum(), s / s.norm()
        H = _entropy(q)
        mistakes = [
            (H, "That is the entropy itself. Its exponential is a number of directions."),
            (
                H / math.log(n),
                "That is the entropy divided by its largest value. Return exp of the entropy.",
            ),
            (
                (-H).exp(),
                "The sign of the entropy is reversed: the logarithms of shares are negative.",
            ),
            (-H, "The entropy is −Σ q ln q, which is positive. Then take its exponential."),
            (
                _entropy(of_sigma),
                "You took shares of σ, and their entropy. Square σ before you divide, and return exp of the entropy.",
            ),
            (
                _entropy(of_sigma).exp(),
                "You took shares of σ. A direction's energy is σ²: square before you divide.",
            ),
            (
                _entropy(q**2 / (q**2).sum()).exp(),
                "You squared twice: the shares are σ² / Σ σ².",
            ),
            (
                _entropy(energy).exp(),
                "The shares do not sum to 1: divide σ² by the sum of all σ².",
            ),
            (
                _entropy(direction).exp(),
                "You divided σ by its norm, but did not square: then the shares do not sum to 1.",
            ),
            (
                _entropy(energy / s.sum()).exp(),
                "You divided σ² by the sum of σ. Divide by the sum of σ², so that the shares sum to 1.",
            ),
            (
                _entropy(of_sigma**2).exp(),
                "You squared after dividing, so the shares do not sum to 1: σ² / Σ σ², not (σ / Σ σ)².",
            ),
            (
                _entropy(energy / energy.max()).exp(),
                "You divided by the largest energy. Divide by the sum, so that the shares sum to 1.",
            ),
            (
                (-(q * energy.log()).sum()).exp(),
                "You took the logarithm of σ². Take it of the shares, as in −Σ q ln q.",
            ),
            (
                (-(q * s.log()).sum()).exp(),
                "You took the logarithm of σ. Take it of the shares, as in −Σ q ln q.",
            ),
            (
                _entropy(s.softmax(0)).exp(),
                "A softmax does not give the shares of the energy: σ² / Σ σ².",
            ),
            (
                (-q.log().sum()).exp(),
                "Each logarithm counts with its share: −Σ q ln q.",
            ),
            ((-(q * q.log()).mean()).exp(), "You took the mean of q ln q. The entropy is the sum."),
            (
                (H / math.log(2)).exp(),
                "You mixed two bases: a logarithm to base 2 goes with 2 to the power, not with exp.",
            ),
            (
                (H / math.log(10)).exp(),
                "You mixed two bases: a logarithm to base 10 goes with 10 to the power, not with exp.",
            ),
            (2**H, "You mixed two bases: the natural logarithm goes with exp, not with 2 to the power."),
            (
                1 / (q**2).sum(),
                "That is 1 / Σ q², another way to count directions. Here it is exp of the entropy.",
            ),
            (
                1 / (of_sigma**2).sum(),
                "That is (Σ σ)² / Σ σ², another way to count directions. Here it is exp of the entropy.",
            ),
            (
                1 / q.max(),
                "That is the stable rank, Σ σ² over the largest σ². Here it is exp of the entropy.",
            ),
            (
                s.sum() / s.max(),
                "That is Σ σ over the largest σ, another way to count directions. Here it is exp of the entropy.",
            ),
            (n, "That counts the singular values. Weigh them: a tiny one is hardly a direction."),
            (
                H.exp() / n,
                "Do not divide by the number of singular values: the result counts directions.",
            ),
            (
                q.pow(-q),
                "You took exp of each term. Add them up before the exponential: return one number.",
            ),
            (
                -(q * q.log()),
                "Those are the terms of the entropy. Add them up, then take the exponential.",
            ),
            ((-(q * q.log())).exp().sum(), "Add up before the exponential: exp of the sum, not the sum of exps."),
            (
                _entropy(energy / energy.mean()).exp(),
                "You divided by the mean of σ². Divide by the sum, so that the shares sum to 1.",
            ),
            (_entropy(energy.softmax(0)).exp(), "A softmax of σ² does not give the shares: divide σ² by its sum."),
            (_entropy(q).exp() - 1, "You subtracted 1. The effective rank is exp of the entropy."),
            (H / math.log(2), "That is the entropy in bits. Return exp of the entropy, in nats."),
        ]
        return H.exp(), mistakes

    otherwise = "First the shares q = σ² / Σ σ², then the entropy −Σ q ln q, last its exponential."
    compare(answer, cases, look, returns=number_or_array, by_hand=True, otherwise=otherwise)
    with_zeros = [(torch.tensor(s),) for s in ([3.0, 0.0, 1.0], [0.0, 2.0, 0.5, 0.0], [0.7, 0.0])]
    compare(answer, with_zeros, _kept, returns=number_or_array, otherwise=ZEROS)


ZEROS = "That is right where no σ is 0. Where one is, 0 · ln 0 gives NaN: leave the zeros out, as `q[q > 0]` does."


def _kept(s: Tensor) -> tuple[Tensor, Mistakes]:
    energy = s.double()[s > 0] ** 2
    return _entropy(energy / energy.sum()).exp(), []


def e4(answer: Callable) -> None:
    """The start plus the change, turned by one orthogonal matrix on each side."""
    drawn = torch.Generator().manual_seed(9)
    cases = []
    for m, n in ((2, 3), (4, 2), (3, 3)):
        sizes = (m, n), (m, n), (m, m), (n, n)
        W0, W, A, B = (torch.randn(size, generator=drawn, dtype=torch.float64) for size in sizes)
        cases.append((W0, W, torch.linalg.qr(A).Q, torch.linalg.qr(B).Q))
    compare(answer, cases, _turned, returns=float_array, otherwise="W0 + U (W − W0) V, as matrix products.")


def _turned(W0: Tensor, W: Tensor, U: Tensor, V: Tensor) -> tuple[Tensor, Mistakes]:
    D = W - W0
    right = W0 + U @ D @ V
    every = [
        (W, "That is W itself: nothing was turned."),
        (U @ D @ V, "That is the turned change alone. Add W0, which is not turned."),
        (U @ W @ V, "You turned all of W. Only the change W − W0 is turned, and W0 is added to it."),
        (W0 + U @ W @ V, "You turned W, not the change. Take W − W0 first."),
        (W + U @ D @ V, "You added the turned change to W, which holds the change already. Add it to W0."),
        (W0 - U @ D @ V, "The sign of the change is reversed: W − W0."),
        (W0 + U @ D, "Only the left side was turned. Multiply by V on the right as well."),
        (W0 + D @ V, "Only the right side was turned. Multiply by U on the left as well."),
        (U @ W0 @ V + D, "You turned W0 and kept the change. It is the change that is turned."),
        (W0 + U.mT @ D @ V.mT, "You transposed U and V. That is a turn, too, but not the one asked."),
        (W0 + U @ D @ V.mT, "You transposed V. The docstring says V, on the right."),
        (W0 + U.mT @ D @ V, "You transposed U. The docstring says U, on the left."),
    ]
    square = U.shape == V.shape
    swapped = "U and V are swapped: U belongs on the left, V on the right."
    entries = "That multiplies entry by entry. A turn is a matrix product: use @."
    every += [
        (W0 + V @ D @ U if square else math.nan, swapped),
        (W0 + U * D * V if square else math.nan, entries),
    ]
    return right, every


def _entropy(q: Tensor) -> Tensor:
    return -(q * q.log()).sum()
