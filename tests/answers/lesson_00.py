"""Answers to the exercise of lesson 00, as students write them: right ones and wrong ones."""

import numpy as np
import torch
from torch.linalg import svd

from muonlab import newton_schulz, polar


def sum_of_directions(G):
    U, S, Vh = svd(G, full_matrices=False)
    D = torch.zeros_like(G)
    for i in range(len(S)):
        if S[i] > 1e-6 * S[0]:
            D += torch.outer(U[:, i], Vh[i])
    return D


def with_numpy(G):
    U, S, Vh = np.linalg.svd(G.numpy(), full_matrices=False)
    return (U * (S > 1e-6 * S[0])) @ Vh


def a_mask_in_the_middle(G):
    U, S, Vh = svd(G, full_matrices=False)
    return U @ torch.diag((S > 1e-6 * S[0]).float()) @ Vh


def old_svd(G):
    U, S, V = torch.svd(G)
    there = S > 1e-6 * S[0]
    return U[:, there] @ V[:, there].T


def clamped(G):
    U, S, Vh = svd(G, full_matrices=False)
    S[S > 1e-6 * S[0]] = 1
    S[S < 1] = 0
    return U @ S.diag() @ Vh


def all_directions(G):
    U, _, Vh = svd(G, full_matrices=False)
    return U @ Vh


def above_zero(G):
    U, S, Vh = svd(G, full_matrices=False)
    return U[:, S > 0] @ Vh[S > 0]


def above_a_tenth(G):
    U, S, Vh = svd(G, full_matrices=False)
    return U[:, S > 0.9] @ Vh[S > 0.9]


def full(G):
    U, _, Vh = svd(G)
    return U @ Vh


def lengths_alone(G):
    return svd(G).S


def rows(G):
    return G / G.norm(dim=1, keepdim=True)


def columns(G):
    return G / G.norm(dim=0, keepdim=True)


def prints(G):
    print(a_mask_in_the_middle(G))


def only_wide(G):
    if G.shape[0] <= G.shape[1]:
        return a_mask_in_the_middle(G)


def wrong_order(G):
    U, _, Vh = svd(G, full_matrices=False)
    return Vh.T @ U.T


ANSWERS = {
    "00-e2": {
        "right": {
            "sum": sum_of_directions,
            "numpy": with_numpy,
            "mask": a_mask_in_the_middle,
            "old svd": old_svd,
            "clamped": clamped,
            "two digits": lambda G: a_mask_in_the_middle(G).mul(1000).round() / 1000,
        },
        "wrong": {
            "all directions": all_directions,
            "above zero": above_zero,
            "above a tenth": above_a_tenth,
            "full": full,
            "lengths": lengths_alone,
            "rows": rows,
            "columns": columns,
            "prints": prints,
            "wide only": only_wide,
            "wrong order": wrong_order,
            "the library's": polar,
            "Newton-Schulz": newton_schulz,
            "one digit": lambda G: a_mask_in_the_middle(G).mul(10).round() / 10,
            "softmax": lambda G: torch.softmax(G, 1),
            "orthogonal": lambda G: torch.linalg.qr(G).Q,
        },
    },
}
