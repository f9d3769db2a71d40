"""Typical answers to the exercises of lesson 01: wrong ones to reject, right ones to accept."""

import torch


def one_hot(g):
    d = torch.zeros_like(g)
    d[g.abs().argmax()] = g[g.abs().argmax()].sign()
    return d


def svd(G):
    return torch.linalg.svd(G, full_matrices=False)


ANSWERS = {
    "01-e1": {
        "wrong": {
            "minus sign": lambda g: -g.sign(),
            "scaled gradient": lambda g: g / g.abs().max(),
            "euclidean": lambda g: g / g.norm(),
            "largest entry only": one_hot,
            "too long": lambda g: 2 * g.sign(),
            "divides by zero": lambda g: g / g.abs(),
        },
        "right": {
            "divide by size": lambda g: torch.where(g == 0, g, g / g.abs()),
            "in float64": lambda g: g.double().sign(),
            "compare": lambda g: (g > 0).float() - (g < 0).float(),
        },
    },
    "01-e2": {
        "wrong": {
            "spectral norm": lambda G: G / svd(G)[1][0],
            "frobenius norm": lambda G: G / G.norm(),
            "first direction": lambda G: svd(G)[0][:, :1] @ svd(G)[2][:1],
            "minus": lambda G: -svd(G)[0] @ svd(G)[2],
            "sign": torch.sign,
        },
        "right": {
            "einsum": lambda G: torch.einsum("ik,kj->ij", svd(G)[0], svd(G)[2]),
            "inverse root": lambda G: (
                svd(G)[0]
                @ torch.diag(svd(G)[1])
                @ svd(G)[2]
                @ torch.linalg.pinv(svd(G)[2].T @ torch.diag(svd(G)[1]) @ svd(G)[2])
            ),
        },
    },
    "01-e3": {
        "wrong": {
            "not rotated back": lambda d, G, Q: (d(Q @ G) - d(G)).norm(),
            "transposed": lambda d, G, Q: (d(Q.T @ G) - Q.T @ d(G)).norm(),
            "always the sign": lambda d, G, Q: ((Q @ G).sign() - Q @ G.sign()).norm(),
            "square": lambda d, G, Q: (d(Q @ G) - Q @ d(G)).square().sum(),
            "spectral": lambda d, G, Q: torch.linalg.matrix_norm(d(Q @ G) - Q @ d(G), ord=2),
        },
        "right": {
            "root of sum": lambda d, G, Q: ((d(Q @ G) - Q @ d(G)) ** 2).sum().sqrt().item(),
            "other way round": lambda d, G, Q: torch.linalg.matrix_norm(Q @ d(G) - d(Q @ G)),
        },
    },
}
