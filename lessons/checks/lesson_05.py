"""Checks of lesson 05: what is wrong with an answer, said so that it can be mended."""

import math

import torch
from torch import Tensor

from muonlab.classroom.exercise import Answer, Look, compare, rough
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


def e2(answer: Answer) -> None:
    """The value with the largest product with W k."""
    otherwise = "Multiply W by the key, each column of values by the result, and return the place of the largest."
    compare(answer, _questions(), _answered, returns=number, within=1e-5, otherwise=otherwise, by_hand=True)


def _questions() -> list[tuple[Tensor, Tensor, Tensor]]:
    """Memories of more facts than dimensions, of fewer, of as many; one whose products are all negative."""
    cases = []
    for seed, (inputs, outputs, count) in ((1, (2, 3, 4)), (3, (4, 2, 3)), (8, (3, 3, 3)), (5, (3, 4, 6))):
        W, values = rough(seed, outputs, inputs), rough(seed + 1, outputs, count)
        values[:, -1] *= 0.5  # one short value, and one long
        values[:, 0] *= 2
        cases += [(W, key, values) for key in rough(seed + 2, 4, inputs)]
    W = torch.tensor([[-1.0, -0.5], [-0.5, -2.0]])
    return [*cases, (W, torch.tensor([1.0, 0.5]), torch.tensor([[2.0, 0.5, 1.0], [1.0, 2.0, 0.5]]))]


def _answered(W: Tensor, key: Tensor, values: Tensor) -> Look:
    answer = W @ key
    products, count = values.T @ answer, values.size(1)
    right = products.argmax().item()
    cosine = products / values.norm(dim=0)
    square = len({*W.shape, count}) == 1
    return right, [
        (right + 1, "You counted from 1. Indices start at 0."),
        (products.argmin().item(), "You took the smallest product. The answer has the largest."),
        (products.abs().argmax().item(), "You took the largest size. A very negative product is no match."),
        (products.abs().argmin().item(), "You took the product nearest to 0. The answer has the largest."),
        (answer.argmax().item(), "This is a row of W k, not a column of values. Multiply by values.T first."),
        (
            answer.abs().argmax().item(),
            "This is the largest entry of W k, not a column of values. Multiply by values.T first.",
        ),
        (
            values.norm(dim=0).argmax().item(),
            "This is the longest value, whatever the key is. Compare the values with W k.",
        ),
        (
            (values - answer[:, None]).norm(dim=0).argmin().item(),
            "This is the value nearest to W k, and W k may be long. Take the largest product.",
        ),
        (cosine.argmax().item(), "This is the largest cosine. Take the product itself: a longer value counts more."),
        (
            products.argsort(descending=True)[1].item(),
            "This is the second largest product. The answer has the largest.",
        ),
        (
            count - 1 - right,
            "You counted from the end. Indices start at 0, on the left.",
        ),
        (
            (-(values.T @ answer)).argsort().argsort()[0].item(),
            "This is the rank of the first value. Take the place of the largest product.",
        ),
        (
            count - 1,
            "You always return the last value. It depends on the key.",
        ),
        (0, "You always return the first value. It depends on the key."),
        (
            (values.T @ key).argmax().item() if len(key) == len(values) else math.nan,
            "You asked with the key itself. Ask with W k.",
        ),
        (
            (values @ answer).argmax().item() if square else math.nan,
            "You multiplied by values, not by values.T: one column is one value.",
        ),
        (
            (values.T @ (W.T @ key)).argmax().item() if len(key) == len(values) else math.nan,
            "You multiplied by W.T. The answer is W k.",
        ),
        (
            products.max().item(),
            "This is the largest product itself. Return the index of its column.",
        ),
    ]
