"""Typical answers to the exercises of lesson 02: wrong ones to reject, right ones to accept."""

import math

import torch


def schulz(t=(3.4445, -4.7750, 2.0315), divide=True, tall=True, least=1e-7, extra=0):
    def answer(G, steps=5):
        X = G / G.norm().clamp(min=least) if divide else G
        turned = tall and G.shape[0] > G.shape[1]
        X = X.T if turned else X
        for _ in range(steps + extra):
            A = X @ X.T
            X = t[0] * X + (t[1] * A + t[2] * A @ A) @ X
        return X.T if turned else X

    return answer


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
    "02-e3": {
        "wrong": {
            "not divided": schulz(divide=False),
            "sign of b": schulz(t=(3.4445, 4.775, 2.0315)),
            "classical": schulz(t=(1.875, -1.25, 0.375)),
            "one step too many": schulz(extra=1),
            "tall not transposed": schulz(tall=False),
            "NaN for zeros": schulz(least=0),
        },
        "right": {"as told": schulz(), "tiny": schulz(least=1e-12)},
    },
    "02-e4": {
        "wrong": {
            "Jordan's own": lambda: (3.4445, -4.7750, 2.0315),
            "classical": lambda: (1.875, -1.25, 0.375),
            "a raised alone": lambda: (3.7, -4.775, 2.0315),
            "two numbers": lambda: (3.5, -5.0),
            "no number": lambda: (math.nan, 0, 0),
        },
        "right": {
            "by hand": lambda: (3.5, -5.0, 2.2),
            "by search": lambda: torch.tensor([3.58, -5.3, 2.412]),
        },
    },
}
