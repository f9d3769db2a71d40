"""Typical answers to the exercises of lesson 06: wrong ones to reject, right ones to accept."""

import math

import numpy as np
import torch
from torch.distributions import Categorical, Multinomial


def law(s, counts):
    power = torch.arange(1, len(counts) + 1, dtype=torch.float64) ** -s
    return power / power.sum()


def likelihood_in_a_loop(s, counts):
    total = sum(r**-s for r in range(1, len(counts) + 1))
    value = 0.0
    for r, count in enumerate(counts.tolist(), start=1):
        value += count * torch.log(torch.tensor(r**-s / total)).item()
    return value


def likelihood_of(s, counts, ranks):
    power = ranks**-s
    return (counts * (power / power.sum()).log()).sum()


def seen_only(s, counts):
    return (counts[counts > 0] * law(s, counts[counts > 0]).log()).sum()


def product(s, counts):
    likelihood = 1.0
    for p, count in zip(law(s, counts).tolist(), counts.tolist(), strict=True):
        likelihood *= p**count
    return torch.tensor(likelihood).log()


def losses_in_a_loop(counts):
    total = counts.sum().item() + len(counts)
    return torch.tensor([-torch.tensor((c + 1) / total).log().item() for c in counts.tolist()])


def smoothed(counts):
    return (counts + 1) / (counts.sum() + len(counts))


def raised(counts):
    return torch.where(counts == 0, 1, counts)


def gain(shares, before, after):
    return shares * (before - after)


