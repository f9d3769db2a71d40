"""The grids of lesson 15: where may Muon's lead end?"""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from operator import mul
from typing import Any

from muonlab.data.facts import people_in_group
from muonlab.studies.capstone import averages_tuning
from muonlab.studies.facts_grids import ALL, BASES
from muonlab.studies.grids import ADAMW_RATES, BASE, MUON_RATES, OUTER_RATES, SEEDS
from muonlab.sweeps.study import best_at_new_seeds
from muonlab.training.config import TrainConfig

SHORT = replace(  # a fifth of lesson 04's runs
    BASE,
    steps=80,
    batch=8,
    adjust_lr_fn="update_rms",
    adamw_lr=OUTER_RATES[1],
    eval_every=80,
    eval_tokens=16_384,
)
LOW_RATES = (MUON_RATES[0] / 2, *MUON_RATES[:3])
CONTROLS = (  # signs need lower rates, as AdamW does: in the first grids the lowest was the best
    ("muon", LOW_RATES),
    ("random_spectrum", LOW_RATES),
    ("sign", tuple(rate / 8 for rate in LOW_RATES)),
)
FINETUNING = TrainConfig(
    corpus="code",
    pretraining=150,
    steps=100,
    batch=4,
    adamw_lr=0.01,
    eval_every=100,
    eval_tokens=16_384,
)
FINETUNING_RATES = {(): (0.00025, 0.0005, 0.001, 0.002), ALL: (0.001, 0.002, 0.004, 0.008)}
DECAYS = (0.1, 0.3)
FACTS = replace(BASES["facts"], betas=(0.8, 0.95), eval_every=400)  # the paper's averages
OUTER_FACTS_RATES = (0.016, 0.032, 0.064, 0.128)
ADAMW_FACTS_RATES = (0.0000625, 0.000125, 0.00025, 0.0005)
MUON_FACTS_RATES = (0.000625, 0.00125, 0.0025, 0.005)
EXPONENTS = (0, 1)
REGRESSION = TrainConfig(
    corpus="regression-4",
    steps=120,
    batch=16,
    context=20,
    eval_every=60,
    eval_tokens=20_480,
)
REGRESSION_ADAMW_RATES = (0.000125, 0.00025, 0.0005, 0.001)
OUTER_REGRESSION_RATES = (0.003, 0.01)
ROUTES = {ALL: MUON_RATES, ("QK",): (0.005, 0.01, 0.02, 0.04), ("VO", "FFN"): MUON_RATES}


def regression_tuning_adamw() -> list[TrainConfig]:
    """Returns eight trials for AdamW, one seed: two rates of embedding and head, four of matrices.

    What is best here for embedding and head is taken with Muon too, so AdamW has the advantage.
    """
    pairs = product(OUTER_REGRESSION_RATES, REGRESSION_ADAMW_RATES)
    base = replace(REGRESSION, muon=())
    return [replace(base, adamw_lr=outer, adamw_matrix_lr=rate) for outer, rate in pairs]


def regression_tuning() -> list[TrainConfig]:
    """Returns four rates for Muon on each of three routes; AdamW's matrices have their best."""
    [adamw] = best_at_new_seeds(
        "lesson-15-regression-tuning-adamw", regression_tuning_adamw(), route, 1
    )
    return [
        replace(adamw, muon=groups, lr=rate, seed=0)
        for groups, rates in ROUTES.items()
        for rate in rates
    ]


def regression() -> list[TrainConfig]:
    """Returns the best trial of AdamW and of each route at five other seeds."""
    adamw = best_at_new_seeds(
        "lesson-15-regression-tuning-adamw", regression_tuning_adamw(), route, SEEDS
    )
    muon = best_at_new_seeds("lesson-15-regression-tuning", regression_tuning(), route, SEEDS)
    return adamw + muon


def controls_tuning() -> list[TrainConfig]:
    """Returns four rates for Muon, for two controls of the same norm, and for AdamW; one seed."""
    adamw = [replace(SHORT, muon=(), adamw_matrix_lr=rate / 4) for rate in ADAMW_RATES]
    controls = [replace(SHORT, rule=rule, lr=r) for rule, rates in CONTROLS for r in rates]
    return controls + adamw


