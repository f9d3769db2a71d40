"""Answers to the exercises of lesson 02, as students write them: right ones and wrong ones."""

import math

import numpy as np
import torch

from muonlab import newton_schulz, polar
from muonlab.optim.coefficients import POLAR_EXPRESS


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


A, B, C = 3.4445, -4.7750, 2.0315


def schulz(t=(A, B, C), divide=lambda G: G / G.norm().clamp(min=1e-7), tall=True, extra=0):
    """Newton-Schulz with one thing done in another way."""

    def answer(G, steps=5):
        X = divide(G)
        turned = tall and X.shape[0] > X.shape[1]
        X = X.T if turned else X
        for _ in range(steps + extra):
            M = X @ X.T
            X = t[0] * X + (t[1] * M + t[2] * M @ M) @ X
        return X.T if turned else X

    return answer


def through_another_svd(G, steps=5):
    if not G.any():
        return G
    U, s, Vt = torch.linalg.svd(G.double() / G.double().norm(), full_matrices=False)
    for _ in range(steps):
        s = A * s + B * s**3 + C * s**5
    return U @ torch.diag(s) @ Vt


def of_the_right_side(G, steps=5):
    X = G / (G.norm() + 1e-7)
    if G.shape[0] <= G.shape[1]:
        return of_the_right_side(G.T, steps).T
    for _ in range(steps):
        M = X.T @ X
        X = A * X + X @ (B * M + C * M @ M)
    return X


def in_numpy(G, steps=5):
    X = G.numpy().astype(np.float64)
    X = X / max(np.linalg.norm(X), 1e-9)
    turned = X.shape[0] > X.shape[1]
    X = X.T if turned else X
    for _ in range(steps):
        M = X @ X.T
        X = A * X + (B * M + C * M @ M) @ X
    return X.T if turned else X


def with_eye(G, steps=5):
    if G.shape[0] > G.shape[1]:
        return with_eye(G.T, steps).T
    X = G / G.norm() if G.norm() > 0 else G.clone()
    for _ in range(steps):
        M = X @ X.T
        X = (A * torch.eye(len(M)) + B * M + C * M @ M) @ X
    return X


def recursive(G, steps=5):
    def go(X, left):
        M = X @ X.T
        return go(A * X + (B * M + C * M @ M) @ X, left - 1) if left else X

    X = G / (G.norm() + 1e-8)
    return go(X.T, steps).T if G.shape[0] > G.shape[1] else go(X, steps)


def in_place_on_g(G, steps=5):
    G /= G.norm().clamp(min=1e-7)
    return schulz()(G, steps)


def gram_once(G, steps=5):
    X = G / G.norm().clamp(min=1e-7)
    M = X @ X.T
    for _ in range(steps):
        X = A * X + (B * M + C * M @ M) @ X
    return X


def divides_always(G, steps=5):
    X = G / G.norm().clamp(min=1e-7)
    for _ in range(steps):
        X = schulz()(X, 1)
        X = X / X.norm().clamp(min=1e-7)
    return X


def returns_early(G, steps=5):
    X = G / G.norm().clamp(min=1e-7)
    for _ in range(steps):
        return schulz()(X, 1)
    return X


def forgets_to_turn_back(G, steps=5):
    Y = schulz()(G, steps)
    return Y.T if G.shape[0] > G.shape[1] else Y


def from_g(G, steps=5):
    X = G / G.norm().clamp(min=1e-7)
    M = X @ X.T
    for _ in range(steps):
        Y = A * X + (B * M + C * M @ M) @ X
    return Y if steps else X


def entries(G, steps=5):
    X = G / G.norm().clamp(min=1e-7)
    for _ in range(steps):
        X = A * X + B * X**3 + C * X**5
    return X


def a_random_search():
    generator = np.random.default_rng(0)
    x = np.geomspace(0.002, 1, 2000)
    best = (A, B, C)
    for t in np.array([3.5, -5.0, 2.2]) + 0.05 * generator.standard_normal((400, 3)):
        y = x
        for _ in range(5):
            y = y * (t[0] + y**2 * (t[1] + y**2 * t[2]))
        if y.min() > 0.682 and y.max() < 1.208 and t[0] > best[0]:
            best = t
    return best


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
    "02-e3": {
        "right": {
            "own": schulz(),
            "svd": through_another_svd,
            "right side": of_the_right_side,
            "numpy": in_numpy,
            "eye": with_eye,
            "recursive": recursive,
            "float64": lambda G, steps=5: schulz()(G.double(), steps),
            "eps": schulz(divide=lambda G: G / (G.norm() + 1e-7)),
            "by hand": schulz(divide=lambda G: G / ((G**2).sum() ** 0.5 + 1e-9)),
        },
        "wrong": {
            "package": lambda G, steps=5: newton_schulz(G, steps, dtype=torch.float32),
            "no division": schulz(divide=lambda G: G),
            "largest entry": schulz(divide=lambda G: G / (G.abs().max() + 1e-9)),
            "spectral norm": schulz(divide=lambda G: G / (torch.linalg.matrix_norm(G, 2) + 1e-9)),
            "rows": schulz(divide=lambda G: G / (G.norm(dim=1, keepdim=True) + 1e-9)),
            "zero": schulz(divide=lambda G: G / G.norm()),
            "large eps": schulz(divide=lambda G: G / (G.norm() + 0.1)),
            "not turned": schulz(tall=False),
            "in place": in_place_on_g,
            "sign of b": schulz((A, -B, C)),
            "exchanged": schulz((A, C, B)),
            "cubic": schulz((1.5, -0.5, 0)),
            "quintic": schulz((1.875, -1.25, 0.375)),
            "one more": schulz(extra=1),
            "one step": returns_early,
            "gram once": gram_once,
            "divides always": divides_always,
            "forgets": forgets_to_turn_back,
            "same X": from_g,
            "entries": entries,
            "bf16": lambda G, steps=5: schulz()(G.bfloat16(), steps),
            "polar": lambda G, steps=5: polar(G),
            "numbers": lambda G, steps=5: (A, B, C),
            "no steps": lambda G: schulz()(G),
            "first of two": lambda G, steps=5: (schulz()(G, steps), steps),
        },
    },
    "02-e4": {
        "right": {
            "by hand": lambda: (3.5, -5.0, 2.2),
            "list": lambda: [3.55, -5.2, 2.35],
            "tensor": lambda: torch.tensor([3.5, -5.1, 2.3]),
            "numpy": lambda: np.array([3.5, -5.0, 2.25]),
            "search": a_random_search,
            "five triples": lambda: [(3.5, -5.0, 2.2)] * 5,
            "Polar Express": lambda: POLAR_EXPRESS[:5],
            "barely": lambda: (3.45, -4.80, 2.05),
        },
        "wrong": {
            "Jordan": lambda: (A, B, C),
            "quintic": lambda: (1.875, -1.25, 0.375),
            "cubic": lambda: (1.5, -0.5, 0.0),
            "flat": lambda: (3.3965, -4.7382, 2.1532),
            "steeper only": lambda: (3.6, B, C),
            "wild": lambda: (9.0, 9.0, 9.0),
            "negative": lambda: (-3.5, 5.0, -2.2),
            "two": lambda: (3.5, -5.0),
            "four triples": lambda: [(3.5, -5.0, 2.2)] * 4,
            "word": lambda: "3.5, -5, 2.2",
            "growth": lambda: 525.2,
            "nan": lambda: (math.nan, -5.0, 2.2),
            "infinite": lambda: (math.inf, -5.0, 2.2),
            "zeros": lambda: (0.0, 0.0, 0.0),
        },
    },
}
