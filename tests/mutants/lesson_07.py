"""Typical answers to the exercises of lesson 07: wrong ones to reject, right ones to accept."""

import math

import numpy as np
import torch


def by_halving(p, epsilon):
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        grown = math.exp(min(middle * p.max().item(), 700.0))
        done = grown / (grown + len(p) - 1) > 1 - epsilon
        low, high = (low, middle) if done else (middle, high)
    return high


def step(odds, p):
    return math.log((len(p) - 1) * odds) / p.max().item()


def softmax_of_logits(K, r, epsilon):
    best = math.log((K - 1) * (1 - epsilon) / epsilon)  # the logit when all others are 0
    logits = torch.zeros(K, dtype=torch.float64)
    logits[0] = r * best
    return logits.softmax(0)[0]


def grown(K, r, epsilon, odds=None):
    return ((K - 1) * ((1 - epsilon) / epsilon if odds is None else odds)) ** r


def as_probability(odds):
    return 1 / (1 + 1 / odds)


def in_place(M):
    return M.diagonal().clone() - M.fill_diagonal_(-torch.inf).amax(0)


def column_by_column(M):
    K = len(M)
    return torch.stack(
        [M[k, k] - torch.cat([M[:k, k], M[k + 1 :, k]]).max() for k in range(K)],
    )


def without_diagonal(M):
    K = len(M)
    rest = M.T[~torch.eye(K, dtype=bool)].view(K, K - 1)  # row k: the wrong logits of key k
    return M.diagonal() - rest.max(dim=1).values


def in_numpy(M):
    wrong = np.where(np.eye(len(M)), -np.inf, M.numpy())
    return np.diag(M.numpy()) - wrong.max(axis=0)


def plain_python(M):
    rows = M.tolist()
    return [
        row[k] - max(other[k] for j, other in enumerate(rows) if j != k)
        for k, row in enumerate(rows)
    ]


def filled(M, low):
    return M.diagonal() - M.clone().fill_diagonal_(low).amax(0)


def reshaped(M):
    K = len(M)
    return M.diag() - M[~torch.eye(K, dtype=bool)].view(K - 1, K).amax(0)


