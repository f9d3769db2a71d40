"""On what does Muon's lead depend? Rungs from the race on a GPU down to the laptop's, and knobs.

The race on a laptop has 0.6 million numbers in its hidden matrices and 1,024 tokens a step, that on
a GPU 10.6 million and 8,192. Each rung between them changes one thing, and is tuned anew on both
sides: settings of another batch or size decide more than the optimizer.
"""

from dataclasses import replace
from itertools import product
from typing import Any

from muonlab.studies import protocol
from muonlab.studies.facts import FACTS_400, FACTS_1200, whose
from muonlab.studies.protocol import (
    ADAMW_KNOBS,
    MUON_KNOBS,
    OUTER,
    RIVALS,
    best_with,
    near,
    rounds_of,
    tuned,
)
from muonlab.studies.races import (
    AGAIN,
    GPU_NORMUON,
    GPU_RACE,
    GPU_SEEDS,
    ON_GPU,
    RACE,
    judging,
    shorter,
)
from muonlab.studies.table1 import ALL_GROUPS
from muonlab.sweeps.search import Search
from muonlab.sweeps.study import Grid, Place, Study, Tuning, cross

GPU_ROWS = (("VO", "FFN"), ("QK",), ("VO",), ("FFN",))


def gpu_rows(at: Place) -> Grid:
    """Returns Muon on some groups, each with what all share at Muon's best and at AdamW's best."""
    adamw, muon = GPU_RACE.best(at)
    rows: Grid = []
    for groups in GPU_ROWS:
        rows.append(protocol.partly(muon, adamw, groups))
        rows.append(replace(adamw, muon=groups, lr=muon.lr, momentum=muon.momentum))
    return rows


GPU_TABLE = Tuning("table-gpu-tuning", gpu_rows, ("muon",))  # the better of both for each row


# The loser's grid first: AdamW's best rate of the matrices is the lowest third of its range, Muon's
# rate of the rest and its average of squares lie at an edge. So eight trials of each over what lies
# there, and eight around the best of all, which itself runs again.
ADAMW_SQUARES = replace(OUTER[2], low=0.01, high=0.05)  # what the average leaves to the new
MUON_SQUARES = replace(OUTER[2], low=0.001, high=0.02)
LOW_KNOBS = {
    (): (
        replace(ADAMW_KNOBS[0], low=0.0003, high=0.0013),
        ADAMW_KNOBS[1],
        *OUTER[:2],
        ADAMW_SQUARES,
    ),
    ALL_GROUPS: (*MUON_KNOBS, replace(OUTER[0], low=0.0025, high=0.02), OUTER[1], MUON_SQUARES),
}


def best_of(at: Place, *searches: Search) -> Grid:
    """Returns AdamW's and Muon's best of all trials of some searches."""
    first, *more = rounds_of(*searches)
    return first.best(at, *more)


GPU_LOW = Search(
    "race-gpu-low", GPU_RACE.best, (8,), lambda c: LOW_KNOBS[c.muon], RIVALS, in_turns=True
)
GPU_NEAR = near("race-gpu-near", lambda at: best_of(at, GPU_RACE, GPU_LOW), (9,), in_turns=True)


def rejudged(at: Place) -> Grid:
    """Returns both best of all trials at seeds nobody has looked at, if one is no longer the best.

    Nothing to run else: the race has judged them.
    """
    best, first = best_of(at, GPU_RACE, GPU_LOW, GPU_NEAR), GPU_RACE.best(at)
    return protocol.at_seeds(best, range(6, 11), spectra=1) if {*best} != {*first} else []


LONG = "ladder-gpu-4000"  # half an hour, so it comes last

# Rungs on the card, from the race's settings on, which are the first of nine trials.
GPU_RUNGS: dict[str, dict[str, Any]] = {
    "ladder-gpu-300": {"steps": 300},
    "ladder-gpu-tokens": {"steps": 300, "batch": 256},
    "ladder-gpu-context": {"batch": 128, "context": 64},
    "ladder-gpu-wide": {"size": "wide", "batch": 128, "context": 64, "precision": "bf16"},
    LONG: {"steps": 4000},
}


