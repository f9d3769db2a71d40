"""A class predicts together: what one hands in, and what becomes of files that lie."""

import getpass
import json
import os
import re
from collections import Counter
from dataclasses import replace
from functools import cache

import nbformat
import pytest
from axe_playwright_python.sync_playwright import Axe
from lesson_texts import outputs
from test_browser import browser, open_page
from test_live_figures import opened

from muonlab import cli
from muonlab.checks import printable
from muonlab.classroom import Lesson, handin
from muonlab.classroom.handin import HandIn, read_hand_in
from muonlab.files import course, home
from muonlab.notebooks import read
from muonlab_teaching import collected
from muonlab_teaching.class_page import class_html, class_summary, stored_lesson, write_page
from muonlab_teaching.collected import collect

browser = browser  # the fixture of test_browser
LESSONS = sorted(path.name[:2] for path in (course() / "lessons").glob("[0-9][0-9]-*.ipynb"))
HOSTILE = "</script><img src=x onerror=alert(1)>\x1b[2J\u202e\ud800&amp;$data{{}}"
known = cache(stored_lesson)


@pytest.fixture(autouse=True)
def own_places(tmp_path, monkeypatch):
    monkeypatch.setenv("MUONLAB_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "class").mkdir()
    return tmp_path / "class"


def answers(learner=1, lesson="02", made=0, choice=0, **changes):
    """The hand-in of a learner who always chooses this option, and has one exercise right."""
    said = {
        asked.id: {"question": asked.question, "options": asked.options, "choice": choice}
        for asked in known(lesson).asked
    }
    time = f"2026-01-01T10:00:{made:02}Z"
    found = HandIn(lesson, f"{learner:016x}", "", time, said, {f"{lesson}-e1": "right"})
    return replace(found, **changes)


def put(folder, name, found):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(found.content if isinstance(found, HandIn) else found)


def reasons(folder):
    return dict(collect(folder).left_out)


# --- what a learner hands in -------------------------------------------------------------------


def test_a_lesson_hands_in_what_was_chosen_and_checked_and_no_name(tmp_path):
    lesson = Lesson("02")
    for id in ("02-p4", "02-p2"):
        outputs(lesson.predict, id, "Which?", ["one", "two"])
    lesson.predictions["02-p2"].choice = 1
    outputs(lesson.check, "02-e1", None)
    told = outputs(lesson.hand_in)[0]["text/plain"]
    (path,) = (tmp_path / "work").iterdir()
    assert told.startswith(f"{path.name}: predictions: 1; exercises checked: 1, right: 0; no name")
    found = read_hand_in(path.read_bytes())
    assert found.predictions == {
        "02-p2": {"question": "Which?", "options": ["one", "two"], "choice": 1}
    }
    assert (found.lesson, found.checks, found.name) == ("02", {"02-e1": "not right"}, "")
    assert getpass.getuser() not in path.read_text().lower()
    assert path.stat().st_size < 1_000
    outputs(lesson.hand_in, "Ada")
    assert [*(tmp_path / "work").iterdir()] == [tmp_path / "work" / path.name]
    again = read_hand_in(path.read_bytes())
    assert (again.name, again.learner) == ("Ada", found.learner)


def test_the_recap_says_how_to_hand_in_once_there_is_something(tmp_path):
    lesson = Lesson("02")
    outputs(lesson.predict, "02-p4", "Which?", ["one", "two"])
    with pytest.raises(ValueError, match="nothing to hand in: run the cells"):
        lesson.hand_in()
    outputs(lesson.check, "02-e1", lambda X: ...)
    assert len(outputs(lesson.recap)) == 1  # as in a lesson that is stored
    lesson.predictions["02-p4"].choice = 0
    assert "lesson.hand_in()" in outputs(lesson.recap)[1]["text/plain"]
    with pytest.raises(ValueError, match="a name of 80 characters at most; got"):
        lesson.hand_in("x" * 81)
    assert not [*(tmp_path / "work").iterdir()]


def test_a_damaged_name_of_chance_is_drawn_again():
    first = handin._learner()
    assert handin._learner() == first
    (home() / "learner").write_text("Ada Lovelace")
    assert re.fullmatch("[0-9a-f]{16}", handin._learner())
    assert handin._learner() != first


# --- a file of another form --------------------------------------------------------------------


def changed(**fields):
    return json.dumps({**json.loads(answers().content), **fields}).encode()


ONE = {"question": "?", "options": ["a", "b"], "choice": 0}


def said(**fields):
    return changed(predictions={"02-p4": ONE | fields})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cut off, or no file of"),
        (b"[" * 60_000, "cut off, or no file of"),
        (b"9" * 60_000, "cut off, or no file of"),
        (b"[]", "it is not a file of"),
        (changed(format="muonlab answers 2"), "its format should look otherwise"),
        (changed(score=100), "other fields"),
        (changed(lesson="02\n"), "its lesson"),
        (changed(learner=1), "its learner"),
        (changed(made="today"), "its made"),
        (changed(predictions={f"02-p{i}": ONE for i in range(41)}), "its predictions"),
        (changed(predictions={"03-p1": 0}), "its predictions"),
        (changed(predictions={"02-p4": "one"}), "its predictions"),
        (said(choice=2), "its predictions"),
        (said(choice=True), "its predictions"),
        (said(options=["a", ["b"]]), "its predictions"),
        (said(question="x" * 1001), "its predictions"),
        (said(right=0), "its predictions"),
        (changed(checks={"02-p4": "right"}), "its checks"),
        (changed(checks={"02-e1": "perfect"}), "its checks"),
    ],
)
def test_a_file_of_another_form_is_refused_in_words_of_ours(content, message):
    with pytest.raises(ValueError, match=message):
        read_hand_in(content)


