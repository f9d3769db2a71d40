"""Typical answers to the exercises of lesson 07: wrong ones to reject, right ones to accept."""

import math

import torch


def by_halving(p, epsilon):
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        grown = math.exp(min(middle * p.max().item(), 700.0))
        done = grown / (grown + len(p) - 1) > 1 - epsilon
        low, high = (low, middle) if done else (middle, high)
    return high


def in_place(M):
    return M.diagonal().clone() - M.fill_diagonal_(-torch.inf).amax(0)


def column_by_column(M):
    K = len(M)
    return torch.stack(
        [M[k, k] - torch.cat([M[:k, k], M[k + 1 :, k]]).max() for k in range(K)],
    )


ANSWERS = {
    "07-e1": {
        "wrong": {
            "no wrong answers": lambda p, e: math.log((1 - e) / e) / p.max().item(),
            "K wrong answers": lambda p, e: math.log(len(p) * (1 - e) / e) / p.max().item(),
            "smallest": lambda p, e: math.log((len(p) - 1) * (1 - e) / e) / p.min().item(),
            "upside down": lambda p, e: math.log((len(p) - 1) * e / (1 - e)) / p.max().item(),
            "times p": lambda p, e: math.log((len(p) - 1) * (1 - e) / e) * p.max().item(),
            "no logarithm": lambda p, e: (len(p) - 1) * (1 - e) / e / p.max().item(),
        },
        "right": {
            "a tensor": lambda p, e: torch.log(torch.tensor((len(p) - 1) * (1 / e - 1))) / p.max(),
            "halving": by_halving,
            "sum of logs": lambda p, e: (
                (math.log(len(p) - 1) + math.log1p(-e) - math.log(e)) / max(p.tolist())
            ),
        },
    },
    "07-e2": {
        "wrong": {
            "odds": lambda K, r, e: ((K - 1) * (1 - e) / e) ** r / (K - 1),
            "not divided": lambda K, r, e: 1 / (1 + ((K - 1) * (1 - e) / e) ** -r),
            "no power": lambda K, r, e: 1 - e,
            "inverse power": lambda K, r, e: (
                1 / (1 + (K - 1) * ((K - 1) * (1 - e) / e) ** (-1 / r))
            ),
            "power of the odds": lambda K, r, e: 1 / (1 + (K - 1) * ((1 - e) / e) ** -r),
            "order of magnitude": lambda K, r, e: e**-r * K ** (r - 1),
        },
        "right": {
            "one fraction": lambda K, r, e: 1 / (1 + (K - 1) * ((K - 1) * (1 / e - 1)) ** -r),
            "as in the paper": lambda K, r, e: (
                1 - e / (e + (1 - e) ** r * e ** (1 - r) * (K - 1) ** (r - 1))
            ),
        },
    },
    "07-e3": {
        "wrong": {
            "rows": lambda M: M.diagonal() - M.clone().fill_diagonal_(-torch.inf).amax(1),
            "with the right answer": lambda M: M.diagonal() - M.amax(0),
            "turned": lambda M: M.clone().fill_diagonal_(-torch.inf).amax(0) - M.diagonal(),
            "mean": lambda M: M.diagonal() - (M.sum(0) - M.diagonal()) / (len(M) - 1),
            "zero diagonal": lambda M: M.diagonal() - (M - M.diagonal().diag()).amax(0),
            "in place": in_place,
            "one number": lambda M: (M.diagonal() - M.amax(0)).min(),
        },
        "right": {
            "columns": column_by_column,
            "second largest": lambda M: torch.stack(
                [
                    c[k] - (s[1] if c[k] == s[0] else s[0])
                    for k, c in enumerate(M.T)
                    for s in [c.sort(descending=True).values]
                ]
            ),
            "infinite diagonal": lambda M: (
                M.diagonal()
                - (M - torch.full((len(M),), torch.inf).diag()).nan_to_num(-1e9).amax(0)
            ),
        },
    },
}
