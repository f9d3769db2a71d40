"""What runs cost on this machine, at a speed that is measured here, and on GPUs by formula."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from muonlab import checks
from muonlab.cost.formulas import CARD, SHARE, bytes_needed, flops, least_pieces
from muonlab.data.task import Task
from muonlab.models.gpt import GPTConfig
from muonlab.training.config import TrainConfig
from muonlab.training.run import Run

GPUS = 8  # of one server
SMALL_CARD = 24e9  # bytes of a GPU that a person may own

GPT_1B = GPTConfig(vocab_size=50_304, context=2048, layers=16, width=2048, heads=16)
GPT_70B = GPTConfig(vocab_size=50_304, context=4096, layers=86, width=8192, heads=64)


class Estimate(NamedTuple):
    """What a list of runs costs; evaluation is left out."""

    runs: int
    flop: float  # of all runs
    bytes: float  # that the largest run needs at once, about
    hours: float  # on this machine, one run after the other
    gpu_hours: float  # on one GPU that reaches SHARE of CARD
    eight_gpus: float  # hours on eight such GPUs, a run on each
    pieces: int | None  # of a batch, with which each run fits SMALL_CARD; None: none do


def estimate(configs: Sequence[TrainConfig], speed: float) -> Estimate:
    """Returns the cost of runs; `speed` is this machine's, in FLOP/s. ValueError without runs."""
    configs = checks.several("a list of TrainConfig", configs, TrainConfig)
    checks.number("speed", speed, 0, above=True)
    checks.number("runs", len(configs), 1)
    flops_by_run = list(map(flops, configs))
    largest = max(configs, key=bytes_needed)
    rounds = math.ceil(len(configs) / GPUS)  # the last round may leave GPUs idle
    return Estimate(
        runs=len(configs),
        flop=sum(flops_by_run),
        bytes=bytes_needed(largest),
        hours=sum(flops_by_run) / speed / 3600,
        gpu_hours=sum(flops_by_run) / (CARD * SHARE) / 3600,
        eight_gpus=rounds * max(flops_by_run) / (CARD * SHARE) / 3600,
        pieces=least_pieces(largest, SMALL_CARD),
    )


def speed(config: TrainConfig, corpus: Task) -> float:
    """Returns the FLOP/s at which this machine trains: the median of six steps, after the first.

    It is good to a factor of two, for seconds change with what else the machine does.
    """
    run = Run(replace(config, steps=7), corpus)
    while run.step < run.config.steps:
        run.train_step()
    return flops(run.config) / run.config.steps / statistics.median(run.step_seconds[1:])


def clock(better: TrainConfig, than: TrainConfig, corpus: Task) -> float:
    """Returns how many times as long a step of the first takes here as one of the second.

    Both take 21 steps in turn, so that other programs slow both; of each the median counts, after
    the first.
    """
    pair = [Run(replace(config, steps=21), corpus) for config in (better, than)]
    while pair[0].step < pair[0].config.steps:
        for run in pair:
            run.train_step()
    first, second = (statistics.median(run.step_seconds[1:]) for run in pair)
    return first / second
