"""What is left of a study, the phases that matter most first, and how long it takes on a card.

Minutes stand only where steps of exactly that model and batch have been timed on that card.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from muonlab.benchmark.card import TRAINED, TRAINERS
from muonlab.data.load import shape_for
from muonlab.models.gpt import SIZES
from muonlab.records.record import contestant
from muonlab.records.store import RESULTS
from muonlab.records.table import table
from muonlab.sweeps.results import known
from muonlab.sweeps.study import Phase, Place, Unrecorded
from muonlab.training.build import model_shape
from muonlab.training.config import TrainConfig


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
    if who not in TRAINERS or not alike or config.pieces > 1 or config.precision == "fp32":
        return None
    [row] = [row for row in _timings()["training, eager"] if row["size"] == config.size]
    return config.steps * row[f"{who} ms"] / 60_000


@cache
def _timings() -> dict[str, Any]:
    return json.loads((RESULTS / "gpu-h200.json").read_text(encoding="utf-8"))
