"""Typical answers to the exercises of lesson 02: wrong ones to reject, right ones to accept."""

import math

import torch


def recursive_growth(triples):
    return triples[0][0] * recursive_growth(triples[1:]) if triples else 1.0


ANSWERS = {
    "02-e1": {
        "wrong": {
            "wrong sign": lambda X: 1.5 * X + 0.5 * X @ X.T @ X,
            "exchanged": lambda X: -0.5 * X + 1.5 * X @ X.T @ X,
            "not flat at 1": lambda X: 2 * X - X @ X.T @ X,
            "entrywise cube": lambda X: 1.5 * X - 0.5 * X**3,
            "quintic": lambda X: 15 / 8 * X - 10 / 8 * X @ X.T @ X + 3 / 8 * X @ X.T @ X @ X.T @ X,
        },
        "right": {
            "other bracket": lambda X: 1.5 * X - 0.5 * X @ (X.T @ X),
            "factored": lambda X: 0.5 * (3 * torch.eye(X.shape[0]) - X @ X.T) @ X,
        },
    },
    "02-e2": {
        "wrong": {
            "sum": lambda triples: sum(a for a, _, _ in triples),
            "first to the power": lambda triples: triples[0][0] ** len(triples),
            "value at 1": lambda triples: math.prod(sum(t) for t in triples),
            "starts at 0": lambda triples: 0 * math.prod(a for a, _, _ in triples),
        },
        "right": {
            "prod": lambda triples: math.prod(a for a, _, _ in triples),
            "recursion": recursive_growth,
            "logarithms": lambda triples: math.exp(sum(math.log(a) for a, _, _ in triples)),
        },
    },
    "02-e3": {
        "wrong": {
            "one step": lambda r, c, steps=5: 4 * min(r, c) ** 2 * max(r, c) + 2 * min(r, c) ** 3,
            "no square product": lambda r, c, steps=5: steps * 4 * min(r, c) ** 2 * max(r, c),
            "factor two": lambda r, c, steps=5: (
                steps * (2 * min(r, c) ** 2 * max(r, c) + min(r, c) ** 3)
            ),
            "rows decide": lambda r, c, steps=5: steps * (4 * r * r * c + 2 * r**3),
        },
        "right": {
            "three products": lambda r, c, steps=5: sum(
                2 * min(r, c) ** 2 * n
                for _ in range(steps)
                for n in (max(r, c), min(r, c), max(r, c))
            ),
            "sorted": lambda r, c, steps=5: (
                2 * steps * sorted((r, c))[0] ** 2 * (2 * sorted((r, c))[1] + sorted((r, c))[0])
            ),
        },
    },
}
