"""The report: its numbers are the records', it is one whole file, and it needs no network."""

import dataclasses
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from test_browser import browser, open_page
from test_hypothesis import PAIRS, VO

from muonlab import cli
from muonlab.classroom import report
from muonlab.records import record as records
from muonlab.studies.hypothesis import Finding, judge

browser = browser  # the fixture of test_browser
LATER = "2026-01-03T00:00:00+00:00"


def test_it_says_whether_the_hypothesis_came_first():
    page = report.page(VO, PAIRS, stated="2026-01-01T00:00:00+00:00")
    assert "before the first run ended at 2026-01-02" in page
    assert "AFTER the first run" in report.page(VO, PAIRS, stated=LATER)
    assert "not on record" in report.page(VO, PAIRS)


@pytest.mark.parametrize(
    ("than", "direction"),
    [((0.2, 0.21), "is shown"), ((-0.2, -0.21), "is refuted"), ((0.1, 0.3), "is open")],
)
def test_the_direction_is_told_apart_from_the_size(than, direction):
    found = Finding(dataclasses.replace(VO, by=0.3), (0, 1), (0.0, 0.0), than)
    assert report.told(found).endswith(f"The direction alone {direction}.")
    found = Finding(dataclasses.replace(VO, by=0.0), (0, 1), (0.0, 0.0), than)
    assert "direction" not in report.told(found)


def test_words_of_the_experimenter_are_text_and_not_html():
    page = report.page(VO, PAIRS, conclusion="VO < AdamW <script>alert(1)</script>")
    assert "<script" not in page
    assert "VO &lt; AdamW" in page


def test_a_missing_folder_is_named_and_a_broken_report_leaves_the_old_one(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere"):
        report.write("page", tmp_path / "nowhere" / "report.html")
    path = tmp_path / "report.html"
    report.write("old", path)
    with pytest.raises(ValueError, match="no run of AdamW alone"):
        report.write(report.page(VO, PAIRS[:2]), path)
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    assert path.read_text() == "old"


def test_the_command_writes_the_page_or_names_what_is_missing(tmp_path, capsys):
    path, out = tmp_path / "runs.jsonl", tmp_path / "out.html"
    for record in PAIRS:
        records.append(record, path)
    words = ["--lower", "VO", "--by", "0.05", "--out", str(out)]
    assert cli.main(["report", str(path), *words, "--where", "gated=False"]) == 0
    assert "out.html: cannot tell. Over 2 seeds" in capsys.readouterr().out
    assert out.read_text() == report.page(VO, PAIRS)
    out.unlink()
    for runs, option, says in (
        (tmp_path / "no.jsonl", [], "no.jsonl"),
        ("no-phase", [], "no-phase.jsonl; recorded: pilot, "),
        (path, ["--than", "QK"], "no run of Muon on QK among AdamW alone, Muon on VO"),
        (path, ["--where", "gated=True"], "among no records"),
        (path, ["--out", str(tmp_path / "nowhere" / "out.html")], "there is no folder"),
    ):
        assert cli.main(["report", str(runs), *words, *option]) == 2
        assert says in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.browser
def test_in_a_browser_without_network_it_shows_the_records_numbers(browser, tmp_path):
    path = tmp_path / "report.html"
    report.write(report.page(VO, PAIRS, stated=LATER, conclusion="Two seeds are few."), path)
    page = open_page(browser, 375)
    outside = []
    page.route(re.compile("^(?!file:|data:)"), lambda r: (outside.append(r.request.url), r.abort()))
    page.goto(path.as_uri())
    rows = page.locator("table").first.locator("tbody tr")
    cells = [row.locator("td").all_inner_texts() for row in rows.all()]
    found = judge(VO, PAIRS)
    for row, than, lower in zip(cells, found.than, found.lower, strict=False):
        assert [float(c) for c in row[1:]] == pytest.approx([than, lower, than - lower], abs=5e-5)
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
