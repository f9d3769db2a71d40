"""Muon's step as its formulas say it, for one matrix: what to read before `muon`, and its test."""

from typing import Any

from torch import Tensor

from muonlab.optim.orthogonalize import newton_schulz


def muon_step(
    W: Tensor,
    G: Tensor,
    M: Tensor,
    *,
    lr: float = 1e-3,
    momentum: float = 0.95,
    nesterov: bool = True,
    weight_decay: float = 0.1,
    scale: float = 1.0,
    **options: Any,
) -> tuple[Tensor, Tensor]:
    """Returns the new W and M of a matrix, or a stack, with gradient G; nothing given is changed.

        M ← μ M + (1 − μ) G             momentum, an average of gradients
        D = μ M + (1 − μ) G             Nesterov's look ahead (D = M without it)
        O = newton_schulz(D)            the same directions, all singular values near 1
        W ← (1 − lr λ) W − lr s O       s from `lr_scale`, by the shape of W

    Args:
        W, G, M: (..., m, n); M is zeros before the first step.
        lr, momentum, nesterov, weight_decay: lr, μ, whether to look ahead, and λ.
        scale: s.
        options: those of `newton_schulz`.

    >>> import torch
    >>> W, M = muon_step(torch.zeros(2, 2), torch.tensor([[3.0, 0.0], [0.0, 3.0]]),
    ...     torch.zeros(2, 2), lr=0.5, coefficients="quintic")
    >>> W.mul(10).round().tolist()
    [[-5.0, 0.0], [0.0, -5.0]]
    """
    M = momentum * M + (1 - momentum) * G
    D = momentum * M + (1 - momentum) * G if nesterov else M
    O = newton_schulz(D, **options)  # noqa: E741  the paper's letter
    W = (1 - lr * weight_decay) * W - lr * scale * O
    return W, M
