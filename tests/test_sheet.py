"""The sheet of a class: one page of paper with what the plan asks for, and nothing that is code."""

import re

import pytest
from markupsafe import escape
from test_browser import browser

from muonlab import cli
from muonlab.classroom.quiz import questions
from muonlab.files import course
from muonlab_teaching import sheet

browser = browser  # the fixture of test_browser


@pytest.fixture(autouse=True)
def own_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_the_sheet_has_what_the_plan_asks_for_on_paper(tmp_path, capsys):
    assert cli.main(["teach", "sheet"]) == 0
    page = (tmp_path / "sheet.html").read_text("utf-8")
    plan = (course() / "book" / "teach-class.md").read_text("utf-8")
    assert set(re.findall(r"Exercise (\d\d-e\d+)", page)) == {
        id for id in re.findall(r"on paper\. \| exercise (\d\d-e\d+)", plan)
    }
    asked = re.search(r"Exit ticket.*\| quizzes (.*) \|", plan)[1].split(", ")
    for lesson in asked:
        question = questions(lesson)[0]
        assert escape(question["text"]) in page
        assert all(f"<li>{escape(o['option'])}</li>" in page for o in question["options"])
    letters = " ".join("abc"[questions(lesson)[0]["right"]] for lesson in asked)
    said = capsys.readouterr().out
    assert re.sub(r"[\d, ]+", " ", said.partition("Right: ")[2]).split() == letters.split()
    assert "Find" in page
    assert "<svg" in page  # a formula, and none is left as TeX
    assert "<code>\\" not in page
    assert "$" not in page
    assert not re.search(r'(?:src|href)="(?!#)', page)


def test_other_exercises_and_questions_and_the_same_file_again(tmp_path):
    arguments = ["teach", "sheet", "--exercises", "05-e4", "--ticket", "03", "--out", "day.html"]
    for _ in range(2):
        assert cli.main(arguments) == 0
    page = (tmp_path / "day.html").read_text("utf-8")
    assert re.findall(r"Exercise (\d\d-e\d+)", page) == ["05-e4"]
    assert page.count('class="question"') == 1


def test_what_looks_like_html_is_escaped():
    assert sheet.as_html("<script>alert(1)</script> **x** $a<b$").count("<script") == 0
    assert "<strong>x</strong>" in sheet.as_html("**x**")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--exercises", "02-e99"], "02-e99"),
        (["--exercises", "second"], "an exercise"),
        (["--ticket", "99"], "quizzes of lesson 99"),
        (["--out", "sheet.pdf"], "called like"),
        (["--out", "thesis.html"], "name another file"),
    ],
)
def test_bad_input_is_named_and_nothing_is_written(arguments, message, tmp_path, capsys):
    (tmp_path / "thesis.html").write_text("<!doctype html>years of work")
    assert cli.main(["teach", "sheet", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.html"]
    assert (tmp_path / "thesis.html").read_text() == "<!doctype html>years of work"


@pytest.mark.browser
def test_the_sheet_is_one_page_of_paper(tmp_path, browser):
    sheet.write_sheet(sheet.EXERCISES, sheet.TICKET, tmp_path / "sheet.html")
    page = browser.new_page()
    page.goto((tmp_path / "sheet.html").as_uri())
    paper = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type /Page\b", paper)) == 1
