"""What a notebook cell calls: each call in its right use, and in the wrong ones it must name."""

import re
from unittest import mock

import nbformat
import numpy as np
import pytest
import torch
from lesson_texts import compiled, outputs

import release
from muonlab import files
from muonlab.classroom import Lesson, built, guarded, kinds, output, predict
from muonlab.classroom import exercise as check
from muonlab.classroom import explore as explorers
from muonlab.classroom import lesson as lesson_module
from muonlab.notebooks import STATE, notebook_path, read
from muonlab.records.table import markdown
from muonlab.studies.table1 import ROW_NAMES

pytestmark = pytest.mark.usefixtures("own_home")


@pytest.fixture
def lesson():
    return Lesson("02")


# --- start -------------------------------------------------------------------------------------


def test_start_seeds_and_a_lesson_shows_what_it_runs_on():
    assert outputs(lesson_module.start, "02") == []
    first = torch.rand(1)
    shown = outputs(lesson_module.start("02").machine)[0]
    assert torch.equal(first, torch.rand(1))
    assert "torch" in shown["text/plain"]
    assert "<th" in shown["text/html"]


# --- predictions -------------------------------------------------------------------------------


def test_a_prediction_is_saved_at_once_and_found_again(lesson):
    outputs(lesson.predict, "02-p1", "Which?", ["one", "two", "three"])
    lesson.predictions["02-p1"].choice = 2
    assert predict.saved_predictions() == {"02-p1": "three"}
    again = predict.Prediction("02-p1", "Which?", ["three", "one", "two"])
    assert again.choice == 0, "an option is remembered by its words, not its place"


def test_reveal_tells_prediction_from_result(lesson):
    outputs(lesson.predict, "02-p1", "Which?", ["one", "two"])
    for choice, words in (
        (-1, "You have not predicted"),
        (0, r"You predicted: \*one"),
        (1, "came true"),
    ):
        lesson.predictions["02-p1"].choice = choice
        shown = outputs(lesson.reveal, "02-p1", answer=1, because="Two is 2.")[0]["text/markdown"]
        assert re.search(words, shown)
        assert "**two**. Two is 2." in shown


@pytest.mark.parametrize("broken", ['{"02-p1": "on', "[]", "[" * 100_000, "a folder"])
def test_a_broken_file_of_predictions_is_named_and_kept_aside(broken):
    path = files.home() / "predictions.json"
    if broken == "a folder":
        path.mkdir(parents=True)
    else:
        predict.save_prediction("02-p1", "one")
        path.write_text(broken)
    with pytest.warns(UserWarning, match=r"predictions\.json cannot be read.*\.bad"):
        assert predict.saved_predictions() == {}
    predict.save_prediction("02-p2", "two")
    assert predict.saved_predictions() == {"02-p2": "two"}
    aside = path.with_name("predictions.json.bad")
    assert aside.is_dir() or aside.read_text() == broken


def test_a_disk_that_cannot_be_written_is_said_and_stops_nothing(monkeypatch):
    predict.save_prediction("02-p1", "one")
    full = mock.Mock(side_effect=OSError(28, "No space left on device"))
    monkeypatch.setattr(files.os, "replace", full)
    question = predict.Prediction("02-p1", "Which?", ["one", "two"])
    question.choice = 1
    assert "No space left" in question.note
    assert predict.saved_predictions() == {"02-p1": "one"}
    assert {path.name for path in files.home().iterdir()} == {"predictions.json", ".locks"}


# --- tables ------------------------------------------------------------------------------------


def test_a_table_is_written_as_text_as_html_and_as_markdown():
    table = output.Table(["name", "value"], [["a|b", "1"], ["<c>", "20"]])
    assert table.text == "name  value\na|b   1\n<c>   20"
    assert "| a\\|b | 1 |" in markdown(table.heads, table.rows).splitlines()
    html = table.html("A & B")
    assert html.startswith("<table><caption>A &amp; B</caption><thead>")
    assert html.count("<tr>") == 3
    assert "&lt;c&gt;" in html


def test_a_number_of_numpys_is_written_with_as_many_digits(lesson):
    third = [np.float32(1 / 3), torch.tensor(1 / 3), 1 / 3]
    [shown] = outputs(lesson.table, ["share"], [[number] for number in third])
    assert shown["text/plain"].split() == ["share", *["0.333"] * 3]


# --- checks ------------------------------------------------------------------------------------

X = torch.arange(6.0).reshape(2, 3)


def raising(tensor):
    return tensor @ tensor


def stub(tensor): ...  # your code


