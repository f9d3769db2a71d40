"""Typical answers to the exercises of lesson 08: wrong ones to reject, right ones to accept."""

import statistics

import numpy as np
import torch


def centred(x, y):
    return x - x.mean(), y - y.mean()


def slope(x, y):
    return torch.cov(torch.stack([x, y]))[0, 1] / x.var()


def without_diagonal(M):
    K = len(M)
    return M.diagonal().mean() - (M.sum() - M.trace()) / (K * K - K)


def a_and_b(M):
    return M[0, 0] - M[0, 1], M[-1, -1] - M[-2, -1]


def parts(M, L):
    return [M[:L, :L], M[L:, L:]]


def single_sums(x, y):
    n, xs, ys = len(x), x.tolist(), y.tolist()
    sxy = sum(p * q for p, q in zip(xs, ys, strict=True))
    return (n * sxy - sum(xs) * sum(ys)) / (n * sum(p * p for p in xs) - sum(xs) ** 2)


def normal_equations(x, y):
    A = torch.stack([torch.ones_like(x), x], 1)
    return torch.linalg.solve(A.T @ A, A.T @ y)[1]


def at_right_angles(x, y):
    _, vectors = torch.linalg.eigh(torch.cov(torch.stack([x, y])))
    return vectors[1, 1] / vectors[0, 1]


def pair_slopes(x, y):
    n = len(x)
    return [(y[j] - y[i]) / (x[j] - x[i]) for i in range(n) for j in range(i)]