ANSWERS = {
    "06-e1": {
        "right": {
            "direct": lambda s, counts: (counts * law(s, counts).log()).sum().item(),
            "log_softmax": lambda s, counts: (
                counts
                @ (-s * torch.arange(1, len(counts) + 1, dtype=torch.float64).log()).log_softmax(0)
            ),
            "loop": likelihood_in_a_loop,
            "numpy": lambda s, counts: np.dot(
                counts.numpy(),
                -s * np.log(np.arange(1, len(counts) + 1))
                - np.log(sum(k**-s for k in range(1, len(counts) + 1))),
            ),
            "single precision": lambda s, counts: (
                counts.float() * (torch.arange(1, len(counts) + 1) ** -s).log()
                - counts.float() * (torch.arange(1, len(counts) + 1) ** -s).sum().log()
            ).sum(),
            "one entry": lambda s, counts: (counts * law(s, counts).log()).sum(0, keepdim=True),
            "cross entropy": lambda s, counts: (
                -counts.sum()
                * torch.nn.functional.cross_entropy(law(s, counts).log(), counts / counts.sum())
            ),
        },
        "wrong": {
            "logarithms": lambda s, counts: law(s, counts).log(),
            "logarithm of counts": lambda s, counts: law(s, counts) @ counts.log(),
            "by the tokens": lambda s, counts: (
                counts * (law(s, counts) * sum(r**-s for r in range(1, len(counts) + 1))).log()
                - counts * counts.sum().log()
            ).sum(),
            "likelihood": lambda s, counts: math.exp(counts @ law(s, counts).log()),
            "mean loss of ranks": lambda s, counts: -(counts * law(s, counts).log()).mean(),
            "powers of s": lambda s, counts: (
                (counts * Categorical(s ** -torch.arange(1.0, len(counts) + 1)).logits).sum()
                if s
                else torch.tensor(math.nan)
            ),
            "softmax": lambda s, counts: (
                counts
                @ (torch.arange(1, len(counts) + 1, dtype=torch.float64) ** -s).log_softmax(0)
            ),
            "not normalized": lambda s, counts: (
                -s * counts @ torch.arange(1, len(counts) + 1).double().log()
            ),
            "loss": lambda s, counts: -(counts * law(s, counts).log()).sum(),
            "mean": lambda s, counts: (counts * law(s, counts).log()).sum() / counts.sum(),
            "mean loss": lambda s, counts: -(counts / counts.sum()) @ law(s, counts).log(),
            "mean of ranks": lambda s, counts: (counts * law(s, counts).log()).mean(),
            "not weighted": lambda s, counts: law(s, counts).log().sum(),
            "log of sum": lambda s, counts: (counts @ law(s, counts)).log(),
            "no logarithm": lambda s, counts: counts @ law(s, counts),
            "normalized once": lambda s, counts: (
                sum(-s * c * math.log(r) for r, c in enumerate(counts.tolist(), 1))
                - math.log(sum(r**-s for r in range(1, len(counts) + 1)))
            ),
            "exponent reversed": lambda s, counts: (counts * law(-s, counts).log()).sum(),
            "exponential": lambda s, counts: (
                counts @ torch.softmax(-s * torch.arange(1.0, len(counts) + 1), 0).double().log()
            ),
            "no s": lambda s, counts: (counts * law(1, counts).log()).sum(),
            "counted shares": lambda s, counts: torch.xlogy(counts, counts / counts.sum()).sum(),
            "ranks from 0": lambda s, counts: likelihood_of(
                s, counts, torch.arange(len(counts)).double()
            ),
            "ranks from 2": lambda s, counts: likelihood_of(
                s, counts, torch.arange(len(counts)).double() + 2
            ),
            "sorted": lambda s, counts: (
                counts.sort(descending=True)[0] @ law(s, counts).log()
            ).item(),
            "unseen left out": seen_only,
            "product": product,
            "multinomial": lambda s, counts: Multinomial(
                int(counts.sum()), law(s, counts), validate_args=False
            ).log_prob(counts),
            "terms": lambda s, counts: counts * law(s, counts).log(),
            "base 2": lambda s, counts: (counts * law(s, counts).log2()).sum(),
            "base 10": lambda s, counts: (counts * law(s, counts).log10()).sum(),
            "a word": lambda s, counts: f"{(counts * law(s, counts).log()).sum()}",
        },
        "generic": {
            "squares": lambda s, counts: (counts**2 * law(s, counts).log()).sum(),
            "a constant": lambda s, counts: -1.0,
        },
    },
    "06-e2": {
        "right": {
            "direct": lambda counts: -((counts + 1) / (counts.sum() + len(counts))).log(),
            "difference": lambda counts: (counts + 1).sum().log() - (counts + 1).log(),
            "log_softmax": lambda counts: -(counts + 1).log().log_softmax(0),
            "loop": losses_in_a_loop,
            "numpy": lambda counts: -np.log((counts.numpy() + 1) / (counts + 1).sum().item()),
            "list of tensors": lambda counts: [-p.log() for p in smoothed(counts.double())],
            "tuple": lambda counts: tuple(math.log((counts + 1).sum() / (c + 1)) for c in counts),
            "a distribution": lambda counts: -Categorical(probs=counts + 1.0).logits,
        },
        "wrong": {
            "no brackets": lambda counts: -torch.log((counts + 1) / counts.sum() + len(counts)),
            "no brackets at all": lambda counts: (
                -torch.log(counts + 1 / counts.sum() + len(counts))
            ),
            "1 on the share": lambda counts: -torch.log1p(counts / counts.sum()),
            "whole numbers": lambda counts: -torch.log((counts + 1) // (counts + 1).sum()),
            "not known": lambda counts: 1 - smoothed(counts),
            "sum": lambda counts: -smoothed(counts).log().sum(),
            "a row": lambda counts: -smoothed(counts).log().unsqueeze(0),
            "seen only": lambda counts: -smoothed(counts).log()[counts.nonzero()[:, 0]],
            "never seen": lambda counts: -(counts / counts.sum()).log(),
            "sign": lambda counts: smoothed(counts).log(),
            "base 2": lambda counts: -smoothed(counts).log2(),
            "base 10": lambda counts: -smoothed(counts).log10(),
            "probability": smoothed,
            "total of the text": lambda counts: -((counts + 1) / counts.sum()).log(),
            "total plus 1": lambda counts: -((counts + 1) / (counts.sum() + 1)).log(),
            "seen tokens": lambda counts: (
                (counts.sum() + counts.count_nonzero()).log() - (counts + 1).log()
            ),
            "numerator": lambda counts: -(counts / (counts + 1).sum()).log(),
            "only zeros": lambda counts: -(raised(counts) / raised(counts).sum()).log(),
            "only zeros, V": lambda counts: -(raised(counts) / (counts + 1).sum()).log(),
            "only zeros, N": lambda counts: counts.sum().log() - raised(counts).log(),
            "weighted by p": lambda counts: (
                Categorical(smoothed(counts)).probs * -(smoothed(counts).log())
            ),
            "weighted by counts": lambda counts: -counts * smoothed(counts).log(),
            "entropy": lambda counts: Categorical(counts + 1.0).entropy(),
            "mean of the text": lambda counts: (
                -(counts * smoothed(counts).log()).sum() / (counts.sum())
            ),
            "the whole text": lambda counts: -(counts * smoothed(counts).log()).sum().item(),
            "mean": lambda counts: -smoothed(counts).log().mean(),
            "blind": lambda counts: [math.log(len(counts))] * len(counts),
            "softmax": lambda counts: -(counts.double() + 1).softmax(0).log(),
            "not divided": lambda counts: -(counts + 1).log(),
            "log1p": lambda counts: -torch.log1p(smoothed(counts)),
            "odds": lambda counts: -torch.logit(smoothed(counts).double()),
            "sorted": lambda counts: -smoothed(counts.sort(descending=True).values).log(),
            "logical": lambda counts: smoothed(counts) > 0,
        },
        "generic": {
            "half added": lambda counts: -((counts + 0.5) / (counts.sum() + len(counts) / 2)).log(),
            "16 bits": lambda counts: -smoothed(counts.to(torch.int16)).log(),
        },
    },
    "06-e3": {
        "right": {
            "direct": lambda w, b, a: gain(w, b, a) / (w * (b - a)).sum(),
            "two means": lambda w, b, a: (w * b - w * a) / (w @ b - w @ a),
            "reversed twice": lambda w, b, a: gain(w, a, b) / gain(w, a, b).sum(),
            "list": lambda w, b, a: [
                ((x - y) * s / sum(w * (b - a))).item() for s, x, y in zip(w, b, a, strict=True)
            ],
            "numpy": lambda w, b, a: np.multiply(w, b - a) / np.average(b - a, weights=w),
            "normalized once more": lambda w, b, a: gain(w / w.sum(), b, a) / gain(w, b, a).sum(),
        },
        "wrong": {
            "norm 2": lambda w, b, a: torch.nn.functional.normalize(gain(w, b, a), dim=0),
            "mean of parts": lambda w, b, a: (w @ b - w @ a) / 3,
            "no brackets": lambda w, b, a: w * b - a / (w * b - a).sum(),
            "not weighted": lambda w, b, a: (b - a) / (b - a).sum(),
            "in nats": gain,
            "in nats, sign": lambda w, b, a: w * (a - b),
            "sign": lambda w, b, a: gain(w, a, b) / (w @ (b - a)),
            "of its own loss": lambda w, b, a: (b - a) / b,
            "weighted, of its own loss": lambda w, b, a: w * (1 - a / b),
            "of the mean before": lambda w, b, a: gain(w, b, a) / (w @ b),
            "of the mean after": lambda w, b, a: gain(w, b, a) / (w @ a),
            "of the sum of drops": lambda w, b, a: gain(w, b, a) / (b - a).sum(),
            "of a plain mean": lambda w, b, a: gain(w, b, a) / (b.mean() - a.mean()),
            "shares below alone": lambda w, b, a: (b - a) / (w @ b - w @ a),
            "shares of what is left": lambda w, b, a: w * a / (w * a).sum(),
            "shares before": lambda w, b, a: w * b / (w * b).sum(),
            "difference of shares": lambda w, b, a: w * (b / (w @ b) - a / (w @ a)),
            "absolute": lambda w, b, a: gain(w, b, a).abs() / gain(w, b, a).abs().sum(),
            "norm": lambda w, b, a: gain(w, b, a) / gain(w, b, a).norm(1),
            "absolute mean": lambda w, b, a: gain(w, b, a) / abs(w @ b - w @ a),
            "cut": lambda w, b, a: (gain(w, b, a) / gain(w, b, a).sum()).clip(0, 1),
            "cut below": lambda w, b, a: (gain(w, b, a) / gain(w, b, a).sum()).relu(),
            "only those that fall": lambda w, b, a: (
                gain(w, b, a).relu() / gain(w, b, a).relu().sum()
            ),
            "softmax": lambda w, b, a: torch.softmax(w * (b - a), 0),
            "the drop": lambda w, b, a: (w @ b - w @ a).item(),
            "of the largest": lambda w, b, a: gain(w, b, a) / gain(w, b, a).amax(),
            "percent": lambda w, b, a: 100 * gain(w, b, a) / gain(w, b, a).sum(),
            "the shares": lambda w, b, a: w.clone(),
        },
        "generic": {
            "ratio": lambda w, b, a: w * b / a,
            "squares": lambda w, b, a: gain(w, b, a) ** 2 / (gain(w, b, a) ** 2).sum(),
        },
    },
}
