"""The report: its numbers are the records', it is one whole file, and it needs no network."""

import copy
import dataclasses
import html
import inspect
import re

import numpy
import pytest
from axe_playwright_python.sync_playwright import Axe
from matplotlib.text import Text
from test_browser import browser, open_page
from test_controls import plain
from test_hypothesis import ADAMW, ENDS, FOUR, MUON, PAIRS, VO, four_runs, run

from muonlab import cli
from muonlab.classroom import report
from muonlab.records import record as records
from muonlab.statistics import chance_to_see
from muonlab.studies.hypothesis import Hypothesis
from muonlab.studies.verdicts import Finding, judge
from muonlab.sweeps.search import Knob
from muonlab.sweeps.study import Place
from muonlab.training.own_rule import own_rule

browser = browser  # the fixture of test_browser
PLAN = {"pairs": 2, "spread": 0.01, "truth": 0.2, "hours": 0.5}
LATER = "2026-01-03T00:00:00+00:00"


def row_of(page, name):
    """The cells of the row of a table that begins so."""
    return re.findall(r"<td[^>]*>([^<]*)</td>", page.partition(f">{name}</t")[2].split("</tr>")[0])


def test_it_says_whether_the_hypothesis_came_first():
    page = report.page(VO, PAIRS, stated="2026-01-01T00:00:00+00:00")
    began = "the first of these runs began, at 2026-01-01T23:59:58+00:00"
    assert f"before {began} at the latest" in page  # two seconds of training before its end
    assert "AFTER the first of these runs" in report.page(VO, PAIRS, stated=LATER)
    assert "not on record" in report.page(VO, PAIRS)
    between = "2026-01-01T23:59:59+00:00"  # after the start, before the end
    assert "AFTER the first" in report.page(VO, PAIRS, stated=between)
    for pair in (known := copy.deepcopy(PAIRS)):
        pair.provenance["started"] = "2026-01-01T12:00:00+00:00"
    assert "began, at 2026-01-01T12:00:00+00:00." in report.page(VO, known, stated=between)
    assert "AFTER" in report.page(VO, PAIRS, stated="2026-01-01T22:00:00-05:00")  # 3:00 UTC
    with pytest.raises(ValueError, match="'yesterday'"):
        report.page(VO, PAIRS, stated="yesterday")


def test_in_equal_time_each_side_ends_at_its_own_last_step():
    asked, runs = Hypothesis(MUON, ADAMW, longer=2, shared={"steps": 4}), []
    for side in asked.settings:
        runs += [run(side["muon"], seed, 1.0 + seed / 10, steps=side["steps"]) for seed in (0, 1)]
        for one in runs[-2:]:
            one.train_loss = [9.0, 8.0, 7.0, 6.0][: side["steps"]]
    words = "ends for Muon(VO) with steps=2 at 8.00, AdamW with steps=4 at 6.00."
    assert words in report.page(asked, runs)


def test_a_report_on_regression_has_the_metric_that_can_be_asked_for_there():
    asked = dataclasses.replace(VO, shared={"corpus": "regression-4"})
    runs = [run(g, seed, 1.0, corpus="regression-4") for g in (("VO",), ()) for seed in (0, 1)]
    for one in runs:
        one.held_out = [{"step": 2, "overall": 1.0 + len(one.config["muon"]), "errors": [0.5, 2.0]}]
    assert row_of(report.page(asked, runs), "overall")[1] == "of squared error"


def test_plan_and_price_stand_beside_what_came():
    page = report.page(VO, PAIRS, plan=PLAN)
    chance = chance_to_see(0.2, 0.01, 2, by=0.05)
    spread = numpy.std([0.2, 0.3], ddof=1)
    for name, planned, came in (
        ("pairs", "2", "2"),
        ("spread", "0.01", f"{spread:.3g}"),
        ("hours", "0.5", f"{8 / 3600:.3g}"),
        ("chance of support, if that is true", f"{chance:.3g}", ""),
    ):
        assert row_of(page, name)[-2:] == [planned, came]
    assert "chance of support" not in report.page(VO, PAIRS, plan={**PLAN, "spread": 0})


