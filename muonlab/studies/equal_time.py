"""Equal time: what Muon leads by when its longer steps leave it fewer of them."""

from collections.abc import Iterable, Sequence
from statistics import median

import numpy as np

from muonlab.records.record import Record, contestant
from muonlab.records.runs import OVERALL, Measure, Name, by_contestant, grouped
from muonlab.statistics import Interval, mean_interval

Rivals = tuple[str, str]


def leads_in_time(
    records: Iterable[Record],
    longer: Sequence[float],
    measure: Measure = OVERALL,
    rivals: Rivals = ("AdamW", "Muon"),
    name: Name = contestant,
) -> list[Interval]:
    """Returns AdamW's loss minus Muon's in the time of AdamW's steps, for each `longer`.

    AdamW has one plan of steps, Muon several; between them its loss is taken to lie on straight
    lines. ValueError where Muon's plans do not reach, or where one of the two is not there.

    Args:
        longer: the time of a step of Muon over that of one of AdamW, such as 1.2.
        measure: the loss, from a run's last measurement.
        rivals: the two, as `name` tells them, where they are not AdamW and Muon.
    """
    ends = by_contestant(records, lambda c: (name(c), c["steps"]), measure)
    own, plans = (sorted(n for who, n in ends if who == rival) for rival in rivals)
    if len(own) != 1 or not plans:
        raise ValueError(f"expected {' at one length, and '.join(rivals)}; got {own}, {plans}")
    steps, adamw = own[0], ends[rivals[0], own[0]]
    low, high = steps / plans[-1], steps / plans[0]
    if any(not low <= x <= high for x in longer):
        raise ValueError(f"longer must be {low:.3g} to {high:.3g}, for {plans} steps; got {longer}")
    muon = [[ends[rivals[1], n][seed] for n in plans] for seed in range(len(adamw))]
    pairs = [*zip(adamw, muon, strict=True)]
    leads = ([a - np.interp(steps / x, plans, m) for a, m in pairs] for x in longer)
    return [*map(mean_interval, leads)]


def step_ratio(
    records: Iterable[Record], rivals: Rivals = ("AdamW", "Muon"), name: Name = contestant
) -> float:
    """Returns the time of a step of Muon over that of one of AdamW: of each the median of its runs.

    In processor time: waiting does not count, but beside other programs a step takes longer.
    KeyError where one of the two is not there.
    """
    groups, clocks = grouped(records, name, paired=False), []
    for who in rivals:
        ends = [run.held_out[-1] for run in groups[who]]
        clocks.append(median(end["cpu_seconds"] / end["step"] for end in ends))
    return clocks[1] / clocks[0]
