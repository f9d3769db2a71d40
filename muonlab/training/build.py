"""What a run is made of: the model, its optimizer, the precision."""

import dataclasses
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import torch

from muonlab import machine
from muonlab.data.task import Task
from muonlab.models.gpt import GPT, SIZES, GPTConfig
from muonlab.models.regressor import build
from muonlab.optim.muon import Muon
from muonlab.optim.routing import GROUPS, route
from muonlab.optim.rules import Controlled, rule_of
from muonlab.training.config import SHAPE, TrainConfig

BF16_WIDTH = 256  # features of a model; see `picks_bf16`


def build_model(config: TrainConfig, task: Task) -> GPT:
    """Returns the untrained model for a task: the same bits for the same seed, on every device.

    Facts, or a regression, other than the config's raise ValueError; a text may be any.
    """
    made = any(x.startswith(("facts-", "regression-")) for x in (config.corpus, task.name))
    if made and not config.pretraining and config.corpus != task.name:
        raise ValueError(f"expected the task of corpus={config.corpus!r}, got {task.name}")
    with torch.random.fork_rng(devices=[]):  # leave the caller's chance alone
        torch.manual_seed(config.seed)
        return build(task.shape(model_shape(config)))


def model_shape(config: TrainConfig) -> GPTConfig:
    """Returns the shape of a run's model, before a task says what its tokens are."""
    chosen = {name: getattr(config, name) for name in SHAPE}
    return dataclasses.replace(SIZES[config.size], **chosen)


def build_optimizer(config: TrainConfig, model: GPT) -> Muon:
    """Returns one optimizer for all parameters: AdamW alone when `config.muon` is empty.

    Each group names in "rate" the field of the config that its learning rate comes from.
    """
    names = ("momentum", "nesterov", "ns_coefficients", "ns_steps", "ns_norm", "adjust_lr_fn")
    options = {name: getattr(config, name) for name in (*names, "betas", "weight_decay")}
    groups = route(model, muon=config.muon).groups(config.lr, config.adamw_lr, **options)
    rule = rule_of(config.rule)
    # a rule for matrices that goes Adam's way reads betas, and some add noise
    own: dict[str, Any] = {n: getattr(config, n) for n in ("betas", "noise") if n in rule.reads}
    rates = {"muon": "lr", "adamw": "adamw_lr"}
    groups = [{"rate": rates[group["rule"]], **own, **group} for group in groups]
    groups = [part for group in groups for part in _apart(group, config)]
    return rule.own(groups) if rule.own else Controlled(groups, rule)


def _apart(group: dict[str, Any], config: TrainConfig) -> Iterator[dict[str, Any]]:
    """Yields the parts of a group that the config treats alike: outside of the blocks, and inside.

    Those inside are apart by the factor of their rate.
    """
    outer, inner = (
        [(name, p) for name, p in group["params"] if name.startswith("blocks.") == inside]
        for inside in (False, True)
    )
    own: dict[str, Any] = {}
    if group["rate"] == "adamw_lr" and config.adamw_matrix_lr is not None:
        own = {"rate": "adamw_matrix_lr", "lr": config.adamw_matrix_lr}
    if config.adamw_matrix_beta1 is not None and "betas" in group:
        own["betas"] = (config.adamw_matrix_beta1, config.betas[1])
    if not own and not config.matrix_decay and set(config.matrix_lr_factors) == {1.0}:
        outer, inner = group["params"], []  # as it is
    if outer:
        yield group | {"params": outer}
    of: dict[float, list[Any]] = {}
    for name, p in inner:
        of.setdefault(_factor(name, config.matrix_lr_factors), []).append((name, p))
    for factor, params in of.items():
        part = group | own | {"params": params}
        if factor != 1:
            part |= {"lr": part["lr"] * factor, "factor": factor}
        if config.matrix_decay and part["lr"]:  # the rule multiplies it by the rate
            part["weight_decay"] += config.matrix_decay / part["lr"]
        yield part


def _factor(name: str, factors: tuple[float, ...]) -> float:
    """Returns the factor of the rate of a matrix in the blocks; 1 for routers and for fused QKV."""
    kinds = (("QK",), ("VO", "KV_down"), ("W_in", "W_gate"), ("W_out",))
    for kind, factor in zip(kinds, factors, strict=True):
        if any(fnmatchcase(name, pattern) for entry in kind for pattern in GROUPS[entry]):
            return factor
    return 1.0


def picks_bf16(config: TrainConfig, device: torch.device) -> bool:
    """Returns whether the run multiplies in bf16; "auto" does where that is faster.

    Narrow matrices gain nothing.
    """
    if config.precision == "auto":
        return SIZES[config.size].width >= BF16_WIDTH and machine.fast_bf16(device)
    return config.precision == "bf16"
