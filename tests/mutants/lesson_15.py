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


def svd(G):
    return torch.linalg.svd(G, full_matrices=False)


def replaced(G, s):
    U, _, Vh = svd(G)
    return U @ torch.diag(s) @ Vh


def at_norm(X, square):
    return X * square**0.5 / X.norm()


def in_full(G, s):
    U, _, Vh = torch.linalg.svd(G)
    middle = torch.zeros_like(G)
    middle.diagonal().copy_(s / s.square().mean().sqrt())
    return U @ middle @ Vh


def one_by_one(G, s):
    U, _, Vh = svd(G)
    X = sum(s[i] * torch.outer(U[:, i], Vh[i]) for i in range(len(s)))
    return X * (len(s) / s.square().sum()) ** 0.5


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
    "15-e2": {
        "wrong": {
            "no norm": replaced,
            "norm 1": lambda G, s: replaced(G, s) / s.norm(),
            "norm of G": lambda G, s: replaced(G, s) * G.norm() / s.norm(),
            "Muon": lambda G, s: svd(G)[0] @ svd(G)[2],
            "G": lambda G, s: G * len(s) ** 0.5 / G.norm(),
            "number": lambda G, s: replaced(G, s) * len(s) / s.norm(),
            "largest is 1": lambda G, s: replaced(G, s) / s.max(),
            "times S": lambda G, s: (
                replaced(G, svd(G)[1] * s) * len(s) ** 0.5 / (svd(G)[1] * s).norm()
            ),
            "squared": lambda G, s: replaced(G, s**2) * len(s) ** 0.5 / (s**2).norm(),
            "flipped": lambda G, s: at_norm(replaced(G, s.flip(0)), len(s)),
            "sorted": lambda G, s: at_norm(replaced(G, s.sort(descending=True).values), len(s)),
            "V": lambda G, s: at_norm(svd(G)[0] * s @ svd(G)[2].T, len(s)),
            "rows of U": lambda G, s: at_norm(s[:, None] * svd(G)[0] @ svd(G)[2], len(s)),
            "longer side": lambda G, s: at_norm(replaced(G, s), max(G.shape)),
            "rows": lambda G, s: at_norm(replaced(G, s), len(G)),
            "columns": lambda G, s: at_norm(replaced(G, s), G.size(1)),
            "RMS": lambda G, s: at_norm(replaced(G, s), G.numel()),
            "not divided": lambda G, s: len(s) ** 0.5 * replaced(G, s),
            "mean is 1": lambda G, s: replaced(G, s) / s.mean(),
            "sum is 1": lambda G, s: replaced(G, s) / s.sum(),
            "spectral": lambda G, s: (
                replaced(G, s) / torch.linalg.matrix_norm(replaced(G, s), 2) * len(s) ** 0.5
            ),
            "added": lambda G, s: at_norm(replaced(G, svd(G)[1] + s), len(s)),
            "roots": lambda G, s: at_norm(replaced(G, s.sqrt()), len(s)),
            "transposed": lambda G, s: at_norm(replaced(G, s), len(s)).T,
            "spectrum alone": lambda G, s: s * len(s) ** 0.5 / s.norm(),
            "sign": lambda G, s: -at_norm(replaced(G, s), len(s)),
            "in place": lambda G, s: at_norm(replaced(G, s.div_(s.norm())), len(s)),
        },
        "generic": {
            "cubes": lambda G, s: at_norm(replaced(G, s**3), len(s)),
            "inverse": lambda G, s: at_norm(replaced(G, 1 / (1 + s)), len(s)),
        },
        "right": {
            "diagonal": lambda G, s: replaced(G, s) * len(s) ** 0.5 / s.norm(),
            "one by one": one_by_one,
            "all of U and V": in_full,
            "torch.svd": lambda G, s: (
                torch.svd(G).U * (s / s.square().mean().sqrt()) @ torch.svd(G).V.mT
            ),
            "NumPy": lambda G, s: (
                numpy.einsum("ik,k,kj->ij", *(f.numpy() for f in (svd(G)[0], s, svd(G)[2])))
                * (len(s) ** 0.5 / numpy.linalg.norm(s))
            ),
            "lists": lambda G, s: at_norm(replaced(G.double(), s.double()), len(s)).tolist(),
            "norm of the factor": lambda G, s: (
                replaced(G, s / s.norm()) * (svd(G)[0] @ svd(G)[2]).norm()
            ),
        },
    },
}
