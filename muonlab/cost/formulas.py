"""What a run costs: products, memory and hours on a large GPU before it starts, bytes after."""

from collections.abc import Iterable
from functools import cache

import psutil
import torch
from torch import Tensor

from muonlab.machine import pick_device
from muonlab.models.gpt import GPT, SIZES, GPTConfig
from muonlab.optim.muon import Muon
from muonlab.optim.update import matrix_shape
from muonlab.training.build import model_shape
from muonlab.training.config import TrainConfig

CARD, SHARE = 989e12, 0.4  # bf16 FLOP/s of one H100, and how much of it training usually reaches
VOCABULARIES = {"docs": 4096, "fineweb": 50_304}
KEPT = 34  # bytes that the backward pass needs for a number of each layer's stream
MORE = {"latent": 27, "experts": 19}  # and how many more: as measured in bf16, and in the tests


def flops(config: TrainConfig) -> float:
    """Returns the floating-point operations of a run: model and Muon, evaluation left out.

    Two for each weight that a token uses and six with the backward pass; attention's products, as
    if each token saw all others; for Muon five steps of three products, for all matrices of the
    blocks but routers, even if the run gives it fewer.
    Source: Kaplan et al., arXiv 2001.08361, section 2.1.
    """
    model, tokens = _model(config), config.steps * config.batch * config.context
    weights = model.count_active() - model.embedding.weight.numel()  # a look-up is no product
    attention = config.context * sum(map(_products, model.blocks))
    muon = sum(
        config.ns_steps * (4 * min(m, n) ** 2 * max(m, n) + 2 * min(m, n) ** 3)
        for name, m, n in _matrices(config)
        if "router" not in name
    )
    return 6 * (weights + attention) * tokens + (muon * config.steps if config.muon else 0)


def memory(config: TrainConfig) -> float:
    """Returns about how many bytes a run needs at once: weights, states, activations, logits."""
    model, tokens = _model(config), config.batch * config.context
    weights = 16 * sum(p.numel() for p in model.parameters())  # with gradient and two averages
    kept = KEPT + MORE.get(config.attention, 0) + (MORE["experts"] if config.experts else 0)
    activations = tokens * kept * model.config.layers * model.config.width
    return weights + activations + 10 * tokens * _vocabulary(config)  # logits in bf16 and float32


def bytes_held(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, int]:
    """Returns the bytes of "parameters", "gradients", "state" and "scratch", as they are now.

    After a step and before `zero_grad`, that is all that training holds between two batches. A
    memory that tensors share counts once; scratch is what `Muon` computes in, and uses again.
    """
    params = list(model.parameters())
    states = [t for state in optimizer.state.values() for t in state.values()]
    return {
        "parameters": _bytes(params),
        "gradients": _bytes(p.grad for p in params if p.grad is not None),
        "state": _bytes(t for t in states if isinstance(t, Tensor)),
        "scratch": optimizer.scratch.nbytes if isinstance(optimizer, Muon) else 0,
    }


def _bytes(tensors: Iterable[Tensor]) -> int:
    storages = [t.untyped_storage() for t in tensors]
    return sum({s.data_ptr(): s.nbytes() for s in storages}.values())


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


def _model(config: TrainConfig) -> GPT:
    return _empty(model_shape(config, vocab_size=_vocabulary(config)))


@cache  # a grid has hundreds of runs and a few shapes
def _empty(shape: GPTConfig) -> GPT:
    with torch.device("meta"):  # shapes, and no numbers
        return GPT(shape)


def _matrices(config: TrainConfig) -> list[tuple[str, int, int]]:
    """Returns name, rows and columns of each matrix in the blocks, one by one out of its stack."""
    return [
        (name, *matrix_shape(p))
        for name, p in _model(config).blocks.named_parameters()
        for _ in range(p.shape[:-2].numel())
    ]


def _products(block: torch.nn.Module) -> int:
    """Returns how many numbers of a token's queries meet one key, plus those of its values."""
    layer = block.attention
    queries = [matrix for name, matrix in layer.named_children() if name in ("q", "q_rope")]
    return sum(matrix.out_features for matrix in queries) + layer.o.in_features


def _vocabulary(config: TrainConfig) -> int:
    return VOCABULARIES.get(config.corpus, SIZES[config.size].vocab_size)
