"""Typical answers to the exercises of lesson 09: wrong ones to reject, right ones to accept."""

import math

import torch


def shares_of(s):
    return s**2 / (s**2).sum()


def entropy(q):
    return -(q * q.log()).sum()


def rank_in_a_loop(s):
    total = sum(v * v for v in s.tolist())
    return math.exp(-sum(v * v / total * math.log(v * v / total) for v in s.tolist()))


def mean_over(values, drawn):
    return values[drawn].mean(1)


def drawn_in_a_loop(adamw, control, muon, drawn):
    rows = [
        (adamw[i].mean() - control[i].mean()) / (adamw[i].mean() - muon[i].mean()) for i in drawn
    ]
    return torch.stack(rows)


ANSWERS = {
    "09-e1": {
        "wrong": {
            "entropy": lambda s: entropy(shares_of(s)),
            "normalized entropy": lambda s: entropy(shares_of(s)) / math.log(len(s)),
            "sign": lambda s: (-entropy(shares_of(s))).exp(),
            "shares of sigma": lambda s: entropy(s / s.sum()).exp(),
            "not shares": lambda s: entropy(s**2).exp(),
            "two bases": lambda s: (-(shares_of(s) * shares_of(s).log2()).sum()).exp(),
            "participation ratio": lambda s: 1 / (shares_of(s) ** 2).sum(),
            "plain rank": len,
            "divided by n": lambda s: entropy(shares_of(s)).exp() / len(s),
        },
        "right": {
            "direct": lambda s: entropy(shares_of(s)).exp(),
            "base 2": lambda s: 2 ** -(shares_of(s) * shares_of(s).log2()).sum(),
            "a number": lambda s: entropy(shares_of(s)).exp().item(),
            "log of the product": lambda s: (shares_of(s) ** -shares_of(s)).prod(),
            "loop": rank_in_a_loop,
        },
    },
    "09-e2": {
        "wrong": {
            "first k": lambda s, k: (s[:k] ** 2).sum() / (s**2).sum(),
            "smallest k": lambda s, k: (s.sort().values[:k] ** 2).sum() / (s**2).sum(),
            "shares of sigma": lambda s, k: s.topk(k).values.sum() / s.sum(),
            "energy": lambda s, k: (s.topk(k).values ** 2).sum(),
            "number k": lambda s, k: s.topk(k).values[-1] ** 2 / (s**2).sum(),
            "the rest": lambda s, k: 1 - (s.topk(k).values ** 2).sum() / (s**2).sum(),
            "mean": lambda s, k: (s.topk(k).values ** 2).mean() / (s**2).sum(),
        },
        "right": {
            "topk": lambda s, k: (s.topk(k).values ** 2).sum() / (s**2).sum(),
            "sort": lambda s, k: (s.sort(descending=True).values[:k] ** 2).sum() / (s**2).sum(),
            "python": lambda s, k: (
                sum(sorted((v * v for v in s.tolist()), reverse=True)[:k])
                / sum(v * v for v in s.tolist())
            ),
        },
    },
    "09-e3": {
        "wrong": {
            "mean of ratios": lambda a, c, m, drawn: ((a - c) / (a - m))[drawn].mean(1),
            "gap not drawn": lambda a, c, m, drawn: mean_over(a - c, drawn) / (a - m).mean(),
            "missing share": lambda a, c, m, drawn: (
                mean_over(c - m, drawn) / mean_over(a - m, drawn)
            ),
            "turned round": lambda a, c, m, drawn: (
                mean_over(a - m, drawn) / mean_over(a - c, drawn)
            ),
            "sign": lambda a, c, m, drawn: mean_over(c - a, drawn) / mean_over(a - m, drawn),
            "nats": lambda a, c, m, drawn: mean_over(a - c, drawn),
            "not drawn": lambda a, c, m, drawn: ((a - c).mean() / (a - m).mean()).expand(
                len(drawn)
            ),
            "of AdamW's loss": lambda a, c, m, drawn: mean_over(a - c, drawn) / mean_over(a, drawn),
        },
        "right": {
            "direct": lambda a, c, m, drawn: mean_over(a - c, drawn) / mean_over(a - m, drawn),
            "sums": lambda a, c, m, drawn: (a - c)[drawn].sum(1) / (a - m)[drawn].sum(1),
            "loop": drawn_in_a_loop,
        },
    },
}
