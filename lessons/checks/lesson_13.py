"""Checks of lesson 13: what is wrong with an answer, said so that it can be mended."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from muonlab import polar
from muonlab.classroom.exercise import Wrong, call, diagnose, shown


class _Shapes(TorchFunctionMode):
    """Notes the shape of everything that is computed."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[tuple[int, ...]] = set()

    def __torch_function__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
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
        others = {
            "Divide by nothing here: the root of the width comes later.": expected / h**0.5,
            "No softmax yet: the exercise asks for the products.": expected.softmax(0),
            "You changed the length of the query. It is as it should be.": c
            @ (W_uk.T @ norm(q, (h,))),
            "You normalized what came out of W_ukᵀ q. Nothing normalizes there.": c
            @ norm(W_uk.T @ q, (r,)),
            "The sign is wrong: these are products, nothing is subtracted.": -expected,
        }
        diagnose(came, others)
        raise Wrong(f"Expected {shown(expected)}, got {shown(came)}.")
    if shapes.seen & {(t, h), (h, t), (1, t, h), (1, h, t), (t, h, r), (h, t, r), (t, 1, h)}:
        raise Wrong(
            f"The numbers are right, but you made the keys of all {t} tokens, {h} numbers each. "
            "Let W_uk meet q first."
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
    if torch.allclose(came, expected, rtol=1e-4, atol=1e-6):
        return
    turned = polar(M.permute(1, 0, 2)).permute(1, 0, 2)
    entries = polar(M) * (G != 0)
    rows = polar(M) * (G != 0).any(2, keepdim=True)
    others = {
        "The idle expert moves. Its gradient is zero everywhere: give it zeros.": polar(M),
        "You took the experts for rows of one matrix. Each expert is a matrix of its own.": flat,
        "The idle expert rests, but the others were orthogonalized as one matrix.": flat * used,
        "The axes are mixed up: the last two are those of a matrix.": turned,
        "You mixed up the axes of experts and rows; only the idle expert is right.": turned * used,
        "That is the gradient, orthogonalized. Take the momentum.": polar(G),
        "That is M, with zeros for the idle expert. Orthogonalize it.": M * used,
        "You masked entry by entry. An expert with tokens takes its whole step.": entries,
        "You masked row by row. An expert with tokens takes its whole step.": rows,
        "Leave the sign to the step, which subtracts the update.": -expected,
        "You have it the wrong way round: the idle expert alone moves.": polar(M) * (1 - used),
        "Each expert was divided by its norm. That keeps its singular values unequal.": M
        / M.norm(dim=(1, 2), keepdim=True)
        * used,
    }
    diagnose(came, others)
    norms = shown(expected.norm(dim=(1, 2)))
    raise Wrong(
        f"With expert {idle} idle, expected experts of the norms {norms}, got "
        f"{shown(came.norm(dim=(1, 2)))}."
    )


def e3(answer: Callable) -> None:
    """The gain in one architecture less the gain in the other, seed by seed."""
    loss = _normal(4, 2, 2, 3)
    came = call(answer, loss, shape=(3,)).double()
    gain = loss[:, 0] - loss[:, 1]  # (2, seeds): AdamW minus Muon
    expected = gain[1] - gain[0]
    if torch.allclose(came, expected, rtol=1e-4, atol=1e-6):
        return
    others = {
        "The sign is wrong. A gain is AdamW's loss minus Muon's; then take latent minus "
        "multi-head.": -expected,
        "That is Muon's mean gain, a main effect. Subtract the two gains.": gain.mean(0),
        "That is the sum of both gains. Subtract them.": gain.sum(0),
        "That is the gain in latent attention alone.": gain[1],
        "That is the gain in multi-head attention alone.": gain[0],
        "That is what latent attention costs, a main effect.": (loss[1] - loss[0]).mean(0),
        "Halves belong to another convention. Here it is the plain difference of gains.": expected
        / 2,
        "That is a ratio of gains. In nats, factors have become sums: subtract.": gain[1] / gain[0],
    }
    diagnose(came, others)
    raise Wrong(f"Expected {shown(expected)}, got {shown(came)}.")


def _normal(seed: int, *shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)
