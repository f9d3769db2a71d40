"""The optimizers and training loops that `bench` compares, made ready to be called."""

import dataclasses
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module, metadata

import torch
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer
from torch.optim._muon import _zeropower_via_newtonschulz as torch_newton_schulz

from muonlab.models.gpt import GPT, SIZES
from muonlab.optim.coefficients import JORDAN
from muonlab.optim.fast import fast_newton_schulz
from muonlab.optim.muon import Muon

LAYERS, C, CHARACTERS, CONTEXT = 6, 384, 65, 256  # nanoGPT's small GPT, 10.7M numbers
GPT_SHAPES = [(3 * C, C), (C, C), (4 * C, C), (C, 4 * C)] * LAYERS
OTHER_SHAPES = [(CHARACTERS, C), (CONTEXT, C)]  # embeddings, stepped by AdamW
Device = torch.device | str
ROUTINES: dict[str, Callable[[Tensor], object]] = {  # five Newton-Schulz steps on a stack
    "torch.optim.Muon": lambda G: [torch_newton_schulz(X, JORDAN[0], 5, 1e-7) for X in G],
    "muonlab": fast_newton_schulz,
}
PUBLIC = {"timm": "timm.optim", "pytorch_optimizer": "pytorch_optimizer"}  # and where Muon is


def rivals() -> dict[str, list[Optimizer]]:
    """Returns optimizers by name; those of one name step the 6×384 GPT together.

    Public Muons join where they are installed: `pip install -e .[bench]`.
    """
    optimizers: dict[str, list[Optimizer]] = {
        "torch.optim.Muon": [torch.optim.Muon(drawn_matrices(GPT_SHAPES)), _adamw(OTHER_SHAPES)],
        "AdamW, fused": [_adamw([*GPT_SHAPES, *OTHER_SHAPES])],
        "muonlab": _ours(),
        "muonlab, four steps": _ours("four", 4),
        "muonlab, Polar Express safe": _ours("polar_express_safe"),
        "muonlab, Polar Express": _ours("polar_express"),
    }
    for package, module in PUBLIC.items():
        group = {"params": drawn_matrices(GPT_SHAPES), "use_muon": True, "algorithm": "muon"}
        try:
            name = f"{package} {metadata.version(package)}"
            optimizers[name] = [import_module(module).Muon([group]), _adamw(OTHER_SHAPES)]
        except (ImportError, RuntimeError) as error:  # not installed, or of another torch
            print(f"left out: {package} ({error})", file=sys.stderr)
    return optimizers


def trainer(
    tokens: Tensor,
    bf16: bool,
    make: Callable[[GPT], Optimizer],
    size: str = "small",
    vocabulary: int = CHARACTERS,
) -> Callable[[], None]:
    """Returns a function that trains a GPT for one step on these tokens (B, T + 1), where they are.

    The GPT is of that size; "small" is 6×384.
    """
    torch.manual_seed(0)
    model = GPT(dataclasses.replace(SIZES[size], vocab_size=vocabulary)).to(tokens.device)
    optimizer = make(model)

    def run() -> None:
        with torch.autocast(tokens.device.type, torch.bfloat16, enabled=bf16):
            loss = model(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return run


def drawn_matrices(shapes: list[tuple[int, int]], device: Device = "cpu") -> list[nn.Parameter]:
    """Returns matrices of those shapes on the device, with gradients: both are chance."""
    draw = partial(torch.randn, generator=torch.Generator(device).manual_seed(0), device=device)
    params = [nn.Parameter(0.02 * draw(shape)) for shape in shapes]
    for p in params:
        p.grad = draw(p.shape)
    return params


def _adamw(shapes: list[tuple[int, int]]) -> Optimizer:
    return AdamW(drawn_matrices(shapes), fused=True)


def _ours(coefficients: str = "jordan", steps: int = 5) -> list[Optimizer]:
    norm = "frobenius" if coefficients == "jordan" else "schatten4"  # closer, and no more work
    options = {"ns_coefficients": coefficients, "ns_norm": norm, "ns_steps": steps}
    rest = {"params": drawn_matrices(OTHER_SHAPES), "rule": "adamw"}
    return [Muon([{"params": drawn_matrices(GPT_SHAPES), **options}, rest])]
