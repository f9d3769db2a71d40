"""What a plan costs before it is run: here at a measured speed, on GPUs by formula.

The table of GPUs is computed, never measured. Its assumptions are the constants here, and those of
`cost.formulas` and `cost.timeline`. The book's page on GPUs shows it:
`python -m muonlab.cost.plans > book/tables/cost.md`
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from muonlab import checks
from muonlab.cost.formulas import CARD, SHARE, Counts, flops, least_pieces, memory
from muonlab.cost.timeline import ends, timeline
from muonlab.data.corpus import Corpus
from muonlab.distributed.traffic import sharded_bytes
from muonlab.models.gpt import SIZES, GPTConfig
from muonlab.records.table import markdown
from muonlab.studies.table1 import TIERS, tier_runs
from muonlab.training.config import TrainConfig
from muonlab.training.run import Run

GPUS = 8  # of one server
SMALL_CARD = 24e9  # bytes of a GPU that a person may own
TOKENS_PER_PARAMETER = 20  # Hoffmann et al., arXiv 2203.15556

GPT_1B = GPTConfig(vocab_size=50_304, context=2048, layers=16, width=2048, heads=16)
GPT_70B = GPTConfig(vocab_size=50_304, context=4096, layers=86, width=8192, heads=64)

# the heads of the book's two tables
WHOLE = ("plan", "FLOP", "hours at least", "GPU-hours", "Muon of the FLOP", "Muon of a step")
STEP = (
    *("one GPU, one step", "takes, s", "sends under AdamW, GB", "under Muon", "sends for, s"),
    *("keeps, GB", "and for the backward pass"),
)


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
    largest = max(configs, key=memory)
    rounds = math.ceil(len(configs) / GPUS)  # the last round may leave GPUs idle
    return Estimate(
        runs=len(configs),
        flop=sum(flops_by_run),
        bytes=memory(largest),
        hours=sum(flops_by_run) / speed / 3600,
        gpu_hours=sum(flops_by_run) / (CARD * SHARE) / 3600,
        eight_gpus=rounds * max(flops_by_run) / (CARD * SHARE) / 3600,
        pieces=least_pieces(largest, SMALL_CARD),
    )


def speed(config: TrainConfig, corpus: Corpus) -> float:
    """Returns the FLOP/s at which this machine trains: the median of six steps, after the first.

    It is good to a factor of two, for seconds change with what else the machine does.
    """
    run = Run(replace(config, steps=7), corpus)
    while run.step < run.config.steps:
        run.train_step()
    return flops(run.config) / run.config.steps / statistics.median(run.step_seconds[1:])


def clock(better: TrainConfig, than: TrainConfig, corpus: Corpus) -> float:
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


@dataclass(frozen=True)
class Row:
    """What a plan costs if its GPUs reach SHARE of CARD, with Muon on all matrices: by formula.

    `seconds` are those of `timeline` with owners: links send while GPUs compute, then the momenta
    travel, are orthogonalized, and come back. What short messages wait is left out.
    """

    name: str
    flop: float  # of all runs
    hours: float
    gpu_hours: float
    seconds: float  # of one step: the model, then Muon on the busiest owner
    muon_flop: float  # Muon's share of the operations
    muon_time: float  # the share of `seconds` that AdamW would not take
    sent: tuple[float, float]  # bytes a GPU and step, under AdamW and under Muon
    link_seconds: float  # a step, in which the links of an owner send
    states: float  # bytes a GPU: weights, gradients, averages; the GPUs of a run divide them
    activations: float  # bytes a GPU, for its own tokens, if nothing is computed twice


def cost_table() -> list[Row]:
    """Returns the cost of the 160M ablation in three ways, and of two larger models."""
    tier = TIERS["paper"]
    shape, batch = SIZES["paper"], tier.base.batch * tier.base.context
    steps = tier.base.steps * sum(map(len, tier_runs(tier)))
    alone = _row("160M ablation, 1 GPU", shape, batch, steps=steps)
    return [
        alone,
        replace(alone, name="160M ablation, 8 GPUs, a run on each", hours=alone.hours / GPUS),
        _row("160M ablation, 8 GPUs share each run", shape, batch, GPUS, steps),
        # the larger ones read a sequence a GPU and step
        _row("1B, 1,000 GPUs", GPT_1B, 1000 * GPT_1B.context, 1000),
        _row("70B, 1,000 GPUs", GPT_70B, 1000 * GPT_70B.context, 1000),
    ]


def _row(
    name: str,
    shape: GPTConfig,
    batch: int,  # tokens in a step, on all GPUs of a run, which share them equally
    gpus: int = 1,  # that share one run
    steps: float | None = None,  # of all runs; None: as TOKENS_PER_PARAMETER asks for
) -> Row:
    counts = Counts(shape)
    steps = steps or TOKENS_PER_PARAMETER * counts.numbers / batch
    model, muon = counts.flops(batch, shape.context), sum(counts.muon_flops())
    bars = timeline(counts, batch, shape.context, gpus, "owners")
    seconds, adamw = ends(bars), ends(timeline(counts, batch, shape.context, gpus, "AdamW"))
    sent = sharded_bytes(counts.numbers, counts.muon_numbers, gpus, size=4)
    sent["all-to-all"] /= 2  # momenta travel in bf16
    received = sum(sent.values())
    return Row(
        name=name,
        flop=(model + muon) * steps,
        hours=seconds * steps / 3600,
        gpu_hours=seconds * steps * gpus / 3600,
        seconds=seconds,
        muon_flop=muon / (model + muon),
        muon_time=1 - adamw / seconds,
        sent=(received - sent["all-to-all"], received),
        link_seconds=sum(bar.end - bar.start for bar in bars if bar.lane == "links"),
        states=counts.states() / gpus,
        activations=counts.activations(batch / gpus),
    )


def report() -> str:
    """Returns the table as Markdown in two parts: what the plans cost, and one GPU in one step."""
    rows = cost_table()
    return f"{markdown(WHOLE, map(_whole, rows))}\n\n{markdown(STEP, map(_step, rows))}\n"


def _whole(row: Row) -> list[str]:
    hours = [f"{row.hours:,.3g}", f"{row.gpu_hours:,.0f}"]
    shares = [f"{100 * share:.1f} %" for share in (row.muon_flop, row.muon_time)]
    return [row.name, f"{row.flop:.1e}".replace("+", ""), *hours, *shares]


def _step(row: Row) -> list[str]:
    sent, kept = map(_gb, row.sent), map(_gb, (row.states, row.activations))
    return [row.name, f"{row.seconds:.2g}", *sent, f"{row.link_seconds:.2g}", *kept]


def _gb(count: float) -> str:
    digits = max(0, 3 - len(f"{count / 1e9:.0f}"))  # three in all
    return f"{count / 1e9:,.{digits}f}"


if __name__ == "__main__":
    print(report(), end="")