# --- a folder that nobody can trust ------------------------------------------------------------


def test_of_the_same_file_and_of_the_same_learner_the_newest_counts(folder):
    put(folder, "a.json", answers(1, made=10))
    put(folder, "copy of a.json", answers(1, made=10))
    put(folder, "abc/er/b.json", answers(1, made=30, choice=1))
    put(folder, "c.json", answers(1, made=20))
    put(folder, "d.json", answers(2, made=5))
    put(folder, "e.json", answers(1, "03", made=1))
    found = collect(folder)
    assert [(f.lesson, int(f.learner, 16), f.made[-3:-1]) for f in found.counted] == [
        ("02", 1, "30"),
        ("02", 2, "05"),
        ("03", 1, "01"),
    ]
    newer = "abc/er/b.json is newer, of the same learner, and counts"
    assert dict(found.left_out) == dict.fromkeys(("a.json", "copy of a.json", "c.json"), newer)
    (folder / "abc/er/b.json").unlink()
    (folder / "c.json").unlink()
    assert reasons(folder) == {"a.json": "copy of a.json says the same, and counts"}


def test_what_is_no_hand_in_is_named_and_left_out(folder, tmp_path, monkeypatch):
    put(folder, "good.json", answers())
    with (folder / "large.json").open("wb") as file:
        file.truncate(50_000_000)
    secret = tmp_path / "secret"
    put(secret, "s.json", answers(7))
    (folder / "link.json").symlink_to(secret / "s.json")
    (folder / "linked").symlink_to(secret)
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe.json")
    for name in ("run.ipynb", "picture.png", "all.zip", ".hidden/x.json", ".DS_Store"):
        put(folder, name, b"{")
    put(folder, "future.json", answers().content.replace(b"02", b"77"))
    put(folder, "mine.json", answers(2))
    reading = collected._content

    def content(path):
        if path.name == "mine.json":
            raise PermissionError(13, "Permission denied", str(path))
        return reading(path)

    monkeypatch.setattr(collected, "_content", content)
    link = "it is a link, or no ordinary file: put a copy there"
    assert reasons(folder) == {
        "large.json": "it has 50,000,000 bytes; a hand-in has 65,536 at most",
        **dict.fromkeys(("link.json", "linked", "loop", "pipe.json"), link),
        "run.ipynb": "it is a notebook: ask for the file that lesson.hand_in() writes",
        "picture.png": "cut off, or no file of lesson.hand_in(): ask for it again",
        "all.zip": "it is an archive: unpack it there",
        "future.json": "there is no lesson 77 here",
        "mine.json": "Permission denied",
    }
    assert [int(each.learner, 16) for each in collect(folder).counted] == [1]


