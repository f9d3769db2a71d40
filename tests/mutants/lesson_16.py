"""Typical answers to the exercises of lesson 16: wrong ones to reject, right ones to accept."""

import math
from enum import StrEnum

import numpy

from muonlab.experiments import HERE, Hypothesis, estimate, knobs_of, rates_of, seeds_needed


def verdict(low, high, by):
    if low >= by:
        return "supported"
    return "refuted" if high < by else "cannot tell"


def only_one_way(low, high, by):
    if low >= by:
        return "supported"


class Found(StrEnum):
    SUPPORTED = "supported"
    REFUTED = "refuted"
    CANNOT_TELL = "cannot tell"


def by_exclusion(low, high, by):
    if low < by <= high:
        return "cannot tell"
    return ["refuted", "supported"][low >= by]


SHARED = {"corpus": "docs-512", "steps": 150}
ASKED = Hypothesis({"rule": "normuon"}, {"rule": "muon"}, by=0.01, metric="tail", shared=SHARED)


def planned(asked=ASKED, truth=0.03, spread=0.025, search=None, **changed):
    """A whole plan that fits together, with changed pieces."""
    search = search or asked.search(trials=8)
    pairs = seeds_needed(abs(truth - asked.by), spread)
    configs = [*search.tunings[0].grid(HERE), *pairs * asked.sides()]
    pieces = {"hypothesis": asked, "search": search, "spread": spread, "truth": truth}
    return pieces | {"pairs": pairs, "hours": estimate(configs, 1e10).hours} | changed


def times(factor, trials=1, finals=1):
    plan = planned()
    asked, search, pairs = (plan[name] for name in ("hypothesis", "search", "pairs"))
    cost = [estimate(c, 1e10).hours for c in (search.tunings[0].grid(HERE), pairs * asked.sides())]
    return plan | {"hours": factor * (trials * cost[0] + finals * cost[1])}


def numpy_numbers():
    plan = planned(truth=0.0)
    return plan | {"pairs": numpy.int64(plan["pairs"]), "hours": numpy.float64(plan["hours"])}