ANSWERS = {
    "07-e1": {
        "right": {
            "direct": lambda p, e: math.log((len(p) - 1) * (1 - e) / e) / p.max().item(),
            "a tensor": lambda p, e: torch.log(torch.tensor((len(p) - 1) * (1 / e - 1))) / p.max(),
            "halving": by_halving,
            "sum of logs": lambda p, e: (
                (math.log(len(p) - 1) + math.log1p(-e) - math.log(e)) / max(p.tolist())
            ),
            "numpy": lambda p, e: np.log((p.numel() - 1) * (1 - e) / e) / np.max(p.numpy()),
            "logit": lambda p, e: (
                (torch.logit(torch.tensor(1 - e)) + math.log(p.shape[0] - 1)) / p.sort().values[-1]
            ),
            "one entry": lambda p, e: (
                torch.tensor((len(p) - 1) * (1 - e) / e).log() / p.topk(1).values
            ),
        },
        "wrong": {
            "half divided": lambda p, e: (
                math.log(len(p) - 1) - math.log(e / (1 - e)) / p.max().item()
            ),
            "one more": lambda p, e: math.log((len(p) + 1) / e * (1 - e)) / max(p.tolist()),
            "only epsilon": lambda p, e: -math.log(e) / max(p.tolist()),
            "median": lambda p, e: math.log((len(p) - 1) / e * (1 - e)) / p.median().item(),
            "from the second": lambda p, e: math.log((len(p) - 1) / e * (1 - e)) / p[1:].max(),
            "to the last but one": lambda p, e: (
                math.log((len(p) - 1) / e * (1 - e)) / p[: len(p) - 1].max()
            ),
            "no wrong answers": lambda p, e: math.log((1 - e) / e) / p.max().item(),
            "K wrong answers": lambda p, e: math.log(len(p) * (1 - e) / e) / p.max().item(),
            "smallest": lambda p, e: math.log((len(p) - 1) * (1 - e) / e) / p.min().item(),
            "first": lambda p, e: step((1 - e) / e, p) * p.max() / p[0],
            "last": lambda p, e: step((1 - e) / e, p) * p.max() / p[-1],
            "argmax": lambda p, e: math.log((len(p) - 1) * (1 - e) / e) / p.argmax(),
            "mean": lambda p, e: math.log((len(p) - 1) * (1 - e) / e) * len(p) / p.sum().item(),
            "each fact": lambda p, e: math.log((len(p) - 1) * (1 - e) / e) / p,
            "upside down": lambda p, e: math.log((len(p) - 1) * e / (1 - e)) / p.max().item(),
            "divided by wrong": lambda p, e: math.log((1 - e) / e / (len(p) - 1)) / p.max().item(),
            "times p": lambda p, e: math.log((len(p) - 1) * (1 - e) / e) * p.max().item(),
            "not divided": lambda p, e: math.log((len(p) - 1) * (1 - e) / e),
            "probability": lambda p, e: step(1 - e, p),
            "one over epsilon": lambda p, e: step(1 / e, p),
            "no logarithm": lambda p, e: (len(p) - 1) * (1 - e) / e / p.max().item(),
            "wrong outside": lambda p, e: (len(p) - 1) * math.log((1 - e) / e) / p.max().item(),
            "p inside": lambda p, e: math.log((len(p) - 1) * (1 - e) / e / p.max().item()),
            "sign": lambda p, e: math.log(e / (1 - e) / (len(p) - 1)) / p.max().item(),
            "one entry of the gradient": lambda p, e: step((1 - e) / e, p) * len(p) / (len(p) - 1),
            "base 2": lambda p, e: math.log2((len(p) - 1) * (1 - e) / e) / p.max().item(),
            "base 10": lambda p, e: math.log10((len(p) - 1) * (1 - e) / e) / p.max().item(),
            "a word": lambda p, e: str(step((1 - e) / e, p)),
        },
        "generic": {
            "sum of logs": lambda p, e: (math.log(len(p)) - math.log1p(-e)) / p.max().item(),
            "squared": lambda p, e: step((1 - e) / e, p) ** 2,
        },
    },
    "07-e2": {
        "right": {
            "one fraction": lambda K, r, e: 1 / (1 + (K - 1) * ((K - 1) * (1 / e - 1)) ** -r),
            "as in the paper": lambda K, r, e: (
                1 - e / (e + (1 - e) ** r * e ** (1 - r) * (K - 1) ** (r - 1))
            ),
            "softmax": softmax_of_logits,
            "sigmoid": lambda K, r, e: torch.sigmoid(
                torch.tensor(r * math.log((K - 1) * (1 - e) / e) - math.log(K - 1))
            ),
            "over all": lambda K, r, e: grown(K, r, e) / (grown(K, r, e) + K - 1),
            "numpy": lambda K, r, e: np.float32(as_probability(grown(K, r, e) / (K - 1))),
        },
        "wrong": {
            "no brackets": lambda K, r, e: grown(K, r, e) / (K - 1) / 1 + grown(K, r, e) / (K - 1),
            "K without brackets": lambda K, r, e: as_probability(grown(K, r, e) / K - 1),
            "power r - 1": lambda K, r, e: as_probability(grown(K, r - 1, e)),
            "exponent divided": lambda K, r, e: as_probability(grown(K, r / (K - 1), e)),
            "epsilon": lambda K, r, e: e,
            "spread": lambda K, r, e: (1 - e) / (K - 1),
            "odds": lambda K, r, e: ((K - 1) * (1 - e) / e) ** r / (K - 1),
            "log odds": lambda K, r, e: r * math.log((K - 1) * (1 - e) / e) - math.log(K - 1),
            "not divided": lambda K, r, e: 1 / (1 + ((K - 1) * (1 - e) / e) ** -r),
            "not divided either": lambda K, r, e: ((K - 1) * (1 - e) / e) ** r,
            "over K": lambda K, r, e: ((K - 1) * (1 - e) / e) ** r / K,
            "no power": lambda K, r, e: 1 - e,
            "inverse power": lambda K, r, e: (
                1 / (1 + (K - 1) * ((K - 1) * (1 - e) / e) ** (-1 / r))
            ),
            "power of the odds": lambda K, r, e: 1 / (1 + (K - 1) * ((1 - e) / e) ** -r),
            "odds to the power": lambda K, r, e: as_probability(((1 - e) / e) ** r),
            "odds times r": lambda K, r, e: as_probability(r * (1 - e) / e),
            "probability times r": lambda K, r, e: r * (1 - e),
            "probability to the power": lambda K, r, e: (1 - e) ** r,
            "order of magnitude": lambda K, r, e: e**-r * K ** (r - 1),
            "K wrong answers": lambda K, r, e: as_probability((K * (1 - e) / e) ** r / K),
            "K below": lambda K, r, e: grown(K, r, e) / (grown(K, r, e) + K),
            "K above": lambda K, r, e: as_probability((K * (1 - e) / e) ** r / (K - 1)),
            "upside down": lambda K, r, e: as_probability(grown(K, r, e, e / (1 - e)) / (K - 1)),
            "no odds": lambda K, r, e: as_probability(grown(K, r, e, 1 - e) / (K - 1)),
            "one over epsilon": lambda K, r, e: as_probability(grown(K, r, e, 1 / e) / (K - 1)),
            "the others": lambda K, r, e: 1 / (1 + grown(K, r, e) / (K - 1)),
            "minus": lambda K, r, e: 1 / ((K - 1) / grown(K, r, e) - 1),
            "percent": lambda K, r, e: 100 / (1 + (K - 1) / grown(K, r, e)),
        },
        "generic": {
            "r of all": lambda K, r, e: r / K,
            "squared": lambda K, r, e: as_probability(grown(K, 2 * r, e)),
        },
    },
    "07-e3": {
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
            "without the diagonal": without_diagonal,
            "numpy": in_numpy,
            "plain python": plain_python,
            "masked": lambda M: (
                M.diag() - M.masked_fill(torch.eye(len(M)).bool(), float("-inf")).max(0).values
            ),
            "smallest difference": lambda M: (
                (M.diagonal() - M).fill_diagonal_(torch.inf).min(dim=0).values
            ),
        },
        "wrong": {
            "sorted": lambda M: filled(M, -torch.inf).sort().values,
            "sizes with infinity": lambda M: (
                M.diag() - M.clone().fill_diagonal_(-torch.inf).abs().amax(0)
            ),
            "places": lambda M: M.diag() - M.clone().fill_diagonal_(-torch.inf).max(0).indices,
            "ratio": lambda M: M.diag() / M.clone().fill_diagonal_(-torch.inf).amax(0),
            "sum over K": lambda M: M.diag() - (M.sum(0) - M.diag()) / len(M),
            "the matrix": lambda M: M - M.clone().fill_diagonal_(-torch.inf).amax(0),
            "rows": lambda M: M.diagonal() - M.clone().fill_diagonal_(-torch.inf).amax(1),
            "with the right answer": lambda M: M.diagonal() - M.amax(0),
            "rows with the right answer": lambda M: M.diagonal() - M.max(1)[0],
            "turned": lambda M: M.clone().fill_diagonal_(-torch.inf).amax(0) - M.diagonal(),
            "absolute": lambda M: filled(M, -torch.inf).abs(),
            "cut": lambda M: filled(M, -torch.inf).relu(),
            "two largest": lambda M: -M.topk(2, dim=0).values.diff(dim=0)[0],
            "second largest": lambda M: M.diagonal() - M.sort(0).values[-2],
            "mean": lambda M: M.diagonal() - (M.sum(0) - M.diagonal()) / (len(M) - 1),
            "mean of the column": lambda M: M.diagonal() - M.mean(0),
            "smallest": lambda M: M.diagonal() - M.clone().fill_diagonal_(torch.inf).amin(0),
            "sum": lambda M: 2 * M.diagonal() - M.sum(0),
            "zero diagonal": lambda M: M.diagonal() - (M - M.diagonal().diag()).amax(0),
            "minus 1": lambda M: filled(M, -1),
            "minus 10": lambda M: filled(M, -10),
            "minus 100": lambda M: filled(M, -100),
            "minus 1,000": lambda M: filled(M, -1e3),
            "sizes": lambda M: M.diagonal() - (M * (1 - torch.eye(len(M)))).abs().amax(0),
            "one for all": lambda M: M.diagonal() - M.clone().fill_diagonal_(-torch.inf).max(),
            "reshaped": reshaped,
            "in place": in_place,
            "smallest margin": lambda M: filled(M, -torch.inf).min(),
            "mean margin": lambda M: filled(M, -torch.inf).mean().item(),
            "rivals": lambda M: M.clone().fill_diagonal_(-torch.inf).amax(0),
            "probabilities": lambda M: filled(M.softmax(0), 0),
            "yes or no": lambda M: filled(M, -torch.inf) > 0,
        },
        "generic": {
            "one number": lambda M: (M.diagonal() - M.amax(0)).min(),
            "log-sum-exp": lambda M: M.diagonal() - M.logsumexp(0),
        },
    },
}