def test_the_search_is_told_with_ranges_and_what_more_trials_were_worth(tmp_path):
    search, at = VO.search(2, knobs=lambda c: (Knob("adamw_lr", 0.01, 0.16),)), Place(tmp_path)
    for n, trial in enumerate(search.tunings[0].grid(at)):
        records.append(
            run(trial.muon, 0, 1.0 + n, adamw_lr=trial.adamw_lr, steps=200), at.path("tuning-1")
        )
    rows = report.tuning(VO, search, at)
    turned = [row for row in rows if row[1] == "adamw_lr"]
    for side, row in zip(VO.names, turned, strict=True):
        assert row == [side, "adamw_lr", "0.01 to 0.16", "0.04", "50%"]
    left = [row[1:] for row in rows if row[0] == "Muon(VO)" and row not in turned]
    assert ["lr", "not tuned", "0.01", ""] in left
    assert ["adamw_matrix_lr", "not tuned", "as for the rest", ""] in left
    assert "Not tuned: lr, momentum, betas.0" in report.untuned(VO, search, at)
    assert report.budget(VO, search, at) == {"Muon(VO)": [1.5, 1.0], "AdamW": [3.5, 3.0]}
    page = report.page(VO, PAIRS, tuned=(search, at))
    assert "2 trials of each side at seed 0" in page
    assert "No search is on record" in report.page(VO, PAIRS)


def test_the_direction_is_told_apart_from_the_size():
    for than, direction in (
        ((0.2, 0.21), "Muon(VO) leads"),
        ((-0.2, -0.21), "AdamW leads"),
        ((0.1, 0.3), "open"),
    ):
        finding = Finding(dataclasses.replace(VO, by=0.3), (0, 1), (0.0, 0.0), than)
        assert report.told(finding).endswith(f"The difference itself: {direction}.")


def test_a_report_of_the_race_shows_its_search(tmp_path, capsys):
    out = tmp_path / "race.html"
    sides = ["--better", "muon=QK+VO+FFN", "--than", "muon=none", "--where", "rule=muon"]
    words = ["--by", "0.02", "--search", "race-1200", "--out", str(out)]
    assert cli.main(["report", "race-1200", *sides, *words]) == 0
    assert "supported. Over 10 seeds, AdamW minus Muon is +0.083 nats" in capsys.readouterr().out
    page = out.read_text()
    assert "32 trials of each side" in page
    assert "106%: at an edge" in page


def test_words_of_the_experimenter_are_text_and_not_html():
    page = report.page(VO, PAIRS, conclusion="VO < AdamW <script>alert(1)</script>")
    assert "<script" not in page
    assert "VO &lt; AdamW" in page


def test_a_broken_report_leaves_the_old_one(tmp_path):
    path = tmp_path / "report.html"
    report.write("old", path)
    with pytest.raises(ValueError, match="no run of AdamW"):
        report.write(report.page(VO, PAIRS[:2]), path)
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    assert path.read_text() == "old"


def test_the_command_writes_the_page_or_names_what_is_missing(tmp_path, capsys):
    path, out = tmp_path / "runs.jsonl", tmp_path / "out.html"
    for record in PAIRS:
        records.append(record, path)
    words = ["--better", "muon=VO", "--than", "muon=none", "--by", "0.05", "--out", str(out)]
    shared = ["gated=False", "adamw_matrix_lr=None", "betas=0.9+0.95", "steps=2"]
    assert cli.main(["report", str(path), *words, "--where", *shared]) == 0
    assert "out.html: cannot tell. Over 2 seeds" in capsys.readouterr().out
    named = {"gated": False, "adamw_matrix_lr": None, "betas": (0.9, 0.95), "steps": 2}
    assert out.read_text() == report.page(dataclasses.replace(VO, shared=named), PAIRS)
    assert cli.main(["report", str(path), *words, "--where", *shared]) == 0  # over an older one
    out.write_text("<!doctype html>years of work")
    assert cli.main(["report", str(path), *words, "--where", *shared]) == 2
    assert out.read_text() == "<!doctype html>years of work"
    out.unlink()
    for runs, option, says in (
        (tmp_path / "no.jsonl", [], "no.jsonl"),
        ("no-phase", [], "no-phase.jsonl; recorded: pilot, "),
        (path, ["--than", "muon=QK"], "muon is given 2 values: name one"),
        (path, ["--where", "gated=True"], "(gated=True, muon=VO) is among the 4 records"),
        (path, ["--where", "gatd=True"], "got 'gatd': did you mean 'gated'?"),
        (path, ["--out", str(path / "out.html")], "expected a file that can be written"),
    ):
        assert cli.main(["report", str(runs), *words, *option]) == 2
        assert says in capsys.readouterr().err
    assert cli.main(["report", str(path), "--better", "muon=QK", *words[-2:]]) == 2
    assert "no run of Muon(QK) (muon=QK) is among the 4 records" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.browser
