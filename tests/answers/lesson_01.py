"""Answers to the exercises of lesson 01, as students write them: right ones and wrong ones."""

import numpy as np
import torch
from torch.linalg import svd

from muonlab import newton_schulz, polar


def one_by_one(g):
    d = []
    for entry in g:
        if entry > 0:
            d.append(1.0)
        elif entry < 0:
            d.append(-1.0)
        else:
            d.append(0.0)
    return d


def zeros_up(g):
    d = torch.ones_like(g)
    d[g < 0] = -1
    return d


def normed(G):
    return G / torch.linalg.matrix_norm(G, 2)


def by_eigenvectors(G):
    G = G.double()
    M, V = torch.linalg.eigh(G.T @ G)
    keep = M > 1e-9
    return G @ (V[:, keep] / M[keep].sqrt()) @ V[:, keep].T


def iterated(G):
    X = G.double() / G.norm()
    for _ in range(60):
        X = 1.5 * X - 0.5 * X @ X.T @ X
    return X


def iterated_too_little(G):
    X = G / G.norm()
    for _ in range(3):
        X = 1.5 * X - 0.5 * X @ X.T @ X
    return X


def with_a_loop(G):
    U, S, Vt = svd(G, full_matrices=False)
    D = torch.zeros_like(G)
    for i in range(len(S)):
        D += torch.outer(U[:, i], Vt[i])
    return D


def without_the_last(G):
    U, S, Vt = svd(G, full_matrices=False)
    D = torch.zeros_like(G)
    for i in range(len(S) - 1):
        D += torch.outer(U[:, i], Vt[i])
    return D


def numpy_polar(G):
    U, _, Vt = np.linalg.svd(G.numpy(), full_matrices=False)
    return U @ Vt


def full(G):
    U, _, Vt = svd(G)
    return U @ Vt


def full_and_cut(G):
    U, _, Vt = svd(G)
    k = min(G.shape)
    return U[:, :k] @ Vt[:k]


def model_by_loop(G, curvature):
    U, S, Vt = svd(G, full_matrices=False)
    return sum(-S.sum() / curvature * torch.outer(U[:, i], Vt[i]) for i in range(len(S)))


def rows_in_a_loop(G):
    return torch.stack([row / row.norm() if row.norm() > 0 else row for row in G])


def some_direction(G):
    G = G.clone()
    G[G.norm(dim=1) == 0, 0] = 1
    return G / G.norm(dim=1, keepdim=True)


KINDS = {
    "dense": full_and_cut,
    "one-hot": lambda G: G / G.norm(dim=1, keepdim=True).clamp(min=1e-12),
    "factors": torch.sign,
}


def three(inputs, G, dense=full_and_cut, row=KINDS["one-hot"], gain=torch.sign):
    return {"dense": dense, "one-hot": row, "factors": gain}[inputs](G)


SPECTRAL = {
    "right": {
        "loop": with_a_loop,
        "eigenvectors": by_eigenvectors,
        "many cubic steps": iterated,
        "numpy": numpy_polar,
        "cut": full_and_cut,
        "torch.svd": lambda G: torch.svd(G).U @ torch.svd(G).V.T,
        "ones on the diagonal": lambda G: (
            svd(G, full_matrices=False).U @ torch.eye(min(G.shape)) @ svd(G, full_matrices=False).Vh
        ),
        "list": lambda G: numpy_polar(G).tolist(),
    },
    "wrong": {
        "the package": polar,
        "Newton-Schulz": newton_schulz,
        "normed": normed,
        "normalize": lambda G: torch.nn.functional.normalize(G),
        "few steps": iterated_too_little,
        "without the last": without_the_last,
        "full": full,
        "descent": lambda G: -numpy_polar(G),
        "transposed": lambda G: numpy_polar(G).T,
        "S kept": lambda G: torch.svd(G).U @ torch.diag(torch.svd(G).S) @ torch.svd(G).V.T,
        "V not transposed": lambda G: torch.svd(G).U @ torch.svd(G).V,
        "sign": lambda G: torch.sign(G),
        "clamp": lambda G: G.clamp(-1, 1),
        "singular values": lambda G: torch.linalg.svdvals(G),
        "ones": lambda G: torch.ones_like(G),
        "identity": lambda G: torch.eye(*G.shape),
        "QR": lambda G: torch.linalg.qr(G).Q,
        "triple": lambda G: svd(G, full_matrices=False),
        "U alone": lambda G: svd(G, full_matrices=False).U,
        "norm": lambda G: G / G.norm(),
    },
}


def with_spectral(step):
    """The answer for three norms, right in two of them."""

    def answer(G, norm):
        if norm == "spectral":
            return step(G)
        return G / G.norm() if norm == "Frobenius" else G.sign()

    return answer


