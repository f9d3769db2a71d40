"""What a run costs before it starts: multiplications, memory, and hours on a large GPU."""

import psutil
import torch

from muonlab.experiments.build import pick_device
from muonlab.experiments.config import TrainConfig
from muonlab.models.gpt import SIZES

CARD, SHARE = 989e12, 0.4  # bf16 FLOP/s of one H100, and how much of it training usually reaches
VOCABULARIES = {"docs": 4096, "fineweb": 50_304}
KEPT = 34  # bytes that the backward pass needs for a number of each layer's stream


def flops(config: TrainConfig) -> float:
    """Returns the floating-point operations of a run: model and Muon, evaluation left out.

    Two for each weight and token forward, four backward, and attention's products; for Muon five
    steps of three products. Source: Kaplan et al., arXiv 2001.08361, section 2.1.
    """
    shape, tokens = SIZES[config.size], config.steps * config.batch * config.context
    weights = sum(m * n for m, n in _matrices(config)) + _vocabulary(config) * shape.width
    attention = 2 * shape.layers * shape.width * config.context
    muon = sum(
        config.ns_steps * (4 * min(m, n) ** 2 * max(m, n) + 2 * min(m, n) ** 3)
        for m, n in _matrices(config)
    )
    return 6 * (weights + attention) * tokens + (muon * config.steps if config.muon else 0)


def memory(config: TrainConfig) -> float:
    """Returns about how many bytes a run needs at once: weights, states, activations, logits."""
    shape, tokens = SIZES[config.size], config.batch * config.context
    matrices = sum(m * n for m, n in _matrices(config))
    outer = 2 * _vocabulary(config) * shape.width
    weights = 16 * (matrices + outer)  # weight, gradient and two averages of four bytes
    activations = tokens * shape.layers * shape.width * KEPT
    return weights + activations + 10 * tokens * _vocabulary(config)  # logits in bf16 and float32


def check_memory(config: TrainConfig) -> None:
    """Raises ValueError when the run cannot fit what is free on its device."""
    device = pick_device(config.device)
    free = (
        torch.cuda.mem_get_info(device)[0]
        if device.type == "cuda"
        else psutil.virtual_memory().available
    )
    if memory(config) > free:
        raise ValueError(
            f"a run of size {config.size!r} with {config.batch} × {config.context} tokens a step "
            f"needs about {memory(config) / 2**30:.1f} GiB, and {device.type} has "
            f"{free / 2**30:.1f} GiB free: take a smaller tier or batch, or a larger machine"
        )


def summary(configs: list[TrainConfig]) -> str:
    """Returns one line for a terminal: runs, operations, and hours on one H100-class card."""
    total = sum(map(flops, configs))
    hours = total / (CARD * SHARE) / 3600
    return (
        f"{len(configs)} runs of {total / 1e15:.3g} PFLOP together: {hours:.2g} hours on one card "
        f"of {CARD / 1e12:.0f} TFLOP/s that reaches {SHARE:.0%} of it"
    )


def _matrices(config: TrainConfig) -> list[tuple[int, int]]:
    shape = SIZES[config.size]
    hidden = 8 * -(-shape.width // 3) if config.gated else shape.hidden
    feedforward = (3 if config.gated else 2) * [(hidden, shape.width)]
    return shape.layers * (4 * [(shape.width, shape.width)] + feedforward)


def _vocabulary(config: TrainConfig) -> int:
    return VOCABULARIES.get(config.corpus, SIZES[config.size].vocab_size)
