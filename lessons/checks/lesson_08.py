"""Checks of lesson 08: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from muonlab import polar
from muonlab.classroom.exercise import Mistakes, compare
from muonlab.classroom.kinds import float_array, number_or_array


def e3(answer: Callable) -> None:
    """The average of gradients, its polar factor in six numbers, and the step."""
    cases = [
        (
            _six(2.0, 0.5, -0.5, -0.25, -0.375, -0.125),
            _six(0.3, 0.1, -0.1, -0.03, -0.05, -0.02),
            _six(0.5, 0.2, 0.1, -0.15, -0.2, 0.05),
            *(2, 3, 0.75, 0.5),
        ),
        (
            _six(1.0, 1.0, 0.0, 0.125, 0.25, -0.5),
            _six(0.2, 0.4, 0.1, -0.05, 0.03, 0.02),
            _six(0.6, 0.1, -0.1, 0.05, 0.02, 0.1),
            *(4, 2, 0.9, 0.25),
        ),
        (  # a core of rank one, as gradients have
            _six(0.5, 0.5, -0.1, -0.05, -0.05, -0.1),
            _six(0.2, 0.1, -0.04, -0.02, -0.04, -0.02),
            _six(0.4, 0.05, -0.08, -0.01, -0.08, -0.01),
            *(2, 3, 0.9, 1.0),
        ),
    ]

    def look(W: Tensor, M: Tensor, G: Tensor, L: int, R: int, mu: float, lr: float) -> tuple[Tensor, Mistakes]:
        average = mu * M + (1 - mu) * G

        def step(new: Tensor, update: Tensor) -> Tensor:
            return torch.stack([W + lr * update, new])

        one = _polar_six(average, L, R)
        right = step(average, one)
        across = math.sqrt(L * R)
        core = _core(average, L, R)
        q = polar(core).flatten()
        diagonal, ones = one[:2], torch.tensor([1.0, 0, 0, 1]).to(q)
        blocks = torch.tensor([L, across, across, R], dtype=torch.float64)
        undivided = torch.cat([diagonal, q - ones])
        kept = torch.cat([diagonal, q / blocks])
        bare = polar(average[2:].view(2, 2)).flatten()
        small = polar(core - torch.diag(average[:2])).flatten()
        mistakes = [
            (step(M, _polar_six(M, L, R)), "Your step uses the old average and leaves the gradient G out."),
            (
                step(average, _polar_six(M, L, R)),
                "The new average is right, but your step uses the old one. Take the polar factor of the new M.",
            ),
            (
                step(average, _polar_six(G, L, R)),
                "The average is right, but your step takes the polar factor of G. Momentum: the polar factor of M.",
            ),
            (step(G, _polar_six(G, L, R)), "That is Muon without momentum: M is G alone. Average first."),
            (
                step(mu * M + G, _polar_six(mu * M + G, L, R)),
                "You summed gradients: M ← μM + G. Here M is an average: G comes with the factor 1 − μ.",
            ),
            (
                step((1 - mu) * M + mu * G, _polar_six((1 - mu) * M + mu * G, L, R)),
                "μ and 1 − μ are exchanged: the old average keeps the share μ.",
            ),
            (
                step(average, _polar_six(mu * average + (1 - mu) * G, L, R)),
                "You looked one step ahead, as Nesterov does. Here the step takes the polar factor of M itself.",
            ),
            (step(average, average), "Your step adds M itself. Take its polar factor: c₁ and c₂ become 1."),
            (
                step(average, polar(average.view(2, 3)).flatten()),
                "You took the polar factor of the six numbers as if they were a matrix. They describe one: use the core.",
            ),
            (
                step(average, kept),
                "The corners of the core's polar factor hold c₁ and c₂, which are now 1: take 1 away before you divide.",
            ),
            (
                step(
                    average,
                    torch.cat([diagonal, (q - ones * average[[0, 0, 0, 1]]) / blocks]),
                ),
                "You took the old c₁ and c₂ away from the corners. In the polar factor both are 1.",
            ),
            (
                step(average, undivided),
                "Spread the entries of the core over their blocks: divide by L, √(LR), √(LR) and R.",
            ),
            (
                step(average, torch.cat([diagonal, undivided[2:] / torch.tensor([L, 1.0, 1.0, R]).to(q)])),
                "c₁₂ and c₂₁ are not divided: each entry across the blocks is c · √(LR).",
            ),
            (
                step(average, torch.cat([diagonal, undivided[2:] / torch.tensor([L * L, L * R, L * R, R * R]).to(q)])),
                "You divided by the number of entries in each block. The vector of ones has length √L: divide by L, √(LR), R.",
            ),
            (
                step(average, torch.cat([diagonal, undivided[2:] / torch.tensor([R, across, across, L]).to(q)])),
                "L and R are exchanged: the first block, c₁₁, belongs to the L frequent facts.",
            ),
            (
                step(average, one[[0, 1, 2, 4, 3, 5]]),
                "c₁₂ and c₂₁ are exchanged: c₁₂ stands in row 1, column 2 of the core.",
            ),
            (
                step(average, torch.cat([diagonal, (bare - ones) / blocks])),
                "Your core is made of the constants alone. Along the ones of block 1 the matrix gives c₁ + L·c₁₁.",
            ),
            (
                step(average, torch.cat([diagonal, (small - ones) / blocks])),
                "c₁ and c₂ are missing in your core: its corners are c₁ + L·c₁₁ and c₂ + R·c₂₂.",
            ),
            (
                step(average, one * torch.tensor([0, 0, 1, 1, 1, 1]).to(one)),
                "The constants are right. c₁ and c₂ of the polar factor are 1 each, not 0.",
            ),
            (
                step(average, one * torch.tensor([1, 1, 0, 0, 0, 0]).to(one)),
                "c₁ and c₂ are right. The constants change too: they come from the polar factor of the core.",
            ),
            (
                step(average, _polar_six(average, R, L)),
                "You exchanged L and R from the start: L belongs to c₁ and c₁₁, R to c₂ and c₂₂.",
            ),
            (torch.stack([W, M]), "Nothing has moved: return the new W and the new M, not those that came."),
            (right.flip(0), "W and M are exchanged: return W first, then M."),
            (
                torch.stack([W - lr * one, average]),
                "Your step goes up the loss: G is −∇L already, so add lr times the polar factor.",
            ),
            (
                torch.stack([W + one, average]),
                "The step size is missing: W moves by lr times the polar factor.",
            ),
            (torch.stack([lr * one, average]), "You returned the step. Add it to W."),
            (torch.stack([one, average]), "You returned the polar factor in the place of W. Add lr times it to W."),
            (torch.stack([W + lr * one, M]), "W is right. Return the new average as M, not the old one."),
            (torch.stack([W, average]), "M is right. W has not moved: add lr times the polar factor of M."),
            (average, "That is the new M. Return the new W and the new M, six numbers each."),
            (W + lr * one, "That is the new W. Return the new M too: the next step needs it."),
        ]
        return right, mistakes

    def otherwise(came: object, *case: object) -> str:
        right, _ = look(*case)
        if isinstance(came, Tensor) and came.shape == right.shape:
            if not torch.allclose(came[1], right[1], atol=1e-6):
                return "The second result, M, is wrong: it is mu · M + (1 − mu) · G."
            if not torch.allclose(came[0, :2], right[0, :2], atol=1e-6):
                return "M is right. In W, c₁ and c₂ are wrong: the polar factor has c₁ = c₂ = 1, so each grows by lr."
            return (
                "M, c₁ and c₂ are right. The constants are not: (entry − 1)/L, entry/√(LR), entry/√(LR), (entry − 1)/R."
            )
        return "Return two rows of six numbers: the new W, then the new M."

    compare(answer, cases, look, returns=float_array, otherwise=otherwise)


def e5(answer: Callable) -> None:
    """Σ (1 − p)^draws."""
    cases = [
        (torch.tensor([0.5, 0.25, 0.125, 0.125]), 3),
        (torch.tensor([0.1, 0.6, 0.3]).double(), 2),
        (torch.full((5,), 0.2), 10),
    ]

    def look(p: Tensor, draws: int) -> tuple[Tensor, Mistakes]:
        missed = (1 - p) ** draws
        mistakes = [
            (missed, "That is each fact's chance to be missed. Their sum is the number of facts expected."),
            (missed.mean(), "That is the share of the facts. Their number is asked: the sum, not the mean."),
            ((p * missed).sum(), "You weighted the facts by p. Each fact that is missed counts as one."),
            (len(p) - missed.sum(), "That is how many facts are drawn. Those that are missed are asked."),
            (1 - missed, "That is each fact's chance to be drawn. Return how many facts are missed."),
            (
                (1 - p * draws).sum(),
                "1 − p · draws can fall below 0. Chances of independent draws multiply: (1 − p)^draws.",
            ),
            (
                (1 - p * draws).clamp(min=0).sum(),
                "A fact is missed by one draw with 1 − p, and by all of them with (1 − p)^draws.",
            ),
            ((1 - p**draws).sum(), "1 − p^draws: not drawn every time. Missed every time is (1 − p)^draws."),
            ((p**draws).sum(), "p^draws is the chance to be drawn every time. To be missed each time: (1 − p)^draws."),
            (((1 - p) * draws).sum(), "Draws are independent: their chances multiply, (1 − p)^draws."),
            ((1 - p).sum(), "That is for one draw. The draws are independent: (1 − p)^draws."),
            (
                missed.prod(),
                "You multiplied the facts' chances. Return how many are missed on average: the sum.",
            ),
            (missed.max(), "That is the chance of the rarest fact alone. Sum over the facts."),
            (torch.exp(-p * draws).sum(), "e^(−p·draws) is close for small p only. Use (1 − p)^draws."),
            (
                ((1 - p) ** (draws - 1)).sum(),
                "That is for one draw too few: all the draws miss.",
            ),
            (
                ((1 - p) ** draws * p).sum() * len(p),
                "You weighted the facts by p. Each fact that is missed counts as one.",
            ),
        ]
        return missed.sum(), mistakes

    otherwise = "One draw misses a fact with 1 − p, all of them with (1 − p)^draws. Sum over the facts."
    compare(answer, cases, look, returns=number_or_array, otherwise=otherwise)


def _six(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def _core(six: Tensor, L: int, R: int) -> Tensor:
    a, b, c11, c12, c21, c22 = six
    across = math.sqrt(L * R)
    return torch.stack([a + L * c11, across * c12, across * c21, b + R * c22]).view(2, 2)


def _polar_six(six: Tensor, L: int, R: int) -> Tensor:
    q, across = polar(_core(six, L, R)).flatten(), math.sqrt(L * R)
    a, b = six[0].sign(), six[1].sign()
    return torch.stack([a, b, (q[0] - a) / L, q[1] / across, q[2] / across, (q[3] - b) / R])
