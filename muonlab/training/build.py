"""What a run is made of: the model, its optimizer, the device, the precision."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import torch

from muonlab.data.corpus import Corpus
from muonlab.data.facts import Facts
from muonlab.data.regression import Regression
from muonlab.machine import bf16_pays
from muonlab.models.gpt import GPT, SIZES, GPTConfig
from muonlab.models.regressor import Regressor
from muonlab.optim.muon import Muon
from muonlab.optim.normuon import NorMuon
from muonlab.optim.routing import route
from muonlab.training.config import TrainConfig
from muonlab.training.controls import Controlled
from muonlab.training.rows import NORMUON

Task = Corpus | Facts | Regression  # what a model can be trained on


def model_for(config: TrainConfig, task: Task) -> GPT:
    """Returns the untrained model for a task, with the seed of the config."""
    if isinstance(task, Regression):
        return _seeded(config, lambda: Regressor(model_shape(config), task.inputs))
    return build_model(config, task.vocab_size)


def build_model(config: TrainConfig, vocab_size: int) -> GPT:
    """Returns the untrained model: the same bits for the same seed, on every device."""
    padded = 64 * math.ceil(vocab_size / 64)  # products of such a width are faster
    return _seeded(config, lambda: GPT(model_shape(config, vocab_size=padded)))


def _seeded(config: TrainConfig, build: Callable[[], GPT]) -> GPT:
    with torch.random.fork_rng(devices=[]):  # leave the caller's chance alone
        torch.manual_seed(config.seed)
        return build()


def model_shape(config: TrainConfig, **options: int) -> GPTConfig:
    """Returns the shape of a run's model; `options` go into it as they are."""
    chosen = {name: getattr(config, name) for name in ("gated", "attention", "experts")}
    return dataclasses.replace(SIZES[config.size], **chosen, **options)


def build_optimizer(config: TrainConfig, model: GPT) -> Muon:
    """Returns one optimizer for all parameters: AdamW alone when `config.muon` is empty.

    Each group names in "rate" the field of the config that its learning rate comes from.
    """
    names = ("momentum", "nesterov", "ns_coefficients", "ns_steps", "adjust_lr_fn", "betas")
    options = {name: getattr(config, name) for name in (*names, "weight_decay")}
    groups = route(model, muon=config.muon).groups(config.lr, config.adamw_lr, **options)
    groups = [{"rate": "lr" if g["rule"] == "muon" else "adamw_lr", **g} for g in groups]
    if config.adamw_matrix_lr is not None:
        groups[-1:] = _apart(groups[-1], model, config.adamw_matrix_lr)
    if config.rule in NORMUON:
        return NorMuon(groups, scale=NORMUON[config.rule])
    return Muon(groups) if config.rule == "muon" else Controlled(groups, config.rule)


def _apart(group: dict[str, Any], model: GPT, rate: float) -> list[dict[str, Any]]:
    """Returns AdamW's group as two: embedding and head, and the matrices with a rate of theirs."""
    matrices = {id(p) for p in model.blocks.parameters()}
    outer = [(name, p) for name, p in group["params"] if id(p) not in matrices]
    inner = [(name, p) for name, p in group["params"] if id(p) in matrices]
    own = {"params": inner, "lr": rate, "rate": "adamw_matrix_lr"}
    return [group | {"params": outer}, *([group | own] if inner else [])]


def picks_bf16(config: TrainConfig, device: torch.device) -> bool:
    """Returns whether the run multiplies in bf16; "auto" does where that is faster."""
    if config.precision == "auto":
        return bf16_pays(SIZES[config.size].width, device)
    return config.precision == "bf16"
