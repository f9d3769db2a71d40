"""Checks of lesson 13: what is wrong with an answer, said so that it can be mended."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from muonlab import newton_schulz, polar
from muonlab.classroom.exercise import Mistakes, call, compare, rough
from muonlab.classroom.kinds import Wrong, array

COPIES = ("__getitem__", "clone", "__deepcopy__", "detach", "to", "double", "float", "contiguous")


class _Shapes(TorchFunctionMode):
    """Counts the shapes of what is computed, sides of 1 left out and the others sorted."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: Counter[tuple[int, ...]] = Counter()

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor) and getattr(func, "__name__", "") not in COPIES:
            self.seen[tuple(sorted(side for side in result.shape if side > 1))] += 1
        return result


def e1(answer: Callable) -> None:
    """The up-projection meets the one query, and then a number a token is left to multiply."""
    q, W = torch.tensor([2.0, -1.0]), torch.tensor([[1.0, 0.5, 0.0], [0.0, 3.0, -1.0]])
    c = torch.tensor([[1.0, 0.0, 2.0], [0.5, -1.0, 0.0], [3.0, 1.0, 1.0], [0.0, 0.2, -2.0]])
    cases = [
        (q, W, c),
        (rough(1, 5), rough(2, 5, 2), rough(3, 7, 2)),
        (rough(4, 3), rough(5, 3, 4), rough(6, 1, 4)),
    ]
    otherwise = "q meets W_uk first, `q @ W_uk` of shape (r,); then each token's c meets that."
    compare(answer, cases, _scores, returns=array, otherwise=otherwise)
    _no_keys(answer)


def _scores(q: Tensor, W: Tensor, c: Tensor) -> tuple[Tensor, Mistakes]:
    absorbed, keys = W.T @ q, c @ W.T
    right = c @ absorbed
    plain = "Divide by nothing here: the root comes later."
    return right, [
        (right / len(q) ** 0.5, f"You divided by the root of h. {plain}"),
        (right / c.size(1) ** 0.5, f"You divided by the root of r. {plain}"),
        (right.softmax(0), "No softmax yet: the exercise asks for the products."),
        ((right / len(q) ** 0.5).softmax(0), "No softmax yet, and no root: the exercise asks for the products."),
        (c @ (W.T @ _normed(q)), "You changed the length of the query. It is as it should be."),
        (c @ (W.T @ (q / q.norm())), "You changed the length of the query. It is as it should be."),
        (c @ _normed(absorbed), "You normalized what came out of W_ukᵀ q. Nothing normalizes there."),
        (c @ (absorbed / absorbed.norm()), "You normalized what came out of W_ukᵀ q. Nothing normalizes there."),
        (_normed(c) @ absorbed, "You normalized the latents. They are as they should be."),
        (-right, "The sign is wrong: these are products, nothing is subtracted."),
        (right.abs(), "You dropped the sign. A product may be negative."),
        (right.sum(), "You summed over the tokens. Return one number for each."),
        (right / len(c), "You divided by the number of tokens. Return the products as they are."),
        (right / right.sum(), "You made the scores sum to 1. Return the products as they are."),
        (c.sum(1), "These are sums of the latents. The query and W_uk are not in them."),
        (keys.sum(1), "These are sums of the keys. The query is not in them."),
        (keys, "These are the keys. The exercise asks for q times each, without making them."),
        (absorbed, "That is q @ W_uk, one number for each entry of a latent. Multiply the latents c by it."),
        (right[None], "The numbers are right, in a matrix of one row. Return the shape (t,)."),
        (right[:, None], "The numbers are right, in a matrix of one column. Return the shape (t,)."),
        (right.squeeze(), "With one token your result has no axis left: the shape is (t,) for each t."),
    ]


def _no_keys(answer: Callable) -> None:
    h, r, t = 6, 4, 60
    with _Shapes() as shapes:
        call(answer, rough(7, h), rough(8, h, r), rough(9, t, r))
    one_by_one = shapes.seen[h,] + shapes.seen[r, h]  # W_uk @ c[i], or W_uk * c[i], for each token
    if shapes.seen[h, t] or shapes.seen[r, h, t]:
        raise Wrong(
            f"The numbers are right, but you made the keys of all {t} tokens, {h} numbers each. Let W_uk meet q "
            "first: brackets say what is multiplied first."
        )
    if one_by_one >= t:
        raise Wrong(
            "The numbers are right, but you made a key for each token, one by one. Let W_uk meet q before the "
            "loop; no loop is needed then."
        )


