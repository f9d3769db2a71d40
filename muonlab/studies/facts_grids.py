"""The grids of lesson 10: who learns the rare facts?"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from muonlab.studies.grids import KINDS, SEEDS
from muonlab.sweeps.study import best_at_new_seeds
from muonlab.training.config import TrainConfig

ALL = ("QK", "VO", "FFN")
BASES: dict[str, TrainConfig] = {
    "facts": TrainConfig(corpus="facts-9", steps=400, batch=16, context=64, eval_every=100),
    # as many people as in the paper; batch and length are ours, since it does not state them
    "facts-paper": TrainConfig(
        corpus="facts-15", size="paper", steps=10_000, batch=64, context=512, eval_every=500
    ),
}
ADAMW_RATES = (0.004, 0.008, 0.016, 0.032)
MUON_RATES = (0.0025, 0.005, 0.01, 0.02)
SGD_RATES = (0.1, 0.3, 1.0, 3.0)
OTHERS = {  # than AdamW alone: what follows the rule, which rule, and the rates tried for it
    "Muon": (ALL, "muon", MUON_RATES),
    "SGD": (ALL, "sgd", SGD_RATES),
    "Muon(VO, FFN)": (("VO", "FFN"), "muon", MUON_RATES),
    "Muon(QK)": (("QK",), "muon", MUON_RATES),
}


def tuning_adamw(name: str) -> list[TrainConfig]:
    """Returns four trials for AdamW: one rate for all parameters, as in the paper."""
    base = replace(BASES[name], muon=())
    return [replace(base, gated=gated, adamw_lr=a) for gated in KINDS for a in ADAMW_RATES]


def tuning(name: str) -> list[TrainConfig]:
    """Returns four trials for each of the four others; what AdamW still steps has its best rate."""
    best = best_at_new_seeds(f"{name}-tuning-adamw", tuning_adamw(name), contestant, 1)
    return [
        replace(adamw, muon=groups, rule=rule, lr=rate, seed=0)
        for adamw in best
        for groups, rule, rates in OTHERS.values()
        for rate in rates
    ]


def seeds(name: str) -> list[TrainConfig]:
    """Returns the best trial of each of the five at five other seeds."""
    adamw = best_at_new_seeds(f"{name}-tuning-adamw", tuning_adamw(name), contestant, SEEDS)
    return adamw + best_at_new_seeds(f"{name}-tuning", tuning(name), contestant, SEEDS)


def imbalance() -> list[TrainConfig]:
    """Returns Muon and AdamW, non-gated, where a person's frequency falls as rank^-s: s = 0 … 1.5.

    The number of pairs is about the same for each s. The rates are those of s = 1.
    """
    chosen = [c for c in seeds("facts") if not c.gated and c.seed <= 3 and c.rule == "muon"]
    chosen = [c for c in chosen if c.muon in ((), ALL)]
    return [
        replace(config, corpus=f"{config.corpus}-zipf{s:g}")
        for s in (0, 0.5, 1, 1.5)
        for config in chosen
    ]


def contestant(config: TrainConfig) -> tuple[bool, tuple[str, ...], str]:
    """Returns what tells the five ways apart, and the two kinds of feed-forward layer."""
    return config.gated, config.muon, config.rule


def presets() -> dict[str, Callable[[], list[TrainConfig]]]:
    """Returns the grids of both sizes by name."""
    found: dict[str, Callable[[], list[TrainConfig]]] = {}
    for name in BASES:
        found[f"{name}-tuning-adamw"] = partial(tuning_adamw, name)
        found[f"{name}-tuning"] = partial(tuning, name)
        found[name] = partial(seeds, name)
    return found | {"facts-imbalance": imbalance}
