"""The numbers of the page "Runs on a GPU", made from the records of a race and from timings."""

import json
from functools import cache
from operator import itemgetter
from typing import Any

from muonlab.benchmark.on_gpu import TRAINERS
from muonlab.models.gpt import SIZES
from muonlab.records.store import RESULTS, path_of
from muonlab.records.table import markdown
from muonlab.studies.comparisons import GPU
from muonlab.studies.ladder import GPU_TABLE, LEAD, UNFINISHED
from muonlab.studies.races import GPU_RACE as SEARCH
from muonlab.sweeps.results import recorded
from muonlab.sweeps.study import HERE
from printing.claims import literal

SPLITS = {"all tokens": "overall", "head": "head", "middle": "middle", "tail": "tail"}
STEPPERS = {  # heads, and what the timings call them
    "torch.optim.Muon": "torch.optim.Muon",
    "muonlab's Muon": "muonlab Muon",
    "NorMuon": "muonlab NorMuon",
    "AdamW, fused": "AdamW fused",
    "products alone": "floor at peak",
}
PRODUCTS = {k: k.partition("'")[0] for k in ("torch.optim.Muon", "muonlab's Muon")}
PRODUCTS["products alone"] = "floor at peak"


def gpu_race() -> str:
    """Returns AdamW's loss minus Muon's by how rare the token is; one row a set of matrices."""
    judged = [literal(str(GPU.interval(itemgetter(part)))) for part in SPLITS.values()]
    rows = [["all", *judged, f"{GPU.interval().n}, new"]]
    for name, gaps in below().items():
        shown = (f"{gaps[part]:+.3f}" for part in SPLITS.values())
        rows.append([name, *shown, "1, the search's"])
    return markdown(("Muon steps", *SPLITS, "seeds"), rows)


def gpu_row(name: str) -> str:
    """Returns one number of that table: over all tokens, at the search's seed, as of "VO + FFN"."""
    return f"{below()[name]['overall']:+.3f}"


def below() -> dict[str, dict[str, float]]:
    """Returns how far the best trial of each set of matrices ends below AdamW's, in nats."""
    trials = {c: run for t in (*SEARCH.tunings, GPU_TABLE) for c, run in t.recorded(HERE).items()}
    adamw, muon = SEARCH.best(HERE)
    best = {"all": muon} | {" + ".join(c.muon): c for c in GPU_TABLE.best(HERE)}
    theirs = trials[adamw].held_out[-1]
    return {
        name: {part: theirs[part] - trials[config].held_out[-1][part] for part in SPLITS.values()}
        for name, config in best.items()
    }


def gpu_setting() -> str:
    """Returns the setting of the race, and where its records come from, in one line."""
    c, shape, provenance = GPU.config, SIZES[GPU.config.size], GPU.runs[0].provenance
    matrices = 12 * shape.layers * shape.width**2
    return (
        f"Size `{c.size}`, {matrices / 1e6:.1f}M numbers in the hidden matrices; text "
        f"`{c.corpus}`; {c.steps:,} steps of {c.batch} × {c.context} = {c.batch * c.context:,} "
        f"tokens; {provenance['precision']}; warm-up {c.warmup}, decay {c.decay}. "
        f"Recorded on an {origin(provenance)}."
    )


def origin(provenance: dict[str, Any]) -> str:
    """Returns the card, torch and code of a provenance."""
    device, torch, code = (provenance[name] for name in ("device", "torch", "code"))
    return f"{device}, torch {torch}, muonlab at commit {code}"


def gpu_unfinished() -> str:
    """Returns which phases for the card have some of their runs, and which none."""
    phases = LEAD["gpu-list"].phases()
    counts = {name: len(recorded(name)) for name in UNFINISHED if name in phases}
    begun = [f"`{n}` has {k} of {len(phases[n](HERE))} runs" for n, k in counts.items()]
    none = [f"`{name}`" for name in phases if not path_of(name).exists()]
    states = {"Unfinished": begun, "Not begun": none}
    return " ".join(f"**{word}**: {', '.join(names)}." for word, names in states.items() if names)


@cache
def record(name: str) -> Any:
    """Returns what data/results/NAME.json holds, such as "gpu-h200", what was timed on the card."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def gpu_timed() -> str:
    """Returns where the timings come from, and how fast the card itself is."""
    measured = record("gpu-h200")
    peak, copied = measured["peak"]["bf16 TFLOP/s"], measured["peak"]["copy GB/s"]
    driver = measured["driver"].partition(",")[0]
    return (
        f"{origin(measured['provenance'])}, driver {driver}. A product of two bf16 matrices "
        f"reached {peak:.0f} TFLOP/s, a copy {copied:,.0f} GB/s"
    )


def gpu_step() -> str:
    """Returns the milliseconds of a step, a row for each model's matrices."""
    rows = []
    for row in record("gpu-h200")["optimizer_step"]:
        name = row["set"].partition(", ")[2].replace("x", "×")
        rows.append([f"{name}, {row['numbers'] / 1e6:.1f}M", *_ms(row, STEPPERS)])
    return markdown(("layers × width, numbers", *STEPPERS), rows)


def gpu_newton_schulz() -> str:
    """Returns the milliseconds of five Newton-Schulz steps, a row for each shape."""
    rows = []
    for row in record("gpu-h200")["newton_schulz"]:
        m, n = row["shape"]
        rows.append([f"{row['stack']} of {m:,} × {n:,}", *_ms(row, PRODUCTS)])
    return markdown(("matrices", *PRODUCTS), rows)


def gpu_training() -> str:
    """Returns the milliseconds of a step of training, and its share of the card's peak."""
    rows = []
    for row in record("gpu-h200")["training, eager"]:
        took = ((row[f"{who} ms"], row[f"{who} share of peak"]) for who in TRAINERS)
        cells = (f"{ms:.1f} ({100 * share:.0f} %)" for ms, share in took)
        ratio = f"{row['Muon / AdamW']:.2f}"
        rows.append([f"`{row['size']}`, {row['tokens a step']:,}", *cells, ratio])
    return markdown(("size, tokens a step", *TRAINERS, "Muon / AdamW"), rows)


def _ms(row: dict[str, Any], names: dict[str, str]) -> list[str]:
    values = (row[key] for key in names.values())
    return [f"{ms:.{2 - (ms >= 10) - (ms >= 100)}f}" for ms in values]