def _normed(x: Tensor) -> Tensor:
    return torch.nn.functional.rms_norm(x, x.shape[-1:])


def e2(answer: Callable) -> None:
    """Each expert's matrix is orthogonalized alone, and an expert without tokens waits."""
    cases = [
        _stack(1, (2, 3), "zero sum", "idle", "negative"),
        _stack(2, (4, 2), "idle", "first is zero", "small", "row is zero", "idle"),
        _stack(3, (3, 3), "negative", "one entry"),
    ]
    otherwise = (
        "Expert i takes polar(M[i]) where any entry of G[i] is not zero, whatever their sum; where all are "
        "zero it takes zeros."
    )
    compare(answer, cases, _updates, returns=array, otherwise=otherwise)


def _stack(seed: int, size: tuple[int, int], *gradients: str) -> tuple[Tensor, Tensor]:
    M, G = rough(seed, len(gradients), *size), rough(seed + 10, len(gradients), *size).abs()
    for expert, kind in zip(G, gradients, strict=True):
        if kind == "idle":
            expert.zero_()
        elif kind == "zero sum":
            expert.fill_(0.5)
            expert[0] = -0.5 * (len(expert) - 1)
        elif kind == "first is zero":
            expert[0, 0] = 0
        elif kind == "row is zero":
            expert[-1] = 0
        elif kind == "one entry":
            expert.zero_()[1, 1] = 1  # not in the first row, nor in the last
        else:
            expert.mul_(-1 if kind == "negative" else 1e-4)
    return M, G


def _updates(M: Tensor, G: Tensor) -> tuple[Tensor, Mistakes]:
    exact, flat = polar(M), polar(M.flatten(0, 1)).view_as(M)
    turned = polar(M.permute(1, 0, 2)).permute(1, 0, 2)
    as_rows = polar(M.flatten(1)).view_as(M)
    used = (G != 0).flatten(1).any(1)[:, None, None]
    total = G.sum((1, 2), keepdim=True)
    tokens = "An expert with tokens takes its whole step."
    zero = "Idle means that every entry is zero."
    return exact * used, [
        (exact, "The idle expert moves. Its gradient is zero everywhere: give it zeros."),
        (flat, "You took the experts for rows of one matrix. Each expert is a matrix of its own."),
        (flat * used, "The idle expert rests, but the others were orthogonalized as one matrix."),
        (as_rows, "You made each expert one long row. Each expert is a matrix of its own."),
        (as_rows * used, "The idle expert rests, but you made each expert one long row of a matrix."),
        (turned, "The axes are mixed up: the last two are those of a matrix."),
        (turned * used, "You mixed up the axes of experts and rows; only the idle expert is right."),
        (polar(G), "That is the gradient, orthogonalized. Take the momentum."),
        (G, "That is the gradient. Take the momentum, orthogonalized."),
        (M, "That is the momentum itself. Orthogonalize each expert, and let the idle ones rest."),
        (M * used, "That is M, with zeros for the idle expert. Orthogonalize it."),
        (polar(M * (G != 0)), f"You masked the momentum entry by entry. {tokens}"),
        (exact * G, "You multiplied by the gradient. Multiply by 1, or by 0 where it is idle."),
        (exact * (G != 0), f"You masked entry by entry. {tokens}"),
        (exact * (G != 0).any(2, keepdim=True), f"You masked row by row. {tokens}"),
        (exact * (G != 0).any(1, keepdim=True), f"You masked column by column. {tokens}"),
        (exact * (G != 0).flatten(1).all(1)[:, None, None], f"A gradient may have some zeros. {zero}"),
        (exact * (G[:, :1, :1] != 0), f"You looked at the first entry of the gradient only. {zero}"),
        (
            exact * (G[:, :1] != 0).any(2, keepdim=True),
            f"You looked at the first row of the gradient only. {zero}",
        ),
        (exact * (total != 0), f"A gradient whose entries sum to 0 need not be 0. {zero}"),
        (exact * (total > 0), f"A gradient may be negative. {zero}"),
        (exact * (G > 0).flatten(1).any(1)[:, None, None], f"A gradient may be negative. {zero}"),
        (exact * (G.norm(dim=(1, 2), keepdim=True) > 1e-3), f"A small gradient is not zero. {zero}"),
        (exact * total.abs().gt(1e-3), f"A gradient whose entries sum to nearly 0 need not be 0. {zero}"),
        (exact * total.sign(), "You multiplied by a sign of the gradient. Multiply by 1, or by 0 where it is idle."),
        (exact * G.norm(dim=(1, 2), keepdim=True), "You multiplied by the gradient's size. Muon's step is whole."),
        (-exact * used, "Leave the sign to the step, which subtracts the update."),
        (exact * ~used, "You have it the wrong way round: the idle expert alone moves."),
        (torch.where(used, exact, M), "The idle expert keeps its momentum as the update. Give it zeros."),
        (exact[used.flatten()], "You left the idle expert out. The result has its place too, with zeros."),
        (exact.mT * used, "Each expert came out transposed. The result has the shape of M."),
        (
            M / M.norm(dim=(1, 2), keepdim=True) * used,
            "Each expert was divided by its norm. That keeps its singular values unequal.",
        ),
        (newton_schulz(M, dtype=torch.float32) * used, "Five Newton-Schulz steps are not polar: use the exact one."),
    ]


