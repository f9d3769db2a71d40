"""Answers to the exercises of lesson 07, as students write them: right ones and wrong ones."""

import math

import numpy as np
import torch

from muonlab.theory import descent, gd_worst


def odds_first(K, r, epsilon):
    best = (1 - epsilon) / epsilon
    exponent = math.log(best * (K - 1))
    rare = math.exp(r * exponent) / (K - 1)
    return rare / (rare + 1)


def one_over(K, r, epsilon):
    return 1 / (1 + (K - 1) / ((K - 1) * (1 / epsilon - 1)) ** r)


def loop(W, E, values, p):
    G = torch.zeros_like(W)
    for k in range(p.numel()):
        e = torch.zeros(p.numel())
        e[k] = 1
        q = (values.T @ W @ E[:, k]).softmax(dim=0)
        G += p[k] * values @ (e - q)[:, None] @ E[:, k][None, :]
    return G


def loss_of(W, E, values, p):
    return torch.nn.functional.cross_entropy(
        (values.T @ W @ E).T, torch.arange(len(p)), reduction="none"
    )


def differentiated(W, E, values, p):
    W = W.detach().clone().requires_grad_()
    return -torch.autograd.grad((p * loss_of(W, E, values, p)).sum(), W)[0]


def mean_loss(W, E, values, p):
    W = W.detach().clone().requires_grad_()
    return -torch.autograd.grad(loss_of(W, E, values, p).mean(), W)[0]


def halves(W, E, values, p):
    q = (values.T @ W @ E).softmax(0)
    return (values * p) @ E.T - values @ q @ p.diag() @ E.T


def bigger_step(W, E, values, p):
    return 2 * halves(W, E, values, p)


def keys_left(W, E, values, p):
    return (E @ ((torch.eye(len(p)) - (values.T @ W @ E).softmax(0)) * p).T @ values.T).T


def last_fact(W, E, values, p):
    q = (values.T @ W @ E).softmax(0)
    return p[-1] * torch.outer(values @ (torch.eye(len(p)) - q)[:, -1], E[:, -1])


def blocks(M, L):
    K = len(M)
    U = torch.zeros(K, 2)
    for k in range(K):
        U[k, int(k >= L)] = 1
    return U / U.norm(dim=0)


def by_blocks(M, L, scale=lambda core: core / core.square().sum().sqrt()):
    U = blocks(M, L)
    return torch.eye(len(M)) - U @ U.T + U @ scale(U.T @ M @ U) @ U.T


def by_newton(M, L):
    """Few enough steps that rounding in place of the zero stays small."""
    X = M.double() / M.double().norm()
    for _ in range(16):
        X = 1.5 * X - 0.5 * X @ X.T @ X
    return X


def by_eigenvectors(M, L):
    """M (MᵀM)^(-1/2) on what is not mapped to 0."""
    M = M.double()
    squares, V = torch.linalg.eigh(M.T @ M)
    keep = squares > 1e-9
    V, squares = V[:, keep], squares[keep]
    return M @ V @ (squares**-0.5).diag() @ V.T


def in_numpy(M, L):
    M = M.numpy().astype(float)
    U, S, Vh = np.linalg.svd(M)
    return U[:, S > 1e-6] @ Vh[S > 1e-6]


def in_lists(M, L):
    return by_blocks(M, L).tolist()


def one_vector(M, L):
    u = torch.ones(len(M), 1) / len(M) ** 0.5
    return torch.eye(len(M)) - u @ u.T + u @ u.T @ M @ u @ u.T


def first_only(M, L):
    U = blocks(M, L)[:, :1]
    core = U.T @ M @ U
    return torch.eye(len(M)) - U @ U.T + U @ (core / core.norm()) @ U.T


ANSWERS = {
    "07-e2": {
        "right": {
            "odds first": odds_first,
            "one over": one_over,
            "package": lambda K, r, e: torch.sigmoid(
                torch.tensor(r * math.log((K - 1) * (1 / e - 1)) - math.log(K - 1))
            ),
            "float": lambda K, r, e: float(np.exp(np.log(one_over(K, r, e)))),
            "tensor": lambda K, r, e: torch.tensor(odds_first(K, r, e)),
            "list": lambda K, r, e: [odds_first(K, r, e)][0],
        },
        "wrong": {
            "beta for r": lambda K, r, e: gd_worst(K, max(1, K // 5), 0.8, e),
            "odds": lambda K, r, e: ((K - 1) * (1 - e) / e) ** r / (K - 1),
            "no power": lambda K, r, e: 1 - e,
            "times r": lambda K, r, e: r * (1 - e),
            "logarithm": lambda K, r, e: math.log(odds_first(K, r, e)),
            "complement": lambda K, r, e: 1 - odds_first(K, r, e),
            "percent": lambda K, r, e: 100 * odds_first(K, r, e),
            "K for K - 1": lambda K, r, e: 1 / (1 + K / (K * (1 / e - 1)) ** r),
            "blind guess": lambda K, r, e: 1 / K,
            "r over K": lambda K, r, e: r / K,
            "order": lambda K, r, e: e**-r * K ** (r - 1),
            "as text": lambda K, r, e: f"{odds_first(K, r, e):.4f}",
        },
    },
    "07-e4": {
        "right": {
            "loop": loop,
            "halves": halves,
            "numpy": lambda *given: halves(*given).numpy(),
            "keys left": keys_left,
            "double": lambda W, E, values, p: halves(*(x.double() for x in (W, E, values, p))),
            "list": lambda W, E, values, p: halves(W, E, values, p).tolist(),
        },
        "wrong": {
            "package": descent,
            "autograd": differentiated,
            "mean": mean_loss,
            "gradient": lambda *given: -halves(*given),
            "twice": bigger_step,
            "last fact": last_fact,
            "values twice": lambda W, E, values, p: values @ values.T,
            "shape of W": lambda W, E, values, p: W,
            "number": lambda *given: halves(*given).sum(),
            "norm": lambda *given: halves(*given) / halves(*given).norm(),
            "signs": lambda *given: halves(*given).sign(),
            "transposed": lambda *given: halves(*given).T,
            "answers": lambda W, E, values, p: (values.T @ W @ E).softmax(0),
            "loss": lambda *given: (given[3] * loss_of(*given)).sum(),
        },
    },
    "07-e5": {
        "right": {
            "blocks": by_blocks,
            "newton": by_newton,
            "lists": in_lists,
            "double": lambda M, L: by_blocks(M.float(), L).double(),
            "array": lambda M, L: by_blocks(M, L).numpy(),
            "turned round": lambda M, L: by_newton(M.T, L).T,
        },
        "wrong": {
            "one vector": one_vector,
            "eigenvectors": by_eigenvectors,
            "numpy": in_numpy,
            "first only": first_only,
            "long core": lambda M, L: by_blocks(M, L, lambda core: core),
            "no core": lambda M, L: by_blocks(M, L, lambda core: 0 * core),
            "identity": lambda M, L: torch.eye(len(M)),
            "identity minus ones": lambda M, L: 2 * torch.eye(len(M)) - 1,
            "signs": lambda M, L: M.sign(),
            "M": lambda M, L: M,
            "columns": lambda M, L: M / M.norm(dim=0),
            "inverse": lambda M, L: torch.linalg.pinv(M),
            "two by two": lambda M, L: blocks(M, L).T @ M @ blocks(M, L),
            "diagonal": lambda M, L: by_blocks(M, L).diagonal(),
            "spectral": lambda M, L: M / torch.linalg.matrix_norm(M, 2),
            "twice": lambda M, L: 2 * by_blocks(M, L),
        },
    },
}
