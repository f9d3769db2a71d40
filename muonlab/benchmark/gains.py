"""What each idea of the fast path brings: the optimizer step with one idea taken away at a time."""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn

import muonlab.optim.fast
from muonlab.benchmark.rivals import CONTEXT, VOCABULARY, parameters, trainer
from muonlab.benchmark.timing import as_rows, race
from muonlab.machine import fast_bf16, keep_freed_memory
from muonlab.optim.muon import Muon


def step_without() -> list[dict[str, Any]]:
    """Returns rows of a step of the 6×384 GPT, with everything and without each idea.

    To show what `Scratch` is good for, the process must not keep freed memory.
    """
    contestants = {name: _step(patches, *parameters()) for name, patches in IDEAS.items()}
    return as_rows(race(contestants, samples=5))


def training_seconds(keep: bool, steps: int = 12) -> float:
    """Returns the median of a training step of the 6×384 GPT, with freed memory kept or not."""
    if keep:
        keep_freed_memory()
    tokens = torch.randint(VOCABULARY, (8, CONTEXT + 1))
    run, taken = trainer(tokens, fast_bf16(), lambda m: torch.optim.AdamW(m.parameters())), []
    for _ in range(steps):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken[2:])


def _step(
    patches: dict[str, Any], matrices: list[nn.Parameter], rest: list[nn.Parameter]
) -> Callable[[], None]:
    options = {"ns_dtype": torch.float32} if "float32" in patches else {}
    optimizer = Muon([{"params": matrices, **options}, {"params": rest, "rule": "adamw"}])
    changed = [mock.patch(name, new) for name, new in patches.items() if name != "float32"]

    def run() -> None:
        for patch in changed:
            patch.start()
        optimizer.step()
        for patch in changed:
            patch.stop()

    return run


def _fresh(
    self: muonlab.optim.fast.Scratch, name: str, shape: Sequence[int], like: Tensor
) -> Tensor:
    return torch.empty(shape, dtype=like.dtype, device=like.device)


def _float32_norm(
    A: Tensor, norm: str, original: Any = muonlab.optim.fast._inverse_square
) -> Tensor:
    return original(A, norm).float()


def _look_at_each_entry(groups: list[dict[str, Any]]) -> None:
    for group in groups:
        for p in group["params"]:
            assert p.grad.isfinite().all()


IDEAS: dict[str, dict[str, Any]] = {
    "all ideas together": {},
    "without stacks: one matrix at a time": {
        "muonlab.optim.update.matrices_at_once": lambda entries, dtype: 1
    },
    "without bf16: float32 products": {"float32": True},
    "without Gram space: X is multiplied at each step": {
        "muonlab.optim.fast.steps_together": lambda *arguments: 1
    },
    "without kept memory: new blocks for each stack": {"muonlab.optim.fast.Scratch.empty": _fresh},
    "without the sum: isfinite() on each gradient": {
        "muonlab.optim.muon.check_gradients": _look_at_each_entry
    },
    "without a bf16 norm: a bf16 stack times a float32 number": {
        "muonlab.optim.fast._inverse_square": _float32_norm
    },
}