def test_a_wrong_answer_stops_nothing_and_is_shown_with_sign_and_role(lesson):
    for answer, status in ((stub, "not yet"), (lambda t: -t, "not right"), (raising, "not right")):
        shown = outputs(lesson.check, "02-e1", answer)[0]
        assert shown[check.VERDICT]["status"] == status
        assert shown["text/plain"].startswith(check.LOOK[status][0])
        assert 'role="status"' in shown["text/html"]


def test_what_a_check_cannot_read_is_not_right_and_says_so(monkeypatch):
    broken = mock.Mock(side_effect=IndexError("out of range"))
    monkeypatch.setattr(check, "checks", lambda *_: {"02-e1": broken})
    verdict = check.judge_answer("02-e1", lambda: 1)
    assert verdict.status == "not right"
    assert check.UNREADABLE in verdict.message


def test_an_answer_may_be_compiled(lesson):
    lesson.check("02-e1", torch.compile(lambda X: 1.5 * X - 0.5 * X @ X.T @ X, backend="eager"))
    assert lesson.checks == {"02-e1": "right"}


def test_after_a_watch_the_one_around_it_is_in_force_again():
    with guarded.watched(counted=True) as outer:
        with guarded.watched():
            pass
        assert guarded.WATCHES[-1] is outer


# --- what a learner has built ------------------------------------------------------------------

CELL = """
import math
from math import prod as product

ONE, lesson = 1.0, None
FIRST: int = 0
started = math.sqrt(2)  # a call is not repeated
steep = 3.5


def largest(values):
    return values[FIRST] * ONE


def my_spread(matrix):
    values = torch.linalg.svdvals(matrix)
    return product([largest(values), 1]) / values[-1]


lesson.check("02-e4", 0)
"""
HALF = "def my_spread(matrix):\n    return my_values(matrix)[0] / my_values(matrix)[-1]\n"


def typed(cell, name="my_spread", **names):
    """The function that a cell defines, compiled as a kernel does; its last call is not run."""
    exec(compiled(cell.partition("\n\nlesson.")[0]), names := {"torch": torch, **names})
    return names[name]


@pytest.fixture
def first_lesson(monkeypatch):
    def spread(answer):
        """Right."""
        wide = torch.diag(torch.tensor([6.0, 3.0, 2.0]))
        check.compare(
            answer, [(wide,)], lambda _: (torch.tensor(3.0), ()), returns=kinds.real_number
        )

    monkeypatch.setattr(check, "checks", lambda *_: {"00-e1": spread})
    return Lesson("00")


def told(shown):
    return shown[-1]["text/plain"]


def keep(name, source):
    """Puts a source where an answer is kept."""
    folder = files.home() / "built"
    folder.mkdir(parents=True)
    (folder / f"{name}.py").write_text(source, encoding="utf-8", errors="surrogateescape")


def given_back(lesson, name="spread"):
    """The function that a later lesson gets, and what it says."""
    shown = []
    with mock.patch.object(output, "display", shown.append):
        function = lesson.mine(name, torch.linalg.cond)
    return function, shown[0].text


def test_what_was_built_runs_in_a_later_lesson_and_else_the_librarys_own(first_lesson):
    function, said = given_back(first_lesson)
    assert function is torch.linalg.cond
    assert "library's own stands in for `my_spread`" in said
    assert "is kept" in told(outputs(first_lesson.check, "00-e1", typed(CELL)))
    function, said = given_back(Lesson("04"))
    assert function(torch.diag(torch.tensor([8.0, 2.0]))) == 4
    assert "your own `my_spread` runs" in said
    kept = (files.home() / "built" / "spread.py").read_text(encoding="utf-8")
    assert "check" not in kept
    assert "sqrt" not in kept


def test_what_was_built_finds_what_the_lesson_gives_it_under_a_name(first_lesson):
    """Decorated, too: its names are not those of the decorator."""
    keep("step", "@torch.no_grad()\ndef my_step(D):\n    return newton_schulz(D)\n")
    assert first_lesson.mine("step", torch.clone, newton_schulz=lambda D: "given")(1) == "given"


@pytest.mark.parametrize("cell", [CELL.replace("my_", "no_"), CELL.replace("[-1]", "[1]")])
def test_a_wrong_answer_and_one_of_another_name_are_not_kept(first_lesson, cell):
    answer = typed(cell, "no_spread" if "no_" in cell else "my_spread")
    assert len(outputs(first_lesson.check, "00-e1", answer)) == 1
    assert not (files.home() / "built").exists()


def test_what_needs_another_cell_is_not_kept_unless_that_was_built_too(first_lesson):
    answer = typed(HALF, my_values=torch.linalg.svdvals)
    shown = told(outputs(first_lesson.check, "00-e1", answer))
    assert "not kept" in shown
    assert "my_values" in shown
    keep("values", "def my_values(matrix): return torch.linalg.svdvals(matrix)")
    assert "is kept" in told(outputs(first_lesson.check, "00-e1", answer))
    assert given_back(first_lesson)[0](torch.eye(2)) == 1


