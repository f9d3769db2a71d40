"""The grids of runs whose records the lessons show."""

from dataclasses import replace
from itertools import product

from muonlab.sweeps.study import best_at_new_seeds
from muonlab.training.config import TrainConfig

BASE = TrainConfig(steps=150, batch=16, context=64, eval_tokens=65_536)
OUTER_RATES = (0.01, 0.02, 0.04, 0.08)  # AdamW's, of the embedding and the head, in either run
ADAMW_RATES = (0.00025, 0.0005, 0.001, 0.002)  # of the matrices under AdamW
MUON_RATES = (0.0025, 0.005, 0.01, 0.02)  # of the matrices under Muon
SEEDS = 5  # numbered from 1: seed 0 chose the rates, so it does not count
KINDS = (False, True)  # feed-forward layers: non-gated, gated


def lesson_04_tuning() -> list[TrainConfig]:
    """Returns sixteen trials for AdamW and sixteen for Muon, one seed, each rate twice the last.

    Both have two rates to tune, four values of each: that of the matrices, and that of the
    embedding and the head, which AdamW steps in either run. With one rate for all, AdamW would have
    to choose between the two, and its loss would show that choice rather than the optimizer.
    """
    pairs = list(product(OUTER_RATES, range(len(MUON_RATES))))
    adamw = [replace(BASE, muon=(), adamw_lr=o, adamw_matrix_lr=ADAMW_RATES[k]) for o, k in pairs]
    muon = [replace(BASE, lr=MUON_RATES[k], adamw_lr=outer) for outer, k in pairs]
    return adamw + muon


def lesson_04_seeds() -> list[TrainConfig]:
    """Returns the best trial of each optimizer in lesson-04-tuning, at ten other seeds.

    The first five left open whether the tail gains more than the head: the interval of the
    difference was -0.006 to 0.144. Five more were added, once, before anything else was looked at.
    """
    trials = lesson_04_tuning()
    return best_at_new_seeds("lesson-04-tuning", trials, lambda c: bool(c.muon), 2 * SEEDS)


def lesson_03_tuning() -> list[TrainConfig]:
    """Returns five rates for each of four ways to orthogonalize, one seed.

    `update_rms` gives every update the same norm, so that a larger step cannot pass for a better
    direction. "exact" is the polar factor from an SVD in float64. Without the lowest rate, two
    optima would lie at an edge.
    """
    base = replace(BASE, adjust_lr_fn="update_rms", adamw_lr=OUTER_RATES[1])
    ways = (("jordan", 3), ("jordan", 5), ("polar_express", 5), ("exact", 5))
    return [
        replace(base, ns_coefficients=name, ns_steps=steps, lr=rate)
        for name, steps in ways
        for rate in (MUON_RATES[0] / 2, *MUON_RATES)
    ]


def lesson_03_seeds() -> list[TrainConfig]:
    """Returns the best rate of each way in lesson-03-tuning, at five other seeds."""
    trials = lesson_03_tuning()
    way = lambda c: (c.ns_coefficients, c.ns_steps)  # noqa: E731  it has no other use
    return best_at_new_seeds("lesson-03-tuning", trials, way, SEEDS)


def lesson_09_tuning() -> list[TrainConfig]:
    """Returns four trials for each control of lesson 09; embedding and head as under AdamW."""
    return [
        replace(BASE, rule=rule, lr=rate, adamw_lr=OUTER_RATES[2])
        for rule, rates in (("flat_adam", MUON_RATES), ("noisy_adam", ADAMW_RATES))
        for rate in rates
    ]


def lesson_09_seeds() -> list[TrainConfig]:
    """Returns AdamW, Muon and the two controls at ten seeds, and their spectra all along.

    AdamW and Muon have the rates of lesson 04, the gated models those of the non-gated.
    """
    fair = [config for config in lesson_04_seeds() if config.seed <= 2 * SEEDS]
    controls = best_at_new_seeds("lesson-09-tuning", lesson_09_tuning(), lambda c: c.rule, 10)
    both = [replace(config, gated=gated) for gated in KINDS for config in fair]
    return [replace(config, spectra_every=10) for config in both + controls]


