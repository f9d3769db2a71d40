"""Lion, the worked example of CONTRIBUTING's first recipe: a contestant is one entry and a test."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from muonlab.optim.rules import RULES, Controlled, Rule
from muonlab.records.record import contestant
from muonlab.studies.evidence import knobs_of
from muonlab.training.config import TrainConfig


def lion(G, state, group):
    """Returns the signs of an average that counts G more than the kept one (arXiv 2302.06675)."""
    beta1, beta2 = group["betas"]
    mean = state["momentum_buffer"]
    direction = torch.lerp(G, mean, beta1).sign()
    mean.lerp_(G, 1 - beta2)
    return direction


@pytest.fixture
def entry(monkeypatch):
    rule = Rule("Lion", frozenset({"betas"}), lion, ("momentum_buffer",), step_like="AdamW")
    monkeypatch.setitem(RULES, "lion", rule)
    return rule


def test_its_steps_are_those_of_the_formulas(entry):
    draw = torch.Generator().manual_seed(0)
    W, *gradients = (torch.randn(5, 3, generator=draw).double() for _ in range(5))
    p = nn.Parameter(W.clone())
    group = {"params": [p], "rule": "muon", "lr": 0.1, "weight_decay": 0.2, "betas": (0.9, 0.99)}
    optimizer = Controlled([group], entry)
    M = torch.zeros_like(W)
    for G in gradients:
        p.grad = G.clone()
        optimizer.step()
        C = 0.9 * M + 0.1 * G
        W = W - 0.1 * (C.sign() + 0.2 * W)
        M = 0.99 * M + 0.01 * G
    torch.testing.assert_close(p.detach(), W)


def test_one_entry_gives_it_a_name_knobs_and_what_it_leaves_unread(entry):
    config = TrainConfig(rule="lion", adamw_matrix_beta1=0.95)
    assert contestant(vars(config) | {"muon": [*config.muon]}) == "Lion"
    assert [knob.fields for knob in knobs_of(config)][:2] == ["lr", "adamw_matrix_beta1"]
    assert config.told_idle() == ""
    assert "momentum" in replace(config, momentum=0.8).told_idle()
    assert "ns_steps" in replace(config, ns_steps=3).told_idle()