def test_a_function_without_a_source_and_a_full_disk_stop_nothing(first_lesson, monkeypatch):
    answer = typed(CELL)
    monkeypatch.setattr(built, "replace_file", mock.Mock(side_effect=OSError(28, "no room")))
    assert "no room" in told(outputs(first_lesson.check, "00-e1", answer))
    exec(HALF, names := {"my_values": torch.linalg.svdvals})
    assert "not kept" in told(outputs(first_lesson.check, "00-e1", names["my_spread"]))


@pytest.mark.parametrize("damaged", ["def my_spread(:", "1 / 0", "def other(): ...", "\udcff"])
def test_a_kept_file_that_was_damaged_is_named_and_the_library_stands_in(first_lesson, damaged):
    keep("spread", damaged)
    function, said = given_back(first_lesson)
    assert function is torch.linalg.cond
    assert "spread.py" in said
    with pytest.raises(ValueError, match="'polar'"):
        first_lesson.mine("../predictions", torch.linalg.cond)


# --- explorers ---------------------------------------------------------------------------------


def test_an_explorer_starts_where_the_lesson_says():
    assert explorers.Explorer("polynomial", steps=3).values == {"steps": 3}


def test_the_rows_of_table_1_are_the_same_in_python_and_in_the_page():
    row = next(control for control in explorers.controls("table1") if control["name"] == "row")
    assert row["options"] == ROW_NAMES


# --- texts and release -------------------------------------------------------------------------

TEXT = """# A question?

```{code-cell} ipython3
:tags: [exercise]

def double(x):
    ...  # your code


lesson.check("02-e1", double)
```

```{code-cell} ipython3
:tags: [hide-input]

print(1)
```
"""


@pytest.fixture
def text(tmp_path):
    folder = tmp_path / "lessons" / "text"
    folder.mkdir(parents=True)
    path = folder / "02-test.md"
    path.write_text(TEXT)
    return path


def test_a_text_is_read_as_a_notebook_whose_code_is_folded(text):
    notebook = read(text)
    assert [cell.id for cell in notebook.cells] == ["02-000", "02-001", "02-002"]
    assert notebook.cells[2].metadata.jupyter.source_hidden  # by its tag
    assert "jupyter" not in notebook.cells[1].metadata
    text.write_text(TEXT.replace("print(1)", 'lesson.predict("02-p1", "?", ["a", "b"])'))
    assert read(text).cells[2].metadata.jupyter.source_hidden


def written(text):
    release.write(read(text), notebook_path(text))
    return notebook_path(text)


def test_a_notebook_that_is_not_valid_never_replaces_a_good_one(text):
    path = written(text)
    good = path.read_bytes()
    notebook = read(text)
    notebook.cells[0].cell_type = "nonsense"
    with pytest.raises(nbformat.ValidationError):
        release.write(notebook, path)
    assert path.read_bytes() == good


def test_cleaning_joins_prints_renumbers_widgets_and_drops_progress_and_times(text):
    model = "0123456789abcdef0123456789abcdef"
    notebook = read(text)
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": model}, "text/plain": "x"}
    sent = [("stdout", "a\n"), ("stderr", "50 %"), ("stdout", "b\n")]
    notebook.cells[2].outputs = [
        *(nbformat.v4.new_output("stream", name=name, text=words) for name, words in sent),
        nbformat.v4.new_output("display_data", data=view),
        nbformat.v4.new_output("stream", text="c"),
    ]
    notebook.cells[2].metadata["execution"] = {"iopub.execute_input": "now"}
    notebook.metadata["widgets"] = {STATE: {"state": {model: {"layout": model}}}}
    cleaned = release.clean(notebook, "02", 3)
    stored = cleaned.cells[2].outputs
    assert [output.get("text") for output in stored] == ["a\nb\n", None, "c"]
    written = nbformat.writes(cleaned)
    assert model not in written
    assert written.count("02-widget-000") == 3
    assert "execute_input" not in written


def test_a_failing_cell_is_named_and_the_old_notebook_stays(text, monkeypatch, capsys):
    cells = ("one = 1", 'raise RuntimeError("deliberate")')
    text.write_text("".join(f"```{{code-cell}} ipython3\n{cell}\n```\n\n" for cell in cells))
    old = written(text).read_bytes()
    monkeypatch.setattr(release, "LESSONS", text.parent.parent)
    assert release.main(["02"]) == 1
    said = capsys.readouterr().err
    assert "02-test, cell 02-001" in said
    assert "deliberate" in said
    assert "\x1b" not in said
    assert notebook_path(text).read_bytes() == old
    with pytest.raises(FileNotFoundError, match="no lesson '77' in"):
        release.main(["77"])
