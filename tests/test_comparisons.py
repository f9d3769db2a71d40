"""The catalogue of comparisons: intervals, steps saved and equal time, each counted by hand."""

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from operator import itemgetter
from unittest.mock import Mock

import numpy as np
import pytest

from muonlab.records.record import contestant
from muonlab.statistics import Interval
from muonlab.studies import comparisons
from muonlab.studies.comparisons import (
    FACTS,
    GPU,
    HEADS,
    IN_TIME,
    KINDS,
    LAPTOP,
    LENGTHS,
    LONGER,
    MODELS,
    REGRESSION,
    Comparison,
)
from muonlab.studies.evidence import FEWER_STEPS
from muonlab.sweeps.results import recorded
from printing.claims import stored

PARTS = ("overall", "tail")
SAME = {  # comparison, part, place among LONGER: a claim, and which of its values
    ("the race on a laptop, 1,200 steps", "overall", 1.1): ("15-c35", 0),
    ("the race on a laptop, 1,200 steps", "tail", 1.1): ("15-c57", 0),
    ("weight decay on both sides", "overall", 1.0): ("15-c54", 0),
    ("a vocabulary of 4,096", "tail", 1.2): ("15-c60", 1),
    ("8 sequences a step, 1,600 steps", "overall", 1.2): ("14-c35", 0),
    ("multi-head attention, 600 steps", "overall", 1.2): ("13-c37", 0),
    ("on to code, from Muon's model", "overall", 1.0): ("15-c28", 1),
    ("400 steps: Muon against AdamW", "facts", 1.0): ("10-c28", 0),
    ("1,200 steps: Muon(VO, FFN) against AdamW, VO and FFN slower", "facts", 1.1): ("15-c52", 0),
}


@pytest.fixture(scope="module")
def leads():
    by_time = {(c, part): c.leads(itemgetter(part)) for c in IN_TIME for part in PARTS}
    by_time |= {(c, "facts"): c.leads(comparisons.unknown(c.config.steps)) for c in FACTS}
    return by_time | {(REGRESSION, "overall"): REGRESSION.leads()}


@pytest.fixture(scope="module")
def by_name(leads):
    return {(c.question, part): by_time for (c, part), by_time in leads.items()}


def by_hand(differences):
    """Student's t for ten seeds."""
    d = np.asarray(differences)
    assert len(d) == 10
    reach = 2.262157 * d.std(ddof=1) / 10**0.5
    return d.mean(), d.mean() - reach, d.mean() + reach, 10


def ends(phase, part="overall", **where):
    """The last measurement of each contestant, by seed, straight from the file."""
    last = defaultdict(dict)
    for run in recorded(phase):
        if where.items() <= run.config.items():
            who = contestant(run.config), run.config["steps"]
            last[who][run.config["seed"]] = run.held_out[-1][part]
    return last


def minus(a, b):
    assert a.keys() == b.keys()
    return [a[seed] - b[seed] for seed in sorted(a)]


@pytest.mark.parametrize("part", PARTS)
def test_an_interval_is_students_t_of_the_differences_by_seed(part):
    last = ends("race-1200", part)
    differences = minus(last["AdamW", 1200], last["Muon", 1200])
    assert LAPTOP.interval(itemgetter(part)) == pytest.approx(by_hand(differences), rel=1e-5)


def test_a_row_says_what_was_compared_and_who_leads():
    row = dict(zip(HEADS, LAPTOP.row(), strict=True))
    assert row.pop("size [95 % interval]") == str(LAPTOP.interval())
    assert row == {
        "question": "the race on a laptop, 1,200 steps",
        "answer": "Muon leads",
        "n": "10",
        "steps": "1,200",
        "tokens a step": "1,024",
        "trials a side": "32",
        "study": "race-1200",
    }
    turned = replace(LAPTOP, rivals=("Muon", "AdamW"))
    assert turned.word(turned.interval()) == "Muon leads", "the second is below"
    assert LAPTOP.word(Interval(-0.03, -0.04, -0.02, 10)) == "AdamW leads"
    assert LAPTOP.word(Interval(0.0, -0.01, 0.01, 10)) == "level"
    assert Comparison("", "unseen").trials == "none"
    assert LAPTOP.trials == "32"


def test_a_side_with_more_trials_than_the_other_compares_nothing(monkeypatch):
    both = {"AdamW": ([1, 2],), "Muon": ([1], [2, 3])}
    monkeypatch.setattr(comparisons.Comparison, "_tuned", Mock(trials=Mock(return_value=both)))
    with pytest.raises(ValueError, match="too many"):
        assert LAPTOP.trials


def test_steps_saved_are_read_off_where_the_losses_cross():
    shares = []
    runs = {(contestant(r.config), r.config["seed"]): r.held_out for r in GPU.runs}
    for seed in sorted({seed for _, seed in runs}):
        end, curve = runs["AdamW", seed][-1]["overall"], runs["Muon", seed]
        before, after = next((a, b) for a, b in pairwise(curve) if b["overall"] <= end)
        slope = (after["overall"] - before["overall"]) / (after["step"] - before["step"])
        step = before["step"] + (end - before["overall"]) / slope
        shares.append(1 - step / curve[-1]["step"])
    saved = GPU.saved()
    assert saved.mean == pytest.approx(np.mean(shares))
    assert saved.high - saved.mean == pytest.approx(2.776445 * np.std(shares, ddof=1) / 5**0.5)


