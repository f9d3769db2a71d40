"""The theorems of the one-layer memory in closed form, and runs of any K in six numbers.

With orthonormal embeddings, facts of two frequencies (`embeddings.two_block`) and W₀ = 0, every
matrix that gradient descent, Muon or decoupled SignGD meets is, in the basis of the embeddings,

    ẼᵀWE = [ a I_L + c₁₁ J    c₁₂ J            ]
           [ c₂₁ J            b I_{K−L} + c₂₂ J ]        J all ones,

because facts of one frequency cannot be told apart. Six numbers instead of K²: K = 999 takes no
longer than K = 9. Source: arXiv 2509.26030, section 5 and Appendix D, F (Propositions F.2, F.3).
"""

import math
from dataclasses import astuple, dataclass

import torch
from torch import Tensor

from muonlab import checks
from muonlab.optim.orthogonalize import polar
from muonlab.theory.embeddings import two_block
from muonlab.theory.memory import StepRule, Trace


@dataclass(frozen=True)
class TwoBlock:
    """The matrix above, of K facts, the first L of them frequent."""

    K: int
    L: int
    a: float = 0.0
    b: float = 0.0
    c11: float = 0.0
    c12: float = 0.0
    c21: float = 0.0
    c22: float = 0.0

    def dense(self) -> Tensor:
        """Returns it as (K, K), float64."""
        L, rest = self.L, self.K - self.L
        constants = torch.tensor([[self.c11, self.c12], [self.c21, self.c22]], dtype=torch.float64)
        kind = torch.tensor([0] * L + [1] * rest)  # of each fact: frequent, rare
        diagonal = torch.tensor([self.a, self.b], dtype=torch.float64)[kind]
        return constants[kind][:, kind] + torch.diag(diagonal)

    def add(self, other: "TwoBlock", lr: float) -> "TwoBlock":
        """Returns this + lr · other."""
        K, L, *entries = astuple(self)
        pairs = zip(entries, astuple(other)[2:], strict=True)
        return TwoBlock(K, L, *(x + lr * y for x, y in pairs))

    def log_correct(self) -> tuple[float, float]:
        """Returns log f(E_k)_k of a frequent and of a rare fact."""
        return self._logs()[0], self._logs()[3]

    def descent(self, p_frequent: float, p_rare: float) -> "TwoBlock":
        """Returns −∇L at this W, in the same basis; p of one frequent and of one rare fact."""
        hit, same, other, rare_hit, rare_same, rare_other = map(math.exp, self._logs())
        a, b = p_frequent * (1 - hit + same), p_rare * (1 - rare_hit + rare_same)
        c11, c21 = -p_frequent * same, -p_frequent * other
        c22, c12 = -p_rare * rare_same, -p_rare * rare_other
        return TwoBlock(self.K, self.L, a, b, c11, c12, c21, c22)

    def direction(self, rule: StepRule) -> "TwoBlock":
        """Returns what `memory.direction` makes of it (with decoupled embeddings, for "sign")."""
        rules = {"gd": lambda: self, "sign": self._sign, "muon": self._polar}
        checks.choice("rule", rule, rules)
        return rules[rule]()

    def _polar(self) -> "TwoBlock":
        # Proposition F.2: across the ones the matrix is a or b times the identity; `along` is what
        # it does to the two vectors of ones of its blocks, at unit length
        L, rest = self.L, self.K - self.L
        across = math.sqrt(L * rest)
        along = [[self.a + L * self.c11, across * self.c12]]
        along += [[across * self.c21, self.b + rest * self.c22]]
        a, b = _sign(self.a) if L > 1 else 0.0, _sign(self.b) if rest > 1 else 0.0
        U, S, Vh = torch.linalg.svd(torch.tensor(along, dtype=torch.float64))
        known = 1e-12 * max(abs(self.a), abs(self.b), S[0]) < S  # not only rounding
        (c11, c12), (c21, c22) = polar((U * torch.where(known, S, 0.0)) @ Vh).tolist()
        c11, c22 = (c11 - a) / L, (c22 - b) / rest
        return TwoBlock(self.K, L, a, b, c11, c12 / across, c21 / across, c22)

    def _sign(self) -> "TwoBlock":
        c11, c12, c21, c22 = map(_sign, (self.c11, self.c12, self.c21, self.c22))
        a, b = _sign(self.a + self.c11) - c11, _sign(self.b + self.c22) - c22
        return TwoBlock(self.K, self.L, a, b, c11, c12, c21, c22)

    def _logs(self) -> tuple[float, ...]:
        """Returns the six log-probabilities: of a frequent key, then of a rare one.

        Each: the right answer, another one of the same frequency, one of the other frequency.
        """
        L, rest = self.L, self.K - self.L
        return (
            *_log_softmax((self.a + self.c11, 1), (self.c11, L - 1), (self.c21, rest)),
            *_log_softmax((self.b + self.c22, 1), (self.c22, rest - 1), (self.c12, L)),
        )


