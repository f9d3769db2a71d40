"""What a run is made of: the model, its optimizer, the precision."""

import dataclasses
from typing import Any

import torch

from muonlab.data.task import Task
from muonlab.machine import bf16_pays
from muonlab.models.gpt import GPT, SIZES, GPTConfig
from muonlab.models.regressor import build
from muonlab.optim.muon import Muon
from muonlab.optim.normuon import NorMuon
from muonlab.optim.routing import route
from muonlab.training.config import TrainConfig
from muonlab.training.rules import NORMUON, Controlled


def build_model(config: TrainConfig, task: Task) -> GPT:
    """Returns the untrained model for a task: the same bits for the same seed, on every device."""
    with torch.random.fork_rng(devices=[]):  # leave the caller's chance alone
        torch.manual_seed(config.seed)
        return build(task.shape(model_shape(config)))


def model_shape(config: TrainConfig) -> GPTConfig:
    """Returns the shape of a run's model, before a task says what its tokens are."""
    chosen = {name: getattr(config, name) for name in ("gated", "attention", "experts")}
    return dataclasses.replace(SIZES[config.size], **chosen)


def build_optimizer(config: TrainConfig, model: GPT) -> Muon:
    """Returns one optimizer for all parameters: AdamW alone when `config.muon` is empty.

    Each group names in "rate" the field of the config that its learning rate comes from.
    """
    names = ("momentum", "nesterov", "ns_coefficients", "ns_steps", "adjust_lr_fn", "betas")
    options = {name: getattr(config, name) for name in (*names, "weight_decay")}
    groups = route(model, muon=config.muon).groups(config.lr, config.adamw_lr, **options)
    groups = [{"rate": "lr" if g["rule"] == "muon" else "adamw_lr", **g} for g in groups]
    if config.adamw_matrix_lr is not None:
        groups[-1:] = _apart(groups[-1], config.adamw_matrix_lr)
    if config.rule in NORMUON:
        return NorMuon(groups, scale=NORMUON[config.rule])
    return Muon(groups) if config.rule == "muon" else Controlled(groups, config.rule)


def _apart(group: dict[str, Any], rate: float) -> list[dict[str, Any]]:
    """Returns AdamW's group as two: embedding and head, and the matrices with a rate of theirs."""
    outer = [(name, p) for name, p in group["params"] if not name.startswith("blocks.")]
    inner = [(name, p) for name, p in group["params"] if name.startswith("blocks.")]
    own = {"params": inner, "lr": rate, "rate": "adamw_matrix_lr"}
    return [group | {"params": outer}, *([group | own] if inner else [])]


def picks_bf16(config: TrainConfig, device: torch.device) -> bool:
    """Returns whether the run multiplies in bf16; "auto" does where that is faster."""
    if config.precision == "auto":
        return bf16_pays(SIZES[config.size].width, device)
    return config.precision == "bf16"
