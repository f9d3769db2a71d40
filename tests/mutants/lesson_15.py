"""Typical answers to the exercises of lesson 15: wrong ones to reject, right ones to accept."""

import numpy
import torch


def values(X):
    return torch.linalg.svdvals(X)


def nuclear(G):
    return values(G).sum() ** 2 / values(G).square().sum()


def stable(A):
    return values(A).square().sum() / values(A).max() ** 2


def by_norms(G, A):
    above = torch.linalg.matrix_norm(G, "nuc") / torch.linalg.matrix_norm(G, "fro")
    below = torch.linalg.matrix_norm(A, "fro") / torch.linalg.matrix_norm(A, 2)
    return ((above / below) ** 2).item()


def by_squares(G, A):
    energy, left = torch.linalg.eigvalsh(G.double() @ G.double().T), A.double().T @ A.double()
    nuclear_norm = energy.clamp(min=0).sqrt().sum()
    return nuclear_norm**2 / energy.sum() * torch.linalg.eigvalsh(left).max() / left.trace()


ANSWERS = {
    "15-e1": {
        "wrong": {
            "upside down": lambda G, A: stable(A) / nuclear(G),
            "nuclear root": lambda G, A: nuclear(G).sqrt() / stable(A),
            "stable root": lambda G, A: nuclear(G) / stable(A).sqrt(),
            "both roots": lambda G, A: (nuclear(G) / stable(A)).sqrt(),
            "stable of G": lambda G, A: nuclear(G) / stable(G),
            "nuclear of A": lambda G, A: nuclear(G) / nuclear(A),
            "swapped": lambda G, A: nuclear(A) / stable(G),
            "nuclear alone": lambda G, A: nuclear(G),
            "squares summed": lambda G, A: (
                values(G).square().sum() / values(G).square().sum() / stable(A)
            ),
            "difference": lambda G, A: nuclear(G) - stable(A),
            "a list": lambda G, A: [nuclear(G), stable(A)],
            "squared again": lambda G, A: (nuclear(G) / stable(A)) ** 2,
            "stable twice": lambda G, A: stable(G) / stable(A),
            "both of A": lambda G, A: nuclear(A) / stable(A),
            "wrong ranks": lambda G, A: stable(G) / nuclear(A),
            "stable alone": lambda G, A: stable(A),
            "product": lambda G, A: nuclear(G) * stable(A),
            "over the largest": lambda G, A: (values(G).sum() / values(G)[0]) ** 2 / stable(A),
            "smallest": lambda G, A: (
                nuclear(G) / (values(A).square().sum() / values(A).square().min())
            ),
            "sum below": lambda G, A: nuclear(G) / (values(A).sum() / values(A)[0]),
            "UVᵀ's promise": lambda G, A: values(G).sum() ** 2 / values(A).square().sum(),
            "the step's promise": lambda G, A: G.norm() ** 2 / values(A)[0] ** 2,
            "largest column": lambda G, A: nuclear(G) * (torch.linalg.norm(A, 1) / A.norm()) ** 2,
            "largest row": lambda G, A: (
                nuclear(G) * (torch.linalg.norm(A, float("inf")) / A.norm()) ** 2
            ),
            "largest entry": lambda G, A: nuclear(G) * (A.abs().max() / A.norm()) ** 2,
            "entries": lambda G, A: (G.abs().sum() / G.norm()) ** 2 / stable(A),
            "number of directions": lambda G, A: min(G.shape) / stable(A),
            "a comparison": lambda G, A: bool(nuclear(G) >= stable(A)),
            "in place": lambda G, A: nuclear(G.div_(G.norm())) / stable(A),
        },
        "generic": {
            "logarithm": lambda G, A: (nuclear(G) / stable(A)).log(),
            "mean": lambda G, A: values(G).mean() ** 2 / values(G).square().mean() / stable(A),
        },
        "right": {
            "singular values": lambda G, A: nuclear(G) / stable(A),
            "norms": by_norms,
            "float": lambda G, A: float(nuclear(G) / stable(A)),
            "eigenvalues": by_squares,
            "NumPy": lambda G, A: (
                (numpy.linalg.norm(G.numpy(), "nuc") / numpy.linalg.norm(G.numpy())) ** 2
                * (numpy.linalg.norm(A.numpy(), 2) / numpy.linalg.norm(A.numpy())) ** 2
            ),
            "shape (1,)": lambda G, A: (nuclear(G) / stable(A))[None],
        },
    },
}