ANSWERS = {
    "08-e1": {
        "right": {
            "tensors": lambda M, L: (M[1, 1] - M[0, 1], M[L, L] - M[L + 1, L]),
            "from the ends": lambda M, L: (
                (M[0, 0] - M[1, 0]).item(),
                (M[-1, -1] - M[-1, -2]).item(),
            ),
            "one tensor": lambda M, L: torch.stack(a_and_b(M)),
            "a list": lambda M, L: [float(v) for v in a_and_b(M)],
            "numpy": lambda M, L: np.array([v.item() for v in a_and_b(M)], dtype=np.float32),
            "means": lambda M, L: tuple(map(without_diagonal, parts(M, L))),
            "singular values": lambda M, L: tuple(
                (part @ torch.tensor([1.0, -1.0] + [0.0] * (len(part) - 2)).to(M))[0]
                for part in parts(M, L)
            ),
        },
        "wrong": {
            "right of a": lambda M, L: (M[0, 0] - M[0, L], a_and_b(M)[1]),
            "below a": lambda M, L: (M[0, 0] - M[L, 0], a_and_b(M)[1]),
            "a with its constant": lambda M, L: (M[0, 0], a_and_b(M)[1]),
            "second row": lambda M, L: (M[1, 1] - M[1, 2], a_and_b(M)[1]),
            "a plus b": lambda M, L: sum(a_and_b(M)),
            "the diagonal": lambda M, L: (M[0, 0].item(), M[L, L].item()),
            "exchanged": lambda M, L: (
                (M[L, L] - M[L, L + 1]).item(),
                (M[0, 0] - M[0, 1]).item(),
            ),
            "the other block": lambda M, L: (
                (M[0, 0] - M[0, L]).item(),
                (M[L, L] - M[L, 0]).item(),
            ),
            "the other block, columns": lambda M, L: (M[0, 0] - M[L, 0], M[L, L] - M[0, L]),
            "constants exchanged": lambda M, L: (M[0, 0] - M[-2, -1], M[L, L] - M[1, 0]),
            "first constant": lambda M, L: torch.stack([M[0, 0], M[L, L]]) - M[0, 1],
            "left of b": lambda M, L: (M[0, 0] - M[0, 1], M[L, L] - M[L, L - 1]),
            "above b": lambda M, L: (M[0, 0] - M[0, 1], M[L, L] - M[L - 1, L]),
            "b with its constant": lambda M, L: (M[0, 0] - M[0, 1], M[-1, -1]),
            "added": lambda M, L: ((M[0, 0] + M[0, 1]).item(), (M[L, L] + M[L, L + 1]).item()),
            "sign": lambda M, L: [M[0, 1] - M[0, 0], M[L, L + 1] - M[L, L]],
            "one block": lambda M, L: ((M[0, 0] - M[0, 1]).item(), (M[1, 1] - M[1, 0]).item()),
            "rare block": lambda M, L: (a_and_b(M)[1], a_and_b(M)[1]),
            "constants": lambda M, L: (M[0, 1], M[L, L + 1]),
            "mean of the block": lambda M, L: tuple(
                part.diagonal().mean() - part.mean() for part in parts(M, L)
            ),
            "mean of the matrix": lambda M, L: (M[0, 0] - M.mean(), M[L, L] - M.mean()),
            "traces": lambda M, L: [part.trace() for part in parts(M, L)],
            "a row too early": lambda M, L: (
                M[0, 0] - M[0, 1],
                M[L - 1, L - 1] - M[L - 1, L],
            ),
            "for each fact": lambda M, L: [a_and_b(M)[i >= L].item() for i in range(len(M))],
            "a alone": lambda M, L: a_and_b(M)[0].item(),
            "words": lambda M, L: ("a", "b"),
            "a row too late": lambda M, L: (M[0, 0] - M[0, 1], M[L + 1, L + 1] - M[L + 1, L + 2]),
        },
        "generic": {
            "eigenvalues": lambda M, L: tuple(torch.linalg.eigvals(M).real.sort()[0][[-1, 0]]),
            "row sums": lambda M, L: (M[0].sum(), M[L].sum()),
        },
    },
    "08-e2": {
        "right": {
            "polyfit": lambda x, y: np.polyfit(x.numpy(), y.numpy(), 1)[0],
            "lstsq": lambda x, y: torch.linalg.lstsq(
                torch.stack([x, torch.ones_like(x)], dim=1), y[:, None]
            ).solution[0],
            "covariance": lambda x, y: (
                torch.cov(torch.stack([x, y]))[0, 1] / x.var(correction=1)
            ).item(),
            "statistics": lambda x, y: statistics.linear_regression(x.tolist(), y.tolist()).slope,
            "sums": single_sums,
            "normal equations": normal_equations,
            "one centred": lambda x, y: ((x - x.mean()) * y).sum() / (x - x.mean()).square().sum(),
            "correlation and spreads": lambda x, y: (
                torch.corrcoef(torch.stack([x, y]))[0, 1] * y.std() / x.std()
            ),
        },
        "wrong": {
            "through the first": lambda x, y: (x - x[0]) @ (y - y[0]) / (x - x[0]).square().sum(),
            "through the medians": lambda x, y: (
                (x - x.median()) @ (y - y.median()) / (x - x.median()).square().sum()
            ),
            "angle": lambda x, y: np.arctan(slope(x, y).item()),
            "table": np.cov,
            "through the origin": lambda x, y: ((x * y).sum() / (x * x).sum()).item(),
            "squares not centred": lambda x, y: centred(x, y)[0] @ centred(x, y)[1] / (x @ x),
            "products not centred": lambda x, y: (x * y).sum() / x.var() / (len(x) - 1),
            "x on y": lambda x, y: (
                (centred(x, y)[0] @ centred(x, y)[1]) / centred(x, y)[1].square().sum()
            ).item(),
            "horizontal": lambda x, y: 1 / slope(y, x),
            "right angles": at_right_angles,
            "spreads": lambda x, y: y.std(correction=0) / x.std(correction=0),
            "spreads with a sign": lambda x, y: slope(x, y).sign() * (y.var() / x.var()).sqrt(),
            "two points": lambda x, y: ((y[-1] - y[0]) / (x[-1] - x[0])).item(),
            "outermost": lambda x, y: (
                (y[x.argmax()] - y[x.argmin()]).item() / (x.max() - x.min()).item()
            ),
            "ranges": lambda x, y: (y.amax() - y.amin()) / (x.amax() - x.amin()),
            "neighbours": lambda x, y: (y.diff() / x.diff()).mean().item(),
            "all pairs": lambda x, y: sum(pair_slopes(x, y)) / len(pair_slopes(x, y)),
            "median of pairs": lambda x, y: np.median(torch.stack(pair_slopes(x, y)).numpy()),
            "sign": lambda x, y: -slope(x, y),
            "no sign": lambda x, y: slope(x, y).abs().item(),
            "correlation": lambda x, y: torch.corrcoef(torch.stack([x, y]))[0, 1].item(),
            "explained": lambda x, y: slope(x, y) * slope(y, x),
            "n - 1 above": lambda x, y: torch.cov(torch.stack([x, y]))[0, 1] / x.var(correction=0),
            "n - 1 below": lambda x, y: (
                torch.cov(torch.stack([x, y]), correction=0)[0, 1] / x.var()
            ),
            "mean above": lambda x, y: (
                (centred(x, y)[0] * centred(x, y)[1]).mean() / centred(x, y)[0].square().sum()
            ),
            "mean below": lambda x, y: (
                (centred(x, y)[0] * centred(x, y)[1]).sum() / centred(x, y)[0].square().mean()
            ),
            "not divided": lambda x, y: (centred(x, y)[0] * centred(x, y)[1]).sum(),
            "covariance": lambda x, y: torch.cov(torch.stack([x, y]))[0, 1],
            "root": lambda x, y: centred(x, y)[0] @ centred(x, y)[1] / centred(x, y)[0].norm(),
            "mean ratio": lambda x, y: (y / x).mean(),
            "ratio of means": lambda x, y: y.mean() / x.mean(),
            "terms": lambda x, y: (
                centred(x, y)[0] * centred(x, y)[1] / centred(x, y)[0].square().sum()
            ),
            "intercept": lambda x, y: np.polyfit(x, y, 1)[1],
            "both": lambda x, y: np.polyfit(x, y, 1),
            "both, turned": lambda x, y: np.polynomial.polynomial.polyfit(x, y, 1),
            "single ratios": lambda x, y: (centred(x, y)[1] / centred(x, y)[0]).mean(),
            "logarithms": lambda x, y: slope(x.log(), y.log()),
            "logarithm of x": lambda x, y: slope(x.log10() * np.log(10), y),
            "logarithm of y": lambda x, y: slope(x, y.log()),
            "sorted": lambda x, y: slope(x.sort()[0], y.sort()[0]),
            "places": lambda x, y: np.polyfit(range(len(y)), y, 1)[0],
            "a word": lambda x, y: "falls" if slope(x, y) < 0 else "rises",
        },
        "generic": {
            "median": lambda x, y: y.median() / x.median(),
            "one log10": lambda x, y: slope(x, y.log10()),
        },
    },
}
