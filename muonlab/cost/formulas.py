"""What a run computes and keeps: counted from the shapes of its model, before it starts.

A product of m×k by k×n is 2mkn operations; all that is no product is left out.
"""

import math
import timeit
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import compress

import psutil
import torch
from torch import nn

from muonlab import checks
from muonlab.data.load import shape_for, training_tokens
from muonlab.data.shards import PUBLISHED, SHARD_TOKENS
from muonlab.machine import pick_device
from muonlab.models.gpt import GPT, GPTConfig
from muonlab.models.regressor import build
from muonlab.optim.routing import route
from muonlab.training.build import model_shape, picks_bf16
from muonlab.training.config import TrainConfig

CARD, SHARE = 989e12, 0.4  # bf16 FLOP/s of one H100, and how much of it training usually reaches
REACHED = 0.6  # of the speed of such a product, by training `tiny` on a CPU: measured
NS_STEPS = 5
LOGIT = 12  # bytes a logit as backward begins: its log-probability and two gradients, float32
# bytes that backward needs for a number of each layer's stream, as measured (see the tests):
# in a plain layer, and how many more with latent attention, with experts, with gates
BYTES_KEPT = {"bf16": (51, 20, 15, 8), "fp32": (77, 10, 25, 11)}


def muon_overhead(
    width: float, tokens: float, total_over_active: float = 1, expert_hidden: float | None = None
) -> float:
    """Returns Muon's operations over those of the model, for the matrices of a GPT: 5sC / 6B.

    C is the width, B the tokens of a step, s the five Newton-Schulz steps. A layer has four square
    matrices, whose orthogonalization takes 6sC³ operations each, and two (4C, C), which take 18sC³:
    5sC for each of 12C² weights. Forward and backward take 6 for each weight and token. Of a whole
    step it is x / (1 + x). Attention's products and the head, which `Counts` has, lower it.

    With experts, all are orthogonalized and a token uses a few: times `total_over_active`
    parameters. Where experts hold most of them, a weight in a matrix with sides k ≤ M takes
    s(4k + 2k²/M) instead of 5sC; of an expert the sides are `expert_hidden` and the width.

    >>> round(muon_overhead(768, 65_536), 4), round(muon_overhead(7168, 2**26, 32, 2048), 4)
    (0.0488, 0.0037)
    """
    weight = 5 * width
    if expert_hidden is not None:
        k, M = sorted((expert_hidden, width))
        weight = 4 * k + 2 * k**2 / M
    return NS_STEPS * weight * total_over_active / (6 * tokens)


class Counts:
    """The numbers of a model, and what a step with it computes and keeps.

    Muon takes its `groups`, as in `route`, and AdamW the rest.
    """

    def __init__(self, shape: GPTConfig, groups: Iterable[str] = TrainConfig.muon) -> None:
        model = _on_meta(shape)
        ends, stacks = model.embedding, [r for r in route(model, groups).routes if r.rule == "muon"]
        looked_up = ends.weight.numel() if isinstance(ends, nn.Embedding) else 0
        self.shape = model.config
        self.numbers = sum(p.numel() for p in model.parameters())
        self.multiplied = model.count_active() - looked_up  # numbers that meet each token
        self.matrices = [r.shape[-2:] for r in stacks for _ in range(math.prod(r.shape[:-2]))]
        self.muon_numbers = sum(map(math.prod, self.matrices))

    def flops(self, tokens: float, context: int) -> float:
        """Returns the operations of forward and backward: six for each weight that a token uses.

        Attention's products are added, as if each token saw all others of its context.
        Source: Kaplan et al., arXiv 2001.08361, section 2.1.
        """
        checks.number("tokens (of one context or more)", tokens, context)
        shape = self.shape
        rotary = shape.heads * shape.rotary_width if shape.attention == "latent" else 0
        attention = shape.layers * (2 * shape.width + rotary) * context  # queries, and values
        return 6.0 * (self.multiplied + attention) * tokens

    def muon_flops(self, steps: int = NS_STEPS) -> list[int]:
        """Returns Muon's operations for each matrix: in a step k²M twice and k³ once, times two."""
        return [steps * (4 * k**2 * M + 2 * k**3) for k, M in map(sorted, self.matrices)]

    def states(self) -> int:
        """Returns the bytes of weights, gradients, averages, float32: 12 a number, AdamW's 16."""
        return 16 * self.numbers - 4 * self.muon_numbers

    def activations(self, tokens: float, precision: str = "bf16") -> float:
        """Returns about how many bytes the backward pass needs, if nothing is computed twice.

        Not counted are copies of weights in bf16, and what a kernel takes while it runs.
        """
        shape = self.shape
        parts = (True, shape.attention == "latent", shape.experts > 0, shape.gated)
        of_a_layer = sum(compress(BYTES_KEPT[precision], parts))
        return tokens * (of_a_layer * shape.layers * shape.width + LOGIT * shape.vocab_size)


