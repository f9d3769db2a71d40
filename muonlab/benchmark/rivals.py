"""The optimizers and training loops that `bench` compares, made ready to be called."""

import dataclasses
import importlib
import importlib.metadata
import sys
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from muonlab.models.gpt import GPT, SIZES
from muonlab.optim.muon import Muon

LAYERS, WIDTH, VOCABULARY, CONTEXT = 6, 384, 65, 256  # nanoGPT's small GPT, 10.7M numbers
GPT_SHAPES = [(3 * WIDTH, WIDTH), (WIDTH, WIDTH), (4 * WIDTH, WIDTH), (WIDTH, 4 * WIDTH)] * LAYERS
OTHER_SHAPES = [(VOCABULARY, WIDTH), (CONTEXT, WIDTH)]  # embeddings, stepped by AdamW
CLOSEST = {"ns_coefficients": "polar_express", "ns_norm": "schatten4"}
CLOSE_AND_FAST = {"ns_coefficients": "polar_express_safe", "ns_norm": "schatten4"}


def rivals() -> dict[str, Callable[[list, list], list]]:
    """Returns functions from (matrices, embeddings) to the optimizers that step them, by name.

    Public Muons join where they are installed (`pip install -e .[bench]`) and load.
    """

    def ours(**options: Any) -> Callable[[list, list], list]:
        return lambda matrices, rest: [
            Muon([{"params": matrices, **options}, {"params": rest, "rule": "adamw"}])
        ]

    rivals = {
        "torch.optim.Muon": lambda matrices, rest: [torch.optim.Muon(matrices), adamw(rest)],
        "AdamW, fused": lambda matrices, rest: [adamw([*matrices, *rest])],
        "muonlab": ours(),
        "muonlab, Polar Express safe": ours(**CLOSE_AND_FAST),
        "muonlab, Polar Express": ours(**CLOSEST),
    }
    for package in ("timm", "pytorch_optimizer", "dion"):
        try:
            version = importlib.metadata.version(package)
            their_muon = importlib.import_module(
                "timm.optim" if package == "timm" else package
            ).Muon
        except importlib.metadata.PackageNotFoundError:
            continue
        except (ImportError, RuntimeError) as error:
            print(f"{package} {version} is installed but does not load: {error}", file=sys.stderr)
            continue
        rivals[f"{package} {version}"] = lambda matrices, rest, M=their_muon: [
            M([{"params": matrices, "use_muon": True, "algorithm": "muon"}]),
            adamw(rest),
        ]
    return rivals


def parameters() -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """Returns the matrices and the embeddings of the 6×384 GPT, with gradients."""
    generator = torch.Generator().manual_seed(0)
    groups = []
    for shapes in (GPT_SHAPES, OTHER_SHAPES):
        groups.append([nn.Parameter(0.02 * torch.randn(s, generator=generator)) for s in shapes])
        for p in groups[-1]:
            p.grad = torch.randn(p.shape, generator=generator)
    return groups[0], groups[1]


def adamw(params: Iterable[Tensor]) -> torch.optim.Optimizer:
    """Returns torch's fastest AdamW."""
    return torch.optim.AdamW(params, fused=True)


def stepper(optimizers: list[torch.optim.Optimizer]) -> Callable[[], None]:
    """Returns a function that steps them all."""

    def run() -> None:
        for optimizer in optimizers:
            optimizer.step()

    return run


def trainer(
    tokens: Tensor, bf16: bool, make: Callable[[GPT], torch.optim.Optimizer]
) -> Callable[[], None]:
    """Returns a function that trains a 6×384 GPT for one step on these tokens (B, T + 1)."""
    torch.manual_seed(0)
    model = GPT(dataclasses.replace(SIZES["small"], vocab_size=VOCABULARY))
    optimizer = make(model)

    def run() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            loss = model(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return run
