"""The studies of rare facts: {a lower rate of AdamW's, Muon} on some matrices or on all."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from operator import mul
from typing import Any

from muonlab.data.facts import people_in_group
from muonlab.records.record import contestant
from muonlab.statistics import seed_values
from muonlab.studies.protocol import ADAMW_KNOBS, knobs, near
from muonlab.studies.table1 import ALL_GROUPS
from muonlab.sweeps.search import Knob, Search
from muonlab.sweeps.study import Grid, Place, cross
from muonlab.training.config import TrainConfig

# Who learns the rare facts? AdamW with one rate; AdamW with a lower one for some matrices; Muon on
# the same matrices; SGD on all.
BASIC = TrainConfig(corpus="facts-9", batch=16, context=64, adamw_lr=0.016, muon=())
FOR_ALL = (Knob("adamw_lr", 0.004, 0.064), Knob("betas.0", 0.02, 0.5, average=True))
SLOWED = {("QK",): (0,), ("VO", "FFN"): (1, 2, 3), ALL_GROUPS: (0, 1, 2, 3)}  # their factors
LOWER = 1 / 16


def learners(steps: int) -> Grid:
    """Returns the eight contestants."""
    base = replace(BASIC, steps=steps, eval_every=steps)
    apart = replace(base, adamw_matrix_beta1=0.9)
    factors = [tuple(LOWER if n in own else 1.0 for n in range(4)) for own in SLOWED.values()]
    low = cross(apart, matrix_lr_factors=factors)
    sgd = replace(base, muon=ALL_GROUPS, rule="sgd", lr=5.0)
    return [base, *low, *cross(base, muon=list(SLOWED)), sgd]


def scaled(factors: Iterable[float]) -> tuple[int, ...]:
    """Returns the numbers of the matrices whose rate is another, among QK, VO, W_in, W_out."""
    return tuple(n for n, factor in enumerate(factors) if factor != 1)


def whose(config: TrainConfig) -> tuple[Any, ...]:
    """Returns a contestant: what Muon or SGD takes, and where AdamW's rate is another."""
    return config.corpus, config.muon, config.rule, scaled(config.matrix_lr_factors)


NAMED = dict(zip(SLOWED.values(), ("QK", "VO and FFN", "all"), strict=True))


def learner(config: Mapping[str, Any]) -> str:
    """Returns who learns the facts: a contestant, and where AdamW has a lower rate.

    >>> learner({"muon": [], "rule": "muon", "matrix_lr_factors": [0.25, 1, 1, 1]})
    'AdamW, QK slower'
    """
    name, slower = contestant(config), scaled(config["matrix_lr_factors"])
    return f"{name}, {NAMED[slower]} slower" if slower else name


def learner_knobs(config: TrainConfig) -> tuple[Knob, ...]:
    """Returns four knobs: two rates, two first averages; the rate and average of AdamW alone."""
    own = whose(config)[-1]
    if config.muon:
        rate, average, *_ = knobs(config)
        return (*FOR_ALL, Knob("lr", 0.5, 50) if config.rule == "sgd" else rate, average)
    factors = " ".join(f"matrix_lr_factors.{n}" for n in SLOWED[ALL_GROUPS] if n in own)
    return (*FOR_ALL, Knob(factors, 1 / 128, 1 / 2), ADAMW_KNOBS[1]) if factors else FOR_ALL


def people_known(measured: dict[str, Any]) -> float:
    """Returns the share of all people, frequent or rare, that a run on facts knows."""
    shares = seed_values(measured["accuracy"])
    people = [people_in_group(group) for group in range(len(shares))]
    return sum(map(mul, people, shares)) / sum(people)


# Best values lay at edges, so all have four rounds; what began from the third begins there still.
FACTS_400 = Search("facts-400", learners(400), (8, 8, 8, 8), learner_knobs, whose)


def rate_alone(at: Place) -> Grid:
    """Returns AdamW with one rate, at its best, but VO and FFN have the lower rate: five seeds."""
    one, _, lower, *_ = FACTS_400.best(at)
    at_lower_rate = replace(one, matrix_lr_factors=lower.matrix_lr_factors, eval_every=50)
    return cross(at_lower_rate, seed=[6, 7, 8, 9, 10])


LOWER_RATE = {"facts-400-rate": rate_alone}


def best_at_400(at: Place, *names: str) -> Grid:
    """Returns the best of some learners after three rounds, by their names."""
    best = {learner(vars(config)): config for config in FACTS_400.best(at, 3)}
    return [best[name] for name in names]


SLOWER_MEMORIES = "AdamW, VO and FFN slower"
AT_1200 = ("AdamW", SLOWER_MEMORIES, "AdamW, all slower", "Muon(VO, FFN)", "Muon")


def for_longer(at: Place) -> Grid:
    """Returns five of the learners, in three times the steps."""
    return cross(best_at_400(at, *AT_1200), steps=1200, eval_every=1200)


FACTS_1200 = near("facts-1200", for_longer, (8, 8, 8), knobs=learner_knobs, contest=whose)


def imbalances(at: Place) -> Grid:
    """Returns AdamW with one rate, with two, and Muon, where frequencies fall as rank^-s."""
    best = best_at_400(at, "AdamW", SLOWER_MEMORIES, "Muon(VO, FFN)")
    return cross(best, corpus=[f"facts-9-zipf{s}" for s in ("0", "0.5", "1.5")])


IMBALANCE = near("imbalance", imbalances, (8, 8, 8, 8), knobs=learner_knobs, contest=whose)
LEARNING = (FACTS_400, FACTS_1200, IMBALANCE)
