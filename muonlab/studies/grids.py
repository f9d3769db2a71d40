"""Which runs the lessons show, as data: every study, its trials, and what follows at new seeds.

`muonlab ablate NAME` runs a study of `STUDIES`, all phases in order, or one phase; the records of a
phase are in data/results, in a file with its name. Trials have seed 0: it chooses the rates, so it
does not count. What the lessons compare has other seeds.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from muonlab.studies.evidence import EVIDENCE
from muonlab.studies.table1 import ALL_GROUPS, TIERS, one_rate, rows, table_rows
from muonlab.sweeps.study import HERE, Grid, Phase, Place, Study, Tuning, cross
from muonlab.training.config import TrainConfig

BASE = TrainConfig(steps=150, batch=16, context=64, eval_tokens=65_536)
OUTER_RATES = [0.01, 0.02, 0.04, 0.08]  # AdamW's, of the embedding and the head, in either run
ADAMW_RATES = [0.00025, 0.0005, 0.001, 0.002]  # of the matrices under AdamW
MUON_RATES = [0.0025, 0.005, 0.01, 0.02]  # of the matrices under Muon
LOW_MUON_RATES = [0.00125, 0.0025, 0.005, 0.01]
NEW_SEEDS = 5


def beside(adamw: Tuning, name: str, tried: list[dict[str, Any]]) -> Tuning:
    """Returns the trials of other rules or routes; what AdamW still steps has its best rate."""
    trials = lambda at: [c for b in adamw.best(at) for t in tried for c in cross(b, **t)]  # noqa: E731
    return Tuning(name, trials, ("gated", "muon", "rule"))


# Lesson 04. Both optimizers have two rates to tune: that of the matrices, and that of embedding
# and head, which AdamW steps in either run. With one for all, AdamW would show a compromise.
# Five seeds left open whether the tail gains more than the head (-0.006 to 0.144). Five more were
# added, once, before anything else was looked at.
BOTH_RATES = cross(BASE, muon=(), adamw_lr=OUTER_RATES, adamw_matrix_lr=ADAMW_RATES)
BOTH_RATES += cross(BASE, adamw_lr=OUTER_RATES, lr=MUON_RATES)
LESSON_04 = Tuning("lesson-04-tuning", BOTH_RATES, contest=("muon",))


# Three seeds of both in eight times the steps: evidence follows the tail in them.
LESSON_04_FINALS = {"lesson-04-seeds": LESSON_04.at_new_seeds(10)}
LESSON_04_FINALS |= {"lesson-04-longer": LESSON_04.at_new_seeds(3, steps=1200, eval_every=50)}

# Lesson 03. `update_rms` gives every update the same norm, so that a larger step cannot pass for a
# better direction. "exact" is the polar factor from an SVD in float64. Without the lowest rate, two
# optima would lie at an edge.
SAME_NORM = replace(BASE, adjust_lr_fn="update_rms", adamw_lr=0.02)
ITERATIONS = cross(SAME_NORM, ns_coefficients="jordan", ns_steps=[3, 5])
ITERATIONS += cross(SAME_NORM, ns_coefficients=["polar_express", "exact"], ns_steps=5)
EACH_RATE = cross(ITERATIONS, lr=[0.00125, *MUON_RATES])
LESSON_03 = Tuning("lesson-03-tuning", EACH_RATE, contest=("ns_coefficients", "ns_steps"))


def by_the_paper(name: str) -> Study:
    """Returns Table 1 of a tier: every row has AdamW's one rate, and that of Muon on all matrices.

    The runs that matter most come first: all Muon, all AdamW, VO + FFN, QK.
    """
    base, rates = TIERS[name].base, TIERS[name].rates
    adamw = Tuning(f"{name}-tuning-adamw", one_rate(base, rates), ("gated",))
    muon = beside(adamw, f"{name}-tuning-muon", [{"muon": ALL_GROUPS, "lr": rates}])
    first = [ALL_GROUPS, (), ("VO", "FFN"), ("QK",)]
    place = lambda c: first.index(c.muon) if c.muon in first else len(first)  # noqa: E731
    table = lambda at: sorted(table_rows(muon.best(at)), key=place)  # noqa: E731
    return Study((adamw, muon), {name: table})


def _each_row(at: Place) -> Grid:
    """Returns four trials for each row of tier "cpu": of Muon's rate, or of AdamW's for matrices.

    Unlike the paper's protocol, embedding and head have a rate of their own, and so have the
    matrices that stay with AdamW: those of lesson 04, the same in each row.
    """
    [fair] = [c for c in LESSON_04.best(at) if not c.muon]
    base = replace(TIERS["cpu"].base, adamw_lr=fair.adamw_lr, adamw_matrix_lr=fair.adamw_matrix_lr)
    trials: Grid = []
    for kind in cross(base, gated=[False, True]):
        for groups in rows(kind.gated):
            tried = {"lr": LOW_MUON_RATES} if groups else {"adamw_matrix_lr": ADAMW_RATES}
            trials += cross(kind, muon=groups, **tried)
    return trials


RETUNING = Tuning("cpu-retuning", _each_row, ("gated", "muon"))


# Lesson 04's trials of both optimizers, with 0.8 for AdamW's first average. They were added after
# that average had turned out to weigh more than lesson 04's lead. In Muon's runs it belongs to
# embedding and head.
LESSON_16 = Tuning(
    "lesson-16-averages-tuning", lambda at: cross(LESSON_04.grid(at), betas=(0.8, 0.95)), ("muon",)
)

# Who learns the rare facts, in a model of the paper's size? There are as many people as in the
# paper, and AdamW has one rate for all parameters; batch and length are ours, since it does not
# state them. Lesson 10 asks it of a small model.
FACTS_PAPER = TrainConfig(
    corpus="facts-15", size="paper", steps=10_000, batch=64, context=512, eval_every=500
)
BESIDE_ADAMW: list[dict[str, Any]] = [  # what follows the rule, which rule, and the rates tried
    {"muon": ALL_GROUPS, "rule": "muon", "lr": MUON_RATES},
    {"muon": ALL_GROUPS, "rule": "sgd", "lr": [0.1, 0.3, 1.0, 3.0]},
    {"muon": ("VO", "FFN"), "rule": "muon", "lr": MUON_RATES},
    {"muon": ("QK",), "rule": "muon", "lr": MUON_RATES},
]


def biographies(name: str, base: TrainConfig) -> Study:
    """Returns AdamW, with one rate for all parameters as in the paper, and others beside it."""
    adamw = Tuning(f"{name}-tuning-adamw", one_rate(base, [0.004, 0.008, 0.016, 0.032]), ("gated",))
    others = beside(adamw, f"{name}-tuning", BESIDE_ADAMW)
    finals = lambda at: [c for t in (adamw, others) for c in t.at_new_seeds(NEW_SEEDS)(at)]  # noqa: E731
    return Study((adamw, others), {name: finals})


STUDIES = EVIDENCE | {
    "lesson-03": Study((LESSON_03,), {"lesson-03-seeds": LESSON_03.at_new_seeds(NEW_SEEDS)}),
    "lesson-04": Study((LESSON_04,), LESSON_04_FINALS),
    "facts-paper": biographies("facts-paper", FACTS_PAPER),
    **{name: by_the_paper(name) for name in TIERS},
    "cpu-retuned": Study((LESSON_04, RETUNING), {"cpu-retuned": RETUNING.at_new_seeds(3)}),
    "lesson-16-averages": Study((LESSON_16,), {"lesson-16-averages": LESSON_16.at_new_seeds(10)}),
}
PHASES = {name: phase for study in STUDIES.values() for name, phase in study.phases().items()}
PRESETS: dict[str, Callable[[], Grid]] = {name: partial(p, HERE) for name, p in PHASES.items()}


def phases(name: str) -> dict[str, Phase]:
    """Returns the phases of a study in order, or the one of that name; else a ValueError."""
    if name in STUDIES:
        return STUDIES[name].phases()
    if name in PHASES:
        return {name: PHASES[name]}
    listed = f"the studies are {', '.join(STUDIES)}, and `muonlab ablate` lists their phases"
    raise ValueError(f"no study or phase {name!r}: {listed}")
