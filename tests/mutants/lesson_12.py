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


def shape_factor(X):
    return max(1, X.size(0) / X.size(1)) ** 0.5


def kept(X, divided):
    return divided * X.norm() / divided.norm()


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
    "12-e2": {
        "wrong": {
            "weights swapped": lambda X, v, b: X / ((1 - b) * v + b * mean(X)).sqrt()[:, None],
            "sum": lambda X, v, b: X / (b * v + (1 - b) * X.square().sum(1)).sqrt()[:, None],
            "no root": lambda X, v, b: X / moved(X, v, b)[:, None],
            "old v": lambda X, v, b: X / v.sqrt()[:, None],
            "this step alone": lambda X, v, b: X / mean(X).sqrt()[:, None],
            "multiplied": lambda X, v, b: X * moved(X, v, b).sqrt()[:, None],
            "each entry": lambda X, v, b: X / (b * v[:, None] + (1 - b) * X.square()).sqrt(),
            "unit rows": lambda X, v, b: X / X.norm(dim=1, keepdim=True),
            "in place": lambda X, v, b: X / v.lerp_(mean(X), 1 - b).sqrt()[:, None],
            "norms": lambda X, v, b: X / (b * v + (1 - b) * X.norm(dim=1)).sqrt()[:, None],
            "roots averaged": lambda X, v, b: (
                X / (b * v.sqrt() + (1 - b) * mean(X).sqrt())[:, None]
            ),
            "squared mean": lambda X, v, b: X / (b * v + (1 - b) * X.mean(1) ** 2).sqrt()[:, None],
            "sizes": lambda X, v, b: X / (b * v + (1 - b) * X.abs().mean(1)).sqrt()[:, None],
            "variance": lambda X, v, b: X / (b * v + (1 - b) * X.var(1)).sqrt()[:, None],
            "one for all": lambda X, v, b: (
                X / (b * v + (1 - b) * X.square().mean()).sqrt()[:, None]
            ),
            "old v whole": lambda X, v, b: X / (v + (1 - b) * mean(X)).sqrt()[:, None],
            "new mean whole": lambda X, v, b: X / (b * v + mean(X)).sqrt()[:, None],
            "corrected": lambda X, v, b: X / (moved(X, v, b) / (1 - b)).sqrt()[:, None],
            "always .95": lambda X, v, b: X / moved(X, v, 0.95).sqrt()[:, None],
            "paper's norm": lambda X, v, b: update_of(X / moved(X, v, b).sqrt()[:, None]),
            "v": moved,
            "sign": lambda X, v, b: -X / moved(X, v, b).sqrt()[:, None],
            "across": lambda X, v, b: X / moved(X, v, b).sqrt(),
            "a pair": lambda X, v, b: (X / moved(X, v, b).sqrt()[:, None], moved(X, v, b)),
        },
        "generic": {
            "a large ε": lambda X, v, b: X / (moved(X, v, b).sqrt()[:, None] + 0.1),
            "fourth root": lambda X, v, b: X / moved(X, v, b).pow(0.25)[:, None],
        },
        "right": {
            "direct": lambda X, v, b: X / moved(X, v, b).sqrt()[:, None],
            "lerp": lambda X, v, b: X * v.lerp(mean(X), 1 - b).rsqrt()[:, None],
            "loop": divided_in_a_loop,
            "with ε": lambda X, v, b: X / (moved(X, v, b).sqrt() + 1e-8).unsqueeze(1),
            "columns first": lambda X, v, b: (X.T / moved(X, v, b).sqrt()).T,
            "diagonal": lambda X, v, b: torch.diag(moved(X, v, b) ** -0.5) @ X,
            "NumPy": lambda X, v, b: (X / moved(X, v, b).sqrt()[:, None]).double().numpy(),
            "lists": lambda X, v, b: divided_in_a_loop(X, v, b).tolist(),
        },
    },
    "12-e3": {
        "wrong": {
            "paper": lambda X, D: 0.2 * X.numel() ** 0.5 / D.norm() * D,
            "no factor": kept,
            "no max": lambda X, D: (X.size(0) / X.size(1)) ** 0.5 * kept(X, D),
            "no root": lambda X, D: max(1, X.size(0) / X.size(1)) * kept(X, D),
            "sides": lambda X, D: max(1, X.size(1) / X.size(0)) ** 0.5 * kept(X, D),
            "upside down": lambda X, D: shape_factor(X) * D * D.norm() / X.norm(),
            "norm 1": lambda X, D: D / D.norm(),
            "spectral": lambda X, D: (
                shape_factor(X)
                * D
                * torch.linalg.matrix_norm(X, 2)
                / torch.linalg.matrix_norm(D, 2)
            ),
            "O again": lambda X, D: X,
            "as it came": lambda X, D: D,
            "whole division": lambda X, D: max(1, len(X) // X.size(1)) ** 0.5 * kept(X, D),
            "min": lambda X, D: min(1, X.size(0) / X.size(1)) ** 0.5 * kept(X, D),
            "longer over shorter": lambda X, D: (max(X.shape) / min(X.shape)) ** 0.5 * kept(X, D),
            "divided by the factor": lambda X, D: kept(X, D) / shape_factor(X),
            "Moonlight's factor": lambda X, D: 0.2 * max(X.shape) ** 0.5 * kept(X, D),
            "an exact factor's norm": lambda X, D: (
                shape_factor(X) * min(X.shape) ** 0.5 * D / D.norm()
            ),
            "squares": lambda X, D: shape_factor(X) * D * (X.norm() / D.norm()) ** 2,
            "row by row": lambda X, D: (
                shape_factor(X) * D * (X.norm(dim=1) / D.norm(dim=1))[:, None]
            ),
            "factor alone": lambda X, D: shape_factor(X) * D,
            "not divided": lambda X, D: shape_factor(X) * X.norm() * D,
            "O scaled": lambda X, D: shape_factor(X) * X,
            "in place": lambda X, D: D.mul_(shape_factor(X) * X.norm() / D.norm()),
        },
        "generic": {
            "largest entries": lambda X, D: shape_factor(X) * D * X.abs().max() / D.abs().max(),
            "columns": lambda X, D: shape_factor(X) * D * X.norm(dim=0) / D.norm(dim=0),
        },
        "right": {
            "direct": lambda X, D: shape_factor(X) * kept(X, D),
            "sums": lambda X, D: shape_factor(X) * D * (X.square().sum() / D.square().sum()) ** 0.5,
            "RMS": lambda X, D: (
                D * shape_factor(X) * (X.square().mean() / D.square().mean()).sqrt()
            ),
            "longer over columns": lambda X, D: (
                torch.linalg.matrix_norm(X)
                * torch.nn.functional.normalize(D.flatten(), dim=0).view_as(D)
                * (max(X.shape) / X.size(1)) ** 0.5
            ),
            "in branches": lambda X, D: (
                kept(X, D) * (1 if X.size(0) <= X.size(1) else numpy.sqrt(X.size(0) / X.size(1)))
            ),
            "lists": lambda X, D: (shape_factor(X) * kept(X, D)).tolist(),
        },
    },
}