def test_a_folder_without_a_hand_in_is_refused_with_the_first_reason(folder, monkeypatch, capsys):
    with pytest.raises(ValueError, match=r"holds no file of lesson.hand_in\(\); it is empty"):
        collect(folder)
    put(folder, "a.json", b"{")
    with pytest.raises(ValueError, match=r"a\.json: cut off.*: ask for it again"):
        collect(folder)
    assert cli.main(["teach", "class", str(folder / "nowhere")]) == 2
    assert "it is empty, or no folder" in capsys.readouterr().err
    monkeypatch.setattr(collected, "FILES", 0)
    with pytest.raises(ValueError, match="more than 0 files: name the one of the class"):
        collect(folder)


def test_a_hundred_files_are_counted_as_a_second_count_finds_them(folder):
    for i in range(100):
        put(folder, f"{i % 7}/{i}.json", answers(i, choice=i * i % 3, made=i % 60))
    shown = class_summary(collect(folder))
    (lesson,) = shown["lessons"]
    votes = Counter(i * i % 3 for i in range(100))
    for asked in lesson["asked"]:
        assert asked["votes"][:3] == [votes[0], votes[1], votes[2]]
        assert asked["others"] == 0
    assert lesson["learners"] == shown["learners"] == 100
    assert lesson["exercises"][0] == ["02-e1", 100, 0, 0, 0]
    assert {sum(row[1:]) for row in lesson["exercises"]} == {100}


def test_answers_to_another_version_are_counted_apart(folder):
    first = answers().predictions["02-p2"]
    versions = (
        first,
        first | {"question": "Something else?"},
        first | {"options": [*first["options"], "a fourth"]},
        first | {"options": first["options"][::-1]},
        first | {"question": first["question"].replace("200", "300")},  # computed there
    )
    for number, one in enumerate(versions):
        put(folder, f"{number}.json", answers(number, predictions={"02-p2": one}))
    put(folder, "9.json", answers(9, predictions={"02-p88": first}, checks={"02-e88": "right"}))
    (lesson,) = class_summary(collect(folder))["lessons"]
    asked = lesson["asked"][0]
    assert (asked["votes"], asked["others"]) == ([2, 0, 0], 3)
    assert lesson["unknown"] == 1
    assert lesson["learners"] == 6


def hostile(folder):
    """Files with HTML and control characters wherever a text may stand, and in their names."""
    bad = {"question": HOSTILE, "options": [HOSTILE, HOSTILE], "choice": 1}
    # as json.dumps writes it by itself: a lone surrogate has no bytes
    fields = json.loads(answers(1).content) | {"name": HOSTILE, "predictions": {"02-p4": bad}}
    put(folder, "1.json", json.dumps(fields).encode())
    put(folder, "2.json", answers(2))
    names = ("<img src=x onerror=alert(1)>.json", "\x1b[2Jx\n.json", os.fsdecode(b"\xff.json"))
    for name in names:
        put(folder, name, changed(format=HOSTILE))
    return names


def test_no_text_of_a_student_ends_the_script_steers_the_terminal_or_is_html(folder, capsys):
    hostile(folder)
    assert cli.main(["teach", "class", str(folder)]) == 0
    told = capsys.readouterr().out
    assert all(line.isprintable() for line in told.splitlines())
    assert "left out �[2Jx�.json: its format should look otherwise" in told
    html = (folder.parent / "work" / "class.html").read_text(encoding="utf-8")
    assert "<img" not in html
    assert html.count("</script>") == 2
    assert html.isascii() or not re.search("[\x00-\x08\x1b\u202e\ud800]", html)
    assert printable(HOSTILE) == "</script><img src=x onerror=alert(1)>�[2J��&amp;$data{{}}"
    assert len(printable("x" * 1000)) == 80


# --- the page ----------------------------------------------------------------------------------


