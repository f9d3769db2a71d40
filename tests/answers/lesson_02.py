"""Answers to the exercises of lesson 02, as students write them: right ones and wrong ones."""

import math
from functools import reduce

import numpy as np
import torch

from muonlab import newton_schulz


def through_the_svd(X):
    U, s, Vt = torch.linalg.svd(X, full_matrices=False)
    return U @ torch.diag(1.5 * s - 0.5 * s**3) @ Vt


def solves_for_the_coefficients(X):
    conditions = torch.tensor([[1.0, 1.0], [1.0, 3.0]])
    a, b = torch.linalg.solve(conditions, torch.tensor([1.0, 0.0]))
    return a * X + b * X @ X.T @ X


def in_place(X):
    A = X @ X.T
    X *= 1.5
    X -= 0.5 * A @ X
    return X


def transposes_if_tall(X):
    if X.shape[0] > X.shape[1]:
        X = X.T
    return 1.5 * X - 0.5 * X @ X.T @ X


def nan_guard(X):
    X = X / (X.norm() + 1e-7)
    return 1.5 * X - 0.5 * X @ X.T @ X


def loop(triples):
    result = 1
    for step in triples:
        result = result * step[0]
    return result


def loop_that_returns_early(triples):
    result = 1
    for step in triples:
        result = result * step[0]
        return result


def by_a_tiny_number(triples):
    x = 1e-9
    for a, b, c in triples:
        x = a * x + b * x**3 + c * x**5
    return x / 1e-9


def by_a_number_not_tiny(triples):
    x = 0.1
    for a, b, c in triples:
        x = a * x + b * x**3 + c * x**5
    return x / 0.1


def at_one(triples):
    x = 1.0
    for a, b, c in triples:
        x = a * x + b * x**3 + c * x**5
    return x


def pops(triples):
    result = 1.0
    while triples:
        result *= triples.pop()[0]
    return result


def three_products(rows, columns, steps=5):
    def cost(p, q, r):
        return 2 * p * q * r

    if rows > columns:
        rows, columns = columns, rows
    total = 0
    for _ in range(steps):
        total += cost(rows, columns, rows)
        total += cost(rows, rows, rows)
        total += cost(rows, rows, columns)
    return total


def returns_inside_the_loop(rows, columns, steps=5):
    k, n = min(rows, columns), max(rows, columns)
    total = 0
    for _ in range(steps):
        total += 4 * k * k * n + 2 * k**3
        return total


