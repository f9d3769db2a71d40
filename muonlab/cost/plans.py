"""What runs cost before they begin: on this machine, at a speed measured here, and on a card.

Minutes on a card stand only where steps of exactly that model and batch have been timed on it.
"""

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from muonlab.benchmark.on_gpu import MUON_STEPS, TRAINED, TRAINERS
from muonlab.cost.formulas import flops
from muonlab.data.load import shape_for
from muonlab.data.task import Task
from muonlab.models.gpt import SIZES, GPTConfig
from muonlab.records.record import contestant
from muonlab.records.store import RESULTS
from muonlab.records.table import table
from muonlab.sweeps.results import known
from muonlab.sweeps.study import Phase, Place, Unrecorded
from muonlab.training.build import model_shape
from muonlab.training.config import TrainConfig
from muonlab.training.run import Run

GPT_1B = GPTConfig(vocab_size=50_304, context=2048, layers=16, width=2048, heads=16)
GPT_70B = GPTConfig(vocab_size=50_304, context=4096, layers=86, width=8192, heads=64)


class Estimate(NamedTuple):
    """What a list of runs costs; evaluation is left out."""

    runs: int
    flop: float  # of all runs
    hours: float  # on this machine, one run after the other


def estimate(configs: Sequence[TrainConfig], speed: float) -> Estimate:
    """Returns the cost of runs; `speed` is this machine's, in FLOP/s."""
    flop = sum(map(flops, configs))
    return Estimate(len(configs), flop, flop / speed / 3600)


def speed(config: TrainConfig, corpus: Task) -> float:
    """Returns the FLOP/s at which this machine trains: the median of six steps, after the first.

    It is good to a factor of two, for seconds change with what else the machine does.
    """
    [seconds] = _step_seconds([config], corpus, steps=7)
    return flops(config) / config.steps / seconds


def clock(better: TrainConfig, than: TrainConfig, corpus: Task) -> float:
    """Returns how many times as long a step of the first takes here as one of the second.

    Both take 21 steps in turn, so that other programs slow both; of each the median counts, after
    the first.
    """
    first, second = _step_seconds([better, than], corpus, steps=21)
    return first / second


def _step_seconds(configs: list[TrainConfig], corpus: Task, steps: int) -> list[float]:
    runs = [Run(replace(config, steps=steps), corpus) for config in configs]
    for _ in range(steps):
        for run in runs:
            run.train_step()
    return [statistics.median(run.step_seconds[1:]) for run in runs]


def left(phases: Mapping[str, Phase], at: Place) -> str:
    """Returns a table of the phases in order: runs, those that are missing, minutes on the card.

    The runs of a phase are not known before its trials are recorded. The minutes, where there are
    any, are those of the steps of what is missing, one run after the other, on the card of
    data/results/gpu-h200.json.
    """
    rows: list[list[str]] = []
    total, untimed = 0.0, 0
    for place, (name, phase) in enumerate(phases.items(), 1):
        try:
            grid = at.on_its_text(phase(at))
        except Unrecorded:
            rows.append([f"{place}", name, "after its trials", "", ""])
            continue
        missing = [c for c in grid if c not in known(at.path(name)).read()]
        timed = [spent for c in missing if (spent := minutes(c)) is not None]
        total, unknown = total + sum(timed), len(missing) - len(timed)
        untimed += unknown
        shown = "not timed" if unknown else f"{sum(timed):.1f}" if missing else ""
        rows.append([f"{place}", name, str(len(grid)), str(len(missing)), shown])
    heads = ["", "phase", "runs", "missing"]
    if not total:  # no steps of this study have been timed on a card
        return table(heads, [row[:-1] for row in rows])
    card, code = (_timings()["provenance"][key] for key in ("device", "code"))
    how = f"one run after the other: their steps alone, as timed with code {code}"
    rest = f"Not timed: {untimed} runs, and what follows from trials."
    shown = table([*heads, f"minutes on an {card}"], rows)
    return f"{shown}\n{total:.1f} minutes on an {card}, {how}. {rest}"


def minutes(config: TrainConfig) -> float | None:
    """Returns the minutes of a run's steps on the timed card; None: nobody has timed such steps."""
    who, shape = contestant(vars(config)), model_shape(config)
    form = config.batch, config.context, shape_for(config.corpus, shape).vocab_size
    alike = form == TRAINED.get(config.size) and shape == SIZES[config.size]
    alike &= config.ns_steps == MUON_STEPS and config.ns_coefficients != "exact"
    if who not in TRAINERS or not alike or config.pieces > 1 or config.precision == "fp32":
        return None
    [row] = [row for row in _timings()["training, eager"] if row["size"] == config.size]
    return config.steps * row[f"{who} ms"] / 60_000


@cache
def _timings() -> dict[str, Any]:
    return json.loads((RESULTS / "gpu-h200.json").read_text(encoding="utf-8"))