def e3(answer: Callable) -> None:
    """The gain in one architecture less the gain in the other, seed by seed."""
    small = torch.tensor([[[5.0, 5.3, 5.1], [4.8, 4.9, 5.2]], [[5.2, 5.1, 5.6], [4.7, 5.0, 5.0]]])
    cases = [(small,), (5 + rough(4, 2, 2, 2),), (5 + rough(5, 2, 2, 5),)]
    otherwise = (
        "A gain is AdamW's loss minus Muon's. Take the gain with latents minus the one with multi-head attention."
    )
    compare(answer, cases, _interaction, returns=array, otherwise=otherwise)


def _interaction(loss: Tensor) -> tuple[Tensor, Mistakes]:
    gain, cost = loss[:, 0] - loss[:, 1], loss[1] - loss[0]  # (attention, seed), (optimizer, seed)
    right = gain[1] - gain[0]
    seed = "Return one number for each seed."
    last = loss[..., 0] - loss[..., 1]
    return right, [
        (-right, "The sign is wrong. A gain is AdamW's loss minus Muon's; then take latent minus multi-head."),
        (gain.mean(0), "That is Muon's mean gain, a main effect. Subtract the two gains."),
        (gain.sum(0), "That is the sum of both gains. Subtract them."),
        (gain, "These are the two gains. Subtract the one with multi-head attention from the other."),
        (gain[1], "That is the gain in latent attention alone."),
        (gain[0], "That is the gain in multi-head attention alone."),
        (cost.mean(0), "That is what latent attention costs, a main effect."),
        (-cost.mean(0), "That is what latent attention gains, a main effect."),
        (cost[0], "That is what latents cost under AdamW. Subtract what they cost under Muon."),
        (cost[1], "That is what latents cost under Muon. It is one half of a difference of differences."),
        (loss[0, 0] - loss[1, 1], "You changed both at once. Take the gain with latents minus the gain without."),
        (right / 2, "Halves belong to another convention. Here it is the plain difference of gains."),
        (gain[1] / gain[0], "That is a ratio of gains. In nats, factors have become sums: subtract."),
        ((gain[1] - gain[0]) / gain[0], "You divided by a gain. Leave the difference in nats."),
        (right.abs(), "You dropped the sign. With latents Muon may gain less: then the number is negative."),
        (right.clamp(min=0), "You cut the result at 0. With latents Muon may gain less."),
        (
            gain[1].abs() - gain[0].abs(),
            "You dropped the signs of the gains. In a seed in which Muon is behind, its gain is negative.",
        ),
        (right.mean(), f"That is the mean over the seeds. {seed}"),
        (right.mean().expand_as(right), f"All seeds came out alike. {seed}"),
        (last[1] - last[0], "You subtracted along the last axis, the seeds. The optimizer is the second axis."),
        (last[:, 1] - last[:, 0], "You subtracted along the last axis, the seeds. The optimizer is the second axis."),
        (right[None], f"The numbers are right, in a matrix of one row. {seed}"),
        (
            loss[1, 0] + loss[1, 1] - loss[0, 0] - loss[0, 1],
            "A sign is wrong: each gain is AdamW's loss *minus* Muon's.",
        ),
    ]