def controls() -> list[TrainConfig]:
    """Returns the best trial of each of the four at five other seeds."""
    trials = controls_tuning()
    way = lambda c: (c.muon, c.rule)  # noqa: E731  it has no other use
    return best_at_new_seeds("lesson-15-controls-tuning", trials, way, SEEDS)


def finetuning_tuning() -> list[TrainConfig]:
    """Returns four trials for AdamW and four for Muon: both fine-tune AdamW's model on code.

    A batch has four sequences. Embedding and head have a quarter of the rate of the pretraining.
    """
    adamw = replace(FINETUNING, muon=())
    trials = [replace(adamw, adamw_matrix_lr=rate) for rate in FINETUNING_RATES[()]]
    return trials + [replace(FINETUNING, lr=rate) for rate in FINETUNING_RATES[ALL]]


def finetuning() -> list[TrainConfig]:
    """Returns the best trial of each at five other seeds; they start from the same model."""
    trials = finetuning_tuning()
    return best_at_new_seeds("lesson-15-finetuning-tuning", trials, route, SEEDS)


def decay_tuning() -> list[TrainConfig]:
    """Returns sixteen trials for AdamW and sixteen for Muon with each weight decay, one seed.

    They are those of lesson-16-averages-tuning, where decay is off.
    """
    trials = [replace(trial, eval_every=trial.steps) for trial in averages_tuning()]
    return [replace(trial, weight_decay=weight) for weight in DECAYS for trial in trials]


def decay() -> list[TrainConfig]:
    """Returns the best trial of each optimizer with each decay, at five other seeds."""
    way = lambda c: (c.muon, c.weight_decay)  # noqa: E731  it has no other use
    return best_at_new_seeds("lesson-15-decay-tuning", decay_tuning(), way, SEEDS)


def facts_tuning() -> list[TrainConfig]:
    """Returns sixteen trials for AdamW and for Muon, on even data and on data with a tail.

    Lesson 10 gives AdamW one rate for all parameters. Here both tune two, of the matrices and of
    embedding and head.
    """
    base = replace(FACTS, muon=())
    pairs = product(OUTER_FACTS_RATES, ADAMW_FACTS_RATES)
    trials = [replace(base, adamw_lr=outer, adamw_matrix_lr=rate) for outer, rate in pairs]
    pairs = product(OUTER_FACTS_RATES, MUON_FACTS_RATES)
    trials += [replace(FACTS, adamw_lr=outer, lr=rate) for outer, rate in pairs]
    return [replace(t, corpus=f"{t.corpus}-zipf{s}") for s in EXPONENTS for t in trials]


def facts() -> list[TrainConfig]:
    """Returns the best trial of each on either data, at five other seeds."""
    way = lambda c: (c.muon, c.corpus)  # noqa: E731  it has no other use
    trials, worst = facts_tuning(), lambda record: -known(record.held_out[-1])
    chosen = best_at_new_seeds("lesson-15-facts-tuning", trials, way, SEEDS, worst)
    return [replace(config, eval_every=100) for config in chosen]


def facts_longer() -> list[TrainConfig]:
    """Returns three of these seeds with three times the steps: does a lead last?"""
    some = [config for config in facts() if config.seed <= 3]
    return [replace(config, steps=3 * config.steps, eval_every=200) for config in some]


def known(measured: dict[str, Any]) -> float:
    """Returns the share of all people, frequent or rare, that a run on facts knows."""
    shares = measured["accuracy"]
    people = [people_in_group(group) for group in range(len(shares))]
    return sum(map(mul, people, shares)) / sum(people)


def route(config: TrainConfig) -> tuple[str, ...]:
    """Returns the groups under Muon, which tell the contestants apart."""
    return config.muon


PRESETS: dict[str, Callable[[], list[TrainConfig]]] = {
    "lesson-15-regression-tuning-adamw": regression_tuning_adamw,
    "lesson-15-regression-tuning": regression_tuning,
    "lesson-15-regression": regression,
    "lesson-15-controls-tuning": controls_tuning,
    "lesson-15-controls": controls,
    "lesson-15-finetuning-tuning": finetuning_tuning,
    "lesson-15-finetuning": finetuning,
    "lesson-15-facts-tuning": facts_tuning,
    "lesson-15-facts": facts,
    "lesson-15-facts-longer": facts_longer,
    "lesson-15-decay-tuning": decay_tuning,
    "lesson-15-decay": decay,
}