@pytest.mark.parametrize("lesson", LESSONS)
def test_of_every_lesson_it_is_known_what_was_asked_and_what_happened(lesson):
    text = next((course() / "lessons" / "text").glob(f"{lesson}-*.md")).read_text("utf-8")
    stored = known(lesson)
    assert f"# {stored.title}\n" in text
    assert [one.id for one in stored.asked] == re.findall(rf'predict\(\s*"({lesson}-p\d+)"', text)
    assert {*stored.exercises} == {*re.findall(rf'lesson.check\("({lesson}-e\d+)"', text)}
    for asked in stored.asked:
        assert asked.because
        assert not re.search(r"[$`*\\<]", f"{asked.question}{asked.options}{asked.because}")


def test_a_lesson_without_outputs_says_what_to_do(folder, tmp_path, monkeypatch):
    put(folder, "a.json", answers())
    text = course() / "lessons" / "text" / "02-newton-schulz.md"
    (tmp_path / "lessons").mkdir()
    nbformat.write(read(text), tmp_path / "lessons" / f"{text.stem}.ipynb")
    monkeypatch.setenv("MUONLAB_COURSE", str(tmp_path))
    with pytest.raises(ValueError, match=r"02-newton.*lacks.*run `make lessons`"):
        write_page(folder, tmp_path / "class.html")
    assert not (tmp_path / "class.html").exists()


def test_only_a_page_of_a_class_is_written_over(folder, tmp_path, capsys):
    put(folder, "a.json", answers())
    mine = tmp_path / "thesis.html"
    mine.write_text("<!doctype html>years of work")
    notes, wrong = folder / "of.html", "this command made no such page: name another file"
    notes.mkdir()
    folders = "a folder, a device or a pipe is there"
    for out, told in ((mine, wrong), (notes, folders), (folder, "a page is called like")):
        assert cli.main(["teach", "class", str(folder), "--out", str(out)]) == 2
        assert told in capsys.readouterr().err
    assert mine.read_text() == "<!doctype html>years of work"
    out = tmp_path / "class.html"
    assert write_page(folder, out) == f"{out}: 1 hand-ins of 1 learners"
    put(folder, "b.json", answers(2))
    assert write_page(folder, out) == f"{out}: 2 hand-ins of 2 learners"
    for _ in range(2):  # the second time it lies there
        own = write_page(folder, folder / "class.html")
        assert own == f"{folder}/class.html: 2 hand-ins of 2 learners"


def test_the_page_names_no_host_and_runs_one_script(folder):
    put(folder, "a.json", answers())
    html = class_html(collect(folder))
    assert "http" not in html.replace("http-equiv", "")
    assert "default-src 'none'" in html


@pytest.fixture
def show(browser, folder):
    """Writes the page of the folder and opens it; page.outside holds what it asked a host for."""
    pages = []

    def show(width=1280, height=720):
        write_page(folder, folder.parent / "class.html")
        page = open_page(browser, width)
        pages.append(page)
        page.set_viewport_size({"width": width, "height": height})
        page.set_default_timeout(5000)
        page.outside = []
        page.on("request", lambda request: page.outside.append(request.url))
        page.on("dialog", lambda dialog: page.faults.append(dialog.message))
        page.goto((folder.parent / "class.html").as_uri())
        return page

    yield show
    for visited in pages:
        assert visited.faults == []
        assert len(visited.outside) == 1
        visited.context.close()


