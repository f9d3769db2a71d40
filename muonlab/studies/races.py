"""The races of AdamW, Muon and NorMuon on text, and what could decide them.

At three lengths; with a rate for each kind of matrix; with other averages; in a larger vocabulary.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from muonlab.records.record import contestant
from muonlab.studies import protocol
from muonlab.studies.protocol import RIVALS, best_with, knobs, near, partly, rounds_of, sides, tuned
from muonlab.sweeps.search import Knob, Search
from muonlab.sweeps.study import Grid, Phase, Place, Study, Tuning, cross


def found_since(at: Place) -> Grid:
    """Returns the best of each at 150 steps, of two rounds of the race and of the map of averages.

    The map has beaten AdamW's two rounds, so the third looks around what is lowest anywhere.
    """
    first, second, _ = RACE[150].tunings
    mapped = replace(KNOBS, trials=lambda at: [c for c in KNOBS.grid(at) if c.steps == 150])
    return [
        c if c.muon or c.adamw_matrix_beta1 else replace(c, adamw_matrix_beta1=c.betas[0])
        for c in first.best(at, second, mapped)  # a knob must hold a number
    ]


RACE = {
    150: Search("race-150", sides(150), (16, 16, 16), knobs, RIVALS, ("all", "best", found_since)),
    1200: Search("race-1200", sides(1200), (16, 8, 8), knobs, RIVALS),
}
# Three rounds: after two, Muon's β1 of the rest was the lowest but one of those tried.
RACE[4800] = near("race-4800", best_with(RACE[1200], steps=4800, eval_every=4800), (8, 8, 8))

# On a GPU: eight times the tokens a step, eighteen times the model; tuned like the laptop's race.
ON_GPU: dict[str, Any] = {"corpus": "docs", "size": "small", "steps": 1000, "eval_tokens": 2**18}
ON_GPU |= {"batch": 32, "context": 256}
GPU_RACE = Search("race-gpu", sides(**ON_GPU)[:2], (16, 8), knobs, RIVALS)
GPU_NORMUON = Search("race-gpu-normuon", sides(**ON_GPU)[2:], (16, 8), knobs, RIVALS)
GPU_SEEDS = range(1, 6)


# AdamW's best β1 of the rest was the lowest that the race tried, and one seed chose. So eight more
# trials of each around its best, and a runoff; judged at seeds that nobody has looked at.
AGAIN = near("race-again", RACE[1200].best, (8,), runoff=3)


def vo_ffn(steps: int) -> Search:
    """Returns the search for Muon on VO and FFN: Q and K stay with AdamW, at its best setting."""

    def side(at: Place) -> Grid:
        adamw, muon, *_ = RACE[steps].best(at)
        return [partly(muon, adamw, ("VO", "FFN"))]

    first = RACE[steps]
    return Search(f"{first.name}-vo-ffn", side, first.rounds, knobs, RIVALS, first.around[:2])


VO_FFN = {steps: vo_ffn(steps) for steps in (150, 1200)}  # 4,800 ask for growth alone


def judging(steps: int) -> range:
    """Returns the seeds that judge the race of so many steps."""
    first = 6 if steps == 4800 else 1  # its first five were looked at before its third round
    return range(first, first + protocol.SEEDS[steps])


def race(steps: int) -> Study:
    """Returns the race; at 4,800 steps without NorMuon, and without Muon on VO and FFN alone."""
    partial, seeds = [VO_FFN[steps]] if steps in VO_FFN else [], judging(steps)
    before = RACE[1200].tunings if steps != 1200 else ()
    own = RACE[steps].tunings
    own = (*own[:2], *before, KNOBS, own[2]) if steps == 150 else before + own
    ends = tuned(RACE[steps], *partial, seeds=len(seeds), first=seeds[0], spectra=8)
    return replace(ends, tunings=own + rounds_of(*partial))


# Would rates of their own for QK, VO, w_in and w_out help? Four factors for either optimizer, from
# the race's best (all 1) on: over the whole ranges eight trials would hardly find anything.
FACTORS = tuple(Knob(f"matrix_lr_factors.{n}", 0.25, 4) for n in range(4))
# Three rounds: in the second AdamW still gained a hundredth of a nat.
RATES = {1200: near("rates-1200", best_with(RACE[1200]), (8, 8, 8), knobs=lambda c: FACTORS)}


def long_rates(at: Place) -> Grid:
    """Returns the best of two rounds at 4,800 steps, with the factors that 1,200 steps chose."""
    pairs = zip(RACE[4800].best(at, 2), RATES[1200].best(at), strict=True)
    return [replace(c, matrix_lr_factors=own.matrix_lr_factors) for c, own in pairs]


RATES[4800] = near("rates-4800", long_rates, (8,), knobs=RATES[1200].knobs)


def shorter(search: Search, where: dict[str, int], seeds: range, parts: Sequence[float]) -> Phase:
    """Returns the phase of Muon's best of a search, `where` its fields are so, in fewer steps.

    How many does Muon need to end where AdamW ends after all of them? Each is planned for a part of
    its steps: a longer run stopped early, whose rates are still high, would count too many.
    """

    def plans(at: Place) -> Grid:
        best = [c for c in search.best(at) if contestant(vars(c)) in ("Muon", "Muon(VO, FFN)")]
        return [
            replace(config, steps=steps, eval_every=steps, seed=seed)
            for seed in seeds
            for config in best
            if where.items() <= vars(config).items()
            for steps in (round(part * config.steps) for part in parts)
        ]

    return plans


# Who wins where, as a map: AdamW by its first average, Muon by its momentum, three lengths. At each
# place the rate of the matrices is tuned again. AdamW's average is the same for all its parameters,
# as people set it; what else the two have is the best of the race.
ON_MAP = (0.5, 0.8, 0.9, 0.95)
TUNED_AT = {150: (150, 2), 600: (1200, 3), 1200: (1200, 3)}  # length: a race's, and its rounds


def places(at: Place, factors: tuple[float, ...] = (0.5, 1, 2)) -> Grid:
    """Returns rates for each average, optimizer and length: factors of the best of a race."""
    settings: Grid = []
    for steps, (length, rounds) in TUNED_AT.items():
        adamw, muon, _ = cross(RACE[length].best(at, rounds), steps=steps, eval_every=steps)
        for average, factor in product(ON_MAP, factors):
            rate = adamw.adamw_matrix_lr or adamw.adamw_lr
            betas = (average, adamw.betas[1])
            adamw = replace(adamw, betas=betas, adamw_matrix_beta1=None)
            settings.append(replace(adamw, adamw_matrix_lr=rate * factor))
            settings.append(replace(muon, momentum=average, lr=muon.lr * factor))
    return settings


KNOBS = Tuning("knobs-tuning", places, ("steps", "muon", "betas", "momentum"))

# At 9 of 24 places the lowest or the highest of the three was the best: two more rates for all.
WIDER = replace(KNOBS, name="knobs-tuning-2", trials=lambda at: places(at, (0.25, 4)))


MAPPING = (KNOBS, WIDER)


def mapped(at: Place) -> Grid:
    """Returns the best of five rates at each place, at three seeds."""
    return cross(KNOBS.best(at, WIDER), seed=[1, 2, 3])


# Does the vocabulary, which the pilot chose, make the answer? In a larger one the tail is rarer.
# Near the best of 512 tokens, as planned, Muon's trials ended far above AdamW's. Settings for many
# words may lie elsewhere, so the second round goes over the whole ranges, on both sides.
MANY_WORDS = best_with(RACE[1200], corpus="docs")
VOCABULARY = Search(
    "vocabulary-1200", MANY_WORDS, (8, 16, 8, 8, 8), knobs, RIVALS, ("best", "all"), runoff=3
)

ALL_RACES = (*RACE.values(), AGAIN, *VO_FFN.values(), *RATES.values(), VOCABULARY)