def lesson_12_tuning() -> list[TrainConfig]:
    """Returns four rates for Muon, for NorMuon by either rule, and for four ablations; one seed.

    "update_rms" is the pure rescale: Muon's rows, NorMuon's norm. The released rule has Muon's
    original factor, half of the RMS rule's or less for these shapes, so its rates are twice as
    high.
    """
    rules = [("muon", "match_rms_adamw"), ("normuon", "update_rms"), ("muon", "update_rms")]
    rules += [(rule, "update_rms") for rule in ("coordinates", "rows_first", "tall_only")]
    same = [
        replace(BASE, rule=rule, adjust_lr_fn=scale, lr=rate)
        for rule, scale in rules
        for rate in (MUON_RATES[0] / 2, *MUON_RATES[:3])
    ]
    base = replace(BASE, rule="normuon_released", adjust_lr_fn="original")
    released = [replace(base, lr=rate) for rate in MUON_RATES]
    return [replace(config, adamw_lr=OUTER_RATES[1]) for config in same + released]


def lesson_12_seeds() -> list[TrainConfig]:
    """Returns the best rate of each rule in lesson-12-tuning, at five other seeds."""
    trials = lesson_12_tuning()
    way = lambda c: (c.rule, c.adjust_lr_fn)  # noqa: E731  it has no other use
    return best_at_new_seeds("lesson-12-tuning", trials, way, SEEDS)


def lesson_12_control() -> list[TrainConfig]:
    """Returns Muon with the released rule's scale, at its rate and its seeds: only the rows differ.

    It was added after the released rule had come out lowest; the rate was not tuned for Muon.
    """
    released = [c for c in lesson_12_seeds() if c.rule == "normuon_released"]
    return [replace(config, rule="muon") for config in released]


EXPERTS = 16  # of which a token takes three and one shared, together as wide as the dense layer


def lesson_13_tuning() -> list[TrainConfig]:
    """Returns four trials for each optimizer in each of four architectures, one seed.

    Attention is multi-head or latent, the feed-forward layer dense or of experts. Embedding and
    head keep the rates of lesson 04. Routers are under AdamW in either run, at one rate.
    """
    router = ADAMW_RATES[2]
    adamw = replace(BASE, muon=(), adamw_lr=OUTER_RATES[2])
    muon = replace(BASE, adamw_lr=OUTER_RATES[1], adamw_matrix_lr=router)
    trials = [replace(adamw, adamw_matrix_lr=rate) for rate in ADAMW_RATES]
    trials += [replace(muon, lr=rate) for rate in (MUON_RATES[0] / 2, *MUON_RATES[:3])]
    return [
        replace(trial, attention=attention, experts=experts)
        for attention, experts in product(("multi-head", "latent"), (0, EXPERTS))
        for trial in trials
    ]


def lesson_13_seeds() -> list[TrainConfig]:
    """Returns the best trial of each optimizer in each architecture, at five other seeds."""
    trials = lesson_13_tuning()
    cell = lambda c: (c.attention, c.experts, c.muon)  # noqa: E731  it has no other use
    return best_at_new_seeds("lesson-13-tuning", trials, cell, SEEDS)


def lesson_13_half() -> list[TrainConfig]:
    """Returns Muon's runs of lesson-13-seeds at the two ends of the table, in half of the steps.

    Each decays to the end, as a run of 150 steps stopped early would not. The rates are those of
    150 steps.
    """
    ends = {("multi-head", 0), ("latent", EXPERTS)}
    full = [c for c in lesson_13_seeds() if c.muon and (c.attention, c.experts) in ends]
    return [replace(config, steps=BASE.steps // 2) for config in full]
