"""Checks of lesson 05: what is wrong with an answer, said so that it can be mended."""

from collections.abc import Callable

import torch

from muonlab.classroom.exercise import Wrong, call, expect


def e1(answer: Callable) -> None:
    """W = Σ v kᵀ = values keysᵀ."""
    generator = torch.Generator().manual_seed(0)
    for inputs, outputs, count in ((4, 4, 4), (3, 5, 6)):
        keys, values = (torch.randn(n, count, generator=generator) for n in (inputs, outputs))
        W = call(answer, keys, values)
        if not isinstance(W, torch.Tensor):
            raise Wrong(f"Expected a matrix ({outputs}, {inputs}); {type(W).__name__} came.")
        _written(W, keys, values)


def _written(W: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> None:
    right = values @ keys.T
    mistakes = [
        (keys @ values.T, "This is Σ k vᵀ. W takes a key and gives a value, so the value stands on the left."),
        (torch.outer(values[:, 0], keys[:, 0]), "This holds the first fact alone. Sum over all columns."),
        (right / keys.size(1), "This is the mean. Each fact is written whole: leave the division out."),
    ]
    if values.shape == keys.shape:
        mistakes += [
            (values.T @ keys, "values.T @ keys compares columns; it is no sum of outer products."),
            (values * keys, "You multiplied entry by entry. An outer product has all pairs of entries."),
        ]
    otherwise = (
        f"For keys {tuple(keys.shape)} and values {tuple(values.shape)}, W should be "
        f"{tuple(right.shape)} with norm {right.norm():.3f}; yours is {tuple(W.shape)} with norm "
        f"{W.float().norm():.3f}."
    )
    expect(W, right, mistakes, otherwise, within=1e-5)


def e2(answer: Callable) -> None:
    """The value with the largest product with W k."""
    generator = torch.Generator().manual_seed(1)
    keys = torch.linalg.qr(torch.randn(6, 6, generator=generator)).Q
    values = torch.randn(5, 6, generator=generator)
    values[:, 4] *= 0.2  # short, and far from the answer of any other
    W = 2.0 * values @ keys.T
    came = [int(call(answer, W, key, values)) for key in keys.T]
    answers = [W @ key for key in keys.T]
    right = [(values.T @ a).argmax().item() for a in answers]
    mistakes = [
        (
            [(values.T @ a).argmin().item() for a in answers],
            "You took the smallest product. The answer has the largest.",
        ),
        (
            [a.argmax().item() for a in answers],
            "This is a row of W k, not a column of values. Multiply by values.T first.",
        ),
        (
            [values.norm(dim=0).argmax().item() for _ in answers],
            "This is the longest value, whatever the key is. Compare the values with W k.",
        ),
        (
            [(values - a[:, None]).norm(dim=0).argmin().item() for a in answers],
            "This is the value nearest to W k, and W k may be long. Take the largest product.",
        ),
    ]
    expect(came, right, mistakes, f"For six test keys the answers are {right}; you returned {came}.")
