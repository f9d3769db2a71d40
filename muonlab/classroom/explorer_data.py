"""What the explorers that draw recorded runs show, by the name of each."""

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from operator import itemgetter
from statistics import mean
from typing import Any

import torch
from torch import Tensor

from muonlab.data.facts import Facts, selections
from muonlab.records.record import Record, contestant, several_runs
from muonlab.records.runs import by_contestant, grouped
from muonlab.studies.facts import learner
from muonlab.sweeps.search import Search
from muonlab.sweeps.study import HERE, Place
from muonlab.theory.spectra import Isotropy
from muonlab.training.config import TrainConfig

MATRICES = {"Q": "q", "K": "k", "V": "v", "O": "o", "W_in": "w_in", "W_out": "w_out"}
OF_LOSS = ("overall", "head", "tail")
PAIR = ("AdamW", "Muon")
ROUNDING = 4
Runs = list[Record]


def trials_data(search: Search, at: Place = HERE) -> dict[str, Any]:
    """Returns what a search tried: each trial's five knobs and losses, in the order of trials.

    Of each of PAIR "knobs", five lists of values (1 - it of an average), and the final loss
    "overall", of "head" and of "tail". ValueError when trials are missing.
    """
    groups = ([*chain(*rounds)] for rounds in search.trials(at).values())
    tried = {contestant(runs[0].config): _tried(search, runs) for runs in groups}
    return {who: tried[who] for who in PAIR}


def _tried(search: Search, runs: Runs) -> dict[str, Any]:
    configs = [TrainConfig(**run.config) for run in runs]
    knobs = search.knobs(configs[0])
    values = [[float(f"{knob.value(c):.{ROUNDING}g}") for c in configs] for knob in knobs]
    return {"knobs": values, **{part: [r.held_out[-1][part] for r in runs] for part in OF_LOSS}}


def facts_data(records: Iterable[Record], text: Facts) -> dict[str, Any]:
    """Returns accuracy by group as accuracy[learner] = [seed][step][group].

    "steps" are those measured; "seen" is how often a run has read about a person of each group by
    then, on average: [step][group].
    """
    runs = several_runs(records)
    if other := sorted({run.config["corpus"] for run in runs} - {text.name}):
        raise ValueError(f"expected the text of the runs, {', '.join(other)}; got {text.name}")
    runs_of = grouped(runs, learner, preset="facts-400")
    first = next(iter(runs_of.values()))[0]
    passes = first.config["batch"] * first.config["context"] / len(text.train)  # in one step
    chosen = selections(text.m, float(text.name.partition("zipf")[2] or 1))
    steps = [at["step"] for at in first.held_out]
    return {
        "steps": steps,
        "seen": [[float(f"{n * step * passes:.{ROUNDING}g}") for n in chosen] for step in steps],
        "accuracy": {
            who: [[at["accuracy"] for at in run.held_out] for run in runs]
            for who, runs in runs_of.items()
        },
    }


LOGITS = {  # arms of the study `logits`: their labels, and dashes that tell them apart
    "AdamW 0.0018": ("AdamW, tuned rate", "5 3"),
    "AdamW 0.004": ("AdamW, higher rate", "1.5 2.5"),
    "Muon 0.012": ("Muon, tuned rate", ""),
    "Muon, frobenius of AdamW 0.004": ("Muon, lower rate", "9 1.5"),
}


def logits_data(parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Returns four arms of the study `logits`, means of its seeds, from "ARM, seed N" to numbers.

    Of each arm a step's mean length by "frobenius" and "spectral", and "logit", means of "every"
    steps.
    """
    arms = []
    for arm, (label, dash) in LOGITS.items():
        seeds = [run for name, run in parts.items() if name.startswith(f"{arm}, seed ")]
        lengths = {norm: mean(run[norm] for run in seeds) for norm in ("frobenius", "spectral")}
        logit = [mean(window) for window in zip(*(run["logit"] for run in seeds), strict=True)]
        arms.append({"label": label, "who": label.split(",")[0], "dash": dash, "logit": logit})
        arms[-1] |= lengths
    return {"every": 50, "arms": arms}


def averages_data(records: Iterable[Record]) -> dict[str, Any]:
    """Returns AdamW's loss minus Muon's: "all" tokens, and "rare", [length][β1][μ] = one a seed.

    Lengths and averages in rising order, those of the study `knobs`.
    """
    runs = several_runs(records)

    def place(config: Mapping[str, Any]) -> tuple[int, bool, float]:
        own = config["momentum"] if config["muon"] else config["betas"][0]
        return config["steps"], bool(config["muon"]), own

    def leads(part: str) -> list[list[list[list[float]]]]:
        ends = by_contestant(runs, place, itemgetter(part))
        lengths, own = (sorted({at[i] for at in ends}) for i in (0, 2))

        def lead(n: int, b: float, m: float) -> list[float]:
            both = zip(ends[n, False, b], ends[n, True, m], strict=True)
            return [adamw - muon for adamw, muon in both]

        return [[[lead(n, b, m) for m in own] for b in own] for n in lengths]

    return {"all": leads("overall"), "rare": leads("tail")}


def bands_data(lengths: Mapping[str, Iterable[Record]]) -> dict[str, Any]:
    """Returns of each length "steps", "seeds", and bands[matrix][name][metric] = {mean, low, high}.

    Each is a number a step: a mean over a matrix's layers; its mean, low and high over the seeds.
    """
    return {length: _bands(several_runs(records)) for length, records in lengths.items()}


def _bands(runs: Runs) -> dict[str, Any]:
    bands: dict[str, Any] = {matrix: {} for matrix in MATRICES}
    for name, by_matrix in measured_spectra(runs).items():
        for matrix, numbers in by_matrix.items():
            by_metric = zip(Isotropy._fields, numbers.mean(2).unbind(-1), strict=True)
            bands[matrix][name] = {metric: _band(x) for metric, x in by_metric}
    runs = [run for run in runs if run.spectra]
    seeds = len({run.config["seed"] for run in runs})
    return {"steps": [at["step"] for at in runs[0].spectra], "seeds": seeds, "bands": bands}


def _band(by_seed: Tensor) -> dict[str, list[float]]:
    ends = {"mean": by_seed.mean(0), "low": by_seed.amin(0), "high": by_seed.amax(0)}
    return {name: [float(f"{v:.{ROUNDING}g}") for v in row.tolist()] for name, row in ends.items()}


def measured_spectra(
    records: Iterable[Record], name: Callable[[dict[str, Any]], str] = contestant
) -> dict[str, dict[str, Tensor]]:
    """Returns spectra[name][matrix], each (seeds, steps, layers, 4); `name` is that of a run.

    The four numbers are those of `theory.spectra.Isotropy`; step 0 is that of the first weights.
    """

    def stacked(runs: Runs, matrix: str) -> Tensor:
        numbers = [[at[matrix] for at in run.spectra] for run in runs]
        return torch.tensor(numbers, dtype=torch.float64)

    measured = [run for run in several_runs(records) if run.spectra]
    runs_of = grouped(measured, name, preset="race-1200").items()
    return {who: {n: stacked(own, m) for n, m in MATRICES.items()} for who, own in runs_of}
