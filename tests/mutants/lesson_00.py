"""Typical answers to the exercise of lesson 00: wrong ones to reject, right ones to accept."""

import torch


def parts(G):
    U, S, Vh = torch.linalg.svd(G, full_matrices=False)
    there = 1e-6 * S[0] < S
    return U[:, there], S[there], Vh[there]


def by(change):
    """The product of the parts after a change of all three."""

    def answer(G):
        U, S, Vh = change(*parts(G))
        return U * S @ Vh

    return answer


def but_the_last(U, S, Vh):
    keep = max(len(S) - 1, min(len(S), 1))
    return U[:, :keep], S[:keep] ** 0, Vh[:keep]


def eigenvectors(G):
    values, V = torch.linalg.eigh(G.double().mT @ G.double())
    there = values > 1e-9 * values.max()
    return (G.double() @ V[:, there] / values[there].sqrt() @ V[:, there].mT).float()


ANSWERS = {
    "00-e2": {
        "wrong": {
            "itself": lambda G: G.clone(),
            "minus": by(lambda U, S, Vh: (-U, S**0, Vh)),
            "transposed": lambda G: by(lambda U, S, Vh: (U, S**0, Vh))(G).T,
            "over the longest": lambda G: G / torch.linalg.matrix_norm(G, 2).clamp(min=1e-9),
            "Frobenius": lambda G: G / G.norm().clamp(min=1e-9),
            "sum": lambda G: G / torch.linalg.svdvals(G).sum().clamp(min=1e-9),
            "first only": by(lambda U, S, Vh: (U[:, :1], S[:1] ** 0, Vh[:1])),
            "without the first": by(lambda U, S, Vh: (U[:, 1:], S[1:] ** 0, Vh[1:])),
            "without the last": by(but_the_last),
            "inverse": by(lambda U, S, Vh: (U, 1 / S, Vh)),
            "inverse square": by(lambda U, S, Vh: (U, 1 / S**2, Vh)),
            "root": by(lambda U, S, Vh: (U, S**0.5, Vh)),
            "norm 1": by(lambda U, S, Vh: (U, S**0 / max(1, len(S)) ** 0.5, Vh)),
            "sign": torch.sign,
            "two": by(lambda U, S, Vh: (U, 2 * S**0, Vh)),
        },
        "right": {
            "parts": by(lambda U, S, Vh: (U, S**0, Vh)),
            "eigenvectors": eigenvectors,
        },
    },
}
