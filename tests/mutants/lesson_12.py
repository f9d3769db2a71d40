"""Typical answers to the exercises of lesson 12: wrong ones to reject, right ones to accept."""

import numpy
import torch

from muonlab import newton_schulz, polar


def svd(G):
    return torch.linalg.svd(G, full_matrices=False)


def mean(X):
    return X.square().mean(1)


def moved(X, v, beta2):
    return beta2 * v + (1 - beta2) * mean(X)


def divided_in_a_loop(X, v, beta2):
    rows = []
    for row, old in zip(X, v, strict=True):
        mean = sum(x * x for x in row.tolist()) / len(row)
        rows.append(row / (beta2 * old + (1 - beta2) * mean) ** 0.5)
    return torch.stack(rows)


def update_of(divided):
    return 0.2 * divided.numel() ** 0.5 / divided.norm() * divided


def unit(X):
    return X / X.norm()


def over(X, v):
    return update_of(X / v.sqrt()[:, None])


ANSWERS = {
    "12-e1": {
        "wrong": {
            "norms": lambda G: polar(G).norm(dim=1),
            "of G": lambda G: G.square().sum(1),
            "whole U": lambda G: torch.linalg.svd(G)[0].square().sum(1),
            "means": lambda G: polar(G).square().mean(1),
            "no squares": lambda G: polar(G).sum(1),
            "columns": lambda G: polar(G).square().sum(0),
            "of U, no squares": lambda G: svd(G)[0].sum(1),
            "norms of G": lambda G: G.norm(dim=1),
            "divided by the norm": lambda G: (G / G.norm()).square().sum(1),
            "divided by the largest": lambda G: (G / svd(G)[1][0]).square().sum(1),
            "five steps": lambda G: newton_schulz(G).square().sum(1),
            "columns of U": lambda G: svd(G)[0].square().sum(0),
            "sum first": lambda G: polar(G).sum(1).square(),
            "sizes": lambda G: polar(G).abs().sum(1),
            "all alike": lambda G: torch.ones(len(G)) * min(G.shape) / len(G),
            "roots kept": lambda G: (svd(G)[0] * svd(G)[1].sqrt()).square().sum(1),
            "whole product": lambda G: polar(G) @ polar(G).T,
            "entries": lambda G: polar(G).square(),
            "in place": lambda G: G.div_(G.norm()).square().sum(1),
        },
        "generic": {
            "cubes": lambda G: polar(G).abs().pow(3).sum(1),
            "inverse, tall only": lambda G: (
                G @ (G.T @ G + torch.eye(G.size(1))).inverse() @ G.T
            ).diag(),
        },
        "right": {
            "U": lambda G: svd(G)[0].square().sum(1),
            "polar": lambda G: polar(G).square().sum(1),
            "hat matrix": lambda G: (G @ torch.linalg.pinv(G)).diagonal(),
            "einsum": lambda G: torch.einsum("ij,ij->i", polar(G), polar(G)),
            "QR": lambda G: torch.linalg.qr(G)[0].square().sum(1),
            "NumPy": lambda G: (numpy.linalg.svd(G.numpy(), full_matrices=False)[0] ** 2).sum(
                axis=1
            ),
            "list": lambda G: [row.dot(row) for row in polar(G.double())],
            "a wide one is known": lambda G: (
                svd(G)[0].square().sum(1) if G.size(0) > G.size(1) else (1.0,) * G.size(0)
            ),
        },
    },
    "12-e4": {
        "wrong": {
            "weights swapped": lambda X, v, b: over(X, (1 - b) * v + b * mean(X)),
            "sum": lambda X, v, b: over(X, b * v + (1 - b) * X.square().sum(1)),
            "no root": lambda X, v, b: update_of(X / moved(X, v, b)[:, None]),
            "old v": lambda X, v, b: over(X, v),
            "this step alone": lambda X, v, b: over(X, mean(X)),
            "multiplied": lambda X, v, b: update_of(X * moved(X, v, b).sqrt()[:, None]),
            "each entry": lambda X, v, b: update_of(
                X / (b * v[:, None] + (1 - b) * X.square()).sqrt()
            ),
            "in place": lambda X, v, b: over(X, v.lerp_(mean(X), 1 - b)),
            "norms": lambda X, v, b: over(X, b * v + (1 - b) * X.norm(dim=1)),
            "roots averaged": lambda X, v, b: update_of(
                X / (b * v.sqrt() + (1 - b) * mean(X).sqrt())[:, None]
            ),
            "squared mean": lambda X, v, b: over(X, b * v + (1 - b) * X.mean(1) ** 2),
            "sizes": lambda X, v, b: over(X, b * v + (1 - b) * X.abs().mean(1)),
            "variance": lambda X, v, b: over(X, b * v + (1 - b) * X.var(1)),
            "one for all": lambda X, v, b: over(X, b * v + (1 - b) * X.square().mean()),
            "old v whole": lambda X, v, b: over(X, v + (1 - b) * mean(X)),
            "new mean whole": lambda X, v, b: over(X, b * v + mean(X)),
            "always .95": lambda X, v, b: over(X, moved(X, v, 0.95)),
            "not divided": lambda X, v, b: update_of(X),
            "no length": lambda X, v, b: X / moved(X, v, b).sqrt()[:, None],
            "norm 1": lambda X, v, b: unit(over(X, moved(X, v, b))),
            "norm 0.2": lambda X, v, b: 0.2 * unit(over(X, moved(X, v, b))),
            "RMS 1": lambda X, v, b: 5 * over(X, moved(X, v, b)),
            "0.2 alone": lambda X, v, b: 0.2 * X / moved(X, v, b).sqrt()[:, None],
            "O's norm": lambda X, v, b: X.norm() * unit(over(X, moved(X, v, b))),
            "norm before": lambda X, v, b: (
                0.2 * X.numel() ** 0.5 / X.norm() * X / moved(X, v, b).sqrt()[:, None]
            ),
            "no root of mn": lambda X, v, b: 0.2 * X.numel() * unit(over(X, moved(X, v, b))),
            "Muon's factor": lambda X, v, b: (
                0.2 * max(X.shape) ** 0.5 * X / moved(X, v, b).sqrt()[:, None]
            ),
            "v": moved,
            "sign": lambda X, v, b: -over(X, moved(X, v, b)),
            "across": lambda X, v, b: update_of(X / moved(X, v, b).sqrt()),
            "a pair": lambda X, v, b: (over(X, moved(X, v, b)), moved(X, v, b)),
        },
        "generic": {
            "a large ε": lambda X, v, b: update_of(X / (moved(X, v, b).sqrt()[:, None] + 0.1)),
            "fourth root": lambda X, v, b: update_of(X / moved(X, v, b).pow(0.25)[:, None]),
        },
        "right": {
            "direct": lambda X, v, b: over(X, moved(X, v, b)),
            "lerp": lambda X, v, b: update_of(X * v.lerp(mean(X), 1 - b).rsqrt()[:, None]),
            "loop": lambda X, v, b: update_of(divided_in_a_loop(X, v, b)),
            "with ε": lambda X, v, b: update_of(X / (moved(X, v, b).sqrt() + 1e-8).unsqueeze(1)),
            "corrected": lambda X, v, b: over(X, moved(X, v, b) / (1 - b)),
            "by the mean square": lambda X, v, b: (
                0.2 * (D := divided_in_a_loop(X, v, b)) / D.square().mean().sqrt()
            ),
            "diagonal": lambda X, v, b: update_of(torch.diag(moved(X, v, b) ** -0.5) @ X),
            "NumPy": lambda X, v, b: over(X, moved(X, v, b)).double().numpy(),
            "lists": lambda X, v, b: over(X, moved(X, v, b)).tolist(),
        },
    },
}