ANSWERS = {
    "02-e1": {
        "right": {
            "svd": through_the_svd,
            "solved": solves_for_the_coefficients,
            "half": lambda X: (3 * X - X @ X.T @ X) / 2,
            "numpy": lambda X: 1.5 * X.numpy() - 0.5 * X.numpy() @ X.numpy().T @ X.numpy(),
            "float64": lambda X: 1.5 * X.double() - 0.5 * (X.double() @ X.double().T) @ X.double(),
            "addmm": lambda X: torch.addmm(X, X @ X.T, X, beta=1.5, alpha=-0.5),
            "einsum": lambda X: 1.5 * X - 0.5 * torch.einsum("ij,kj,kl->il", X, X, X),
            "right bracket": lambda X: X @ (1.5 * torch.eye(X.shape[1]) - 0.5 * X.T @ X),
        },
        "wrong": {
            "plus": lambda X: 1.5 * X + 0.5 * X @ X.T @ X,
            "entries": lambda X: 1.5 * X - 0.5 * X**3,
            "entries by *": lambda X: 1.5 * X - 0.5 * X * X * X,
            "X.T first": lambda X: 1.5 * X - 0.5 * X.T @ X @ X,
            "no a": lambda X: X - 0.5 * X @ X.T @ X,
            "no b": lambda X: 1.5 * X - X @ X.T @ X,
            "exchanged": lambda X: -0.5 * X + 1.5 * X @ X.T @ X,
            "2 and -1": lambda X: 2 * X - X @ X.T @ X,
            "two products": lambda X: 1.5 * X - 0.5 * X @ X.T,
            "quintic of Jordan": lambda X: (
                3.4445 * X - 4.775 * X @ X.T @ X + 2.0315 * X @ X.T @ X @ X.T @ X
            ),
            "in place": in_place,
            "normalizes": nan_guard,
            "tall turned": transposes_if_tall,
            "coefficients": lambda X: (1.5, -0.5),
            "package": lambda X: newton_schulz(X, steps=1),
            "power": lambda X: 1.5 * X - 0.5 * torch.linalg.matrix_power(X, 3),
            "3 and -1": lambda X: 3 * X - X @ X.T @ X,
            "1.5 alone": lambda X: 1.5 * X,
            "number": lambda X: (1.5 * X - 0.5 * X @ X.T @ X).norm(),
            "other half": lambda X: 0.5 * X + 0.5 * X @ X.T @ X,
            "polar": lambda X: (
                torch.linalg.svd(X, full_matrices=False)[0]
                @ torch.linalg.svd(X, full_matrices=False)[2]
            ),
        },
    },
    "02-e2": {
        "right": {
            "loop": loop,
            "tiny": by_a_tiny_number,
            "numpy": lambda triples: np.prod([t[0] for t in triples]),
            "numpy array": lambda triples: np.array(triples)[:, 0].prod(),
            "tensor": lambda triples: torch.tensor(triples)[:, 0].prod(),
            "reduce": lambda triples: reduce(lambda x, t: x * t[0], triples, 1.0),
            "zip": lambda triples: math.prod(next(zip(*triples, strict=True))),
        },
        "wrong": {
            "sum": lambda triples: sum(t[0] for t in triples),
            "early": loop_that_returns_early,
            "not tiny": by_a_number_not_tiny,
            "at one": at_one,
            "pops": pops,
            "last": lambda triples: triples[-1][0],
            "five steps": lambda triples: triples[0][0] ** 5,
            "length": lambda triples: triples[0][0] ** len(triples),
            "b": lambda triples: math.prod(t[1] for t in triples),
            "c": lambda triples: math.prod(t[2] for t in triples),
            "all": lambda triples: math.prod(map(math.prod, triples)),
            "sums": lambda triples: math.prod(map(sum, triples)),
            "mean": lambda triples: sum(t[0] for t in triples) / len(triples),
            "list": lambda triples: [t[0] for t in triples],
            "Jordan": lambda triples: 3.4445**5,
            "absolute": lambda triples: math.prod(abs(a) + abs(b) + abs(c) for a, b, c in triples),
            "log": lambda triples: sum(math.log(t[0]) for t in triples),
            "slope at 1": lambda triples: math.prod(a + 3 * b + 5 * c for a, b, c in triples),
            "zero": lambda triples: math.prod(a * 0 + b * 0 + c * 0 for a, b, c in triples),
        },
    },
    "02-e3": {
        "right": {
            "three": three_products,
            "factored": lambda m, n, steps=5: (
                2 * steps * min(m, n) ** 2 * (2 * max(m, n) + min(m, n))
            ),
            "product": lambda m, n, steps=5: steps * (4 * m * n * min(m, n) + 2 * min(m, n) ** 3),
            "float": lambda m, n, steps=5: (
                float(steps) * (4.0 * m * n * min(m, n) + 2 * min(m, n) ** 3)
            ),
            "tensor": lambda m, n, steps=5: torch.tensor(
                steps * (4 * m * n * min(m, n) + 2 * min(m, n) ** 3)
            ),
            "sum": lambda m, n, steps=5: sum(
                4 * m * n * min(m, n) + 2 * min(m, n) ** 3 for _ in range(steps)
            ),
        },
        "wrong": {
            "no steps": lambda m, n, steps=5: 4 * m * n * min(m, n) + 2 * min(m, n) ** 3,
            "five": lambda m, n, steps=5: 5 * (4 * m * n * min(m, n) + 2 * min(m, n) ** 3),
            "rows": lambda m, n, steps=5: steps * (4 * m * m * n + 2 * m**3),
            "columns": lambda m, n, steps=5: steps * (4 * n * n * m + 2 * n**3),
            "longer": lambda m, n, steps=5: (
                steps * (4 * max(m, n) ** 2 * min(m, n) + 2 * max(m, n) ** 3)
            ),
            "one product": lambda m, n, steps=5: steps * 2 * min(m, n) ** 2 * max(m, n),
            "no AA": lambda m, n, steps=5: steps * 4 * min(m, n) ** 2 * max(m, n),
            "AA once": lambda m, n, steps=5: (
                steps * 4 * min(m, n) ** 2 * max(m, n) + 2 * min(m, n) ** 3
            ),
            "without 2": lambda m, n, steps=5: steps * (2 * m * n * min(m, n) + min(m, n) ** 3),
            "k squared": lambda m, n, steps=5: steps * (4 * m * n * min(m, n) + 2 * min(m, n) ** 2),
            "early": returns_inside_the_loop,
            "three alike": lambda m, n, steps=5: steps * 6 * m * n * min(m, n),
            "32 bits": lambda m, n, steps=5: (
                torch.tensor([4 * steps], dtype=torch.int32) * (m * n % 2**31) * min(m, n)
                + 2 * steps * min(m, n) ** 3
            ),
            "millions": lambda m, n, steps=5: (
                steps * (4 * m * n * min(m, n) + 2 * min(m, n) ** 3) / 1e6
            ),
            "power": lambda m, n, steps=5: (4 * m * n * min(m, n) + 2 * min(m, n) ** 3) ** steps,
            "text": lambda m, n, steps=5: (
                f"{steps * (4 * m * n * min(m, n) + 2 * min(m, n) ** 3):,}"
            ),
            "elements": lambda m, n, steps=5: steps * m * n,
            "counts sums": lambda m, n, steps=5: (
                steps * (4 * m * n * min(m, n) + 2 * min(m, n) ** 3 + 2 * m * n)
            ),
        },
    },
}
