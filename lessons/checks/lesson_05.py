"""Checks of lesson 05: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from muonlab.classroom.exercise import WITHOUT_SVD, Answer, Case, Look, Wrong, compare, rough
from muonlab.classroom.kinds import float_array


def e5(answer: Answer) -> None:
    """W = Σ w v kᵀ. With other weights and values the same lines make the first gradient."""
    shapes = ((4, 2, 3), (2, 3, 2), (3, 3, 3))
    plain = [
        (rough(n, K, inputs), rough(n + 9, K, outputs), torch.ones(K)) for n, (K, inputs, outputs) in enumerate(shapes)
    ]
    weighted = [(keys, values, rough(n + 20, len(keys))) for n, (keys, values, _) in enumerate(plain)]
    pieces: tuple[tuple[list[Case], Callable[..., Look], str], ...] = (
        (plain, _summed, "Add the outer products torch.outer(values[i], keys[i]) of all facts i."),
        (weighted, _weighted, "Multiply the outer product of fact i by its own weight, weights[i]."),
    )
    for piece, (cases, look, otherwise) in enumerate(pieces, 1):
        try:
            compare(answer, cases, look, returns=float_array, within=1e-5, otherwise=otherwise, by_hand=True)
        except Wrong as wrong:
            raise Wrong(f"Piece {piece} of 2: {wrong}", wrong.example) from wrong


def _summed(keys: Tensor, values: Tensor, weights: Tensor) -> Look:
    keys, values = keys.double(), values.double()
    outers = torch.einsum("ko,ks->kos", values, keys)
    right, K = outers.sum(0), len(keys)
    square = keys.shape == values.shape
    long = keys / keys.norm(dim=1, keepdim=True)
    return right, [
        (right.T, "This is Σ k vᵀ. W takes a key and gives a value, so the value stands on the left."),
        (outers[0], "This holds the first fact alone. Sum over all rows."),
        (outers[-1], "This holds the last fact alone: each fact replaced the one before. Add them."),
        (outers[:-1].sum(0), "The last fact is missing. Sum over all rows."),
        (outers[1:].sum(0), "The first fact is missing. Sum over all rows."),
        (right / K, "This is the mean. Each fact is written whole: leave the division out."),
        (outers, "These are the outer products, one a fact. Add them."),
        (right.sum(), "You added all entries to one number. Add the matrices, entry by entry."),
        (values.T @ long, "You gave each key the length 1. Write it as it is."),
        (values.T / values.norm(dim=1) @ keys, "You gave each value the length 1. Write it as it is."),
        (right / right.norm(), "You divided W by its norm. Leave the division out."),
        (values.T @ torch.linalg.pinv(keys).T, "This matrix fits all facts at once. Here each is only added."),
        (right.sign(), "You took the sign. W is the sum itself."),
        (-right, "The sign is reversed: the facts are added, nothing is subtracted."),
        (2 * right, "Each fact is written twice."),
        (values.sum(0).outer(keys.sum(0)), "You added keys and values first. Multiply each pair, then add."),
        (values @ keys.T if square else math.nan, "values @ keys.T compares facts; it is no sum of outer products."),
        (keys @ values.T if square else math.nan, "keys @ values.T compares facts; it is no sum of outer products."),
        (values * keys if square else math.nan, "You multiplied entry by entry. An outer product has all pairs."),
    ]


def _weighted(keys: Tensor, values: Tensor, weights: Tensor) -> Look:
    keys, values, w = keys.double(), values.double(), weights.double()

    def with_weights(x: Tensor) -> Tensor:
        return (x * values.T) @ keys

    plain = values.T @ keys
    return with_weights(w), [
        (plain, "The weights are missing: multiply each outer product by weights[i]."),
        (plain * w.sum(), "You multiplied the sum by all weights together. Each fact has a weight of its own."),
        (plain * w.mean(), "You multiplied the sum by the mean weight. Each fact has a weight of its own."),
        (plain * w.prod(), "You multiplied the sum by each weight in turn. Each fact has a weight of its own."),
        (plain * w[0], "You took the first weight for all. Fact i has weights[i]."),
        (plain * w[-1], "You took the last weight for all. Fact i has weights[i]."),
        (with_weights(w) / w.sum(), "You divided by the sum of the weights. This is a sum, not a mean."),
        (with_weights(w**2), "The weight counts twice, on the key and on the value. Once is right."),
        (with_weights(w.abs()), "A weight below 0 subtracts its fact: leave out the absolute value."),
        (with_weights(w.flip(0)), "The weights are in the reverse order: fact i has weights[i]."),
        (with_weights(w.softmax(0)), "You took a softmax of the weights. Take them as they are."),
        (plain + w.sum(), "You added the weights. Multiply by them."),
    ]


def e6(answer: Answer) -> None:
    """The value with the highest score answers: a memory is asked by three products."""
    cases = []
    for n, (K, d, o) in enumerate(((5, 2, 3), (6, 3, 2), (4, 3, 3), (7, 2, 4))):
        keys, values = rough(n, K, d), rough(n + 9, K, o)
        cases.append((rough(n + 30, o, d), keys, values))
    otherwise = (
        "For key i: W @ keys[i] is a vector; its product with each row of values is a score. Which is the highest?"
    )
    compare(answer, cases, _recalled, returns=float_array, within=1e-5, otherwise=otherwise, by_hand=True)


def _recalled(W: Tensor, keys: Tensor, values: Tensor) -> Look:
    out = keys @ W.T  # (K, d_out), a row for each key
    scores = out @ values.T  # row i holds the scores of key i
    turned = (keys @ W @ values.T).argmax(1) if W.shape[0] == W.shape[1] else math.nan
    return scores.argmax(1), [
        (scores.argmin(1), "These have the lowest score. Take the highest."),
        (scores, "These are the scores, a row for each key. Where does the largest of each row stand?"),
        (scores.T, "These are the scores, a column for each key. Where does the largest of each stand?"),
        (scores.amax(1), "These are the highest scores. Return where they stand: argmax."),
        (scores.argmax(0), "You looked along the keys: which key fits a value best. Ask for each key."),
        (scores.abs().argmax(1), "A score far below 0 does not win: leave out the absolute value."),
        (scores.argmax(1) + 1, "Count the values from 0."),
        (out, "These are the vectors W k. Compare each with all values."),
        (out.argmax(1), "This is the largest entry of W k. Take its product with each value first."),
        (torch.cdist(out, values).argmin(1), "You took the nearest value. The score is the inner product."),
        (
            (scores / values.norm(dim=1)).argmax(1),
            "You divided the scores by the lengths of the values. Take them as they are.",
        ),
        (turned, "You multiplied by W transposed. W stands left of the key: W @ key."),
        (scores.argmax(), "This is one number, for all keys together. Return one for each key."),
        (torch.arange(len(keys)), "This is what a perfect memory answers. Ask W."),
        (scores.softmax(1), "These are probabilities. Return where the largest score stands."),
    ]


def e4(answer: Answer) -> None:
    """Each root of f, between two neighbouring frequencies: σ without an SVD."""
    cases = [(_distinct(weights),) for weights in ((4, 2, 1), (9, 5, 3, 2, 1), (2, 1), (20, 19, 10, 6, 3, 1))]
    otherwise = "For each k, look between p[k + 1]² and p[k]² for the σ² where the sum of 1 / (p² - σ²) is 0."
    compare(answer, cases, _between, returns=float_array, within=1e-4, otherwise=otherwise, by_hand=WITHOUT_SVD)


def _distinct(weights: tuple[int, ...]) -> Tensor:
    p = torch.tensor(weights, dtype=torch.float64)
    return p / p.sum()


def _between(p: Tensor) -> Look:
    p = p.double()
    K = len(p)
    G = torch.diag(p) - p / K
    every = torch.linalg.svdvals(G)
    right = every[:-1]
    plain = torch.linalg.eigvals(G).real.sort(descending=True).values[:-1]
    return right, [
        (right**2, "These are the squares σ². Take the root."),
        (right.flip(0), "The smallest comes first. Return the largest first."),
        (every, "The last one is the singular value 0. Return the K - 1 others."),
        (p, "These are the frequencies. The singular values lie between them."),
        (p[:-1], "These are the upper ends p[k]. Where f is positive in the middle, the middle becomes the upper end."),
        (
            p[1:],
            "These are the lower ends p[k + 1]. Where f is negative in the middle, the middle becomes the lower end.",
        ),
        (
            p[:-1] ** 2,
            "These are the squares of the upper ends. Halve by the sign of f in the middle, and take a root at the end.",
        ),
        (
            p[1:] ** 2,
            "These are the squares of the lower ends. Halve by the sign of f in the middle, and take a root at the end.",
        ),
        ((p[1:] + p[:-1]) / 2, "These are the middles. Halve again, by the sign of f."),
        (((p[1:] ** 2 + p[:-1] ** 2) / 2).sqrt(), "This is one halving. Halve again, by the sign of f."),
        ((p[1:] ** 2 + p[:-1] ** 2) / 2, "This is one halving, and a root is missing. Halve again, by the sign of f."),
        (plain, "You solved Σ 1 / (p - σ) = 0. In f stand the squares p² and σ²."),
        (plain.sqrt(), "You solved Σ 1 / (p - σ) = 0. In f stand the squares p² and σ²."),
        (p[:-1] * (1 - 1 / K), "These are the diagonal entries p (1 - 1/K). The singular values are other numbers."),
    ]
