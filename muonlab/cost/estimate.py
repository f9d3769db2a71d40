"""What a plan will cost, before it is run: here at a measured speed, on GPUs by formula."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from muonlab.cost.formulas import CARD, SHARE, flops, memory
from muonlab.data.task import Task
from muonlab.training.config import TrainConfig
from muonlab.training.run import Run

GPUS = 8  # of one server


@dataclass(frozen=True)
class Estimate:
    """What a list of runs costs; evaluation is left out."""

    runs: int
    flop: float  # of all runs
    bytes: float  # that the largest run needs at once, about
    hours: float  # on this machine, one run after the other
    gpu_hours: float  # on one GPU that reaches cost.SHARE of cost.CARD
    eight_gpus: float  # hours on eight such GPUs, a run on each


def speed(config: TrainConfig, corpus: Task, steps: int = 6) -> float:
    """Returns the FLOP/s at which this machine trains: the median of a few steps, after the first.

    Seconds change with what else the machine does, so the number is good to a factor of two.
    """
    run = Run(replace(config, steps=steps + 1), corpus)
    while run.step < run.config.steps:
        run.train_step()
    return flops(run.config) / run.config.steps / statistics.median(run.step_seconds[1:])


def estimate(configs: Sequence[TrainConfig], speed: float) -> Estimate:
    """Returns the cost of a list of runs.

    Args:
        speed: FLOP/s of this machine, see `speed`.

    Raises:
        ValueError: no runs, or a speed that is not above 0.
    """
    if not configs or not speed > 0:
        raise ValueError(f"expected runs and a speed above 0, got {len(configs)} and {speed}")
    flop, largest = sum(map(flops, configs)), max(map(flops, configs))
    on_one = flop / (CARD * SHARE) / 3600
    rounds = math.ceil(len(configs) / GPUS)  # the last round may leave GPUs idle
    return Estimate(
        runs=len(configs),
        flop=flop,
        bytes=max(map(memory, configs)),
        hours=flop / speed / 3600,
        gpu_hours=on_one,
        eight_gpus=rounds * largest / (CARD * SHARE) / 3600,
    )
