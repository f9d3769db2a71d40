"""How the studies judge Muon against AdamW: both sides tuned alike, at the length that is judged.

A pilot of AdamW alone has chosen the model and the text (`PILOT`). Each contestant has the same
knobs, with as many trials at the same points of its ranges, at seed 0, which never counts
(`sweeps.search`). Then the best of each runs at seeds whose number was fixed before: 1, 2, …, or
new ones where a round came after a look at those.
Every run ends with its rates decayed to 0.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from muonlab.optim.rules import rule_of
from muonlab.sweeps.search import Knob, Search
from muonlab.sweeps.study import Grid, Phase, Place, Study, Tuning, cross
from muonlab.training.config import TrainConfig

# Which setting tells two optimizers apart best, for an hour of computing? AdamW alone answers, so
# that the answer cannot favour a side. Each run reads 1.2 million tokens.
PILOT = TrainConfig(muon=(), adamw_lr=0.04, adamw_matrix_lr=0.002, steps=1200, eval_tokens=65_536)


def pilot(at: Place) -> Grid:
    """Returns five seeds of each setting: smaller vocabularies, a larger batch, a wider model."""
    kinds = cross(PILOT, corpus=["docs-1024", "docs", "docs-512"], eval_every=1200)
    kinds += cross(PILOT, corpus="docs-1024", steps=600, batch=32, eval_every=600)
    kinds += cross(PILOT, corpus="docs-1024", size="wide", eval_every=1200)
    return [c for kind in at.on_its_text(kinds) for c in cross(kind, seed=[1, 2, 3, 4, 5])]


# The least scatter for an hour of computing: in the pilot, AdamW's loss has a standard deviation
# over seeds of 0.003 nats with 512 tokens, of 0.010 with 1,024, of 0.026 with 4,096. Whether that
# choice makes the answer is asked in `races.VOCABULARY`.
SETTING = TrainConfig(corpus="docs-512", batch=16, context=64, eval_tokens=65_536)
SEEDS = {150: 10, 1200: 10, 4800: 5}  # by steps; fixed before any final run
MATTERS = 0.02  # nats a token, shares of people, squared error; fixed before any final run

# Every range spans a factor: 16 for a rate, 25 for what an average leaves to the new, 40 for the
# average of squares.
OUTER = (
    Knob("adamw_lr", 0.01, 0.16),
    Knob("betas.0", 0.02, 0.5, average=True),
    Knob("betas.1", 0.005, 0.2, average=True),
)
ADAMW_KNOBS = (
    Knob("adamw_matrix_lr", 0.0005, 0.008),
    Knob("adamw_matrix_beta1", 0.02, 0.5, average=True),
)
MUON_KNOBS = (Knob("lr", 0.00125, 0.02), Knob("momentum", 0.02, 0.5, average=True))


def knobs(config: TrainConfig) -> tuple[Knob, ...]:
    """Returns the five knobs of a contestant: rate and first average, of matrices and ends; β2."""
    if not config.muon:
        return ADAMW_KNOBS + OUTER
    rule = rule_of(config.rule)
    rate = replace(ADAMW_KNOBS[0], fields="lr") if rule.step_like == "AdamW" else MUON_KNOBS[0]
    return (rate, ADAMW_KNOBS[1] if "betas" in rule.reads else MUON_KNOBS[1], *OUTER)


def sides(steps: int, **setting: Any) -> Grid:
    """Returns AdamW, Muon and NorMuon in a setting."""
    base = replace(SETTING, steps=steps, eval_every=steps, **setting)
    adamw = replace(base, muon=(), adamw_matrix_lr=0.002, adamw_matrix_beta1=0.9)
    return [adamw, base, replace(base, rule="normuon")]


RIVALS = ("muon", "rule")


near = partial(Search, knobs=knobs, contest=RIVALS, around=("best",))
"""A search that begins around its sides, and goes on around the best so far."""


def best_with(search: Search, **fields: Any) -> Phase:
    """Returns the phase that runs AdamW's and Muon's best of a search with other fields."""
    return lambda at: cross(search.best(at)[:2], **fields)


def partly(muon: TrainConfig, adamw: TrainConfig, groups: tuple[str, ...]) -> TrainConfig:
    """Returns Muon on some groups; the other matrices have AdamW's own setting."""
    kept = {name: getattr(adamw, name) for name in ("adamw_matrix_lr", "adamw_matrix_beta1")}
    return replace(muon, muon=groups, **kept) if groups else adamw


def rounds_of(*searches: Search | Study) -> tuple[Tuning, ...]:
    """Returns the rounds of some searches, or studies, one after the other."""
    return tuple(tuning for search in searches for tuning in search.tunings)


def at_seeds(settings: Grid, seeds: Iterable[int], spectra: int = 0) -> Grid:
    """Returns final runs, measured at each eighth; their spectra at so many places after step 0."""
    return [
        replace(c, seed=seed, eval_every=c.steps // 8, spectra_every=spectra and c.steps // spectra)
        for seed in seeds
        for c in settings
    ]


def tuned(
    *searches: Search,
    seeds: int,
    first: int = 1,
    before: tuple[Search | Study, ...] = (),
    name: str = "",
    spectra: int = 0,
    more: Mapping[str, Phase] = {},
) -> Study:
    """Returns a study: searches, the best of each at new seeds (see `at_seeds`), and more."""
    judging = range(first, first + seeds)

    def finals(at: Place) -> Grid:
        best = [c for search in searches for c in search.best(at)]
        return at_seeds(best, judging, spectra)

    phases = {name or searches[0].name: finals, **more}
    return Study(rounds_of(*before, *searches), phases, judging)
