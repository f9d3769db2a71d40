"""The feed-forward layer, and a mixture of small ones, of which each token uses a few.

In shapes, N is the number of tokens, C the width, E the experts, k those that a token chooses.
"""

import math
from collections.abc import Iterator

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

from muonlab.models.config import GPTConfig


class FeedForward(nn.Module):
    """w_out(σ(w_in x)), or w_out(σ(w_in x) ⊙ w_gate x) when gated; σ is GELU in both."""

    def __init__(self, config: GPTConfig, hidden: int | None = None) -> None:
        super().__init__()
        hidden = hidden or config.hidden
        self.w_in = nn.Linear(config.width, hidden, bias=False)
        self.w_gate = nn.Linear(config.width, hidden, bias=False) if config.gated else None
        self.w_out = nn.Linear(hidden, config.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Returns (B, T, C) for x (B, T, C)."""
        h = F.gelu(self.w_in(x))  # (B, T, hidden)
        if self.w_gate is not None:
            h = h * self.w_gate(x)
        return self.w_out(h)  # (B, T, C)


class Stack(nn.Module):
    """One matrix of every expert, as one parameter (E, out, in): to Muon, E matrices."""

    def __init__(self, experts: int, inputs: int, outputs: int) -> None:
        super().__init__()
        weight = torch.randn(experts, outputs, inputs) * (0.5 / math.sqrt(inputs))
        self.weight = nn.Parameter(weight)

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.weight.unbind())  # E times (out, in); their gradients meet in one stack


class Experts(nn.Module):
    """A mixture of experts: small feed-forward layers, of which a token uses some.

    For a token x::

        score  = σ(router x)                                   a number for each of E experts
        chosen = the k experts with the largest score + bias
        y      = shared(x) + Σ over chosen of 2 · score · expert(x)

    Shared experts see every token; s of them side by side are one layer s times as wide, and
    `shared` is that layer. The gate 2 · score is 1 where the router has no opinion, so the layer
    starts about as large as the dense one that it divides. No expert is ever full: each token
    reaches all that it chose.

    The bias balances the load: after each training step it rises by `balance` for experts with
    fewer tokens than the mean, and falls for the others. It moves the choice and not the gates,
    so it has no gradient, and the loss needs no second term. The paper's rate is 0.001, for runs of
    many thousand steps; in a hundred it moves little. The bias belongs to the state, and rests
    without gradients or in eval mode. While `waiting` is set, tokens are only counted: where a
    batch comes in pieces, the bias moves with the last. Where torch.distributed connects several
    processes, all their tokens count, so that all hold the same bias: each has to take every
    training step.

    An expert that no token chose has a gradient of zeros; `muonlab.Muon` then leaves it alone.
    After each call `load` (E,) holds how many tokens each expert had.

    Source: DeepSeekMoE, arXiv 2401.06066 (shared and small experts); Wang et al., arXiv 2408.15664
    (bias, sigmoid).
    """

    bias: Tensor  # (E,)
    load: Tensor  # (E,) int64
    counted: Tensor  # (E,) int64, since the bias has moved
    waiting = False

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.k, self.rate = config.active_experts, config.balance
        E, C, hidden = config.experts, config.width, config.expert_width
        self.router = nn.Linear(C, E, bias=False)
        self.w_in = Stack(E, C, hidden)
        self.w_gate = Stack(E, C, hidden) if config.gated else None
        self.w_out = Stack(E, hidden, C)
        n = config.shared_experts
        self.shared = FeedForward(config, n * hidden) if n else None
        self.register_buffer("bias", torch.zeros(E))
        for name in ("load", "counted"):
            self.register_buffer(name, torch.zeros(E, dtype=torch.long), persistent=False)

    @property
    def unused(self) -> int:
        """How many numbers of the experts one token does not use."""
        stacks = [p for p in self.parameters() if p.ndim == 3]
        return sum(p.numel() // len(p) * (len(p) - self.k) for p in stacks)

    def forward(self, x: Tensor) -> Tensor:
        """Returns (B, T, C) for x (B, T, C), and leaves the experts' `load`."""
        tokens = x.flatten(0, -2)  # (N, C)
        scores = self.router(tokens).sigmoid()  # (N, E)
        chosen = (scores + self.bias).topk(self.k).indices  # (N, k)
        gates = 2 * scores.gather(1, chosen)  # (N, k)
        self.load = chosen.flatten().bincount(minlength=len(self.bias))  # (E,)
        order = chosen.flatten().argsort(stable=True)  # (N·k,): choices, expert by expert
        # each row is taken once: threads that add up gradients of one row do so in any order
        copies = tokens.repeat_interleave(self.k, 0).index_select(0, order)  # (N·k, C)
        inputs = copies.split(self.load.tolist())  # E times (its tokens, C)
        answers = torch.cat(self._answers(inputs))[order.argsort()]  # (N·k, C), token by token
        y = (gates[..., None] * answers.unflatten(0, gates.shape)).sum(1).view_as(x)
        if self.training and torch.is_grad_enabled():
            self.counted = self.counted + self.load
            if not self.waiting:
                self._balance()
        return y if self.shared is None else y + self.shared(x)

    def _answers(self, inputs: tuple[Tensor, ...]) -> list[Tensor]:
        hidden = [F.gelu(F.linear(x, w)) for x, w in zip(inputs, self.w_in, strict=True)]
        if self.w_gate is not None:
            gated = zip(hidden, inputs, self.w_gate, strict=True)
            hidden = [h * F.linear(x, w) for h, x, w in gated]
        return [F.linear(h, w) for h, w in zip(hidden, self.w_out, strict=True)]

    @torch.no_grad()
    def _balance(self) -> None:
        load, self.counted = self.counted, torch.zeros_like(self.load)
        if dist.is_available() and dist.is_initialized():
            dist.all_reduce(load)
        self.bias += self.rate * (load.sum() - len(load) * load).sign()  # mean − load, in integers
