"""Checks of lesson 09: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from muonlab.classroom.exercise import call, expect, rounded


def e1(answer: Callable) -> None:
    """The effective rank: how many equal directions would have the same entropy."""
    for s in (torch.tensor([4.0, 2.0, 1.0, 0.5]), torch.full((5,), 0.3)):
        _one_rank(float(call(answer, s)), s)


def _one_rank(came: float, s: Tensor) -> None:
    energy = s.double() ** 2
    q = energy / energy.sum()
    H = -(q * q.log()).sum()
    of_sigma = s.double() / s.double().sum()
    mistakes = [
        (H, "That is the entropy itself. Its exponential is a number of directions."),
        (H / math.log(len(s)), "That is the entropy divided by its largest value. Return exp of the entropy."),
        ((-H).exp(), "The sign of the entropy is reversed: the logarithms of shares are negative."),
        (-(of_sigma * of_sigma.log()).sum(), "You took shares of σ. The energy of a direction is σ²."),
        (
            (-(of_sigma * of_sigma.log()).sum()).exp(),
            "You took shares of σ. A direction's energy is σ²: square before you divide.",
        ),
        ((-(energy * energy.log()).sum()).exp(), "The shares do not sum to 1: divide σ² by the sum of all σ²."),
        ((H / math.log(2)).exp(), "You mixed two bases: a logarithm to base 2 goes with 2 to the power, not with exp."),
        (1 / (q**2).sum(), "That is 1 / Σ q², another way to count directions. Here it is exp of the entropy."),
        (len(s), "That counts the singular values. Weigh them: a tiny one is hardly a direction."),
        (H.exp() / len(s), "Do not divide by the number of singular values: the result counts directions."),
    ]
    otherwise = f"For the singular values {rounded(s)} expected {H.exp().item():.3f}, got {came:.3f}."
    expect(came, H.exp(), mistakes, otherwise)


def e2(answer: Callable) -> None:
    """The share of the energy in the k largest directions, whatever their order."""
    s = torch.tensor([1.0, 4.0, 0.5, 3.0, 2.0])
    for k in (2, 1, 5):
        _one_energy(float(call(answer, s, k)), s, k)


def _one_energy(came: float, s: Tensor, k: int) -> None:
    energy = s.double() ** 2
    largest = energy.sort(descending=True).values
    total, of_sigma = energy.sum(), s.double().sort(descending=True).values
    mistakes = [
        (energy[:k].sum() / total, "You took the first k. They come in any order: sort them, the largest first."),
        (largest[-k:].sum() / total, "You took the smallest k. Sort with descending=True."),
        (of_sigma[:k].sum() / of_sigma.sum(), "You took shares of σ. The energy of a direction is σ²."),
        (largest[:k].sum(), "That is the energy, not its share. Divide by the sum of all σ²."),
        (largest[k - 1] / total, "That is the share of one direction, number k. Add up the first k."),
        (1 - largest[:k].sum() / total, "That is what the others have. Return the share of the k largest."),
        (largest[:k].sum() / of_sigma.sum(), "You divided by the sum of σ, and added σ². Divide by the sum of σ²."),
        (largest[:k].sum() / total / k, "You divided by k: that is a mean. Return the share of all k together."),
    ]
    expected = (largest[:k].sum() / total).item()
    otherwise = f"For the singular values {rounded(s)} and k = {k} expected {expected:.4f}, got {came:.4f}."
    expect(came, expected, mistakes, otherwise)


def e3(answer: Callable) -> None:
    """The share of the gap that a control recovers, once for each drawing of the seeds."""
    adamw = torch.tensor([5.10, 5.07, 5.12, 5.09], dtype=torch.float64)
    control = torch.tensor([5.08, 5.06, 5.08, 5.04], dtype=torch.float64)
    muon = torch.tensor([5.05, 5.04, 5.03, 5.06], dtype=torch.float64)
    drawn = torch.tensor([[0, 1, 2, 3], [0, 0, 1, 2], [3, 2, 2, 1]])
    came = call(answer, adamw, control, muon, drawn, shape=(3,)).double()
    gain, gap = adamw - control, adamw - muon
    expected = gain[drawn].mean(1) / gap[drawn].mean(1)
    mistakes = [
        (
            (gain / gap)[drawn].mean(1),
            "You averaged the ratios of single seeds: one seed with a small gap decides them. "
            "Average first, then divide.",
        ),
        (
            gain[drawn].mean(1) / gap.mean(),
            "The seeds of the gap were not drawn: take the same drawn seeds above and below.",
        ),
        (1 - expected, "That is the share which is missing. Begin at AdamW: adamw - control."),
        (1 / expected, "That is the share turned round. Divide by the gap between AdamW and Muon."),
        (-expected, "The sign is reversed: a control below AdamW has recovered something."),
        (gain[drawn].mean(1), "That is the gain in nats. Divide by the gap between AdamW and Muon."),
        (
            (gain.mean() / gap.mean()).expand(3),
            "You ignored what was drawn: each row of `drawn` gives a share of its own.",
        ),
        (
            gain[drawn].mean(1) / adamw[drawn].mean(1),
            "You divided by AdamW's loss. Divide by the gap between AdamW and Muon.",
        ),
    ]
    otherwise = (
        f"For AdamW {rounded(adamw)}, the control {rounded(control)}, Muon {rounded(muon)} and the "
        f"drawn seeds {drawn.tolist()} expected {rounded(expected)}, got {rounded(came)}."
    )
    expect(came, expected, mistakes, otherwise)
