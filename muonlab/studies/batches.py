"""The grids of lesson 14: AdamW and Muon at three batch sizes, with the same tokens for each."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from muonlab.records.record import Record
from muonlab.sweeps.study import best_at_new_seeds
from muonlab.training.config import TrainConfig

BATCHES = (8, 32, 128)  # sequences of 64 tokens in a step
TOKENS = 2**17
MEASURED = 8  # times in a run, evenly
CENTRES = {  # rates of embedding and head, and of the matrices; 32 lies between
    "AdamW": {8: (0.01, 0.000125), 32: (0.02, 0.000125), 128: (0.04, 0.000125)},
    "Muon": {8: (0.005, 0.00125), 32: (0.01, 0.0025), 128: (0.02, 0.005)},
}
CROSS = ((1, 1), (2, 1), (0.5, 1), (1, 2), (1, 0.5))
SEEDS = 6


def base(batch: int) -> TrainConfig:
    """Returns what all runs of a batch size share.

    After the warm-up the rate is constant. Then a loss on the way to the end is what a shorter run
    would have ended with, and "tokens needed to reach a loss" can be read off one curve.
    """
    steps = TOKENS // (64 * batch)
    shared = {"context": 64, "decay": 0.0, "eval_tokens": 8192}
    return TrainConfig(batch=batch, steps=steps, eval_every=steps // MEASURED, **shared)


def tuning() -> list[TrainConfig]:
    """Returns five trials for each optimizer at each batch size, one seed.

    They are a centre and its four neighbours: one of the two rates doubled or halved. When the
    centre ends lowest, neither rate is at an edge of what was tried.
    """
    return [_trial(name, b, *arm) for b in BATCHES for name in CENTRES for arm in CROSS]


def seeds() -> list[TrainConfig]:
    """Returns the best trial of each optimizer at each batch size, at six other seeds.

    The first three left open whether AdamW's deficit grows from 8 to 128: the interval was -0.167
    to 0.682 nats. Three more were added, once; 32 came last.
    """
    contestant = lambda c: (c.batch, c.muon)  # noqa: E731  it has no other use
    return best_at_new_seeds("lesson-14-tuning", tuning(), contestant, SEEDS)


def tokens_to_reach(record: Record, loss: float) -> float:
    """Returns the training tokens after which the held-out loss first fell to `loss`.

    Between two measurements the loss is taken to fall in a straight line; before the first one
    nothing is known, so a loss that stood above the first counts as reached there at the earliest.
    It is infinite where the run never came so low.
    """
    step = record.tokens / len(record.train_loss)
    curve = [(step * measured["step"], measured["overall"]) for measured in record.held_out]
    if curve[0][1] <= loss:
        return curve[0][0]
    for (t, before), (later, after) in pairwise(curve):
        if after <= loss:
            return t + (later - t) * (before - loss) / (before - after)
    return math.inf


def _trial(name: str, batch: int, outer: float, inner: float) -> TrainConfig:
    outer, inner = (c * f for c, f in zip(CENTRES[name][batch], (outer, inner), strict=True))
    if name == "AdamW":
        return replace(base(batch), muon=(), adamw_lr=outer, adamw_matrix_lr=inner)
    return replace(base(batch), lr=inner, adamw_lr=outer)


def presets() -> dict[str, Callable[[], list[TrainConfig]]]:
    """Returns both grids by name."""
    return {"lesson-14-tuning": tuning, "lesson-14-seeds": seeds}
