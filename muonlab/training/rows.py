"""NorMuon and the ablations of its paper, as rules that a run may follow in place of Muon.

All look ahead as the config says (`nesterov`), and give the update entries of RMS 0.2, as Algorithm
1 does, so that a larger step cannot pass for a better direction. The released code's scale is the
exception. Source: arXiv 2510.05491, Algorithm 1 and the ablations of its experiments.
"""

import math
from typing import Any

import torch
from torch import Tensor

from muonlab.optim.fast import fast_newton_schulz
from muonlab.optim.normuon import ROWS

NORMUON = {"normuon": "paper", "normuon_released": "released"}  # rule → scale of `NorMuon`
BETA2, EPS = 0.95, 1e-8  # those of NorMuon
State = dict[str, Any]


def coordinates(p: Tensor, state: State, group: dict[str, Any]) -> Tensor:
    """Returns Muon's direction, each entry divided by the root of its own mean square."""
    O = _flat(momentum(p, state, group), group)  # noqa: E741  the paper's letter
    return rms(O / _root(O.square(), state))


def rows_first(p: Tensor, state: State, group: dict[str, Any]) -> Tensor:
    """Returns the direction with the rows evened out *before* it is orthogonalized."""
    M = momentum(p, state, group)
    return rms(_flat(M / _root(M.square().mean(1, keepdim=True), state), group))


def tall_only(p: Tensor, state: State, group: dict[str, Any]) -> Tensor:
    """Returns NorMuon's direction for a matrix with more rows than columns, else Muon's."""
    O = _flat(momentum(p, state, group), group)  # noqa: E741  the paper's letter
    tall = p.size(0) > p.size(1)
    return rms(O / _root(O.square().mean(1, keepdim=True), state) if tall else O)


def momentum(p: Tensor, state: State, group: dict[str, Any]) -> Tensor:
    """Returns what Muon orthogonalizes: the average of gradients, one step ahead if so asked."""
    mu = group["momentum"]
    M = state.setdefault("momentum_buffer", torch.zeros_like(p)).lerp_(p.grad, 1 - mu)
    return torch.lerp(p.grad, M, mu) if group["nesterov"] else M


def _flat(D: Tensor, group: dict[str, Any]) -> Tensor:
    return fast_newton_schulz(D, group["ns_steps"], group["ns_coefficients"])


def _root(square: Tensor, state: State) -> Tensor:
    kept = state.setdefault(ROWS, torch.zeros_like(square)).lerp_(square, 1 - BETA2)
    return kept.sqrt() + EPS


def rms(D: Tensor) -> Tensor:
    """Returns D scaled to entries of root mean square 0.2; zeros stay zeros."""
    return D * (0.2 * math.sqrt(D.numel()) / D.norm().clamp(min=torch.finfo(D.dtype).tiny))