ANSWERS = {
    "16-e3": {
        "wrong": {
            "zero": lambda low, high, by: verdict(low, high, 0),
            "the mean": lambda low, high, by: "supported" if (low + high) / 2 >= by else "refuted",
            "not supported is refuted": lambda low, high, by: (
                "supported" if low >= by else "refuted"
            ),
            "strict": lambda low, high, by: (
                "supported" if low > by else "refuted" if high < by else "cannot tell"
            ),
            "other strict": lambda low, high, by: (
                "supported" if low >= by else "refuted" if high <= by else "cannot tell"
            ),
            "other words": lambda low, high, by: "open",
            "zero inside": lambda low, high, by: (
                "cannot tell" if low < 0 < high else verdict(low, high, by)
            ),
            "refuted below zero": lambda low, high, by: (
                "supported" if low >= by else "refuted" if high < 0 else "cannot tell"
            ),
            "supported above zero": lambda low, high, by: (
                "supported" if low > 0 else "refuted" if high < by else "cannot tell"
            ),
            "below minus the size": lambda low, high, by: (
                "supported" if low >= by else "refuted" if high < -by else "cannot tell"
            ),
            "no sign": lambda low, high, by: verdict(low, high, abs(by)),
            "the high end": lambda low, high, by: "supported" if high >= by else "refuted",
            "both strict": lambda low, high, by: (
                "supported" if low > by else "refuted" if high <= by else "cannot tell"
            ),
            "turned": lambda low, high, by: {"supported": "refuted", "refuted": "supported"}.get(
                verdict(low, high, by), "cannot tell"
            ),
            "the width": lambda low, high, by: "supported" if high - low >= by else "cannot tell",
            "always": lambda low, high, by: "cannot tell",
            "only one way": only_one_way,
            "a yes": lambda low, high, by: low >= by,
        },
        "generic": {
            "a little room": lambda low, high, by: verdict(low + 0.005, high, by),
        },
        "right": {
            "direct": verdict,
            "exclusion": by_exclusion,
            "signs": lambda low, high, by: ("refuted", "cannot tell", "supported")[
                1 - (high < by) + (low >= by)
            ],
            "a string of NumPy": lambda low, high, by: numpy.str_(verdict(low, high, by)),
            "a member": lambda low, high, by: Found(verdict(low, high, by)),
        },
    },
    "16-e4": {
        "wrong": {
            "a list": lambda: [ASKED],
            "another name": lambda: planned(seeds=4),
            "words": lambda: planned() | {"hypothesis": "NorMuon is better"},
            "no size": lambda: planned(Hypothesis({"rule": "normuon"}, {}, shared=SHARED)),
            "no such metric": lambda: planned(
                Hypothesis({"rule": "normuon"}, {}, by=0.01, metric="tails", shared=SHARED)
            ),
            "the lesson's": lambda: planned(
                Hypothesis({"muon": ("FFN", "VO")}, {}, by=-0.02, shared=SHARED)
            ),
            "no search": lambda: planned() | {"search": knobs_of},
            "another question": lambda: planned(
                search=Hypothesis({"momentum": 0.9}, {"momentum": 0.8}).search(8)
            ),
            "few trials": lambda: planned(search=ASKED.search(4)),
            "no knobs": lambda: planned(search=ASKED.search(8, knobs=lambda c: ())),
            "a knob on one side": lambda: planned(
                search=ASKED.search(8, knobs=lambda c: knobs_of(c)[: 1 + (c.rule == "muon")])
            ),
            "spread 0": lambda: planned() | {"spread": 0.0},
            "truth is the size": lambda: planned() | {"truth": 0.01},
            "truth is NaN": lambda: planned() | {"truth": math.nan},
            "size forgotten": lambda: planned(pairs=seeds_needed(0.03, 0.025)),
            "too few": lambda: planned() | {"pairs": 5},
            "too many": lambda: planned() | {"pairs": 500},
            "half a pair": lambda: planned() | {"pairs": 14.5},
            "no trials": lambda: times(1, trials=0),
            "no finals": lambda: times(1, finals=0),
            "one a pair": lambda: times(1, finals=0.5),
            "one side": lambda: times(0.5),
            "one side's trials": lambda: times(1, trials=0.5),
            "seconds": lambda: times(3600),
            "minutes": lambda: times(60),
            "days": lambda: times(1 / 24),
            "seven times": lambda: times(7),
        },
        "right": {
            "whole": planned,
            "refuted": lambda: planned(truth=-0.02),
            "NumPy": numpy_numbers,
            "rates alone": lambda: planned(search=ASKED.search(16, rates_of)),
            "accuracy": lambda: planned(
                Hypothesis(
                    {"muon": ("VO", "FFN")},
                    {"muon": ()},
                    by=0.1,
                    metric="accuracy 9",
                    shared={"corpus": "facts-9", "steps": 400},
                ),
                truth=0.2,
                spread=0.08,
            ),
            "length": lambda: planned(
                Hypothesis({"steps": 300}, {"steps": 150}, by=0.1, shared={"corpus": "docs-512"}),
                truth=0.3,
            ),
            "no worse than": lambda: planned(
                Hypothesis({"ns_steps": 4}, {"ns_steps": 5}, by=-0.02, shared=SHARED), truth=0.0
            ),
            "a change in equal time": lambda: planned(
                Hypothesis(
                    {"muon": ("VO", "FFN")},
                    {"muon": ()},
                    by=0.02,
                    shared=SHARED,
                    change={"warmup": 0.0},
                    longer=1.2,
                ),
                truth=0.06,
            ),
            "regression": lambda: planned(
                Hypothesis(
                    {"muon": ("QK",)},
                    {"muon": ()},
                    by=0.02,
                    shared={"corpus": "regression-4", "context": 20, "eval_tokens": 20_480},
                ),
                truth=0.05,
            ),
        },
    },
}
