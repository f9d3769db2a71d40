"""One-layer associative memory: facts as outer products, and three optimizers that store them.

A fact is a key E_k and a value Ẽ_k, the columns of E (d_s, K) and Ẽ (d_o, K). The model answers a
key with probabilities over all values,

    f_W(E_k) = softmax(Ẽᵀ W E_k),        L(W) = −Σ_k p_k log f_W(E_k)_k,

where p_k says how often fact k is seen. W starts at 0. Source: arXiv 2509.26030, section 5.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from muonlab.optim.orthogonalize import newton_schulz, polar

StepRule = Literal["gd", "sign", "muon", "newton_schulz", "polar_express"]


def store(keys: Tensor, values: Tensor) -> Tensor:
    """Returns the linear memory W = Σ_k Ẽ_k E_kᵀ (d_o, d_s) of keys (d_s, K) and values (d_o, K).

    >>> store(torch.eye(3), torch.eye(3)).tolist() == torch.eye(3).tolist()
    True
    """
    return values @ keys.mT


def recall(W: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Returns which fact the memory W (d_o, d_s) answers each key with: (K,) int64."""
    return (values.mT @ W @ keys).argmax(dim=0)


def answers(W: Tensor, E: Tensor, values: Tensor) -> Tensor:
    """Returns f_W for every key: (K, K), column k the probabilities that key k is answered with."""
    return torch.softmax(values.mT @ W @ E, dim=0)


def descent(W: Tensor, E: Tensor, values: Tensor, p: Tensor) -> Tensor:
    """Returns −∇L(W) = Ẽ (I − P) diag(p) Eᵀ, P the answers. Source: Proposition F.1."""
    surprise = torch.eye(len(p), dtype=W.dtype) - answers(W, E, values)
    return values @ (surprise * p) @ E.mT


def direction(G: Tensor, rule: StepRule | Callable[[Tensor], Tensor]) -> Tensor:
    """Returns what the rule makes of −∇L: itself, its signs, or its polar factor.

    "sign" is Adam without memory (β₁ = β₂ = 0), "muon" Muon without momentum. A singular value that
    is 0 stays 0: the gradient at W = 0 has one. "newton_schulz" and "polar_express" put five steps
    of Jordan's or of the Polar Express schedule in the place of the SVD. A function is a rule, too.
    """
    if callable(rule):
        return rule(G)
    if rule == "gd":
        return G
    if rule == "sign":
        return G.sign()
    if rule == "muon":
        return polar(G)
    return newton_schulz(G, 5, "jordan" if rule == "newton_schulz" else rule)


@dataclass(frozen=True)
class Trace:
    """What an optimizer did to every fact: row t is after t updates."""

    correct: Tensor  # (steps + 1, K): the probability of the right answer
    loss: Tensor  # (steps + 1,), nats

    @property
    def gap(self) -> Tensor:
        """Δ (steps + 1,), the best known fact's probability minus the worst known's."""
        return self.correct.amax(-1) - self.correct.amin(-1)


def memorize(
    p: Tensor,
    E: Tensor,
    values: Tensor,
    rule: StepRule | Literal["adam"] | Callable[[Tensor], Tensor],
    lr: float,
    steps: int,
    *,
    momentum: float = 0.0,
    beta2: float = 0.0,
) -> Trace:
    """Returns the run of `steps` updates W ← W + lr · direction(M), from W = 0.

    M is −∇L(W), or its average of gradients M ← momentum · M + (1 − momentum) (−∇L).

    Args:
        p: (K,) how often each fact is seen.
        E, values: keys (d_s, K) and values (d_o, K); or square blocks that repeat along the
            diagonal, as those of `coupled_blocks`, which take a fraction of the time.
        beta2: of rule "adam", which divides M by the root of an average of squared gradients, both
            corrected for their start at 0.

    Raises:
        ValueError: an unknown rule, p whose sum is not 1, or a step size after which W is not
            finite.
    """
    if not (p >= 0).all() or not abs(p.sum() - 1) < 1e-6:
        raise ValueError(f"p (K,) must hold probabilities, their sum 1; got {p}")
    K = len(p)
    blocks = K // E.size(1)
    W = torch.zeros(blocks * len(values), blocks * len(E), dtype=torch.float64)
    M, V, rows, losses = torch.zeros_like(W), torch.zeros_like(W), [], []
    for step in range(steps + 1):
        logs = torch.log_softmax(_times(values.mT, _times(E.mT, W.mT).mT), dim=0)
        rows.append(logs.diagonal().exp())
        losses.append(-(p * logs.diagonal()).sum())
        if not losses[-1].isfinite():
            raise ValueError(f"W overflowed at step {step}: lower lr, now {lr}")
        if step < steps:
            surprise = (torch.eye(K, dtype=W.dtype) - logs.exp()) * p
            G = _times(values, _times(E, surprise.mT).mT)
            M = momentum * M + (1 - momentum) * G
            if rule == "adam":
                V = beta2 * V + (1 - beta2) * G**2
                root = (V / (1 - beta2 ** (step + 1))).sqrt() + 1e-12  # never divide by 0
                update = M / (1 - momentum ** (step + 1)) / root
            else:
                update = direction(M, rule)
            W = W + lr * update
    return Trace(torch.stack(rows), torch.stack(losses))


def _times(B: Tensor, X: Tensor) -> Tensor:
    """Returns (I ⊗ B) X: B X, or a small B applied to one group of rows of X after another."""
    return (B @ X.reshape(-1, B.size(1), X.size(1))).flatten(0, 1)
