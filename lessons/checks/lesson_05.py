"""Checks of lesson 05: what is wrong with an answer, said so that it can be mended."""

import math

import torch
from torch import Tensor

from muonlab.classroom.exercise import WITHOUT_SVD, Answer, Look, compare, rough
from muonlab.classroom.kinds import array, number


def e1(answer: Answer) -> None:
    """W = Σ v kᵀ = values keysᵀ."""
    shapes = ((2, 3, 4), (3, 2, 2), (3, 3, 3))
    cases = [
        (rough(n, inputs, count), rough(n + 9, outputs, count)) for n, (inputs, outputs, count) in enumerate(shapes)
    ]
    otherwise = "W is the sum over the facts i of torch.outer(values[:, i], keys[:, i])."
    compare(answer, cases, _written, returns=array, within=1e-5, otherwise=otherwise, by_hand=True)


def _written(keys: Tensor, values: Tensor) -> Look:
    keys, values = keys.double(), values.double()
    right, K = values @ keys.T, keys.size(1)
    outers = torch.einsum("ok,sk->kos", values, keys)
    square = values.shape == keys.shape
    unit = keys / keys.norm(dim=0)
    return right, [
        (right.T, "This is Σ k vᵀ. W takes a key and gives a value, so the value stands on the left."),
        (outers[0], "This holds the first fact alone. Sum over all columns."),
        (outers[-1], "This holds the last fact alone: each fact replaced the one before. Add them."),
        (outers[:-1].sum(0), "The last fact is missing. Sum over all columns."),
        (outers[1:].sum(0), "The first fact is missing. Sum over all columns."),
        (right / K, "This is the mean. Each fact is written whole: leave the division out."),
        (outers, "These are the outer products, one a fact. Add them."),
        (outers.permute(1, 2, 0), "These are the outer products, one a fact. Add them."),
        (right.sum(), "You added all entries to one number. Add the matrices, entry by entry."),
        (values @ unit.T, "You gave each key the length 1. Write it as it is."),
        (values / values.norm(dim=0) @ keys.T, "You gave each value the length 1. Write it as it is."),
        (right / right.norm(), "You divided W by its norm. Leave the division out."),
        (values @ torch.linalg.pinv(keys), "This is the matrix that fits all facts at once. Here each is only added."),
        (right.sign(), "You took the sign. W is the sum itself."),
        (-right, "The sign is reversed: the facts are added, nothing is subtracted."),
        (2 * right, "Each fact is written twice."),
        (values.sum(1).outer(keys.sum(1)), "You added keys and values first. Multiply each pair, then add."),
        (values.T @ keys if square else math.nan, "values.T @ keys compares columns; it is no sum of outer products."),
        (keys.T @ values if square else math.nan, "keys.T @ values compares columns; it is no sum of outer products."),
        (values @ keys if square else math.nan, "values @ keys multiplies rows by columns. Transpose the keys."),
        (
            values * keys if square else math.nan,
            "You multiplied entry by entry. An outer product has all pairs of entries.",
        ),
    ]


def e3(answer: Answer) -> None:
    """The mean over the right score's noise of the chance that all others score less."""
    shapes = ((8, 9, 5), (6, 3, 4), (16, 40, 6), (4, 2, 7))
    cases = [(d, K, rough(n, count)) for n, (d, K, count) in enumerate(shapes)]
    otherwise = "For each z: ndtr(d / √K + z), to the power K - 1. Then take the mean over z."
    compare(answer, cases, _predicted, returns=number, within=1e-5, otherwise=otherwise, by_hand=True)


def _predicted(d: int, K: int, z: Tensor) -> Look:
    z = z.double()
    signal, chance = d / math.sqrt(K), torch.special.ndtr

    def share(x: Tensor, others: int = K - 1) -> float:
        return chance(x).pow(others).mean().item()

    alone = chance(torch.tensor(signal, dtype=torch.float64)).item()
    return share(signal + z), [
        (share(signal + z, K), "You raised to the power K. The right value has K - 1 rivals."),
        (share(signal + z, 1), "This is the chance against one other value. There are K - 1: take a power."),
        (alone ** (K - 1), "You left z out. The right score has noise too."),
        (alone**K, "You left z out. The right score has noise too. And it has K - 1 rivals."),
        (chance(signal + z).mean().item() ** (K - 1), "You took the mean before the power. All rivals meet one z."),
        (share(signal + z.mean()), "You took the mean of z first. Take the mean of the chances."),
        (share(signal - z), "The noise is added to the signal: d / √K + z."),
        (share(1 + z), "The signal is 1 where the noise is √K / d. In units of the noise it is d / √K."),
        (share(1 / signal + z), "This is √K / d, the noise. In units of the noise the signal is d / √K."),
        (share(1 + z / signal), "Divide the 1 by the noise √K / d too: z is in units of it, and so are the others."),
        (share(d / K + z), "The noise is √K / d, not K / d: K terms that vary alone add up like a root."),
        (share(d * d / K + z), "The signal in units of the noise is d / √K, not its square."),
        (share(d / math.sqrt(2 * K) + z), "Without the 2: z holds the right score's noise already."),
        (1 - share(signal + z), "This is the share that is lost."),
        (share(-signal - z), "This is the chance that the others score more."),
        (
            (1 - (1 - chance(signal + z)).pow(K - 1)).mean().item(),
            "This is the chance to pass at least one other value. All K - 1 must score less.",
        ),
        (chance(signal + z).pow(K - 1).sum().item(), "You added up. Take the mean over z."),
    ]


def e4(answer: Answer) -> None:
    """Each root of f, between two neighbouring frequencies: σ without an SVD."""
    cases = [(_distinct(weights),) for weights in ((4, 2, 1), (9, 5, 3, 2, 1), (2, 1), (20, 19, 10, 6, 3, 1))]
    otherwise = "For each k, look between p[k + 1]² and p[k]² for the s² where the sum of 1 / (p² - s²) is 0."
    compare(answer, cases, _between, returns=array, within=1e-4, otherwise=otherwise, by_hand=WITHOUT_SVD)


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
        (right**2, "These are the squares s². Take the root."),
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
        (plain, "You solved Σ 1 / (p - s) = 0. In f stand the squares p² and s²."),
        (plain.sqrt(), "You solved Σ 1 / (p - s) = 0. In f stand the squares p² and s²."),
        (p[:-1] * (1 - 1 / K), "These are the diagonal entries p (1 - 1/K). The singular values are other numbers."),
    ]