def gpu_rung(name: str, changes: dict[str, Any]) -> Search:
    """Returns the search of a rung: AdamW and Muon near the race's best, as many trials each."""
    changes = {"eval_every": changes.get("steps", ON_GPU["steps"]), **changes}
    return near(name, best_with(GPU_RACE, **changes), (9,), in_turns=True)


GPU_LADDER = {name: gpu_rung(name, changes) for name, changes in GPU_RUNGS.items()}


def paper_rates(at: Place) -> Grid:
    """Returns the race's best in a model of the paper's size: four rates of the matrices a side."""
    model = {"size": "paper", "batch": 32, "context": 1024, "steps": 250, "eval_every": 250}
    adamw, muon = cross(GPU_RACE.best(at), **model)
    trials: Grid = []
    for part in (1, 0.5, 0.25, 2):  # of the race's rates
        trials.append(replace(adamw, adamw_matrix_lr=part * (adamw.adamw_matrix_lr or 0)))
        trials.append(replace(muon, lr=part * muon.lr))
    return trials


GPU_PAPER = Tuning("paper-gpu-tuning", paper_rates, ("muon",))


# Down from there on a laptop. AdamW's best rates for few tokens a step lie below the first race's
# range, so both sides search five times further down.
LADDER_KNOBS = {
    (): (replace(ADAMW_KNOBS[0], low=0.0001), ADAMW_KNOBS[1], *OUTER),
    ALL_GROUPS: (replace(MUON_KNOBS[0], low=0.00025), MUON_KNOBS[1], *OUTER),
}
ON_LAPTOP: dict[str, dict[str, Any]] = {
    # the laptop's model, with the tokens a step and the 300 steps of a rung on the GPU
    "ladder-tokens": {"corpus": "docs-512", "size": "tiny", "batch": 128, "steps": 300},
    # the GPU's model, with as few tokens in a step as on the laptop
    "ladder-small": {"corpus": "docs", "size": "small", "batch": 4, "context": 256, "steps": 250}
    | {"precision": "bf16"},
    # two smaller models, with its text and tokens a step: one differs from the other in size alone
    "ladder-tiny": {"corpus": "docs", "size": "tiny", "steps": 500},
    "ladder-wide": {"corpus": "docs", "size": "wide", "steps": 500},
}
LADDER = {
    name: Search(name, protocol.sides(**rung)[:2], (16, 8), lambda c: LADDER_KNOBS[c.muon], RIVALS)
    for name, rung in ON_LAPTOP.items()
}
# In its second round AdamW still gained .17 nats, Muon .005: a third for both, and other seeds.
LADDER["ladder-small"] = replace(LADDER["ladder-small"], rounds=(16, 8, 8))


def four_times(at: Place) -> Grid:
    """Returns the best of the GPU's model after 250 small steps, for four times as many."""
    best = cross(LADDER["ladder-small"].best(at), steps=1000)
    return protocol.at_seeds(best, range(6, 11), spectra=1)


# Warm-up and decay, which no run of the race varied: four schedules, each with four trials near
# the race's best. So a side may take another schedule, and other settings with it.
SCHEDULES = ((0.0, 0.4), (0.1, 0.9), (0.3, 0.4), (0.03, 0.2))  # warm-up, decay


def scheduled(at: Place) -> Grid:
    """Returns AdamW and Muon of the race in each of the schedules."""
    sides_and_schedules = product(RACE[1200].best(at)[:2], SCHEDULES)
    return [replace(c, warmup=warmup, decay=decay) for c, (warmup, decay) in sides_and_schedules]


SCHEDULE = near("schedule", scheduled, (4,))


# The race's best with no warm-up and with a long one; at 0.1 the race has them.
OTHER_WARMUPS = best_with(RACE[1200], warmup=[0.0, 0.3], seed=[1, 2, 3, 4, 5], eval_every=1200)

