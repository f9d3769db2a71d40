"""The page that sets the course beside the paper: built from claims and records."""

import re
import tomllib

import pytest

from muonlab.classroom.claims import VERDICTS, Claim
from muonlab.files import course
from muonlab.publishing import paper
from muonlab.publishing.claims import claims_table, plain
from muonlab.publishing.paper import Paper
from muonlab.publishing.release import LESSONS
from muonlab.statistics import Interval
from muonlab.studies.table1 import PAPER_ROWS
from muonlab.sweeps.results import recorded

PAGE = course() / "book" / "paper.md"
ITEM = {"item": "Figure 1", "reports": "a | b < c", "claims": ["99-c1", "99-c2"]}
FOUND = re.compile(r'\.\./lessons/\d\d-[\w-]+\.html#claim-(\d\d-c\d+)">(\d\d-c\d+)<')


def a_claim(id="99-c1", verdict="reproduced", value=1.0):
    return Claim(id, "So it is.", 0.0, 2.0, (value,), verdict=verdict)


def stored(*verdicts):
    made = [a_claim(f"99-c{n}", verdict) for n, verdict in enumerate(verdicts, start=1)]
    return {claim.id: (claim, "99-end") for claim in made}


def told():
    return tomllib.loads((course() / "book" / "paper.toml").read_text(encoding="utf-8"))


def items():
    return told()["items"]


def rows(markdown):
    return [line[2:-2].split(" | ") for line in markdown.splitlines() if re.match(r"\| [^-]", line)]


def on_the_page():
    return [id for item in items() for id in item.get("claims", [])]


def test_each_result_of_the_paper_has_claims_or_a_reason_why_not():
    assert len({item["item"] for item in items()}) == len(items()) >= 14
    for item in items():
        assert bool(item.get("claims")) != ("why_not" in item), item["item"]
    assert len(set(on_the_page())) == len(on_the_page()), "a claim answers one result"


def test_every_claim_that_judges_the_paper_is_on_the_page():
    judging = {
        id
        for id, (claim, _) in paper.paper().stored.items()
        if claim.verdict and claim.source.startswith("arXiv 2509.26030")
    }
    assert judging == set(on_the_page())


def test_the_best_reproduction_and_the_worst_contradiction_stand_at_the_head():
    head = PAGE.read_text(encoding="utf-8").split("## Result by result")[0]
    shown = re.findall(r"made: claim ([\w-]+)", head)
    verdicts = [paper.paper().stored[id][0].judged for id in shown]
    assert shown[0] == "16-c7"
    assert verdicts[0] == "reproduced"
    assert "reproduced" not in verdicts[1:]
    assert "made: against" in head
    against = {c.id for c, _ in paper.paper().all() if c.judged == "not"}
    assert "04-c17" in paper.paper().opposite
    shown = [id for id, _ in FOUND.findall(paper.paper().against())]
    assert sorted(shown) == sorted(against | {*paper.paper().opposite})


def test_what_decides_is_against_the_paper_by_its_verdict_alone():
    known = stored("other experiment", "not")
    found = FOUND.findall(Paper([ITEM], {}, known, ["99-c1"]).against())
    assert [id for id, _ in found] == ["99-c2", "99-c1"]
    with pytest.raises(ValueError, match="99-c2: decided, so the verdict says it"):
        Paper([ITEM], {}, known, ["99-c2"]).against()


def test_the_gaps_are_those_of_the_records_and_of_the_paper():
    for kind, gated in (("plain", False), ("gated", True)):
        ends = {}
        for run in recorded("cpu"):
            if run.config["gated"] is gated and run.config["muon"] in ([], ["QK", "VO", "FFN"]):
                who = len(run.config["muon"]), run.config["seed"]
                ends[who] = run.held_out[-1]["overall"]
        mean = sum(ends[0, seed] - ends[3, seed] for seed in (1, 2, 3)) / 3
        theirs = PAPER_ROWS[()][gated] - PAPER_ROWS["QK", "VO", "FFN"][gated]
        shown = paper.gap(kind)
        here = re.search(r"\*\*(\+0\.\d+)", shown)[1]
        assert here == f"{mean:+.{len(here) - 3}f}"
        assert "n = 3, 150 steps" in shown
        assert f"the paper has **{theirs:.3f}**" in shown


def test_table_1_has_each_row_of_the_paper_with_ours_beside_it():
    for kind, gated in (("plain", False), ("gated", True)):
        heads, *found = rows(paper.table1(kind))
        assert len(found) == sum(losses[gated] is not None for losses in PAPER_ROWS.values()) - 1
        assert all(re.match(r"[+-]\d\.\d+ \\\[", row[2]) for row in found)
        assert heads[2] == "here, as there (n = 3, 150 steps)"
    fair = {row[0]: row[3] for row in rows(paper.table1("plain"))[1:]}
    claim = paper.paper().stored["16-c13"][0]
    assert fair["all Muon"].replace("\\", "").startswith(f"{claim.value[0]}, n = 10, 1,200 steps")


def test_there_is_a_row_for_each_result_and_the_strongest_stands_first():
    page = paper.paper()
    heads, *found = rows(page.summary())
    assert len(heads) == 4
    assert len(found) == len(items())
    assert [re.match(r"\*\*(.*?)\*\*: ", row[0])[1] for row in found] == [
        plain(item["item"]) for item in page.ranked()
    ]
    shares = [re.match(r"(\d+) of (\d+) reproduced", row[3]) for row in found]
    decided = [int(share[1]) / int(share[2]) for share in shares if share]
    assert decided == sorted(decided, reverse=True)
    assert [bool(share) for share in shares] == [True] * len(decided) + [False] * (
        len(found) - len(decided)
    )
    for row in found:
        assert (row[3] == "no claim") != bool(FOUND.search(row[1] + row[2])), row[0]


