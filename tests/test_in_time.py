"""Every comparison in equal time: the tables agree with the claims, and with a count of their own.

What the pages say about the rows is checked here, too.
"""

import re

import numpy as np
import pytest

from muonlab.publishing import in_time
from muonlab.publishing.claims import stored
from muonlab.records.record import contestant
from muonlab.studies.evidence import FEWER_STEPS
from muonlab.sweeps.results import recorded

PARTS = ("overall", "tail", "facts", "regression")
# comparison, part, place in its row (equal steps, 1.1, 1.2, its clock): claim, place in it
SAME = {
    ("1,200 steps, one rate", "overall", 0): ("16-c13", 0),
    ("1,200 steps, one rate", "overall", 1): ("15-c35", 0),
    ("1,200 steps, one rate", "overall", 2): ("15-c42", 0),
    ("1,200 steps, one rate", "tail", 1): ("15-c57", 0),
    ("1,200 steps, one rate", "tail", 2): ("15-c43", 0),
    ("1,200 steps, weight decay", "overall", 0): ("15-c54", 0),
    ("1,200 steps, a rate for each kind of matrix", "overall", 2): ("15-c42", 1),
    ("1,200 steps, a rate for each kind of matrix", "tail", 2): ("15-c44", 0),
    ("1,200 steps, 4,096 different tokens", "overall", 1): ("15-c59", 0),
    ("1,200 steps, 4,096 different tokens", "tail", 2): ("15-c60", 1),
    ("4,800 steps, one rate", "overall", 1): ("15-c48", 0),
    ("4,800 steps, one rate", "tail", 2): ("15-c51", 1),
    ("1,600 steps of 8 sequences", "overall", 2): ("14-c35", 0),
    ("1,600 steps of 8 sequences", "tail", 2): ("14-c34", 0),
    ("600 steps, multi-head attention", "overall", 2): ("13-c37", 0),
    ("600 steps, latent attention", "tail", 2): ("13-c40", 1),
    ("300 steps of code, AdamW's model", "overall", 0): ("15-c28", 0),
    ("300 steps of code, Muon's model", "overall", 0): ("15-c28", 1),
    ("400 steps, Muon on all against AdamW with one rate", "facts", 0): ("10-c28", 0),
    ("1,200 steps, Muon on VO and FFN against AdamW slower there", "facts", 0): ("10-c20", 0),
    ("1,200 steps, Muon on VO and FFN against AdamW slower there", "facts", 1): ("15-c52", 0),
    ("1,200 steps, Muon on all against AdamW slower on all", "facts", 0): ("10-c21", 0),
}


@pytest.fixture(scope="module")
def found():
    return {part: {c.told: leads for c, leads in in_time.measured(part)} for part in PARTS}


@pytest.mark.parametrize("cell", SAME)
def test_a_cell_is_what_the_claim_about_it_says(found, cell):
    told, part, place = cell
    id, which = SAME[cell]
    assert found[part][told][place] == pytest.approx(stored()[id][0].value[which], abs=1e-9)


def test_a_row_by_hand(found):
    """Of code, on Muon's models: a straight line between plans, and Student's t."""
    ends = {}
    for name in ("finetuning", "finetuning-shorter"):
        for run in recorded(name):
            if run.config["pretrained_by"] == "Muon":
                key = contestant(run.config), run.config["steps"]
                ends.setdefault(key, {})[run.config["seed"]] = run.held_out[-1]["tail"]
    share = (300 / 1.2 - 225) / (255 - 225)
    leads = [
        ends["AdamW", 300][seed]
        - ((1 - share) * ends["Muon", 225][seed] + share * ends["Muon", 255][seed])
        for seed in range(11, 21)
    ]
    lead = found["tail"]["300 steps of code, Muon's model"][2]
    assert lead.mean == pytest.approx(np.mean(leads))
    assert lead.high - lead.mean == pytest.approx(2.262 * np.std(leads, ddof=1) / 10**0.5, rel=1e-3)


def test_every_study_with_fewer_steps_is_there_and_a_row_says_where_no_run_reaches(found):
    rows = (*in_time.TEXT, *in_time.FACTS, in_time.REGRESSION)
    assert {row.study for row in rows} == set(FEWER_STEPS)
    for part in PARTS:
        for told, leads in found[part].items():
            assert leads[0], told
            table = in_time.in_time(part)
            assert (table.count("–") > 0) == any(None in each for each in found[part].values())


@pytest.mark.parametrize("part", ["overall", "tail"])
def test_the_figure_says_what_is_so_in_every_row(found, part):
    drawn = in_time.drawn(part)
    alt = re.search(r'aria-label="([^"]*)"', drawn)[1]
    assert alt == "Muon's mean lead is smaller, in every row, the longer its step takes."
    for told, leads in found[part].items():
        means = [lead.mean for lead in leads[:3] if lead]
        assert means == sorted(means, reverse=True), told
