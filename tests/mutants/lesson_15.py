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


def ends(runs):
    few, many = min(runs), max(runs)
    return few, many, runs[few], runs[many]


def on_the_line(runs, n):
    few, many, high, low = ends(runs)
    return high + (n - few) / (many - few) * (low - high)


def by_numpy(runs, steps, longer):
    at = sorted(runs)
    return numpy.interp(steps / longer, at, [runs[n] for n in at])


def by_weights(runs, steps, longer):
    few, many, high, low = ends(runs)
    n = steps / longer
    return ((many - n) * high + (n - few) * low) / (many - few)


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
    "15-e3": {
        "wrong": {
            "as many steps": lambda runs, steps, longer: on_the_line(runs, steps),
            "multiplied": lambda runs, steps, longer: on_the_line(runs, steps * longer),
            "percents": lambda runs, steps, longer: on_the_line(runs, steps * (2 - longer)),
            "steps": lambda runs, steps, longer: steps / longer,
            "swapped": lambda runs, steps, longer: (
                sum(runs.values()) - on_the_line(runs, steps / longer)
            ),
            "rounded down": lambda runs, steps, longer: on_the_line(runs, steps // longer),
            "tens": lambda runs, steps, longer: on_the_line(runs, round(steps / longer, -1)),
            "mean": lambda runs, steps, longer: sum(runs.values()) / 2,
            "longer run": lambda runs, steps, longer: min(runs.values()),
            "shorter run": lambda runs, steps, longer: max(runs.values()),
            "part": lambda runs, steps, longer: (
                (steps / longer - min(runs)) / (max(runs) - min(runs))
            ),
            "logarithm": lambda runs, steps, longer: numpy.interp(
                numpy.log(steps / longer),
                numpy.log(sorted(runs)),
                [runs[n] for n in sorted(runs)],
            ),
        },
        "right": {
            "line": lambda runs, steps, longer: on_the_line(runs, steps / longer),
            "NumPy": by_numpy,
            "weights": by_weights,
        },
    },
}