def test_every_claim_is_shown_in_full_with_its_verdict_and_a_link_to_its_box():
    page = paper.paper().sections()
    shown = [row for row in rows(page) if row[0].startswith("<a")]
    ids = [FOUND.search(row[0]).groups() for row in shown]
    assert sorted(a for a, _ in ids) == sorted(b for _, b in ids) == sorted(on_the_page())
    assert {row[1] for row in shown} <= set(VERDICTS)


def test_a_claim_has_the_seeds_and_steps_of_the_runs_that_are_named_for_it():
    runs = told()["runs"]
    assert {id for ids in runs.values() for id in ids} <= set(on_the_page())
    for study, ids in runs.items():
        seeds = {run.config["seed"] for run in recorded(study)}
        for id in ids:
            claim = paper.paper().stored[id][0]
            if claim.size:
                assert {value.n for value in claim.value} == {len(seeds)}, id
            lesson = (LESSONS / "text" / f"{paper.paper().stored[id][1]}.md").read_text("utf-8")
            stem, _, last = study.rpartition("-")
            built = f'"{stem}-{{n}}"' in lesson or (f'"{stem}"' in lesson and f"-{last}" in lesson)
            assert f'"{study}"' in lesson or built, f"{id}: its lesson does not read {study}"
    without = [id for id in on_the_page() if not paper.paper().how(id)[1]]
    assert [id for id in without if paper.paper().stored[id][0].size] == [], "name their runs"
    assert paper.paper().how("04-c17") == ("fair", "150 and 1,200 steps, both sides tuned alike")
    assert paper.paper().how("16-c7") == ("paper", "150 steps, one rate for AdamW")
    assert paper.paper().how("11-c9")[0] == "rates"
    assert paper.paper().how("07-c1") == ("", "")


def test_a_study_without_runs_is_named():
    page = Paper([ITEM], {"no-such-study": ["99-c1"]}, stored("not", "not"))
    with pytest.raises(FileNotFoundError, match="no runs of 'no-such-study' are recorded"):
        page.sections()


def test_verdicts_are_counted_of_what_is_decided():
    known = stored("not", "reproduced", "partly", "open", "other experiment", "other experiment")
    assert paper.counts([*known.values()]) == (
        "1 of 3 reproduced, 1 partly, 1 not, 1 open, 2 other experiments"
    )
    assert paper.counts([known["99-c4"], known["99-c5"]]) == "1 open, 1 other experiment"
    assert paper.counts([]) == ""


def test_within_a_result_the_strongest_claim_is_the_one_that_is_shown():
    page = Paper([ITEM], {}, stored("not", "reproduced"))
    assert [claim.id for claim, _ in page.answers(ITEM)] == ["99-c2", "99-c1"]
    assert "99-c2" in page.summary()
    assert "99-c1" not in page.summary()
    assert page.summary().splitlines()[-2].endswith("| 1 of 2 reproduced, 1 not |")


def test_a_claim_that_is_unknown_without_a_verdict_or_fails_is_named():
    for odd in ({}, stored(""), {"99-c1": (a_claim(value=9.0), "99-end")}):
        with pytest.raises(ValueError, match="Figure 1: no lesson has, with a verdict, 99-c1"):
            Paper([ITEM | {"claims": ["99-c1"]}], {}, odd).sections()


def test_a_row_shows_the_effect_its_interval_its_unit_its_seeds_and_how_it_was_made():
    effect = Claim(
        "99-c1", "A < B", 0.0, value=(Interval(0.1, 0.05, 0.15, 4),), size=0.02, unit="nats",
        paper="0.3", source="Table 1", verdict="partly",
    )  # fmt: skip
    row = claims_table([(effect, "99-end")], {"99-c1": "9 steps"}).splitlines()[-2]
    assert row == (
        '| <a href="../lessons/99-end.html#claim-99-c1">99-c1</a> | partly | A \\< B '
        "| +0.100 \\[+0.050, +0.150\\] nats, n = 4 · bound: all of it at least 0 · 9 steps "
        "| 0.3; Table 1 |"
    )


def test_of_many_intervals_the_row_tells_the_least_and_the_greatest():
    values = tuple(Interval(x, x - 0.1, x + 0.1, 5) for x in (0.3, 0.2, 0.4))
    claim = Claim("99-c1", "S.", value=values, size=0.02, unit="nats", verdict="partly")
    shown = Paper([], {}, {}).told((claim, "99-end"))
    assert "0.40" in shown
    assert "0.20" in shown
    assert "0.30 \\[" not in shown
    assert shown.endswith("** nats, n = 5")


def test_what_was_not_tried_says_why_and_nothing_in_the_words_becomes_markup():
    item = {"item": "Table *2*", "reports": "a < b", "why_not": "<b> too [large]"}
    assert Paper([item], {}, {}).summary().splitlines()[-2] == (
        "| **Table \\*2\\***: a \\< b | \\<b\\> too \\[large\\] |  | no claim |"
    )


def test_the_page_says_whose_the_words_are_and_what_is_tested():
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert "The words of the verdicts are ours; the bound beside them is tested." in text
    for verdict in VERDICTS:
        assert f"*{verdict}" in text.casefold()


def test_no_measured_number_is_typed_into_the_page():
    text = re.sub(r"<!--.*?-->|\[arXiv[^)]*\)|\]\(.*?\)", "", PAGE.read_text(encoding="utf-8"))
    assert set(re.findall(r"\d*\.\d+", text)) == {"0.6"}, "the size of the model alone"
