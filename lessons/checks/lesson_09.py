"""Checks of lesson 09: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from muonlab.classroom.exercise import Mistakes, compare
from muonlab.classroom.kinds import numbers


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
    compare(answer, cases, look, returns=numbers, by_hand=True, otherwise=otherwise)


def e2(answer: Callable) -> None:
    """The share of the energy in the k largest directions, whatever their order."""
    several = torch.tensor([1.0, 4.0, 0.5, 3.0, 2.0])
    cases = [(torch.tensor([1.0, 3.0, 2.0]), 2), (several, 2), (several, 1), (several, 4), (several, 5)]

    def look(s: Tensor, k: int) -> tuple[Tensor, Mistakes]:
        s = s.double()
        energy, of_sigma = s**2, s.sort(descending=True).values
        largest, total = of_sigma**2, (s**2).sum()
        right = largest[:k].sum() / total
        mistakes = [
            (
                energy[:k].sum() / total,
                "You took the first k. They come in any order: sort them, the largest first.",
            ),
            (
                energy[-k:].sum() / total,
                "You took the last k. They come in any order: sort them first.",
            ),
            (largest[-k:].sum() / total, "You took the smallest k. Sort with descending=True."),
            (
                of_sigma[:k].sum() / of_sigma.sum(),
                "You took shares of σ. The energy of a direction is σ².",
            ),
            (
                s[:k].sum() / s.sum(),
                "You took shares of σ, and the first k. The energy is σ², and the largest k are asked.",
            ),
            (largest[:k].sum(), "That is the energy, not its share. Divide by the sum of all σ²."),
            (
                largest[k - 1] / total,
                "That is the share of one direction, number k. Add up the first k.",
            ),
            (largest[0] / total, "That is the share of the largest direction alone. Add up the first k."),
            (
                1 - right,
                "That is what the others have. Return the share of the k largest.",
            ),
            (
                largest[: k - 1].sum() / total,
                "You added up k − 1 directions. A slice [:k] holds k of them.",
            ),
            (
                largest[: k + 1].sum() / total,
                "You added up k + 1 directions. A slice [:k] holds k of them.",
            ),
            (
                largest[:k].sum() / of_sigma.sum(),
                "You divided by the sum of σ, and added σ². Divide by the sum of σ².",
            ),
            (
                of_sigma[:k].sum() / total,
                "You added σ, and divided by the sum of σ². Square above as well.",
            ),
            (
                of_sigma[:k].sum() ** 2 / of_sigma.sum() ** 2,
                "You squared the sums. Square each σ before you add.",
            ),
            (
                of_sigma[:k].sum() ** 2 / total,
                "Above, you squared the sum. Square each σ before you add.",
            ),
            (right.sqrt(), "That is the root of the share, a ratio of norms. Energy is the square."),
            (right**2, "You squared the share. Square each σ, then add and divide."),
            (
                right / k,
                "You divided by k: that is a mean. Return the share of all k together.",
            ),
            (
                largest[:k].mean() / energy.mean(),
                "You divided two means, over k and over all directions. Divide two sums.",
            ),
            (
                largest[:k].sum() / largest[k:].sum(),
                "You divided by the energy of the others. Divide by that of all directions.",
            ),
            (100 * right, "These are percent. Return a share between 0 and 1."),
            (largest[:k] / total, "Those are the k shares. Return their sum."),
            ((largest / total).cumsum(0), "Those are the shares for every k. Return the one for this k."),
            (s.softmax(0).topk(k).values.sum(), "A softmax is no share of the energy: σ² / Σ σ²."),
            (
                k / len(s),
                "You counted directions. Weigh each with its energy, σ².",
            ),
            (largest[:k].sum() / s.sum() ** 2, "Below, you squared the sum. Square each σ before you add."),
            (largest[1:k].sum() / total, "Your slice begins with 1 and leaves out the largest. Indices begin with 0."),
            (largest[k : k + 1].sum() / total, "That is direction number k + 1 alone. Add up the first k: [:k]."),
            ((largest**2)[:k].sum() / (largest**2).sum(), "You squared twice. The energy of a direction is σ²."),
            (
                largest[k:].sum() / largest[:k].sum(),
                "That is the rest over the k largest. Divide the k largest by all.",
            ),
        ]
        return right, mistakes

    otherwise = "Square all σ, add up the k largest squares, and divide by the sum of all squares."
    compare(answer, cases, look, returns=numbers, by_hand=True, otherwise=otherwise)


def e3(answer: Callable) -> None:
    """The share of the gap that a control recovers, once for each drawing of the seeds."""
    few = [5.0, 6.0, 8.0], [4.0, 4.0, 9.0], [3.0, 5.0, 4.0]  # AdamW, control, Muon
    more = (
        [5.1, 5.07, 5.12, 5.09],
        [5.08, 5.06, 5.08, 5.04],
        [5.05, 5.04, 5.03, 5.16],  # the last seed is worse than AdamW's
    )
    often = torch.tensor([[0, 1, 2, 3], [0, 0, 1, 2], [3, 2, 2, 1], [3, 3, 3, 0], [1, 3, 1, 1]])
    cases = [
        (*map(torch.tensor, few), torch.tensor([[0, 1, 1], [2, 2, 0]])),
        (*(torch.tensor(v, dtype=torch.float64) for v in more), often),
    ]

    def look(a: Tensor, c: Tensor, m: Tensor, drawn: Tensor) -> tuple[Tensor, Mistakes]:
        gain, gap = a - c, a - m
        right = gain[drawn].mean(1) / gap[drawn].mean(1)
        mistakes = [
            (
                (gain / gap)[drawn].mean(1),
                "You averaged the ratios of single seeds: one seed with a small gap decides them. "
                "Average first, then divide.",
            ),
            (
                (gain / gap)[drawn].quantile(0.5, dim=1),
                "You took the median of the ratios of single seeds. Average gain and gap first, then divide.",
            ),
            (
                gain[drawn].quantile(0.5, dim=1) / gap[drawn].quantile(0.5, dim=1),
                "You took medians. The share is the mean gain over the mean gap.",
            ),
            (
                gain[drawn].mean(1) / gap.mean(),
                "The seeds of the gap were not drawn: take the same drawn seeds above and below.",
            ),
            (
                gain.mean() / gap[drawn].mean(1),
                "The seeds of the gain were not drawn: take the same drawn seeds above and below.",
            ),
            (1 - right, "That is the share which is missing. Begin at AdamW: adamw - control."),
            (-(1 - right), "That is the share which is missing, below 0. Begin at AdamW: adamw - control."),
            (1 / right, "That is the share turned round. Divide by the gap between AdamW and Muon."),
            (-right, "The sign is reversed: a control below AdamW has recovered something."),
            (right.abs(), "A control that is worse than AdamW has recovered less than 0: no absolute value."),
            (
                right.clamp(0, 1),
                "You cut the shares at 0 and 1. A control can be worse than AdamW, or better than Muon.",
            ),
            (right.clamp(min=0), "You cut the shares at 0. A control can be worse than AdamW."),
            (right.clamp(max=1), "You cut the shares at 1. A control can be better than Muon."),
            (
                gain[drawn].mean(1),
                "That is the gain in nats. Divide by the gap between AdamW and Muon.",
            ),
            (gap[drawn].mean(1), "That is the gap in nats. It belongs below; above, the gain of the control."),
            (
                (gain.mean() / gap.mean()).expand(len(drawn)),
                "You ignored what was drawn: each row of `drawn` gives a share of its own.",
            ),
            (
                gain.mean() / gap.mean(),
                "That is one number, for the seeds as they are. Each row of `drawn` gives a share of its own.",
            ),
            (
                gain[drawn].mean() / gap[drawn].mean(),
                "That is one number for all drawings together. Average over dimension 1, so that each row keeps its own.",
            ),
            (
                gain[drawn].mean(0) / gap[drawn].mean(0),
                "You averaged over the drawings. A row is one drawing: average over dimension 1.",
            ),
            (gain / gap, "Those are the shares of the single seeds. Each row of `drawn` gives one share."),
            (
                gain[drawn] / gap[drawn],
                "Those are the shares of the single drawn seeds. Average gain and gap over each row, then divide.",
            ),
            (right.mean(), "You averaged over the drawings as well. Return a share for each."),
            (
                gain[drawn].mean(1) / a[drawn].mean(1),
                "You divided by AdamW's loss. Divide by the gap between AdamW and Muon.",
            ),
            (
                gain[drawn].mean(1) / m[drawn].mean(1),
                "You divided by Muon's loss. Divide by the gap between AdamW and Muon.",
            ),
            (
                gain[drawn].mean(1) / (c - m)[drawn].mean(1),
                "You divided by what is still missing. Divide by the whole gap, between AdamW and Muon.",
            ),
            (
                c[drawn].mean(1) / gap[drawn].mean(1),
                "Above stands the control's loss. Take how far it is below AdamW's.",
            ),
            (
                c[drawn].mean(1) / m[drawn].mean(1),
                "That is a ratio of losses. Subtract both from AdamW's first.",
            ),
            (
                gain[drawn].sum(1) / gap[drawn].mean(1),
                "You divided a sum by a mean. Take the mean, or the sum, of both.",
            ),
            (
                gain[drawn].mean(1) / gap[drawn].sum(1),
                "You divided a mean by a sum. Take the mean, or the sum, of both.",
            ),
            (
                torch.stack([gain[row.unique()].mean() / gap[row.unique()].mean() for row in drawn]),
                "You counted each drawn seed once. A seed drawn twice counts twice.",
            ),
            (100 * right, "These are percent. Return shares, where 1 is the whole gap."),
            (gain[drawn].mean(1) - gap[drawn].mean(1), "You subtracted the gap. A share is a ratio: divide by it."),
            (right[:, None], "There is a dimension too many, of size 1. Leave out keepdim: return the shape (B,)."),
            (
                gain[drawn].median(1).values / gap[drawn].median(1).values,
                "Medians: the share is the mean gain over the mean gap.",
            ),
            (
                gain[drawn].mean(1) / gap[drawn].mean(1).abs(),
                "Where Muon is worse than AdamW, the gap is negative: do not take its absolute value.",
            ),
        ]
        return right, mistakes

    otherwise = "For each row of drawn: the mean of adamw − control over the mean of adamw − muon, both over the seeds of that row."
    compare(answer, cases, look, returns=numbers, otherwise=otherwise)


def e4(answer: Callable) -> None:
    """The start plus the change, turned by one orthogonal matrix on each side."""
    drawn = torch.Generator().manual_seed(9)
    draw = lambda m, n: torch.randn(m, n, generator=drawn, dtype=torch.float64)
    turn = lambda n: torch.linalg.qr(draw(n, n)).Q
    shapes = [(2, 3), (4, 2), (3, 3)]
    cases = [(draw(m, n), draw(m, n), turn(m), turn(n)) for m, n in shapes]
    compare(answer, cases, _turned, returns=array, otherwise="W0 + U (W − W0) V, as matrix products.")


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
    if U.shape == V.shape:
        swapped = "U and V are swapped: U belongs on the left, V on the right."
        entries = "That multiplies entry by entry. A turn is a matrix product: use @."
        every += [(W0 + V @ D @ U, swapped), (W0 + U * D * V, entries)]
    return right, every


def _entropy(q: Tensor) -> Tensor:
    return -(q * q.log()).sum()