def flops(config: TrainConfig) -> float:
    """Returns the operations of a run: of the model, and of Muon on its matrices whatever the rule.

    Evaluation and pre-training are left out.
    """
    counts = _counts(config)
    model = counts.flops(config.batch * config.context, config.context)
    return config.steps * (model + sum(counts.muon_flops(config.ns_steps)))


def bytes_needed(config: TrainConfig) -> float:
    """Returns about how many bytes the tensors of a run need at once, in its precision here.

    A process on a CPU held half as much again (measured on Linux).
    """
    own = config.device in ("cpu", "mps")  # a GPU may be that of another machine
    device = torch.device(config.device) if own else pick_device("auto")
    counts, bf16 = _counts(config), picks_bf16(config, device)
    tokens = config.batch * config.context / config.pieces
    return counts.states() + counts.activations(tokens, "bf16" if bf16 else "fp32")


def least_pieces(config: TrainConfig, free: float) -> int | None:
    """Returns the fewest pieces of its batches with which a run fits so many bytes; None: none."""
    counts = (n for n in range(1, config.batch + 1) if config.batch % n == 0)
    return next((n for n in counts if bytes_needed(replace(config, pieces=n)) <= free), None)


def check_memory(config: TrainConfig) -> None:
    """Raises ValueError when the run cannot fit what is free on its device."""
    needed, device = bytes_needed(config), pick_device(config.device)
    cuda = device.type == "cuda"
    free = torch.cuda.mem_get_info(device)[0] if cuda else psutil.virtual_memory().available
    if needed > free:
        enough = least_pieces(config, free)
        remedy = f"--pieces {enough}" if enough else "a smaller model or batch, or a larger machine"
        what = f"size {config.size!r} with a batch of {config.batch} × {config.context} tokens"
        room = f"{needed / 2**30:.1f} GiB, and {device.type} has {free / 2**30:.1f} GiB free"
        raise ValueError(f"a run of {what} needs about {room}: take {remedy}")


def passes(config: TrainConfig) -> str:
    """Returns a line that says how often a run passes over its text; "" for a part of it."""
    read, in_text = config.steps * config.batch * config.context, training_tokens(config.corpus)
    if not in_text or read <= in_text:
        return ""
    fineweb, shards = config.corpus.startswith("fineweb"), math.ceil(read / SHARD_TOKENS)
    more = f"; fineweb-{shards} has enough" if fineweb and shards <= PUBLISHED else ""
    often = f"{read / in_text:.1f} passes over {config.corpus}"
    return f"each run reads {read:,} tokens: {often}{more}\n"


def on_one_card(configs: list[TrainConfig]) -> str:
    """Returns one line for a terminal: runs, operations, and hours on one H100-class card."""
    total = sum(map(flops, configs))
    hours = f"{total / (CARD * SHARE) / 3600:.2g} hours"
    card = f"one card of {CARD / 1e12:.0f} TFLOP/s that reaches {SHARE:.0%} of it"
    return f"{len(configs)} runs of {total / 1e15:.3g} PFLOP together: {hours} on {card}"


def hours_here(configs: list[TrainConfig]) -> str:
    """Returns about how long the runs take on this CPU, one after the other, in words."""
    hours = sum(map(flops, configs)) / (product_speed() * REACHED) / 3600
    return f"about {hours:.2g} hours here in one process"


def product_speed() -> float:
    """Returns the FLOP/s of a product of `tiny` on this CPU with torch's threads: best of 20."""
    x, W = torch.randn(1024, 128), torch.randn(512, 128)
    return 2 * x.numel() * len(W) / min(timeit.repeat(lambda: x @ W.T, number=1, repeat=20))


@cache
def _on_meta(shape: GPTConfig) -> GPT:
    with torch.device("meta"):  # shapes without numbers: 70 billion take no memory
        return build(shape)


def _counts(config: TrainConfig) -> Counts:
    return _counts_of(shape_for(config.corpus, model_shape(config)), config.muon)


_counts_of = cache(Counts)  # a grid has hundreds of runs and a few models
