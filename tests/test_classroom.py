"""What a notebook cell calls: each call in its right use, and in the wrong ones it must name."""

import json
import re
from unittest import mock

import nbformat
import pytest
import torch
from lesson_texts import check_fresh, solve
from matplotlib import pyplot as plt

import release
from muonlab import files
from muonlab.classroom import (
    Lesson,
    built,
    kinds,
    lines,
    output,
    predict,
)
from muonlab.classroom import exercise as check
from muonlab.classroom import explore as explorers
from muonlab.classroom import lesson as lesson_module
from muonlab.classroom.quiz import Quiz
from muonlab.classroom.widget import LESSONS
from muonlab.notebooks import STATE, notebook_path, read
from muonlab.records.table import markdown
from muonlab.studies.table1 import ROW_NAMES


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("MUONLAB_HOME", str(tmp_path / "home"))


@pytest.fixture
def lesson():
    return Lesson("02")


def outputs(call, *args, **options):
    """What a call leaves in a notebook: one dict of forms for each thing it displays."""
    shown = []
    with (
        mock.patch.object(lesson_module, "display", shown.append),
        mock.patch.object(output, "display", shown.append),
    ):
        assert call(*args, **options) is None or call is lesson_module.start
    return [thing._repr_mimebundle_() for thing in shown]


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


def test_what_is_revealed_cannot_draw_on_the_page(lesson):
    lesson.predict("02-p9", "Which?", ["<b>one</b>", "<i>two</i>"])
    shown = outputs(lesson.reveal, "02-p9", answer=1, because="<script>3</script>")[0]
    assert "<i>" not in shown["text/markdown"]
    assert "&lt;i>two&lt;/i>**. &lt;script>3" in shown["text/markdown"]


@pytest.mark.parametrize(
    ("choice", "words"),
    [(-1, "You have not predicted"), (0, "You predicted: \\*one"), (1, "came true")],
)
def test_reveal_tells_prediction_from_result(lesson, choice, words):
    outputs(lesson.predict, "02-p1", "Which?", ["one", "two"])
    lesson.predictions["02-p1"].choice = choice if choice >= 0 else -1
    shown = outputs(lesson.reveal, "02-p1", answer=1, because="Two is 2.")[0]["text/markdown"]
    assert re.search(words, shown)
    assert "**two**. Two is 2." in shown


@pytest.mark.parametrize("broken", ['{"02-p1": "on', "[]", "[" * 100_000])
def test_a_broken_file_of_predictions_is_named_and_kept_aside(broken):
    predict.save_prediction("02-p1", "one")
    path = predict.home() / "predictions.json"
    path.write_text(broken)
    with pytest.warns(UserWarning, match=r"predictions\.json cannot be read.*\.bad"):
        assert predict.saved_predictions() == {}
    predict.save_prediction("02-p2", "two")
    assert predict.saved_predictions() == {"02-p2": "two"}
    assert path.with_name("predictions.json.bad").read_text() == broken


def test_predictions_that_cannot_be_opened_are_set_aside_and_block_no_later_one():
    path = predict.home() / "predictions.json"
    path.mkdir(parents=True)
    with pytest.warns(UserWarning, match=r"the old is predictions\.json\.bad"):
        predict.save_prediction("02-p1", "one")
    assert predict.saved_predictions() == {"02-p1": "one"}


