"""The numbers of the page "The answer in one page", made from records."""

from operator import itemgetter

import numpy as np

from muonlab.models.gpt import SIZES
from muonlab.records.runs import curves, grouped
from muonlab.statistics import Interval, mean_interval, paired_interval
from muonlab.studies import comparisons
from muonlab.studies.comparisons import GPU, LAPTOP, Comparison
from muonlab.studies.equal_time import leads_in_time
from muonlab.studies.evidence import SEARCHES
from muonlab.sweeps.results import recorded
from muonlab.sweeps.study import HERE
from muonlab.theory.spectra import Isotropy
from printing import gpu
from printing.claims import classed

TIMES = (1.03, 1.2)  # Muon's step over AdamW's: as in published large runs, as on our laptop
LEADS = ("Muon's lead, nats", "equal steps", "if its step takes 3 % longer", "20 % longer")
ON_PAGE = {"a GPU, all tokens": (GPU, "overall"), "a GPU, rare tokens": (GPU, "tail")}
ON_PAGE |= {"a laptop, all tokens": (LAPTOP, "overall"), "a laptop, rare tokens": (LAPTOP, "tail")}


def stopped(race: Comparison, longer: float, part: str = "overall") -> Interval:
    """Returns the lead of the second, stopped when the first has ended, if its step is `longer`.

    Its rates are then still high, so one planned for as many steps leads by more.
    """
    first, second = (grouped(race.runs, race.who)[who] for who in race.rivals)
    steps, losses = curves(second, part)
    ends = (run.held_out[-1][part] for run in first)
    reached = (np.interp(steps[-1] / longer, steps, loss) for loss in losses)
    return mean_interval([end - float(at) for end, at in zip(ends, reached, strict=True)])


def answer() -> str:
    """Returns both races as a table: Muon's lead in equal steps, and with a longer step."""
    rows = []
    for name, (race, part) in ON_PAGE.items():
        cells = [f"{race.interval(itemgetter(part)).mean:.2f}"]
        if race.shorter:
            runs = race.runs + recorded(f"{race.shorter}-shorter")
            cells += [f"{x.mean:.2f}" for x in leads_in_time(runs, TIMES, itemgetter(part))]
        else:
            cells += [f"at least {stopped(race, x, part).mean:.2f}" for x in TIMES]
        rows.append((f"in the race on {name}", *cells))
    return classed(LEADS, rows, "cards leads")


def ended(name: str) -> str:
    """Returns the lead at the end of a race, in nats: of "race-4800", or of "race-4800 tail"."""
    phase, _, part = name.partition(" ")
    race = _race(phase)
    return f"{race.interval(itemgetter(part or 'overall')).mean:.2f}"


def saved(phase: str) -> str:
    """Returns the share of steps that Muon saves in a race, stopped level with AdamW's end."""
    return f"{100 * _saved(phase):.0f} %"


def paid(phase: str) -> str:
    """Returns how much longer a step of Muon may take until it has used those steps up."""
    return f"{100 / (1 - _saved(phase)) - 100:.0f} %"


def _saved(phase: str) -> float:
    share = _race(phase).saved()
    if share is None:
        raise ValueError(f"in {phase} Muon reaches AdamW's end at no measurement, or at the first")
    return share.mean


def unseen() -> str:
    """Returns the lead of the race on a GPU on targets that the training text does not have."""
    ends: dict[str, list[float]] = {}
    for run in gpu.record("race-gpu-clean")["runs"]:
        ends.setdefault(run["contestant"], []).append(run["unseen_overall"])
    return f"{paired_interval(ends['AdamW'], ends['Muon']).mean:.2f}"


def directions(matrix: str) -> str:
    """Returns how many of its directions a matrix uses at the end of the race on a GPU.

    The effective rank, in the mean over layers and seeds, of a matrix such as "w_out".
    """
    ranks = {}
    for who, runs in grouped(GPU.runs).items():
        layers = [Isotropy(*four).effective_rank for r in runs for four in r.spectra[-1][matrix]]
        ranks[who] = round(float(np.mean(layers)))
    width = SIZES[GPU.runs[0].config["size"]].width
    return f"{ranks['AdamW']} of its {width} directions under AdamW, {ranks['Muon']} under Muon"


def rates(phase: str) -> str:
    """Returns the cells of a row: a race, and the best rates and momentum that its search found."""
    adamw, muon = SEARCHES[phase].best(HERE)[:2]
    numbers = (adamw.adamw_matrix_lr, muon.lr, muon.momentum, muon.adamw_lr)
    return " | ".join([_race(phase).question, *(f"{number:.2g}" for number in numbers)])


def _race(phase: str) -> Comparison:
    return next(c for c in (GPU, *comparisons.LENGTHS) if c.phase == phase)
