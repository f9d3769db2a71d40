"""All searches and studies that judge Muon against AdamW, by name (see `protocol`)."""

from collections.abc import Callable
from dataclasses import replace

from muonlab.files import data_beside
from muonlab.records.record import Record
from muonlab.studies import after_race, facts, races
from muonlab.studies.ladder import LEAD, LEAD_SEARCHES
from muonlab.studies.protocol import knobs, pilot, rounds_of, tuned
from muonlab.studies.races import ALL_RACES, MAPPING, RACE, RATES, mapped, race
from muonlab.studies.table1 import ALL_GROUPS
from muonlab.sweeps.search import Knob
from muonlab.sweeps.study import Place, Study, Tuning, badness
from muonlab.training.config import TrainConfig


def knobs_of(config: TrainConfig) -> tuple[Knob, ...]:
    """Returns the knobs of any setting: those of the studies that have its task or its rule.

    Where Muon takes some matrices only, AdamW's rate and average of the others come on top.
    """
    if config.corpus.startswith("facts-"):
        return facts.learner_knobs(config)
    own = after_race.regression_knobs if config.corpus.startswith("regression-") else knobs
    others = config.muon and {*config.muon} != {*ALL_GROUPS}
    return own(config) + (own(replace(config, muon=()))[:2] if others else ())


def rates_of(config: TrainConfig) -> tuple[Knob, ...]:
    """Returns the rates among them."""
    return tuple(knob for knob in knobs_of(config) if not knob.average)


AFTER_RACE = (RACE[1200],)
IN_ORDER = (*ALL_RACES, *after_race.ON_TEXT, *facts.LEARNING, *after_race.FURTHER)
FIRST_SEARCHES = {search.name: search for search in IN_ORDER}


def further(at: Place) -> dict[TrainConfig, Record]:
    """Returns `Search.beyond` of FIRST_SEARCHES: neither fixed grids nor `ladder` are in them."""
    return {t: best for search in FIRST_SEARCHES.values() for t, best in search.beyond(at).items()}


def gained_beyond(
    at: Place, task: str | tuple[str, ...], by: Callable[[Record], float] = badness
) -> list[float]:
    """Returns by how much each trial of `further` lowers `by`, where its corpus begins with task.

    ValueError if trials are missing there.
    """
    trials = further(at)
    runs = Tuning("beyond", [*trials], ("corpus",)).recorded(at)
    return [by(best) - by(runs[t]) for t, best in trials.items() if t.corpus.startswith(task)]


EVIDENCE = {
    "pilot": Study((), {"pilot": pilot}),
    **{f"race-{steps}": race(steps) for steps in RACE},
    "race-again": tuned(races.AGAIN, seeds=10, first=11, before=AFTER_RACE),
    "rates-1200": tuned(RATES[1200], seeds=10, before=AFTER_RACE),
    # These trials found nothing below the best with one rate, whose five seeds the race has.
    "rates-4800": Study(rounds_of(*AFTER_RACE, RACE[4800], *RATES.values()), {}),
    "knobs": Study((*RACE[150].tunings[:2], *RACE[1200].tunings, *MAPPING), {"knobs": mapped}),
    "isotropy": Study(rounds_of(*AFTER_RACE, after_race.ISOTROPY), after_race.CONTROLS),
    # `first`: the seeds before it were looked at before a round was added, so they do not count.
    "vocabulary-1200": tuned(races.VOCABULARY, seeds=10, first=16, before=AFTER_RACE),
    "table-1200": tuned(after_race.TABLE, seeds=5, before=AFTER_RACE, more=after_race.ENDS),
    "table-1200-wide": Study(
        rounds_of(*AFTER_RACE, after_race.TABLE, after_race.WIDE),
        {"table-1200-wide": after_race.better_when_wide},
    ),
    "normuon": tuned(after_race.NORMUON, seeds=10, first=11, before=AFTER_RACE),
    "four": tuned(after_race.FEWER, seeds=10, before=AFTER_RACE),
    "latent-600": tuned(after_race.LATENT, seeds=5, first=6, before=AFTER_RACE),
    "batch": tuned(after_race.BATCH, seeds=6, first=7, before=(race(150),)),
    "facts-400": tuned(facts.FACTS_400, seeds=5, first=6, more=facts.LOWER_RATE),
    "facts-1200": tuned(facts.FACTS_1200, seeds=5, first=6, before=(facts.FACTS_400,)),
    "imbalance": tuned(facts.IMBALANCE, seeds=5, first=16, before=(facts.FACTS_400,)),
    "decay-1200": Study(RACE[1200].tunings, {"decay-1200": after_race.DECAYED}),
    "decay-tuned": tuned(after_race.DECAYING, seeds=10, before=AFTER_RACE),
    "regression-600": tuned(after_race.IN_CONTEXT, after_race.ROUTES, seeds=10, first=11),
    "finetuning": tuned(after_race.MOVING, seeds=10, first=11, before=AFTER_RACE),
    "beyond": Study((), {"beyond": lambda at: [*further(at)]}),  # when all searches have ended
}

# How far does Muon come in the time of AdamW's steps? Its best settings, planned for so many parts
# of their steps as a longer step may leave: with 1,024 tokens it takes 1.1 to 1.25 times as long as
# AdamW's, with half of them up to 1.44 times, with experts up to 1.8 times.
FEWER_STEPS = data_beside(__file__, "fewer_steps.json")
for name, fewer in FEWER_STEPS.items():
    search, study = FIRST_SEARCHES[fewer["search"]], EVIDENCE[fewer["search"]]
    shorter = races.shorter(search, fewer["where"], study.seeds, fewer["parts"])
    EVIDENCE |= {f"{name}-shorter": Study(study.tunings, {f"{name}-shorter": shorter})}
EVIDENCE |= LEAD
SEARCHES = FIRST_SEARCHES | {search.name: search for search in LEAD_SEARCHES}
