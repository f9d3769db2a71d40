"""What `Muon` is given, checked: its parameters, the options of its groups, and their numbers."""

import math
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any

import torch
from torch import Tensor

from muonlab import checks
from muonlab.optim.coefficients import MOST_STEPS, settling
from muonlab.optim.dtensors import add_up, group_of, is_sharded, own
from muonlab.optim.lr_scale import lr_scale
from muonlab.optim.orthogonalize import DTYPES, NORMS, is_finite
from muonlab.optim.stacks import Group, gradient

Named = list[tuple[str, Tensor]]
OPTION_CHOICES: dict[str, tuple[Any, ...]] = {
    "rule": ("muon", "adamw"),
    "ns_norm": NORMS,
    "ns_dtype": DTYPES,
    **dict.fromkeys(("kernels", "nesterov", "capturable"), (True, False)),
    **dict.fromkeys(("maximize", "amsgrad", "differentiable"), (False,)),  # of torch
}
SYNONYMS = {"wd": "weight_decay", "decay": "weight_decay", "learning_rate": "lr", "mu": "momentum"}
SYNONYMS |= {"beta1": "betas", "beta2": "betas", "steps": "ns_steps", "norm": "ns_norm"}
SYNONYMS |= {"adamw_betas": "betas", "adamw_eps": "eps", "epsilon": "eps"}
SYNONYMS |= {"backend_steps": "ns_steps", "adjust_lr": "adjust_lr_fn"}
ADAMW_READS = {"rule", "lr", "weight_decay", "eps", "betas", "fused", "capturable"}
OPTIMIZER_NAMES = ("muon", "adamw", "adam", "sgd", "lion")  # by which libraries tell groups apart


def named(group: Group, number: int) -> Named:
    """Returns the parameters of group `number` with their names, or with their places."""
    unnamed = [f"group {number}, number {i}" for i in range(len(group["params"]))]
    return list(zip(group.get("param_names") or unnamed, group["params"], strict=True))


def with_rule(group: Group) -> Group:
    """Returns a group with the rule that another library's key gives it, such as use_muon=False."""
    for key, value in group.items():
        if key == "use_muon":
            value = "muon" if value else "adamw"
        if isinstance(value, str) and value.lower() in OPTIMIZER_NAMES:
            group = {"rule": value.lower(), **group}
    return group


def check_keys(group: Group, defaults: Group) -> None:
    """Raises ValueError for an option that is misspelt, or that the group's rule never reads.

    Others may keep keys of their own there.
    """
    options = {*defaults, "params", "betas", "fused"}
    for key in group.keys() - options:
        if meant := get_close_matches(SYNONYMS.get(key, key), options, n=1, cutoff=0.85):
            raise ValueError(f"no option {key!r} of a group: did you mean {meant[0]!r}?")
    idle, other = {"betas", "fused"} - defaults.keys(), "adamw"
    if group.get("rule") == "adamw":
        idle, other = defaults.keys() - ADAMW_READS, "muon"
    for key in sorted(idle & group.keys()):
        if key not in defaults or group[key] != defaults[key]:
            raise ValueError(f"{key} is an option of rule={other!r}, which this group has not")


def check_options(group: Group) -> None:
    """Raises ValueError unless all options of a group are in range."""
    for key, choices in OPTION_CHOICES.items():
        checks.choice(key, group.get(key, choices[0]), choices)
    checks.number("lr", group["lr"], 0)
    checks.number("weight_decay", group["weight_decay"], 0)
    if (lost := float(group["lr"]) * float(group["weight_decay"])) > 1 + 1e-9:  # 1/3 · 3, rounded
        raise ValueError(f"lr · weight_decay must be at most 1, or all signs turn; got {lost:g}")
    checks.number("momentum", group["momentum"], 0, 1)
    checks.number("eps", group["eps"], 0, above=True)  # a gradient of zeros would divide by it
    if group["rule"] == "adamw":
        beta1, beta2 = group["betas"]
        checks.number("betas", beta1, 0, 1)
        checks.number("betas", beta2, 0, 1)
        return
    checks.number("ns_steps", group["ns_steps"], 1, MOST_STEPS + 1, whole=True)
    if group["ns_coefficients"] != "exact":
        settling(group["ns_coefficients"], group["ns_steps"])
    lr_scale(group["adjust_lr_fn"], 1, 1)


def check_state(state: dict[str, Any], averages: Sequence[str], name: str, p: Tensor) -> None:
    """Raises ValueError unless what was saved about p, if anything, are these averages.

    torch would load those of another optimizer, and begin its averages anew without a word.
    """
    for key in averages if state else ():
        value = state.get(key)
        if not isinstance(value, Tensor) or value.shape != p.shape:
            raise ValueError(f"{name!r} needs {key} {tuple(p.shape)}, got {checks.short(value)}")


class NotFinite(ValueError):
    """A gradient, or a first weight, is NaN or Inf."""


def check_present(pairs: Named, add: Callable[[Tensor], Tensor], processes: int) -> None:
    """Raises ValueError, in all processes, unless all or none have the gradient of a parameter.

    add: gives the sums over all processes. Without this, they would wait for each other's rows.
    """
    present = torch.tensor([p.grad is not None for _, p in pairs], device=pairs[0][1].device)
    for (name, _), count in zip(pairs, add(present.int()).tolist(), strict=True):
        if 0 < count < processes:
            raise ValueError(f"only {count} of {processes} processes have a gradient of {name!r}")


def check_numbers(groups: list[Group], first: bool) -> None:
    """Raises NotFinite, with the name, unless all gradients in all processes are finite.

    At the `first` step, so must be the parameters: later they are what steps made of them.
    """
    everything = [pair for number, group in enumerate(groups) for pair in named(group, number)]
    pairs = [(name, p) for name, p in everything if p.grad is not None]
    if not (asked := [p for _, p in everything if is_sharded(p)] or [p for _, p in pairs]):
        return
    anyone = asked[0]
    for name, p in pairs:
        checks.choice(f"layout of {name!r}'s gradient", gradient(p).layout, [torch.strided])
    checked = [(f"the gradient of parameter {name!r}", gradient(own(p))) for name, p in pairs]
    if first:
        checked += [(f"parameter {name!r}", own(p.detach())) for name, p in everything]
    # NaN and Inf survive a norm; one look at the sum of all norms, so a GPU is waited for once
    tensors = [t for _, t in checked] or [torch.empty(0, device=anyone.device)]
    norms = torch._foreach_norm(tensors)
    total = torch.stack([norm.to(anyone.device, torch.float32) for norm in norms]).sum()
    if is_sharded(anyone):
        check_present(everything, partial(add_up, p=anyone), group_of(anyone).size())
    if math.isfinite(add_up(total, anyone).item()):
        return
    broken = add_up(total.new_tensor([not is_finite(t) for _, t in checked]), anyone)
    then = "skip this batch, or lower the learning rate if the loss has diverged"
    for (what, _), parts in zip(checked, broken.tolist(), strict=True):
        if parts:
            raise NotFinite(f"{what} holds NaN or Inf: nothing was updated; {then}")
