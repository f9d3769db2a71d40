"""What training costs on machines that we do not have: computed from formulas, never measured.

>>> [row.name for row in cost_table()][-1]
'70B, 1,000 GPUs'

Two parts: how much of a step is Muon's (`muon_overhead`, `step_flops`), and a table of the 160M
ablation and of two models that are trained on paper (`cost_table`). The assumptions have names:
`CARD` and `SHARE` of `cost`, and `NVLINK`, `INFINIBAND`, `TOKENS_PER_PARAMETER` here.
"""

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from muonlab.cost.formulas import CARD, KEPT, SHARE
from muonlab.models.gpt import SIZES, GPTConfig
from muonlab.studies.table1 import TIERS, tier_runs
from muonlab.training.config import TrainConfig

NVLINK, INFINIBAND = 450e9, 50e9  # bytes/s that one GPU sends: within eight GPUs, among a thousand
TOKENS_PER_PARAMETER = 20  # Hoffmann et al., arXiv 2203.15556
NS_STEPS = 5

GPT_1B = GPTConfig(vocab_size=50_304, context=2048, layers=16, width=2048, heads=16)
GPT_70B = GPTConfig(vocab_size=50_304, context=4096, layers=86, width=8192, heads=64)


def muon_overhead(width: float, tokens: float, ns_steps: int = NS_STEPS) -> float:
    """Returns Muon's operations over those of the model, for the matrices of a GPT: 5sC / 6B.

    C is the width, B the tokens of a step, s the Newton-Schulz steps. So it grows with the width
    and falls with the batch, and the number of layers does not matter. A layer has four matrices
    (C, C), whose orthogonalization takes 6sC³ operations each, and two (4C, C), which take 18sC³;
    forward and backward take 6 for each of 12C² weights and each token. Attention's products and
    the head, left out, lower it: `step_flops` counts them. Of a whole step it is x / (1 + x).

    >>> round(muon_overhead(768, 65_536), 4)
    0.0488
    """
    return 5 * ns_steps * width / (6 * tokens)


def step_flops(shape: GPTConfig, tokens: int, ns_steps: int = NS_STEPS) -> tuple[float, float]:
    """Returns the floating-point operations of one step: the model's, then Muon's.

    The model's are 6 for each token and each weight of the layers and the head, and attention's
    products over a whole context (Kaplan et al., arXiv 2001.08361, section 2.1). Muon takes every
    matrix of a dense model's layers. AdamW's few operations a weight are left out.

    Args:
        tokens: in the batch of the step, on all GPUs together.
    """
    weights = sum(m * n for m, n in _matrices(shape)) + shape.vocab_size * shape.width
    attention = 2 * shape.layers * shape.width * shape.context
    return 6.0 * (weights + attention) * tokens, sum(_orthogonalization(shape, ns_steps))


def busiest(costs: Iterable[float], gpus: int) -> float:
    """Returns the load of the GPU that has most to do, when each matrix has one owner.

    The dearest matrix goes first, each to the GPU with least to do, as in `parallel.owners`.

    >>> busiest([3, 3, 2, 2, 2], 2)
    7
    """
    load: list[float] = [0] * gpus
    for cost in sorted(costs, reverse=True):
        heapq.heapreplace(load, load[0] + cost)
    return max(load)


class Sent(NamedTuple):
    """Bytes that one GPU sends in a step of fully sharded training."""

    adamw: float
    owners: float  # Muon, when a matrix travels to its owner alone, as in our engine
    at_most: float  # Muon, by the count of NorMuon's authors


def bytes_sent(shape: GPTConfig, gpus: int) -> Sent:
    """Returns what one GPU sends in a step, weights and gradients in float32.

    Under AdamW 12 bytes a parameter: the weights are collected twice and the gradients summed once.
    Muon's momenta travel to an owner and come back as updates, in bf16. Counted as if they reached
    all GPUs, as the weights do, that makes 16 a parameter of a matrix (arXiv 2510.05491); but one
    of many GPUs receives each, so that the four more are shared among all.
    """
    inner, outer = _counts(shape)
    others = (gpus - 1) / gpus  # a GPU keeps its own shard
    adamw, more = 12 * (inner + outer) * others, 4 * inner * others
    return Sent(adamw, adamw + more / gpus, adamw + more)


@dataclass(frozen=True)
class Plan:
    """What is trained, and on how many GPUs."""

    name: str
    shape: GPTConfig
    tokens: float  # that one run reads
    batch: int  # tokens in a step, on all GPUs of a run
    gpus: int = 1  # that share one run
    runs: int = 1
    at_once: int = 1  # runs side by side, each on its own GPUs
    link: float = NVLINK  # bytes/s that one GPU sends


