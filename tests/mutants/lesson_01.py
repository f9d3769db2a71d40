"""Typical answers to the exercises of lesson 01: wrong ones to reject, right ones to accept."""

import torch


def svd(G):
    return torch.linalg.svd(G, full_matrices=False)


def unit_rows(G):
    length = G.norm(dim=1, keepdim=True)
    return G / torch.where(length == 0, 1.0, length)


def three(inputs, G, dense=lambda G: svd(G)[0] @ svd(G)[2], rows=unit_rows, gain=torch.sign):
    return {"dense": dense, "one-hot": rows, "factors": gain}[inputs](G)


def of_norm(
    G,
    norm,
    frobenius=lambda G: G / G.norm(),
    largest=torch.sign,
    spectral=lambda G: svd(G)[0] @ svd(G)[2],
):
    return {"Frobenius": frobenius, "largest entry": largest, "spectral": spectral}[norm](G)


ANSWERS = {
    "01-e5": {
        "wrong": {
            "spectral norm": lambda G, norm: of_norm(G, norm, spectral=lambda G: G / svd(G)[1][0]),
            "first direction": lambda G, norm: of_norm(
                G, norm, spectral=lambda G: svd(G)[0][:, :1] @ svd(G)[2][:1]
            ),
            "U V for all": lambda G, norm: svd(G)[0] @ svd(G)[2],
            "sign for all": lambda G, norm: torch.sign(G),
            "minus": lambda G, norm: -of_norm(G, norm),
            "largest entry 1": lambda G, norm: of_norm(
                G, norm, largest=lambda G: G / G.abs().max()
            ),
            "clipped": lambda G, norm: of_norm(G, norm, largest=lambda G: G.clamp(-1, 1)),
            "squared": lambda G, norm: of_norm(G, norm, frobenius=lambda G: G / G.norm() ** 2),
        },
        "right": {
            "three": lambda G, norm: of_norm(G, norm),
            "sgn": lambda G, norm: of_norm(G, norm, largest=torch.sgn),
            "einsum": lambda G, norm: of_norm(
                G, norm, spectral=lambda G: torch.einsum("ik,kj->ij", svd(G)[0], svd(G)[2])
            ),
        },
    },
    "01-e2": {
        "wrong": {
            "minus missing": lambda G, c: svd(G)[1].sum() / c * svd(G)[0] @ svd(G)[2],
            "length 1": lambda G, c: -svd(G)[0] @ svd(G)[2],
            "largest value": lambda G, c: -svd(G)[1][0] / c * svd(G)[0] @ svd(G)[2],
            "gradient descent": lambda G, c: -G / c,
            "half": lambda G, c: -svd(G)[1].sum() / (2 * c) * svd(G)[0] @ svd(G)[2],
            "times the curvature": lambda G, c: -svd(G)[1].sum() * c * svd(G)[0] @ svd(G)[2],
            "direction of G": lambda G, c: -svd(G)[1].sum() / c * G / svd(G)[1][0],
        },
        "right": {
            "scaled U": lambda G, c: svd(G)[0] * (-svd(G)[1].sum() / c) @ svd(G)[2],
            "in float64": lambda G, c: (
                -torch.linalg.matrix_norm(G.double(), "nuc")
                / c
                * svd(G.double())[0]
                @ svd(G.double())[2]
            ),
        },
    },
    "01-e4": {
        "wrong": {
            "rows under U Vᵀ": lambda inputs, G: three(
                inputs, G, rows=lambda G: svd(G)[0] @ svd(G)[2]
            ),
            "columns": lambda inputs, G: three(inputs, G, rows=lambda G: G / G.norm(dim=0)),
            "zero rows": lambda inputs, G: three(
                inputs, G, rows=lambda G: G / G.norm(dim=1, keepdim=True)
            ),
            "longest row": lambda inputs, G: three(
                inputs, G, rows=lambda G: G / G.norm(dim=1).max()
            ),
            "dense as G": lambda inputs, G: three(inputs, G, dense=lambda G: G / svd(G)[1][0]),
            "gain as g": lambda inputs, G: three(inputs, G, gain=lambda g: g / g.norm()),
        },
        "right": {
            "normalize": lambda inputs, G: three(inputs, G, rows=torch.nn.functional.normalize),
            "sgn": lambda inputs, G: three(inputs, G, gain=torch.sgn),
        },
    },
}
