"""Table 1 of arXiv 2509.26030: which matrices Muon takes, on three tiers of machines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from muonlab.studies.grids import ADAMW_RATES, BASE, KINDS, MUON_RATES
from muonlab.sweeps.results import recorded
from muonlab.sweeps.study import best_at_new_seeds, best_trial
from muonlab.training.config import TrainConfig

ALL = ("QK", "VO", "FFN")
PAPER_ROWS: dict[tuple[str, ...], tuple[float | None, float | None]] = {
    ALL: (3.5654, 3.5125),
    (): (3.9242, 3.8837),
    ("QK",): (3.8925, 3.8518),
    ("VO",): (3.7644, 3.6874),
    ("V",): (3.8301, 3.7482),
    ("O",): (3.7712, 3.7604),
    ("W_in",): (3.7170, 3.7918),
    ("W_out",): (3.7023, 3.7843),
    ("W_gate",): (None, 3.7847),
    ("VO", "FFN"): (3.5858, 3.5312),
    ("VO", "W_in"): (3.6778, None),
    ("VO", "W_out"): (3.6054, None),
    ("VO", "W_in", "W_gate"): (None, 3.5681),
    ("VO", "W_out", "W_gate"): (None, 3.5833),
    ("VO", "W_in", "W_out"): (None, 3.5482),
    ("V", "FFN"): (3.6702, 3.7185),
    ("O", "FFN"): (3.6042, 3.5634),
}
"""What Muon takes, the rest is AdamW's → held-out loss at 160M, non-gated and gated; None: not run.

Source: arXiv 2509.26030v2, Table 1."""

OWN_ROWS = (("QK", "FFN"), ("FFN",), ("Q",), ("K",))  # what the paper left out
SEEDS = 3


@dataclass(frozen=True)
class Tier:
    """How large a machine the table needs."""

    base: TrainConfig
    rates: tuple[float, ...]  # tried for AdamW, and for Muon


_AS_PAPER = {"nesterov": False, "betas": (0.8, 0.95), "weight_decay": 0.0}
TIERS: dict[str, Tier] = {
    "cpu": Tier(
        replace(BASE, **_AS_PAPER, eval_every=BASE.steps), (0.001, 0.002, 0.004, 0.008, 0.016)
    ),
    "gpu": Tier(
        replace(
            BASE,
            **_AS_PAPER,
            corpus="fineweb",
            size="small",
            steps=1000,
            batch=32,
            context=256,
            eval_every=250,
            eval_tokens=2**20,
            spectra_every=250,
        ),
        (0.0005, 0.001, 0.002, 0.005, 0.01),
    ),
    "paper": Tier(
        replace(
            BASE,
            **_AS_PAPER,
            corpus="fineweb",
            size="paper",
            steps=10_000,
            batch=64,
            context=1024,
            warmup=0.02,
            decay=0.0,
            eval_every=500,
            eval_tokens=2**20,
            spectra_every=500,
        ),
        (0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002),
    ),
}
"""The paper does not state batch, length and schedule: those of the tier "paper" are ours."""


def rows(gated: bool) -> list[tuple[str, ...]]:
    """Returns the sets of groups in the table of one kind of feed-forward layer."""
    theirs = [groups for groups, losses in PAPER_ROWS.items() if losses[gated] is not None]
    return [*theirs, *OWN_ROWS]


def tuning_adamw(tier: Tier) -> list[TrainConfig]:
    """Returns the trials of AdamW: one rate for all parameters, as in the paper."""
    return [
        replace(tier.base, gated=gated, muon=(), adamw_lr=rate)
        for gated in KINDS
        for rate in tier.rates
    ]


def tuning_muon(tier: Tier, name: str) -> list[TrainConfig]:
    """Returns the trials of Muon on all matrices; the rest keeps the best rate of AdamW."""
    return [
        replace(config, muon=ALL, lr=rate, seed=0)
        for config in _best(f"{name}-tuning-adamw", tuning_adamw(tier))
        for rate in tier.rates
    ]


def frozen(tier: Tier, name: str) -> list[TrainConfig]:
    """Returns the table by the paper's protocol: each row has the rates of the all-Muon run.

    The runs that matter most come first: all Muon, all AdamW, VO + FFN, QK.
    """
    best = _best(f"{name}-tuning-muon", tuning_muon(tier, name))
    table = [
        replace(config, muon=groups, seed=seed)
        for config in best
        for groups in rows(config.gated)
        for seed in range(1, SEEDS + 1)
    ]
    first = [ALL, (), ("VO", "FFN"), ("QK",)]
    return sorted(table, key=lambda c: first.index(c.muon) if c.muon in first else len(first))


def uncovered(name: str = "cpu") -> list[str]:
    """Returns the rows of Table 1 that a tier has not recorded at SEEDS seeds, a sentence each."""
    runs = [run for run in recorded(name) if not run.failure]
    found = []
    for gated in KINDS:
        for groups in rows(gated):
            same = [r for r in runs if r.config["gated"] == gated]
            seeds = {r.config["seed"] for r in same if tuple(r.config["muon"]) == groups}
            if len(seeds) < SEEDS:
                row = (
                    f"{'gated' if gated else 'non-gated'}, Muon on {'+'.join(groups) or 'nothing'}"
                )
                found.append(f"{name}: {row}: {len(seeds)} of {SEEDS} seeds are recorded")
    return found


def retuning() -> list[TrainConfig]:
    """Returns four trials for each row: of Muon's rate, or of AdamW's for the matrices.

    Unlike the paper's protocol, embedding and head have a rate of their own, the same in each row,
    and so have the matrices that stay with AdamW; both were chosen in lesson 04. Nothing else
    differs.
    """
    fair = best_trial(r for r in recorded("lesson-04-tuning") if not r.config["muon"])
    outer, inner = fair.config["adamw_lr"], fair.config["adamw_matrix_lr"]
    base = replace(TIERS["cpu"].base, adamw_lr=outer, adamw_matrix_lr=inner)
    return [
        replace(
            base, gated=gated, muon=groups, **({"lr": lr} if groups else {"adamw_matrix_lr": a})
        )
        for gated in KINDS
        for groups in rows(gated)
        for lr, a in zip((MUON_RATES[0] / 2, *MUON_RATES[:3]), ADAMW_RATES, strict=True)
    ]


def retuned() -> list[TrainConfig]:
    """Returns the rows, each with its own best trial in cpu-retuning."""
    trials = retuning()
    return best_at_new_seeds("cpu-retuning", trials, lambda c: (c.gated, c.muon), SEEDS)


def _best(name: str, trials: Sequence[TrainConfig]) -> list[TrainConfig]:
    return best_at_new_seeds(name, trials, lambda c: c.gated, 1)


def presets() -> dict[str, Callable[[], list[TrainConfig]]]:
    """Returns the grids of every tier by name."""
    found: dict[str, Callable[[], list[TrainConfig]]] = {}
    for name, tier in TIERS.items():
        found[f"{name}-tuning-adamw"] = partial(tuning_adamw, tier)
        found[f"{name}-tuning-muon"] = partial(tuning_muon, tier, name)
        found[name] = partial(frozen, tier, name)
    return found | {"cpu-retuning": retuning, "cpu-retuned": retuned}