def test_in_a_browser_without_network_it_shows_the_records_numbers(browser, tmp_path):
    path = tmp_path / "report.html"
    report.write(report.page(VO, PAIRS, stated=LATER, conclusion="Two seeds are few."), path)
    page = open_page(browser, 375)
    outside = []
    page.route(re.compile("^(?!file:|data:)"), lambda r: (outside.append(r.request.url), r.abort()))
    page.goto(path.as_uri())
    rows = page.locator("table").nth(1).locator("tbody tr")
    cells = [row.locator("td").all_inner_texts() for row in rows.all()]
    found = judge(VO, PAIRS)
    for row, than, better in zip(cells, found.than, found.better, strict=False):
        assert [float(c) for c in row[1:]] == pytest.approx([than, better, than - better], abs=5e-5)
    assert float(cells[-1][3]) == pytest.approx(found.interval.mean, abs=5e-5)
    verdict = page.locator(".verdict").inner_text()
    assert verdict.startswith("Cannot tell.")
    numbers = [float(x) for x in re.findall(r"[-+]\d\.\d+", verdict)]
    assert numbers == pytest.approx(found.interval[:3], abs=5e-4)
    images = page.locator('svg[role="img"]').all()
    assert len(images) == 2
    for image in images:
        assert len(image.get_attribute("aria-label")) > 40
        assert image.bounding_box()["width"] > 100
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    violations = Axe().run(page).response["violations"]
    assert [v["id"] for v in violations if v["impact"] in ("serious", "critical")] == []
    assert outside == []
    assert page.faults == []
    page.context.close()


def test_a_report_of_a_change_shows_four_sides_and_both_differences():
    runs = four_runs()
    page = report.page(FOUR, runs)
    found = judge(FOUR, runs)
    names = ["AdamW with warmup=0", "Muon(VO) with warmup=0", "AdamW with warmup=0.1"]
    heads = page[page.index("<caption>The metric overall") :].split("</thead>")[0]
    assert re.findall(r"<th[^>]*>([^<]*)</th>", heads) == [
        *("seed", *names, "Muon(VO) with warmup=0.1", "difference")
    ]
    cells = [float(cell) for cell in row_of(page, "mean")[-5:]]
    ends = [*ENDS[0.0][::-1], *ENDS[0.1][::-1], found.leads]
    assert cells == pytest.approx([numpy.mean(x) for x in ends], abs=5e-5)
    shown = " ".join(text.get_text() for text in report.differences(found).findobj(Text))
    assert all(name in " ".join(shown.split()) for name in found.pairs)
    assert "the difference with warmup=0 minus that with warmup=0.1" in page
    assert "The difference itself: open." in page


def end(record):
    return record.held_out[-1]["overall"]


def test_a_report_holds_the_text_of_what_is_your_own_and_the_clock():
    rule = own_rule(plain)
    asked = Hypothesis({"rule": rule}, {"rule": "muon"}, by=0.05, metric=end)
    runs = [run(("QK", "VO", "FFN"), s, 1.0 + s / 10, rule=rule) for s in (0, 1)]
    for one in runs:
        one.step_seconds = [1.5, 1.5]
    runs += [run(("QK", "VO", "FFN"), s, 1.2 + s / 10) for s in (0, 1)]
    page = report.page(asked, runs)
    assert f"{rule.removeprefix('own-')} ends at least 0.05 of end below Muon (end)" in page
    for text in (inspect.getsource(plain), inspect.getsource(end)):
        assert f"<pre>{html.escape(text)}</pre>" in page
    assert row_of(page, "a step takes, times the other&#x27;s")[-1] == "1.5"