@pytest.mark.browser
def test_on_the_projector_keys_go_on_and_what_happened_waits(show, folder):
    for learner, choice in enumerate((0, 0, 2)):
        put(folder, f"{learner}.json", answers(learner, choice=choice))
    page = show()
    now, asked = page.locator("section.current"), known("02").asked
    assert now.locator("h2").inner_text() == asked[0].question
    assert now.locator("li .count").all_inner_texts() == ["2 · 67 %", "0 · 0 %", "1 · 33 %"]
    widths = [box["width"] for box in (bar.bounding_box() for bar in now.locator(".bar").all())]
    assert widths[0] == pytest.approx(2 * widths[2], rel=0.01)
    assert "What happened" not in now.inner_text()
    page.keyboard.press("Space")
    right = asked[0].options[asked[0].right]
    right_ones = (0, 0, 2).count(asked[0].right)
    happened = f"What happened: {right}. {asked[0].because} {right_ones} of 3 predicted it."
    assert happened in now.inner_text()
    assert now.locator("li.right").inner_text().startswith(f"✓ {right}")
    page.keyboard.press("Space")
    assert "What happened" not in now.inner_text()
    for key, number in (("ArrowRight", 1), ("ArrowLeft", 0), ("PageDown", 1), ("Home", 0)):
        page.keyboard.press(key)
        assert now.locator("h2").inner_text() == asked[number].question
        assert page.evaluate("document.activeElement.tagName") == "H2"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert "What happened" in now.inner_text()
    page.keyboard.press("End")
    assert "3 files of 3 learners counted, 0 left out." in now.inner_text()
    assert not page.get_by_text("no name (").first.is_visible()
    page.keyboard.press("ArrowLeft")
    cells = now.locator("tbody tr").first.locator("td").all_inner_texts()
    assert cells == ["02-e1", "3", "0", "0", "0"]


@pytest.mark.browser
def test_every_prediction_of_the_course_fits_the_projector_in_large_letters(show, folder):
    for lesson in LESSONS:
        put(folder, f"{lesson}.json", answers(1, lesson))
    page = show()
    for _ in range(sum(len(known(lesson).asked) + 1 for lesson in LESSONS)):
        page.keyboard.press("Space")
        told = page.locator("section.current h2").inner_text()
        assert page.evaluate("document.documentElement.scrollHeight") <= 720, told
        sizes = "[...document.querySelectorAll('.current :is(h2, .option, .outcome)')]"
        for size in page.evaluate(f"{sizes}.map((e) => parseFloat(getComputedStyle(e).fontSize))"):
            assert size >= 28, told
        page.keyboard.press("ArrowRight")


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 375])
def test_hostile_files_run_nothing_and_all_of_it_is_accessible(show, folder, scheme, width):
    hostile(folder)
    page = show(width)
    page.emulate_media(color_scheme=scheme)
    for _ in range(6):
        page.keyboard.press("Space")
        assert Axe().run(page).response["violations"] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.keyboard.press("ArrowRight")
    page.locator("summary").click()
    assert page.get_by_text("</script><img src=x onerror=alert(1)>�[2J").is_visible()
    assert Axe().run(page).response["violations"] == []
    assert page.locator("img").count() == 0


@pytest.mark.browser
def test_on_paper_everything_is_shown_but_names(show, folder):
    put(folder, "a.json", answers(name="Ada"))
    page = show()
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    text = page.inner_text("body")
    assert text.count("What happened:") == len(known("02").asked)
    assert "Exercises:" in text
    assert "Ada" not in text
    assert "Back" not in text
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    assert "What happened:" not in page.inner_text("body")


@pytest.mark.browser
def test_a_page_of_the_book_saves_the_same_file(browser, tmp_path):
    page = open_page(browser, 375)
    one = {"question": "Which?", "options": ["one", "two"], "choice": -1, "note": ""}
    states = [{"id": f"02-p{i}", **one} for i in (1, 2)]
    opened(page, states, tmp_path)
    button = page.get_by_role("button", name="Save my predictions")
    note = ".muonlab-file [role=status]"

    def saved():
        with page.expect_download() as download:
            button.click()
        return download.value.suggested_filename, read_hand_in(download.value.path().read_bytes())

    button.click()
    assert page.inner_text(note) == "Choose a prediction first."
    page.locator(".muonlab-predict").nth(1).locator("input").nth(1).check()
    name, found = saved()
    assert found.predictions == {
        "02-p2": {"question": "Which?", "options": ["one", "two"], "choice": 1}
    }
    assert (found.lesson, found.name, found.checks) == ("02", "", {})
    assert name == f"muonlab-02-{found.learner[:8]}.json"
    assert page.inner_text(note).startswith(f"{name}: predictions: 1;")
    page.get_by_label("Your name").fill(" Grace <b> ")
    _, again = saved()
    assert (again.name, again.learner) == ("Grace <b>", found.learner)
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    assert page.faults == []
    page.context.close()