def run_blocks(K: int, L: int, alpha: float, rule: StepRule, lr: float, steps: int) -> Trace:
    """Returns the run of `memory.memorize` for two-block facts and orthonormal embeddings.

    `correct` has two columns: a frequent fact, a rare one. "sign" is with decoupled embeddings;
    "gd" and "muon" do not depend on them.

    Raises:
        ValueError: unless 0 < L < K and L/K < alpha < 1; another rule; a step size after which W is
            not finite.
    """
    p = two_block(K, L, alpha)
    p_frequent, p_rare = p[0].item(), p[-1].item()
    W, rows, losses = TwoBlock(K, L), [], []
    for step in range(steps + 1):
        frequent, rare = W.log_correct()
        rows.append([math.exp(frequent), math.exp(rare)])
        losses.append(-alpha * frequent - (1 - alpha) * rare)
        if not math.isfinite(losses[-1]):
            raise ValueError(f"W overflowed at step {step}: lower lr, now {lr}")
        if step < steps:
            W = W.add(W.descent(p_frequent, p_rare).direction(rule), lr)
    return Trace(torch.tensor(rows, dtype=torch.float64), torch.tensor(losses, dtype=torch.float64))


def gradient_spectrum(K: int, L: int, alpha: float) -> list[tuple[float, int]]:
    """Returns the singular values of ∇L(0), each with how often it occurs.

    Source: Proposition F.3.
    """
    p = two_block(K, L, alpha)
    a, b = p[0].item(), p[-1].item()
    mixed = math.sqrt((a * a * (K - L) + b * b * L) / K)
    return [(a, L - 1), (mixed, 1), (b, K - L - 1), (0.0, 1)]


def imbalance_exponent(alpha: float, beta: float) -> float:
    """Returns r(α, β) ≤ 1 of Theorem 5.3: after one GD step the rare facts lag by K^(r − 1).

    Raises:
        ValueError: unless α and β are between 0 and 1.
    """
    checks.number("alpha", alpha, 0, 1, above=True)
    checks.number("beta", beta, 0, 1, above=True)
    ratio = alpha * (1 - beta) / (beta * (1 - alpha))
    return min(ratio, 1 / ratio)


def gd_worst(K: int, L: int, alpha: float, epsilon: float) -> float:
    """Returns the worst fact's probability when one GD step takes the best to 1 − ε, exactly.

    Source: the proof of Theorem 5.3.
    """
    checks.number("epsilon", epsilon, 0, 1, above=True)
    r = imbalance_exponent(alpha, L / K)
    odds = (1 - epsilon) ** r * epsilon**-r * (K - 1) ** (r - 1)
    return odds / (1 + odds)


def _log_softmax(*terms: tuple[float, int]) -> list[float]:
    """Returns the logs of the shares of e^x, for numbers x that occur n times each."""
    top = max(x for x, n in terms if n)
    total = top + math.log(sum(n * math.exp(x - top) for x, n in terms))
    return [x - total for x, _ in terms]


def _sign(x: float) -> float:
    return math.copysign(1.0, x) if x else 0.0
