"""What runs cost on this machine, at a speed that is measured here."""

import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from muonlab.cost.formulas import flops
from muonlab.data.task import Task
from muonlab.models.gpt import GPTConfig
from muonlab.training.config import TrainConfig
from muonlab.training.run import Run

GPUS = 8  # of one server

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
