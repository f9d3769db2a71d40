"""Checks of lesson 13: what is wrong with an answer, said so that it can be mended."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from muonlab import polar
from muonlab.classroom.exercise import Wrong, call, expect, rounded


class _Shapes(TorchFunctionMode):
    """Notes the shape of everything that is computed."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[tuple[int, ...]] = set()

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor):
            self.seen.add(tuple(result.shape))
        return result


def e1(answer: Callable) -> None:
    """The up-projection meets the one query, and then a number a token is left to multiply."""
    h, r, t = 6, 4, 9
    q, W_uk, c = _normal(1, h), _normal(2, h, r), _normal(3, t, r)
    with _Shapes() as shapes:
        came = call(answer, q, W_uk, c, shape=(t,)).double()
    expected = c @ (W_uk.T @ q)
    if not torch.allclose(came, expected, rtol=1e-4, atol=1e-6):
        norm = torch.nn.functional.rms_norm
        mistakes = [
            (expected / h**0.5, "Divide by nothing here: the root of the width comes later."),
            (expected.softmax(0), "No softmax yet: the exercise asks for the products."),
            (c @ (W_uk.T @ norm(q, (h,))), "You changed the length of the query. It is as it should be."),
            (c @ norm(W_uk.T @ q, (r,)), "You normalized what came out of W_ukᵀ q. Nothing normalizes there."),
            (-expected, "The sign is wrong: these are products, nothing is subtracted."),
        ]
        expect(came, expected, mistakes, f"Expected {rounded(expected)}, got {rounded(came)}.")
    if shapes.seen & {(t, h), (h, t), (1, t, h), (1, h, t), (t, h, r), (h, t, r), (t, 1, h)}:
        raise Wrong(
            f"The numbers are right, but you made the keys of all {t} tokens, {h} numbers each. Let W_uk meet q first."
        )


def e2(answer: Callable) -> None:
    """Each expert's matrix is orthogonalized alone, and an expert without tokens waits."""
    for E, m, n, idle in ((4, 3, 5, 2), (3, 4, 4, 0), (5, 5, 2, 4)):
        M, G = _normal(E, E, m, n), _normal(E + 9, E, m, n)
        G[idle] = 0.0
        G[idle - 1, 0] = 0.0  # a row of an expert that does have tokens
        G[idle - 2, 1, 0] = 0.0  # and one entry of another
        _one_stack(call(answer, M, G, shape=(E, m, n)).double(), M, G, idle)


def _one_stack(came: Tensor, M: Tensor, G: Tensor, idle: int) -> None:
    used = torch.ones(len(M), 1, 1, dtype=M.dtype)
    used[idle] = 0.0
    expected, flat = polar(M) * used, polar(M.flatten(0, 1)).view_as(M)
    turned = polar(M.permute(1, 0, 2)).permute(1, 0, 2)
    entries = polar(M) * (G != 0)
    rows = polar(M) * (G != 0).any(2, keepdim=True)
    mistakes = [
        (polar(M), "The idle expert moves. Its gradient is zero everywhere: give it zeros."),
        (flat, "You took the experts for rows of one matrix. Each expert is a matrix of its own."),
        (flat * used, "The idle expert rests, but the others were orthogonalized as one matrix."),
        (turned, "The axes are mixed up: the last two are those of a matrix."),
        (turned * used, "You mixed up the axes of experts and rows; only the idle expert is right."),
        (polar(G), "That is the gradient, orthogonalized. Take the momentum."),
        (M * used, "That is M, with zeros for the idle expert. Orthogonalize it."),
        (entries, "You masked entry by entry. An expert with tokens takes its whole step."),
        (rows, "You masked row by row. An expert with tokens takes its whole step."),
        (-expected, "Leave the sign to the step, which subtracts the update."),
        (polar(M) * (1 - used), "You have it the wrong way round: the idle expert alone moves."),
        (
            M / M.norm(dim=(1, 2), keepdim=True) * used,
            "Each expert was divided by its norm. That keeps its singular values unequal.",
        ),
    ]
    norms = rounded(expected.norm(dim=(1, 2)))
    otherwise = f"With expert {idle} idle, expected experts of the norms {norms}, got {rounded(came.norm(dim=(1, 2)))}."
    expect(came, expected, mistakes, otherwise)


def e3(answer: Callable) -> None:
    """The gain in one architecture less the gain in the other, seed by seed."""
    loss = _normal(4, 2, 2, 3)
    came = call(answer, loss, shape=(3,)).double()
    gain = loss[:, 0] - loss[:, 1]  # (2, seeds): AdamW minus Muon
    expected = gain[1] - gain[0]
    mistakes = [
        (-expected, "The sign is wrong. A gain is AdamW's loss minus Muon's; then take latent minus multi-head."),
        (gain.mean(0), "That is Muon's mean gain, a main effect. Subtract the two gains."),
        (gain.sum(0), "That is the sum of both gains. Subtract them."),
        (gain[1], "That is the gain in latent attention alone."),
        (gain[0], "That is the gain in multi-head attention alone."),
        ((loss[1] - loss[0]).mean(0), "That is what latent attention costs, a main effect."),
        (expected / 2, "Halves belong to another convention. Here it is the plain difference of gains."),
        (gain[1] / gain[0], "That is a ratio of gains. In nats, factors have become sums: subtract."),
    ]
    expect(came, expected, mistakes, f"Expected {rounded(expected)}, got {rounded(came)}.")


def _normal(seed: int, *shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)