ANSWERS = {
    "01-e5": {
        kind: {name: with_spectral(step) for name, step in steps.items()}
        for kind, steps in SPECTRAL.items()
    },
    "01-e2": {
        "right": {
            "numpy": lambda G, c: -np.linalg.svd(G.numpy())[1].sum() / c * numpy_polar(G),
            "nuclear norm": lambda G, c: -torch.linalg.matrix_norm(G, "nuc") / c * with_a_loop(G),
            "gain": lambda G, c: -(G * with_a_loop(G)).sum() / c * with_a_loop(G),
            "eigenvectors": lambda G, c: -(by_eigenvectors(G) * G).sum() / c * by_eigenvectors(G),
            "sum of outer products": model_by_loop,
            "list": lambda G, c: (-svd(G).S.sum() / c * full_and_cut(G)).tolist(),
        },
        "wrong": {
            "no minus": lambda G, c: svd(G).S.sum() / c * full_and_cut(G),
            "unit": lambda G, c: -full_and_cut(G),
            "unit, no minus": lambda G, c: full_and_cut(G),
            "rate only": lambda G, c: -full_and_cut(G) / c,
            "gradient": lambda G, c: -G / c,
            "times": lambda G, c: -svd(G).S.sum() * c * full_and_cut(G),
            "half": lambda G, c: -svd(G).S.sum() / (2 * c) * full_and_cut(G),
            "twice": lambda G, c: -2 * svd(G).S.sum() / c * full_and_cut(G),
            "spectral": lambda G, c: -svd(G).S.max() / c * full_and_cut(G),
            "frobenius": lambda G, c: -G.norm() / c * full_and_cut(G),
            "mean": lambda G, c: -svd(G).S.mean() / c * full_and_cut(G),
            "no curvature": lambda G, c: -svd(G).S.sum() * full_and_cut(G),
            "the package": lambda G, c: -svd(G).S.sum() / c * polar(G),
            "S kept": lambda G, c: -svd(G).S.sum() / c * G,
            "number": lambda G, c: -(svd(G).S.sum() ** 2) / (2 * c),
            "transposed": lambda G, c: (-svd(G).S.sum() / c * full_and_cut(G)).T,
            "minus curvature": lambda G, c: -svd(G).S.sum() - c * full_and_cut(G),
        },
    },
    "01-e4": {
        "right": {
            "dictionary": lambda inputs, G: KINDS[inputs](G),
            "polar and normalize": lambda inputs, G: three(
                inputs, G, row=torch.nn.functional.normalize
            ),
            "numpy": lambda inputs, G: three(inputs, G).numpy(),
            "rows one by one": lambda inputs, G: three(inputs, G, row=rows_in_a_loop),
            "zero rows take a direction": lambda inputs, G: three(inputs, G, row=some_direction),
            "gain in a loop": lambda inputs, G: three(inputs, G, gain=one_by_one),
            "gain up where 0": lambda inputs, G: three(inputs, G, gain=zeros_up),
        },
        "wrong": {
            "dense for all": lambda inputs, G: three(inputs, G, row=full_and_cut),
            "columns": lambda inputs, G: three(inputs, G, row=lambda G: G / G.norm(dim=0)),
            "divides by zero": lambda inputs, G: three(
                inputs, G, row=lambda G: G / G.norm(dim=1)[:, None]
            ),
            "longest row": lambda inputs, G: three(
                inputs, G, row=lambda G: G / G.norm(dim=1).max()
            ),
            "sign of rows": lambda inputs, G: three(inputs, G, row=torch.sign),
            "frobenius rows": lambda inputs, G: three(inputs, G, row=lambda G: G / G.norm()),
            "smoothed rows": lambda inputs, G: three(
                inputs, G, row=lambda G: G / (G.norm(dim=1)[:, None] + 0.1)
            ),
            "dense gradient": lambda inputs, G: three(inputs, G, dense=lambda G: G / G.norm()),
            "dense normed": lambda inputs, G: three(inputs, G, dense=normed),
            "dense sign": lambda inputs, G: three(inputs, G, dense=torch.sign),
            "gain unit": lambda inputs, G: three(inputs, G, gain=lambda g: g / g.norm()),
            "gain scaled": lambda inputs, G: three(inputs, G, gain=lambda g: g / g.abs().max()),
            "gain descent": lambda inputs, G: three(inputs, G, gain=lambda g: -g.sign()),
            "no gain": lambda inputs, G: three(inputs, G) if inputs != "factors" else None,
            "wrong words": lambda inputs, G: three("dense" if inputs == "one-hot" else inputs, G),
            "a sum": lambda inputs, G: three(inputs, G).sum(),
        },
    },
}
