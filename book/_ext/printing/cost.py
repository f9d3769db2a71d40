"""The table of what plans cost on GPUs: computed, never measured.

Its assumptions are the constants here, and those of `cost.formulas` and `cost.timeline`. The page
on GPUs shows it: `PYTHONPATH=book/_ext python -m printing.cost > book/tables/cost.md`
"""

from dataclasses import dataclass, replace

from muonlab.cost.formulas import Counts
from muonlab.cost.plans import GPT_1B, GPT_70B
from muonlab.cost.timeline import H100S, ends, timeline
from muonlab.distributed.traffic import sharded_bytes
from muonlab.models.gpt import SIZES, GPTConfig
from muonlab.records.table import markdown
from muonlab.studies.table1 import TIERS, tier_runs

TOKENS_PER_PARAMETER = 20  # Hoffmann et al., arXiv 2203.15556
GPUS = H100S.server

# the heads of the book's two tables
WHOLE = ("plan", "FLOP", "hours at least", "GPU-hours", "Muon of the FLOP", "Muon of a step")
STEP = (
    *("one GPU, one step", "takes, s", "sends under AdamW, GB", "under Muon", "sends for, s"),
    *("keeps, GB", "and for the backward pass"),
)


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
