"""Every comparison in equal time: the tables agree with the claims, and with a count of their own.

What the pages say about the rows is checked here, too.
"""

import re
from operator import itemgetter
from pathlib import Path

import numpy as np
import pytest

from muonlab.publishing import in_time
from muonlab.publishing.claims import stored
from muonlab.records.record import contestant
from muonlab.statistics import mean_interval
from muonlab.studies.evidence import FEWER_STEPS
from muonlab.studies.protocol import MATTERS
from muonlab.sweeps.results import recorded

ROOT = Path(__file__).parent.parent
PARTS = ("overall", "tail", "facts", "regression")
# comparison, part, place in its row (equal steps, 1.1, 1.2, its clock): claim, place in it
SAME = {
    ("1,200 steps, one rate", "overall", 0): ("16-c13", 0),
    ("1,200 steps, one rate", "overall", 1): ("15-c35", 0),
    ("1,200 steps, one rate", "overall", 2): ("15-c42", 0),
    ("1,200 steps, one rate", "tail", 1): ("15-c57", 0),
    ("1,200 steps, one rate", "tail", 2): ("15-c43", 0),
    ("1,200 steps, weight decay on both", "overall", 0): ("15-c54", 0),
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


def page(path):
    return (ROOT / path).read_text("utf-8")


@pytest.fixture(scope="module")
def found():
    return {part: {c.told: leads for c, leads in in_time.measured(part)} for part in PARTS}


@pytest.mark.parametrize("cell", SAME)
def test_a_cell_is_what_the_claim_about_it_says(found, cell):
    told, part, place = cell
    id, which = SAME[cell]
    assert found[part][told][place] == pytest.approx(stored()[id][0].value[which], abs=1e-6)


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
    assert [*map(len, (in_time.TEXT, in_time.FACTS))] == [14, 8]
    assert "fourteen on text, eight on made facts, one on regression" in page("book/equal-time.md")
    assert {row.study for row in rows} == set(FEWER_STEPS)
    for part in PARTS:
        assert all(leads[0] for leads in found[part].values())
        beyond = any(None in leads for leads in found[part].values())
        assert ("–" in in_time.in_time(part)) == beyond


@pytest.mark.parametrize("part", ["overall", "tail"])
def test_the_figure_says_what_is_so_in_every_row(found, part):
    drawn = in_time.drawn(part)
    alt = re.search(r'aria-label="([^"]*)"', drawn)[1]
    assert alt == "Muon's mean lead is smaller, in every row, the longer its step takes."
    for told, leads in found[part].items():
        means = [lead.mean for lead in leads[:3] if lead]
        assert means == sorted(means, reverse=True), told


def on_a_curve(comparison, measure, longer):
    """The lead with a parabola, in the logarithm of steps, through Muon's three nearest plans."""
    ends = {}
    for run in comparison.judged() + recorded(f"{comparison.study}-shorter"):
        if comparison.where.items() <= run.config.items():
            key = comparison.who(run.config), run.config["steps"]
            ends.setdefault(key, {})[run.config["seed"]] = measure(run.held_out[-1])
    adamw, muon = comparison.rivals
    steps = comparison.steps / longer
    plans = sorted((abs(np.log(n / steps)), n) for who, n in ends if who == muon)[:3]
    plans = sorted(n for _, n in plans)
    leads = []
    for seed, loss in ends[adamw, comparison.steps].items():
        curve = np.polyfit(np.log(plans), [ends[muon, n][seed] for n in plans], 2)
        leads.append(loss - np.polyval(curve, np.log(steps)))
    return mean_interval(leads)


def test_curves_in_place_of_lines_move_a_mean_and_a_verdict_as_the_page_says():
    assert "steps a mean on text moves by at most 0.006, mostly" in page("book/equal-time.md")
    turned, moved = set(), []
    for part in ("overall", "tail"):
        for comparison, leads in in_time.measured(part):
            plans = {r.config["steps"] for r in recorded(f"{comparison.study}-shorter")}
            for place, longer in enumerate((1.1, 1.2, comparison.clock), 1):
                if leads[place] and len(plans) > 1:
                    curve = on_a_curve(comparison, itemgetter(part), longer)
                    moved.append(abs(curve.mean - leads[place].mean))
                    signs = [(i.low > 0) - (i.high < 0) for i in (curve, leads[place])]
                    if signs[0] != signs[1]:
                        turned.add((comparison.told, part, place))
    assert 0.005 < max(moved) <= 0.006
    assert turned == {("1,200 steps, 4,096 different tokens", "tail", 1)}


def signs(found, part, place):
    """Who ends lower, by comparison: 1 Muon, -1 AdamW, 0 not shown."""
    rows = found[part].items()
    return {told: (at[place].low > 0) - (at[place].high < 0) for told, at in rows if at[place]}


def told(signs, who):
    return {told for told, sign in signs.items() if sign == who}


def test_where_adamw_leads_by_the_clock_the_answer_names_it(found):
    answer = page("book/answer.md")
    assert "AdamW ends lower with experts (at 1.8; at 1.4, another processor's" in answer
    assert "after 4,800 steps no lead is shown" in answer
    assert "By that clock AdamW ends lower with experts (at 1.4, too, but with" in answer
    assert "many tokens in a step, with 4,096 different tokens, and, barely, after" in answer
    assert "Muon ends lower with 128 sequences in a step alone" in answer
    by_clock = signs(found, "overall", 3)
    assert told(by_clock, 0) == {"4,800 steps, one rate"}
    half = {"1,600 steps of 8 sequences", "100 steps of 8 sequences"}
    experts = {f"600 steps, {kind} attention, experts" for kind in ("multi-head", "latent")}
    assert told(by_clock, -1) == half | experts
    assert all(found["overall"][each][3].high < -MATTERS for each in half | experts)
    rare = signs(found, "tail", 3)
    far = {"1,200 steps, 4,096 different tokens", "4,800 steps, one rate"}
    assert told(rare, -1) == half | experts | far
    assert told(rare, 1) == {"100 steps of 128 sequences"}


def test_what_pages_say_of_single_rows(found):
    answer, conditions = page("book/answer.md"), page("book/conditions.md")
    memories = found["facts"]["400 steps, Muon on VO and FFN against AdamW slower there"]
    assert memories[1].high < 0
    assert "In equal time AdamW with the lower rate knows more: at 1.1," in answer
    assert "In equal time it answers more, at 1.1:" in conditions
    assert "leads, after 400 steps at 1.1," in page("lessons/text/10-rare-facts.md")
    eight = "100 steps of 8 sequences"
    short = found["overall"][eight]
    assert -MATTERS < short[1].mean < short[1].high < 0
    assert short[2].high < -MATTERS
    assert "AdamW leads on all tokens at 1.1 already, by too little to matter (drawn" in answer
    assert "at 8 × 100 AdamW leads at 1.2" in page("lessons/text/14-scaling-out.md")
    code = [found["tail"][f"300 steps of code, {first}'s model"][2] for first in ("AdamW", "Muon")]
    decay = found["tail"]["1,200 steps, weight decay on both"][2]
    assert all(lead.low < 0 < lead.high for lead in (*code, decay, *found["tail"][eight][1:3]))
    assert "On rare tokens none of these three is shown" in answer
    assert "On rare tokens no lead is shown at either" in answer


def test_by_its_clock_regression_turns(found):
    lead = found["regression"]["linear regression in context, 600 steps"]
    assert lead[2].low > 0 > lead[3].high > -MATTERS
    adamw = [r.held_out[-1]["overall"] for r in in_time.REGRESSION.judged() if not r.config["muon"]]
    assert 38 < (np.mean(adamw) - lead[3].mean) / -lead[3].mean < 42  # of Muon's error: a fortieth
    assert 1.75 < in_time.REGRESSION.clock < 1.8
    told = "Muon's took nearly 1.8 times as long in these runs, and by that clock AdamW's error is"
    assert told in page("book/conditions.md")


def test_how_many_of_the_counted_leads_matter_is_so(found):
    told = (
        "at 1.2, three of Muon's ten and one of AdamW's two are too small to matter, by the clock"
    )
    for name in ("answer", "equal-time"):
        assert told + " two of Muon's nine." in page(f"book/{name}.md")
    small = {}
    for place in (2, 3):
        leads = [at[place] for at in found["overall"].values() if at[place]]
        shown = {1: [i for i in leads if i.low > 0], -1: [i for i in leads if i.high < 0]}
        little = {who: sum(abs(i.mean) < MATTERS for i in each) for who, each in shown.items()}
        small[place] = [(little[who], len(shown[who])) for who in (1, -1)]
    assert small == {2: [(3, 10), (1, 2)], 3: [(2, 9), (0, 4)]}


def test_where_muons_step_was_never_so_short_or_so_long_the_page_says_it():
    text = page("book/equal-time.md")
    assert "With 8 sequences a step Muon's step was nearly always longer than 1.2 times" in text
    assert "with experts and in regression always" in text
    assert "With 128 sequences it was shorter than 1.1 times" in text
    rows = {row.told: row for row in (*in_time.TEXT, in_time.REGRESSION)}
    clocks = {told: [row.clock, *row.clocks] for told, row in rows.items()}
    experts = [told for told in rows if "experts" in told]
    assert all(min(clocks[told]) > 1.2 for told in (in_time.REGRESSION.told, *experts))
    eight = [clock for told, each in clocks.items() if " 8 seq" in told for clock in each]
    assert sum(clock <= 1.2 for clock in eight) == 2 < len(eight) == 16
    assert max(clocks["100 steps of 128 sequences"]) < 1.1
