"""An optimizer's groups of parameters: their names, and what is wrong with them, in words."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from muonlab.optim.coefficients import schedule
from muonlab.optim.orthogonalize import NORMS, is_finite
from muonlab.optim.update import as_stacks, lr_scale

RULES = ("muon", "adamw")
WORK_DTYPES = (torch.bfloat16, torch.float32, torch.float64)


def with_gradient(group: dict[str, Any]) -> list[Tensor]:
    """Returns the parameters of a group that a step changes."""
    return [p for p in group["params"] if p.grad is not None and p.numel()]


def in_stacks(group: dict[str, Any]) -> Iterator[tuple[list[Tensor], torch.dtype]]:
    """Yields the parameters that a Muon step changes, as `as_stacks`."""
    exact = group["ns_coefficients"] == "exact"
    return as_stacks(with_gradient(group), torch.float64 if exact else group["ns_dtype"])


def named(group: dict[str, Any], number: int) -> list[tuple[str, Tensor]]:
    """Returns the parameters of group `number` with their names, or with their places."""
    unnamed = [f"group {number}, number {i}" for i in range(len(group["params"]))]
    return list(zip(group.get("param_names") or unnamed, group["params"], strict=True))


def check_options(group: dict[str, Any]) -> None:
    """Raises ValueError unless all options of a group are in range."""
    if group["rule"] not in RULES:
        raise ValueError(f"rule must be one of {RULES}, got {group['rule']!r}")
    for key in ("lr", "weight_decay", "eps"):
        check_number(key, group[key], math.inf)
    check_number("momentum", group["momentum"], 1)
    if group["rule"] == "adamw":
        if len(group["betas"]) != 2:
            raise ValueError(f"betas must be two numbers, got {group['betas']}")
        for beta in group["betas"]:
            check_number("betas", beta, 1)
        return
    if group["ns_coefficients"] != "exact":
        schedule(group["ns_coefficients"], group["ns_steps"])
    lr_scale(group["adjust_lr_fn"], 1, 1)
    if group["ns_norm"] not in NORMS:
        raise ValueError(f"ns_norm must be one of {NORMS}, got {group['ns_norm']!r}")
    if not 0 < group["eps"] <= 1:
        raise ValueError(f"eps must be in (0, 1] under Muon, got {group['eps']}")
    if not (group["ns_dtype"] is None or group["ns_dtype"] in WORK_DTYPES):
        raise ValueError(f"ns_dtype must be None or one of {WORK_DTYPES}, got {group['ns_dtype']}")


def check_number(key: str, value: Any, end: float) -> None:
    """Raises ValueError unless the value is a number in [0, end)."""
    if not isinstance(value, int | float | Tensor) or not 0 <= value < end:
        raise ValueError(f"{key} must be a number in [0, {end}), got {value!r}")


def check_whole(groups: list[dict[str, Any]]) -> None:
    """Raises ValueError if parameters are divided among processes, as a DTensor of FSDP2 is."""
    for number, group in enumerate(groups):
        for name, p in named(group, number):
            if not all(placement.is_replicate() for placement in getattr(p, "placements", ())):
                raise ValueError(
                    f"parameter {name!r} is sharded: this process holds a part of its "
                    f"{'×'.join(map(str, p.shape))} entries, and an orthogonalized part is no part "
                    "of the orthogonalized matrix. Replace optimizer.step() by "
                    "muonlab.distributed.sharded.step_sharded(optimizer)"
                )


def check_gradients(
    groups: list[dict[str, Any]], total: Callable[[Tensor], Tensor] = lambda sums: sums
) -> None:
    """Raises ValueError, with the parameter's name, unless all gradients are dense and finite.

    `total` adds up numbers of all processes, if each has a part of the gradients.
    """
    pairs = [pair for number, group in enumerate(groups) for pair in named(group, number)]
    pairs = [(name, p) for name, p in pairs if p.grad is not None]
    for name, p in pairs:
        if p.grad.is_sparse:
            raise ValueError(
                f"expected a dense gradient; that of parameter {name!r} is sparse: "
                "build its embedding with sparse=False"
            )
    # NaN and Inf survive a sum; one look at all sums, so a GPU is waited for once
    sums = [p.grad.sum().to(pairs[0][1].device, torch.float32) for _, p in pairs]
    if not sums or total(torch.stack(sums)).isfinite().all():
        return
    broken = total(sums[0].new_tensor([not is_finite(p.grad) for _, p in pairs]))
    for (name, _), parts in zip(pairs, broken.tolist(), strict=True):
        if parts:
            raise ValueError(
                f"the gradient of parameter {name!r} holds NaN or Inf: nothing was updated; "
                "skip this batch, or lower the learning rate if the loss has diverged"
            )