# The race at its seeds again: from now on the text tells unseen spans.
UNSEEN = best_with(RACE[1200], seed=[*judging(1200)])

# AdamW's matrices have a second average, Muon's have none: .95 for both is no equal treatment.
AVERAGES_OF_SQUARES = (0.95, 0.98, 0.99, 0.997)
DECAYS = (0.4, 0.7)


def memories(at: Place) -> Grid:
    """Returns the learners of facts, 1,200 steps, with other averages of squares and decays."""
    settings = product(FACTS_1200.best(at), AVERAGES_OF_SQUARES, DECAYS)
    return [replace(c, betas=(c.betas[0], square), decay=decay) for c, square, decay in settings]


MEMORIES = Tuning("facts-squares-1", memories, whose)

# NorMuon's step has an RMS of 0.2 in every matrix, Muon's about that. Is it the length?
EVEN_LENGTH = near(
    "normuon-rms", lambda at: cross(AGAIN.best(at)[1], adjust_lr_fn="update_rms"), (8,), runoff=3
)

LEAD_SEARCHES = (GPU_RACE, GPU_LOW, GPU_NEAR, GPU_NORMUON, *GPU_LADDER.values(), *LADDER.values())
LEAD_SEARCHES += (SCHEDULE, EVEN_LENGTH)
GPU_SHORTER = shorter(GPU_RACE, {}, GPU_SEEDS, (0.9, 0.8, 0.7, 0.6, 0.5))
LEAD = {
    "race-gpu": tuned(GPU_RACE, seeds=5, spectra=1),
    "table-gpu": Study(
        (*GPU_RACE.tunings, GPU_TABLE),
        {"table-gpu": lambda at: protocol.at_seeds(GPU_TABLE.best(at), GPU_SEEDS, spectra=1)},
    ),
    "race-gpu-shorter": Study(GPU_RACE.tunings, {"race-gpu-shorter": GPU_SHORTER}),
    "normuon-gpu": tuned(GPU_NORMUON, seeds=5, before=(GPU_RACE,), name="normuon-gpu", spectra=1),
    "race-gpu-again": Study(rounds_of(GPU_RACE, GPU_LOW, GPU_NEAR), {"race-gpu-again": rejudged}),
    **{n: tuned(s, seeds=3, before=(GPU_RACE,), spectra=1) for n, s in GPU_LADDER.items()},
    "paper-gpu": Study((*GPU_RACE.tunings, GPU_PAPER), {"paper-gpu": GPU_PAPER.at_new_seeds(2)}),
    **{name: tuned(search, seeds=5, spectra=1) for name, search in LADDER.items()},
    "ladder-small": tuned(LADDER["ladder-small"], seeds=5, first=6, spectra=1),
    "ladder-small-1000": Study(LADDER["ladder-small"].tunings, {"ladder-small-1000": four_times}),
    "schedule": tuned(SCHEDULE, seeds=10, first=21, before=(RACE[1200],)),
    "warmups": Study(RACE[1200].tunings, {"warmups": OTHER_WARMUPS}),
    "unseen": Study(RACE[1200].tunings, {"unseen": UNSEEN}),
    "facts-squares": Study(
        (*rounds_of(FACTS_400, FACTS_1200), MEMORIES),
        {"facts-squares": lambda at: cross(MEMORIES.best(at), seed=[11, 12, 13, 14, 15])},
    ),
    "normuon-rms": tuned(EVEN_LENGTH, seeds=10, first=11, before=(RACE[1200], AGAIN)),
}

# What to run when a card is there, the phases that matter most first.
ON_A_CARD = ["race-gpu-again", "table-gpu", "race-gpu-shorter", "normuon-gpu"]
ON_A_CARD += [*[rung for rung in GPU_LADDER if rung != LONG], "paper-gpu", LONG]
LEAD["gpu-list"] = Study((), {n: p for study in ON_A_CARD for n, p in LEAD[study].phases().items()})

# Begun, it waits for a GPU: it is marked where it is shown, and judges nothing.
UNFINISHED = ("race-gpu-normuon-1",)
