"""Typical answers to the exercises of lesson 06: wrong ones to reject, right ones to accept."""

import torch


def law(s, counts):
    power = torch.arange(1, len(counts) + 1, dtype=torch.float64) ** -s
    return power / power.sum()


def likelihood_in_a_loop(s, counts):
    total = sum(r**-s for r in range(1, len(counts) + 1))
    value = 0.0
    for r, count in enumerate(counts.tolist(), start=1):
        value += count * torch.log(torch.tensor(r**-s / total)).item()
    return value


def losses_in_a_loop(counts):
    total = counts.sum().item() + len(counts)
    return torch.tensor([-torch.tensor((c + 1) / total).log().item() for c in counts.tolist()])


def gain(shares, before, after):
    return shares * (before - after)


ANSWERS = {
    "06-e1": {
        "wrong": {
            "not normalized": lambda s, counts: (
                -s * counts @ torch.arange(1, len(counts) + 1).double().log()
            ),
            "loss": lambda s, counts: -(counts * law(s, counts).log()).sum(),
            "mean": lambda s, counts: (counts * law(s, counts).log()).sum() / counts.sum(),
            "not weighted": lambda s, counts: law(s, counts).log().sum(),
            "exponent reversed": lambda s, counts: (counts * law(-s, counts).log()).sum(),
            "base 2": lambda s, counts: (counts * law(s, counts).log2()).sum(),
        },
        "right": {
            "log_softmax": lambda s, counts: (
                counts
                @ (-s * torch.arange(1, len(counts) + 1, dtype=torch.float64).log()).log_softmax(0)
            ),
            "direct": lambda s, counts: (counts * law(s, counts).log()).sum().item(),
            "loop": likelihood_in_a_loop,
        },
    },
    "06-e2": {
        "wrong": {
            "never seen": lambda counts: -(counts / counts.sum()).log(),
            "sign": lambda counts: ((counts + 1) / (counts.sum() + len(counts))).log(),
            "base 2": lambda counts: -((counts + 1) / (counts.sum() + len(counts))).log2(),
            "probability": lambda counts: (counts + 1) / (counts.sum() + len(counts)),
            "total of the text": lambda counts: -((counts + 1) / counts.sum()).log(),
            "total plus 1": lambda counts: -((counts + 1) / (counts.sum() + 1)).log(),
        },
        "right": {
            "direct": lambda counts: -((counts + 1) / (counts.sum() + len(counts))).log(),
            "difference": lambda counts: (counts + 1).sum().log() - (counts + 1).log(),
            "log_softmax": lambda counts: -(counts + 1).log().log_softmax(0),
            "loop": losses_in_a_loop,
        },
    },
    "06-e3": {
        "wrong": {
            "not weighted": lambda w, b, a: (b - a) / (b - a).sum(),
            "in nats": gain,
            "sign": lambda w, b, a: gain(w, a, b) / (w @ (b - a)),
            "of its own loss": lambda w, b, a: (b - a) / b,
            "of the mean before": lambda w, b, a: gain(w, b, a) / (w @ b),
            "absolute": lambda w, b, a: gain(w, b, a).abs() / gain(w, b, a).abs().sum(),
        },
        "right": {
            "direct": lambda w, b, a: gain(w, b, a) / (w * (b - a)).sum(),
            "two means": lambda w, b, a: (w * b - w * a) / (w @ b - w @ a),
        },
    },
}