def test_a_disk_that_cannot_be_written_is_said_and_stops_nothing(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    predict.save_prediction("02-p1", "one")
    monkeypatch.setattr(files.os, "replace", full)
    question = predict.Prediction("02-p1", "Which?", ["one", "two"])
    question.choice = 1
    assert "No space left" in question.note
    assert predict.saved_predictions() == {"02-p1": "one"}
    assert {path.name for path in predict.home().iterdir()} == {"predictions.json", ".locks"}


# --- tables ------------------------------------------------------------------------------------


def test_a_table_is_written_as_text_as_html_and_as_markdown():
    table = output.Table(["name", "value"], [["a|b", "1"], ["<c>", "20"]])
    assert table.text == "name  value\na|b   1\n<c>   20"
    assert markdown(table.heads, table.rows).splitlines() == [
        "| name | value |",
        "| --- | --- |",
        "| a\\|b | 1 |",
        "| <c> | 20 |",
    ]
    html = table.html("A & B")
    assert html.startswith("<table><caption>A &amp; B</caption><thead>")
    assert html.count("<tr>") == 3
    assert "&lt;c&gt;" in html
    assert "<caption>" not in table.html()


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
    def broken(answer):
        raise IndexError("out of range")

    monkeypatch.setattr(check, "checks", lambda *_: {"e1": broken})
    verdict = check.judge("02-e1", lambda: 1)
    assert verdict.status == "not right"
    assert check.UNREADABLE in verdict.message


def test_a_learners_text_cannot_become_html():
    verdict = check.Verdict("02-e1", "not right", "<script>x</script>")
    assert "<script>" not in verdict.html


def test_an_unknown_exercise_names_those_that_exist(lesson):
    with pytest.raises(ValueError, match="02-e1, 02-e3, 02-e4"):
        lesson.check("02-e9", stub)
    with pytest.raises(ValueError, match="no lesson '99' has checks"):
        Lesson("99").check("99-e1", stub)


# --- what a learner has built ------------------------------------------------------------------

CELL = """
import math
from math import prod as product

ONE, lesson = 1.0, None
started = math.sqrt(2)  # a call is not repeated
steep = 3.5


def largest(values):
    return values[0] * ONE


def my_spread(matrix):
    values = torch.linalg.svdvals(matrix)
    return product([largest(values), 1]) / values[-1]


lesson.check("02-e4", 0)
"""
HALF = "def my_spread(matrix):\n    return my_values(matrix)[0] / my_values(matrix)[-1]\n"


def typed(path, cell, name="my_spread", **names):
    """The function that a cell of a notebook defines; its last call is not run."""
    path.write_text(cell, encoding="utf-8")
    names |= {"torch": torch}
    exec(compile(cell.partition("\n\nlesson.")[0], path, "exec"), names)
    return names[name]


@pytest.fixture
def first_lesson(monkeypatch):
    def spread(answer):
        """Right."""
        wide = torch.diag(torch.tensor([6.0, 3.0, 2.0]))
        check.compare(answer, [(wide,)], lambda _: (torch.tensor(3.0), ()), returns=kinds.number)

    monkeypatch.setattr(check, "checks", lambda *_: {"e1": spread})
    return Lesson("00")


def told(shown):
    return shown[-1]["text/plain"]


def given_back(lesson, name="spread"):
    """The function that a later lesson gets, and what it says."""
    shown = []
    with mock.patch.object(output, "display", shown.append):
        function = lesson.mine(name, torch.linalg.cond)
    return function, shown[0].text


def test_what_was_built_runs_in_a_later_lesson_and_else_the_librarys_own(first_lesson, tmp_path):
    function, said = given_back(first_lesson)
    assert function is torch.linalg.cond
    assert "library's own stands in for `my_spread`" in said
    answer = typed(tmp_path / "cell.py", CELL)
    assert "is kept" in told(outputs(first_lesson.check, "00-e1", answer))
    function, said = given_back(Lesson("04"))
    assert function(torch.diag(torch.tensor([8.0, 2.0]))) == 4
    assert "your own `my_spread` runs" in said
    kept = (predict.home() / "built" / "spread.py").read_text(encoding="utf-8")
    assert "check" not in kept
    assert "sqrt" not in kept


def test_what_was_built_finds_what_the_lesson_gives_it_under_a_name(first_lesson):
    """Decorated, too: its names are not those of the decorator."""
    folder = predict.home() / "built"
    folder.mkdir(parents=True)
    step = "@torch.no_grad()\ndef my_step(D):\n    return newton_schulz(D)\n"
    (folder / "step.py").write_text(step)
    assert first_lesson.mine("step", torch.clone, newton_schulz=lambda D: "given")(1) == "given"


@pytest.mark.parametrize("cell", [CELL.replace("my_", "no_"), CELL.replace("[-1]", "[1]")])
def test_a_wrong_answer_and_one_of_another_name_are_not_kept(first_lesson, tmp_path, cell):
    name = "no_spread" if "no_" in cell else "my_spread"
    answer = typed(tmp_path / "cell.py", cell, name)
    assert len(outputs(first_lesson.check, "00-e1", answer)) == 1
    assert not (predict.home() / "built").exists()


def test_what_needs_another_cell_is_not_kept_unless_that_was_built_too(first_lesson, tmp_path):
    answer = typed(tmp_path / "cell.py", HALF, my_values=torch.linalg.svdvals)
    shown = told(outputs(first_lesson.check, "00-e1", answer))
    assert "not kept" in shown
    assert "my_values" in shown
    folder = predict.home() / "built"
    folder.mkdir(parents=True)
    (folder / "values.py").write_text("def my_values(matrix): return torch.linalg.svdvals(matrix)")
    assert "is kept" in told(outputs(first_lesson.check, "00-e1", answer))
    assert given_back(first_lesson)[0](torch.eye(2)) == 1


def test_a_function_without_a_source_and_a_full_disk_stop_nothing(
    first_lesson, tmp_path, monkeypatch
):
    answer = typed(tmp_path / "cell.py", CELL)
    monkeypatch.setattr(built, "replace_file", mock.Mock(side_effect=OSError(28, "no room")))
    assert "no room" in told(outputs(first_lesson.check, "00-e1", answer))
    exec(HALF, names := {"my_values": torch.linalg.svdvals})
    assert "not kept" in told(outputs(first_lesson.check, "00-e1", names["my_spread"]))


@pytest.mark.parametrize("damaged", ["def my_spread(:", "1 / 0", "def other(): ...", "\udcff"])
def test_a_kept_file_that_was_damaged_is_named_and_the_library_stands_in(first_lesson, damaged):
    folder = predict.home() / "built"
    folder.mkdir(parents=True)
    (folder / "spread.py").write_text(damaged, encoding="utf-8", errors="surrogateescape")
    function, said = given_back(first_lesson)
    assert function is torch.linalg.cond
    assert "spread.py" in said


def test_a_built_function_has_a_plain_name(first_lesson):
    with pytest.raises(ValueError, match="'polar'"):
        first_lesson.mine("../predictions", torch.linalg.cond)


# --- figures -----------------------------------------------------------------------------------


@pytest.mark.parametrize("alt", ["", "a plot", " " * 30])
def test_a_figure_without_a_finding_is_refused(lesson, alt):
    figure = lines([1, 2], {"a": [1, 2]}, xlabel="x", ylabel="y")
    with pytest.raises(ValueError, match="state what the figure shows"):
        lesson.show(figure, alt=alt)
    plt.close(figure)


# --- explorers and quiz ------------------------------------------------------------------------


@pytest.mark.parametrize("name", explorers.names())
def test_an_explorer_declares_its_controls_and_a_view(name):
    data = dict.fromkeys(("keys", "values"), [[0.0] * 10] * 10)  # as tenfacts needs
    explorer = explorers.Explorer(name, data if explorers.draws_data(name) else None)
    assert explorers.controls(name)
    assert "function view(" in explorer._esm
    assert explorer._esm.count("export default") == 1
    assert repr(explorer) == f"Explorer {name}"


SPREAD_OUT = """
[width]
label = 'width of the model'
min = 1
max = 8
step = 1
value = 4
[rule]
label = 'optimizer'
options = [
  'Muon',
  'AdamW',
]
value = 'Muon'
"""


def test_a_control_written_over_several_lines_and_in_single_quotes_exists(tmp_path, monkeypatch):
    (tmp_path / "own.js").write_text("function view(values) { return {}; }")
    (tmp_path / "own.toml").write_text(SPREAD_OUT)
    monkeypatch.setattr(explorers, "FOLDER", tmp_path)
    explorer = explorers.Explorer("own", width=3, rule="AdamW")
    assert explorer.values == {"width": 3, "rule": "AdamW"}
    first, rest = explorers.source("own").split(";\n", 1)
    assert json.loads(first.removeprefix("const controls = ")) == explorers.controls("own")
    assert rest.startswith("function view")


def test_explorers_start_where_the_lesson_says():
    assert explorers.Explorer("polynomial", steps=3).values == {"steps": 3}


@pytest.mark.parametrize("id", [path.stem for path in (LESSONS / "quizzes").glob("*.toml")])
def test_every_wrong_option_of_a_quiz_names_a_misconception_and_a_section(id):
    quiz = Quiz(id)
    for question in quiz.questions:
        for place, option in enumerate(question["options"]):
            wrong = {"misconception", "section"} if place != question["right"] else set()
            assert option.keys() == {"option", "because"} | wrong
    assert repr(quiz).startswith(f"Quiz {id}")


# --- texts and release -------------------------------------------------------------------------

TEXT = """# A question?

```{code-cell} ipython3
:tags: [exercise]

def double(x):
    ...  # your code


lesson.check("02-e1", double)
```

<details><summary>Solution 02-e1</summary>

```python
def double(x):
    return 2 * x
```

</details>

```{code-cell} ipython3
:tags: [hide-input]

print(1)
```
"""
START = "from muonlab.classroom import Lesson\nlesson = Lesson('02')\n"


@pytest.fixture
def text(tmp_path):
    folder = tmp_path / "lessons" / "text"
    folder.mkdir(parents=True)
    path = folder / "02-test.md"
    path.write_text(TEXT)
    return path


def test_a_text_is_read_and_solved(text):
    notebook = read(text)
    assert [cell.id for cell in notebook.cells] == ["02-000", "02-001", "02-002", "02-003"]
    assert notebook.cells[3].metadata.jupyter.source_hidden  # by its tag
    assert "jupyter" not in notebook.cells[1].metadata
    text.write_text(TEXT.replace("print(1)", 'lesson.predict("02-p1", "?", ["a", "b"])'))
    assert read(text).cells[3].metadata.jupyter.source_hidden
    solved = solve(notebook)
    assert solved.cells[1].source.startswith("def double(x):\n    return 2 * x\n")
    assert solved.cells[1].source.endswith('lesson.check("02-e1", double)')
    assert "..." in notebook.cells[1].source


def test_a_stub_without_a_solution_is_named(text):
    text.write_text(TEXT.replace("Solution 02-e1", "Solution 02-e2"))
    with pytest.raises(ValueError, match="02-e1 has no <summary>Solution"):
        solve(read(text))


def written(text):
    notebook = read(text)
    for number, cell in enumerate(c for c in notebook.cells if c.cell_type == "code"):
        cell.execution_count = number + 1
    notebook.metadata.muonlab = {"seconds": 3}
    release.write(notebook, notebook_path(text))
    return notebook_path(text)


def test_a_fresh_notebook_has_no_problem_and_each_drift_has_one(text):
    assert "missing" in check_fresh(text)[0]
    path = written(text)
    assert check_fresh(text) == []
    stored = json.loads(path.read_text())
    for change, words in (
        (lambda n: n["cells"][3].update(source="print(2)"), "02-003: differs"),
        (lambda n: n["cells"][3].update(metadata={}), "02-003: differs"),
        (lambda n: n["cells"].pop(), "has 3 cells, its text 4"),
        (lambda n: n["cells"][3].update(execution_count=7), "not run from top to bottom"),
        (lambda n: n["metadata"].pop("muonlab"), "not run from top to bottom"),
    ):
        changed = json.loads(json.dumps(stored))
        change(changed)
        path.write_text(json.dumps(changed))
        assert any(words in problem for problem in check_fresh(text)), words


def test_widgets_stored_with_older_code_are_named(text):
    path = written(text)
    stored = json.loads(path.read_text())
    model = {"state": {"_esm": explorers.module("polynomial"), "_css": Quiz._css}}
    stored["metadata"]["widgets"] = {STATE: {"state": {"02-widget-000": model}}}
    path.write_text(json.dumps(stored))
    assert check_fresh(text) == []
    model["state"]["_esm"] += "// changed"
    path.write_text(json.dumps(stored))
    assert "older code of its widgets" in check_fresh(text)[0]


def test_a_notebook_that_is_not_valid_never_replaces_a_good_one(text):
    path = written(text)
    good = path.read_bytes()
    notebook = read(text)
    notebook.cells[0].cell_type = "nonsense"
    with pytest.raises(nbformat.ValidationError):
        release.write(notebook, path)
    assert path.read_bytes() == good


def test_a_short_cell_of_a_table_is_never_broken_and_a_sentence_keeps_a_width():
    page = output.Table(
        ("claim", "sentence"), [("15-c15", "Muon on V and O wins, and " * 3)]
    ).html()
    assert re.search(r'<td style="[^"]*white-space:nowrap">15-c15<', page)
    assert re.search(r'<td style="[^"]*min-width:12em">Muon', page)


def test_prints_that_follow_each_other_are_stored_as_one(text):
    notebook = read(text)
    sent = [("stdout", "a\n"), ("stderr", "50 %"), ("stdout", "b\n")]
    notebook.cells[3].outputs = [
        *(nbformat.v4.new_output("stream", name=name, text=words) for name, words in sent),
        nbformat.v4.new_output("display_data", data={"text/plain": "x"}),
        nbformat.v4.new_output("stream", text="c"),
    ]
    stored = release.clean(notebook, "02", 3).cells[3].outputs
    assert [output.get("text") for output in stored] == ["a\nb\n", None, "c"]


def test_cleaning_renumbers_widgets_and_drops_progress_and_times(text):
    model = "0123456789abcdef0123456789abcdef"
    notebook = read(text)
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": model}, "text/plain": "x"}
    notebook.cells[3].outputs = [
        nbformat.v4.new_output("stream", name="stderr", text="50 %"),
        nbformat.v4.new_output("display_data", data=view),
    ]
    notebook.cells[3].metadata["execution"] = {"iopub.execute_input": "now"}
    notebook.metadata["widgets"] = {STATE: {"state": {model: {"layout": model}}}}
    text_of = nbformat.writes(release.clean(notebook, "02", 3))
    assert model not in text_of
    assert text_of.count("02-widget-000") == 3
    assert "50 %" not in text_of
    assert "execute_input" not in text_of


def test_a_failing_cell_is_named_and_the_old_notebook_stays(text, monkeypatch, capsys):
    text.write_text(TEXT.replace("print(1)", 'raise RuntimeError("deliberate")'))
    old = written(text).read_bytes()
    monkeypatch.setattr(release, "LESSONS", text.parent.parent)
    text.write_text(
        text.read_text().replace("def double(x):\n    ...", START + "def double(x):\n    ...")
    )
    assert release.main(["02"]) == 1
    said = capsys.readouterr().err
    assert "02-test, cell 02-003" in said
    assert "deliberate" in said
    assert "\x1b" not in said
    assert notebook_path(text).read_bytes() == old
    with pytest.raises(FileNotFoundError, match=r"no lesson \['77'\]"):
        release.main(["77"])


def test_the_rows_of_table_1_are_the_same_in_python_and_in_the_page():
    row = next(control for control in explorers.controls("table1") if control["name"] == "row")
    assert row["options"] == ROW_NAMES
