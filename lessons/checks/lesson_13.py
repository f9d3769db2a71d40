"""Checks of lesson 13: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from muonlab.classroom.exercise import Mistakes, compare, rough
from muonlab.classroom.kinds import float_array


def e3(answer: Callable) -> None:
    """The gain in one architecture less the gain in the other, seed by seed."""
    small = torch.tensor([[[5.0, 5.3, 5.1], [4.8, 4.9, 5.2]], [[5.2, 5.1, 5.6], [4.7, 5.0, 5.0]]])
    cases = [(small,), (5 + rough(4, 2, 2, 2),), (5 + rough(5, 2, 2, 5),)]
    otherwise = (
        "A gain is AdamW's loss minus Muon's. Take the gain with latents minus the one with multi-head attention."
    )
    compare(answer, cases, _interaction, returns=float_array, otherwise=otherwise)


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


def e4(answer: Callable) -> None:
    """A head above tau ends at tau, with every part of its logits; the others keep their matrices."""
    cases = [(_logits(1, 2, 4, 3), 2.0), (_logits(2, 1, 3, 5, -7, 9), 0.5), (_logits(3, 3, 4, 4), 1.5)]

    def otherwise(came: object, *case: object) -> str:
        right = _clipped(*case)[0]
        if not isinstance(came, Tensor) or came.shape != right.shape:
            return "Return four rows, one number a head in each: S, then the factors of W_q, W_uk and W_qr."
        if came.isnan().any():
            return "Some numbers are NaN: a head with negative S has no root of tau/S. Its factors are 1."
        near = [torch.allclose(a, b, rtol=1e-3) for a, b in zip(came, right.double(), strict=True)]
        if not near[0]:
            return "The first row, S, is wrong: the largest logit of each head over texts, queries and keys u <= t."
        named = [f"of {n}" for n, well in zip(("W_q", "W_uk", "W_qr"), near[1:], strict=True) if not well]
        return f"S is right. Look at the factors {', '.join(named)}: γ is tau/S above tau, else 1."

    compare(answer, cases, _clipped, returns=float_array, otherwise=otherwise)


def _logits(seed: int, B: int, H: int, T: int, ahead: float = 7, below: float = 0.1) -> Tensor:
    """Logits, far off where u > t; all that the last head sees are negative, at least so far."""
    logits = rough(seed, B, H, T, T) * torch.arange(H, 0, -1)[:, None, None]
    logits[:, -1] = -logits[:, -1].abs() - below
    return torch.where(torch.ones(T, T).triu(1).bool(), logits.abs() + ahead, logits)


def _clipped(logits: Tensor, tau: float) -> tuple[Tensor, Mistakes]:
    T = logits.size(-1)
    seen = torch.ones(T, T).tril().bool()
    only = logits.masked_fill(~seen, -math.inf)
    S = only.amax((0, 2, 3))
    zeros, strict = (logits.masked_fill(~m, z).amax((0, 2, 3)) for m, z in ((seen, 0.0), (seen.tril(-1), -math.inf)))
    sizes = logits.masked_fill(~seen, 0.0).abs().amax((0, 2, 3))
    gamma = torch.where(tau < S, tau / S, 1.0)
    right = _rows(S, gamma)
    raw = tau / S
    one = torch.where(S.max() > tau, tau / S.max(), 1.0).expand_as(S)
    mask = "S is too large for some heads."
    rotary = "The factor of W_qr is wrong."
    return right, [
        (_by(logits.amax((0, 2, 3)), tau), f"{mask} A query sees keys up to its own place: leave out u > t."),
        (
            _by(logits.mT.masked_fill(~seen, -math.inf).amax((0, 2, 3)), tau),
            f"{mask} You kept the keys to come, and left out those that are seen: u <= t is seen.",
        ),
        (_by(zeros, tau), f"{mask} You put 0 where nothing is seen, and 0 beats negative logits. Put −∞ there."),
        (_by(strict, tau), "A query sees its own token too: keep u = t."),
        (_by(sizes, tau), f"{mask} You took the largest size. A logit far below 0 does no harm: leave the sign."),
        (_by(only.amax((2, 3)).mean(0), tau), "You took the mean over the texts. S is the largest over them."),
        (_by(S.max().expand_as(S), tau), "You took one S for all heads. Each head has its own, and most need no clip."),
        (_rows(S, one), "S is right, but all heads take the factors of the largest one. Each head has its own γ."),
        (_rows(S, raw.abs()), "S is right, but heads below tau were scaled too. Their factors are 1."),
        (
            _rows(S, raw.clamp(max=1)),
            "S is right. A head with negative S got a negative γ, or a root of one. Its factors are 1.",
        ),
        (_rows(S, (tau / S.abs()).clamp(max=1)), "S is right, but a head far below 0 was scaled. Only S > tau is."),
        (_rows(S, torch.where(tau < S, S / tau, 1.0)), "S is right, but γ is upside down: tau/S, below 1."),
        (_rows(S, torch.where(tau < S, S - tau, 1.0)), "S is right, but γ is a ratio, tau/S, not a difference."),
        (
            torch.stack([S, gamma, gamma, gamma]),
            "W_q and W_uk meet in a product: with γ each, it falls by γ². Give √γ to each.",
        ),
        (torch.stack([S, *3 * [gamma.sqrt()]]), f"{rotary} It meets s, which stays as it is. So W_qr takes all of γ."),
        (
            torch.stack([S, gamma.sqrt(), gamma.sqrt(), gamma**0]),
            f"{rotary} Without it, the rotary part of the logits keeps growing.",
        ),
        (torch.stack([S, gamma.sqrt(), gamma.sqrt(), gamma**2]), f"{rotary} It is γ, not its square."),
        (
            torch.stack([S, gamma, gamma, gamma.sqrt()]),
            "You exchanged √γ and γ: W_q and W_uk share γ, W_qr has it alone.",
        ),
        (
            torch.stack([S, gamma, gamma**0, gamma]),
            "The logits come out right, but the paper shares γ: √γ for W_q, √γ for W_uk.",
        ),
        (
            torch.stack([S, gamma**0, gamma, gamma]),
            "The logits come out right, but W_uk bears all of it. The paper gives √γ to W_q too.",
        ),
        (right[1:], "These are the factors. Put S above them, as the first row."),
        (right.T, "The numbers are right, turned: each of the four is a row, (4, H)."),
        (S, "That is S. Add three rows: the factors of W_q, W_uk and W_qr."),
        (gamma, "That is γ. Return four rows: S, √γ, √γ, γ."),
    ]


def _by(S: Tensor, tau: float) -> Tensor:
    return _rows(S, torch.where(tau < S, tau / S, 1.0))


def _rows(S: Tensor, gamma: Tensor) -> Tensor:
    return torch.stack([S, gamma.sqrt(), gamma.sqrt(), gamma])