def test_nothing_is_saved_by_one_that_never_gets_there_or_is_there_at_once(monkeypatch):
    for loss in (9.0, 0.0):
        runs = [replace(run) for run in LAPTOP.runs]
        for run in runs:
            if contestant(run.config) == "Muon":
                run.held_out = [at | {"overall": loss} for at in run.held_out]
        monkeypatch.setattr(Comparison, "runs", runs)
        assert LAPTOP.saved() is None
        monkeypatch.undo()


def test_a_lead_is_the_plain_interval_in_equal_steps_and_reaches_as_far_as_the_plans(leads):
    assert LONGER[0] == 1.0
    for (comparison, part), by_time in leads.items():
        steps = comparison.config.steps
        measure = comparisons.unknown(steps) if part == "facts" else itemgetter(part)
        assert by_time[0] == pytest.approx(comparison.interval(measure)), comparison.question
        most = steps / min(run.config["steps"] for run in comparison.lengths)
        reached = [1 <= longer <= most for longer in (*LONGER, comparison.clock)]
        assert [bool(lead) for lead in by_time] == reached, comparison.question
    assert not all(lead for by_time in leads.values() for lead in by_time)
    with pytest.raises(FileNotFoundError, match="-shorter"):
        GPU.leads()


def test_a_lead_in_equal_time_by_hand(by_name):
    """Of code, on Muon's models: a straight line between plans."""
    phases = "finetuning", "finetuning-shorter"
    whole, shorter = (ends(phase, "tail", pretrained_by="Muon") for phase in phases)
    share = (300 / 1.2 - 225) / (255 - 225)
    differences = [
        whole["AdamW", 300][seed]
        - ((1 - share) * shorter["Muon", 225][seed] + share * shorter["Muon", 255][seed])
        for seed in range(11, 21)
    ]
    lead = by_name["on to code, from Muon's model", "tail"][LONGER.index(1.2)]
    assert lead == pytest.approx(by_hand(differences), rel=1e-5)


def test_a_lead_is_what_the_claim_about_it_says(by_name):
    claims = stored()
    for (name, part, longer), (id, which) in SAME.items():
        lead = by_name[name, part][LONGER.index(longer)]
        assert lead == pytest.approx(claims[id][0].value[which], abs=1e-6), id


def test_every_study_with_fewer_steps_is_compared():
    compared = (*IN_TIME, *FACTS, REGRESSION)
    assert {c.shorter for c in compared} == FEWER_STEPS.keys()
    for c in compared:
        assert FEWER_STEPS[c.shorter]["search"] == c.phase, "its clocks are of its own"


def test_clocks_are_medians_of_processor_time():
    def ratio(phase):
        seconds = defaultdict(list)
        for run in recorded(phase):
            last = run.held_out[-1]
            seconds[contestant(run.config)].append(last["cpu_seconds"] / last["step"])
        return np.median(seconds["Muon"]) / np.median(seconds["AdamW"])

    assert LAPTOP.clock == pytest.approx(ratio("race-1200"))
    assert LAPTOP.clocks == pytest.approx([ratio(f"race-1200-{n}") for n in (1, 2, 3)])


def test_the_unknown_are_the_groups_that_lesson_10_judges():
    at = {"accuracy": [0.0] * 7 + [0.1, 0.4, 0.7]}
    assert comparisons.unknown(400)(at) == pytest.approx(0.6)
    assert comparisons.unknown(1200)(at) == pytest.approx(0.45)


def test_the_map_has_a_point_for_each_dense_race():
    points = comparisons.lead_map()  # the name that copies of lesson 04 call
    laptop = next(point for point in points if point["study"] == "race-1200")
    assert laptop["name"] == LAPTOP.question
    assert (laptop["tokens"], laptop["steps"], laptop["vocabulary"]) == (1024, 1200, 512)
    assert laptop["size"] == 12 * 3 * 128**2
    assert laptop["n"] == 10
    assert laptop["lead"]["tail"] == [*LAPTOP.interval(itemgetter("tail"))[:3]]
    assert laptop["saved"]["overall"] == [*LAPTOP.saved()[:3]]
    for point in points:
        intervals = [*point["lead"].values(), *filter(None, point["saved"].values())]
        assert {len(interval) for interval in intervals} == {3}
    only = comparisons.lead_points([KINDS[2], Comparison("not recorded", "no-such-study")])
    assert [point["vocabulary"] for point in only] == [4096]
    names = [c.question for c in (*LENGTHS, *KINDS, *MODELS, *IN_TIME, GPU)]
    assert len({*names}) == len({*LENGTHS, *KINDS, *MODELS, *IN_TIME, GPU})
