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


def in_place(g):
    g[g > 0] = 1
    g[g < 0] = -1
    return g


def forgets_the_negative(g):
    d = torch.zeros(len(g))
    for i in range(len(g)):
        if g[i] > 0:
            d[i] = 1
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


def in_two_steps(direction, G, Q):
    first = direction(torch.matmul(Q, G))
    second = torch.matmul(Q, direction(G))
    difference = (first - second).flatten()
    return torch.dot(difference, difference) ** 0.5


def with_loops(direction, G, Q):
    total = 0.0
    a, b = direction(Q @ G), Q @ direction(G)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total += (a[i, j] - b[i, j]).item() ** 2
    return total**0.5


ANSWERS = {
    "01-e1": {
        "right": {
            "sgn": torch.sgn,
            "one by one": one_by_one,
            "zeros up": zeros_up,
            "numpy": lambda g: np.sign(g.numpy()),
            "where": lambda g: torch.where(g >= 0, 1.0, -1.0),
            "whole numbers": lambda g: g.sign().long(),
            "with a gradient": lambda g: torch.nn.Parameter(g.sign()),
            "tuple": lambda g: tuple(float(x > 0) - float(x < 0) for x in g),
        },
        "wrong": {
            "descent": lambda g: -torch.sign(g),
            "unit": lambda g: torch.nn.functional.normalize(g, dim=0),
            "max": lambda g: g / g.max(),
            "abs max": lambda g: g / torch.max(torch.abs(g)),
            "clamp": lambda g: torch.clamp(g, -1, 1),
            "tanh": torch.tanh,
            "softmax": lambda g: torch.softmax(g, 0),
            "abs": torch.abs,
            "ones": torch.ones_like,
            "identity": lambda g: g,
            "no negative": forgets_the_negative,
            "in place": in_place,
            "largest": lambda g: torch.nn.functional.one_hot(g.argmax(), len(g)).float(),
            "dual norm": lambda g: g.abs().sum(),
            "bools": lambda g: g > 0,
            "divides": lambda g: g / g.abs(),
            "sqrt": lambda g: g.sign() / len(g) ** 0.5,
            "wrong zero": lambda g: torch.where(g > 0.5, 1.0, -1.0),
            "infinite at zero": lambda g: 1 / g * g.abs(),
            "column": lambda g: g.sign()[:, None],
        },
    },
    "01-e2": {
        "right": {
            "loop": with_a_loop,
            "eigenvectors": by_eigenvectors,
            "many cubic steps": iterated,
            "numpy": numpy_polar,
            "cut": full_and_cut,
            "torch.svd": lambda G: torch.svd(G).U @ torch.svd(G).V.T,
            "ones on the diagonal": lambda G: (
                svd(G, full_matrices=False).U
                @ torch.eye(min(G.shape))
                @ svd(G, full_matrices=False).Vh
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
    },
    "01-e3": {
        "right": {
            "two steps": in_two_steps,
            "loops": with_loops,
            "matrix_norm": lambda f, G, Q: torch.linalg.matrix_norm(f(Q @ G) - Q @ f(G), "fro"),
            "trace": lambda f, G, Q: ((D := f(Q @ G) - Q @ f(G)).T @ D).trace().sqrt(),
            "numpy": lambda f, G, Q: np.linalg.norm((f(Q @ G) - Q @ f(G)).numpy()),
            "dist": lambda f, G, Q: torch.dist(f(Q.mm(G)), Q.mm(f(G))),
            "singular values": lambda f, G, Q: torch.linalg.svdvals(f(Q @ G) - Q @ f(G)).norm(),
        },
        "wrong": {
            "matrix": lambda f, G, Q: f(Q @ G) - Q @ f(G),
            "no Q": lambda f, G, Q: (f(Q @ G) - f(G)).norm(),
            "right side": lambda f, G, Q: (f(G @ Q) - f(G) @ Q).norm(),
            "transposed": lambda f, G, Q: (f(Q.T @ G) - Q.T @ f(G)).norm(),
            "rotated back": lambda f, G, Q: (f(Q @ G) - Q.T @ f(G)).norm(),
            "squared": lambda f, G, Q: ((f(Q @ G) - Q @ f(G)) ** 2).sum(),
            "mean": lambda f, G, Q: ((f(Q @ G) - Q @ f(G)) ** 2).mean().sqrt(),
            "spectral": lambda f, G, Q: torch.linalg.norm(f(Q @ G) - Q @ f(G), 2),
            "nuclear": lambda f, G, Q: torch.linalg.norm(f(Q @ G) - Q @ f(G), "nuc"),
            "plus": lambda f, G, Q: (f(Q @ G) + Q @ f(G)).norm(),
            "relative": lambda f, G, Q: (f(Q @ G) - Q @ f(G)).norm() / f(G).norm(),
            "allclose": lambda f, G, Q: torch.allclose(f(Q @ G), Q @ f(G)),
            "entrywise": lambda f, G, Q: (f(Q * G) - Q * f(G)).norm(),
            "largest": lambda f, G, Q: (f(Q @ G) - Q @ f(G)).abs().max(),
            "polar always": lambda f, G, Q: (polar(Q @ G) - Q @ polar(G)).norm(),
            "no direction": lambda f, G, Q: (f(Q @ G) - Q @ G).norm(),
            "two norms": lambda f, G, Q: f(Q @ G).norm() - (Q @ f(G)).norm(),
            "f of Q": lambda f, G, Q: (f(Q @ G) - f(Q) @ f(G)).norm(),
        },
    },
}