@dataclass(frozen=True)
class Row:
    """What a plan costs, by formula: bytes and operations are counted, seconds are at best.

    `seconds` and the hours hold if the links keep up; where `link_seconds` is more, the GPUs wait.
    """

    name: str
    gpus: int  # all together
    runs: int
    parameters: int
    flop: float  # of all runs
    hours: float
    gpu_hours: float
    seconds: float  # of one step: the model, then Muon on the busiest owner
    muon_flop: float  # Muon's share of the operations
    muon_time: float  # Muon's share of `seconds`: more, where some GPUs own no matrix
    sent: Sent  # bytes a GPU and step
    link_seconds: float  # a step, to send what Muon sends to its owners
    states: float  # bytes a GPU: weights, gradients, averages
    activations: float  # bytes a GPU, if nothing is computed twice; logits included

    @property
    def slowdown(self) -> float:
        """How many times longer the run takes if its links are too slow (1 if they keep up)."""
        return max(1.0, self.link_seconds / self.seconds)


def cost(plan: Plan) -> Row:
    """Returns what a plan costs if its GPUs reach SHARE of CARD operations a second.

    Every run is counted as one with Muon on all matrices. A GPU holds 12 bytes for each number
    that Muon steps (weight, gradient, momentum) and 16 for the others, divided by the GPUs of its
    run, and the activations of its own tokens.

    Raises:
        ValueError: a batch that the GPUs of a run cannot share equally.
    """
    if plan.batch % plan.gpus:
        raise ValueError(
            f"a batch of {plan.batch:,} tokens cannot be shared equally by {plan.gpus} GPUs: "
            f"choose a multiple of {plan.gpus}"
        )
    shape, steps = plan.shape, plan.tokens / plan.batch
    model, muon = step_flops(shape, plan.batch)
    own = busiest(_orthogonalization(shape), plan.gpus)
    seconds = (model / plan.gpus + own) / (CARD * SHARE)
    hours = seconds * steps * plan.runs / plan.at_once / 3600
    inner, outer = _counts(shape)
    sent = bytes_sent(shape, plan.gpus)
    tokens = plan.batch / plan.gpus
    return Row(
        name=plan.name,
        gpus=plan.gpus * plan.at_once,
        runs=plan.runs,
        parameters=inner + outer,
        flop=(model + muon) * steps * plan.runs,
        hours=hours,
        gpu_hours=hours * plan.gpus * plan.at_once,
        seconds=seconds,
        muon_flop=muon / (model + muon),
        muon_time=own / (CARD * SHARE) / seconds,
        sent=sent,
        link_seconds=sent.owners / plan.link,
        states=(12 * inner + 16 * outer) / plan.gpus,
        activations=tokens * (shape.layers * shape.width * KEPT + 10 * shape.vocab_size),
    )


def ablation_runs() -> list[TrainConfig]:
    """Returns runs that cost what the preset "paper" and its two tunings cost.

    The rates are not those that the tuning will choose; no cost depends on them.
    """
    tuning, table = tier_runs(TIERS["paper"])
    return tuning + table


def plans() -> list[Plan]:
    """Returns the plans of the table: the 160M ablation in three ways, and two larger models."""
    base, runs = TIERS["paper"].base, len(ablation_runs())
    batch = base.batch * base.context
    one = Plan("160M ablation, 1 GPU", SIZES["paper"], base.steps * batch, batch, runs=runs)
    return [
        one,
        replace(one, name="160M ablation, 8 GPUs, a run on each", at_once=8),
        replace(one, name="160M ablation, 8 GPUs share each run", gpus=8),
        _large("1B, 1,000 GPUs", GPT_1B),
        _large("70B, 1,000 GPUs", GPT_70B),
    ]


def cost_table(chosen: Sequence[Plan] | None = None) -> list[Row]:
    """Returns one row a plan: computed from the assumptions above, not measured.

    Args:
        chosen: other plans than `plans()`.
    """
    return [cost(plan) for plan in (plans() if chosen is None else chosen)]


def _large(name: str, shape: GPTConfig, gpus: int = 1000) -> Plan:
    """Returns a run of one sequence a GPU, on as many tokens as the model's size asks for."""
    tokens = TOKENS_PER_PARAMETER * sum(_counts(shape))
    return Plan(name, shape, tokens, gpus * shape.context, gpus=gpus, link=INFINIBAND)


def _counts(shape: GPTConfig) -> tuple[int, int]:
    """Returns how many numbers the matrices of the layers hold, and embedding and head."""
    return sum(m * n for m, n in _matrices(shape)), 2 * shape.vocab_size * shape.width


def _matrices(shape: GPTConfig) -> list[tuple[int, int]]:
    feedforward = [(shape.hidden, shape.width)] * (3 if shape.gated else 2)
    return shape.layers * [*[(shape.width, shape.width)] * 4, *feedforward]


def _orthogonalization(shape: GPTConfig, ns_steps: int = NS_STEPS) -> list[float]:
    """Returns the operations for each matrix: in each step k²M twice and k³ once, times two."""
    sides = [(min(pair), max(pair)) for pair in _matrices(shape)]
    return [ns_steps * (4.0 * k**2 * m + 2.0 * k**3) for k, m in sides]
