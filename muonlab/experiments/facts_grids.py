"""The grids of lesson 10: who learns the rare facts?"""

from dataclasses import replace

from muonlab.experiments.config import TrainConfig
from muonlab.experiments.grids import KINDS, SEEDS
from muonlab.experiments.results import best_at_new_seeds

BASE = TrainConfig(corpus="facts-9", steps=400, batch=16, context=64, eval_every=100)
ADAMW_RATES = (0.004, 0.008, 0.016, 0.032)
MUON_RATES = (0.0025, 0.005, 0.01, 0.02)
SGD_RATES = (0.1, 0.3, 1.0, 3.0)
OTHERS: dict[str, TrainConfig] = {
    "Muon": BASE,
    "SGD": replace(BASE, rule="sgd"),
    "Muon(VO, FFN)": replace(BASE, muon=("VO", "FFN")),
    "Muon(QK)": replace(BASE, muon=("QK",)),
}


def tuning_adamw() -> list[TrainConfig]:
    """Returns four trials for AdamW: one rate for all parameters, as in the paper."""
    base = replace(BASE, muon=())
    return [replace(base, gated=gated, adamw_lr=a) for gated in KINDS for a in ADAMW_RATES]


def tuning() -> list[TrainConfig]:
    """Returns four trials for each of the four others; what AdamW still steps has its best rate."""
    best = best_at_new_seeds("facts-tuning-adamw", tuning_adamw(), contestant, 1)
    return [
        replace(config, gated=adamw.gated, adamw_lr=adamw.adamw_lr, lr=rate)
        for adamw in best
        for name, config in OTHERS.items()
        for rate in (SGD_RATES if name == "SGD" else MUON_RATES)
    ]


def seeds() -> list[TrainConfig]:
    """Returns the best trial of each of the five at five other seeds."""
    adamw = best_at_new_seeds("facts-tuning-adamw", tuning_adamw(), contestant, SEEDS)
    return adamw + best_at_new_seeds("facts-tuning", tuning(), contestant, SEEDS)


def imbalance() -> list[TrainConfig]:
    """Returns Muon and AdamW, non-gated, where a person's frequency falls as rank^-s: s = 0 … 1.5.

    The number of pairs is about the same for each s. The rates are those of s = 1.
    """
    chosen = [c for c in seeds() if not c.gated and c.seed <= 3 and c.rule == "muon"]
    chosen = [c for c in chosen if c.muon in ((), BASE.muon)]
    return [
        replace(config, corpus=f"{BASE.corpus}-zipf{s:g}")
        for s in (0, 0.5, 1, 1.5)
        for config in chosen
    ]


def contestant(config: TrainConfig) -> tuple[bool, tuple[str, ...], str]:
    """Returns what tells the five ways apart, and the two kinds of feed-forward layer."""
    return config.gated, config.muon, config.rule


def _rates(name: str) -> tuple[float, ...]:
    return {"AdamW": ADAMW_RATES, "SGD": SGD_RATES}.get(name, MUON_RATES)
