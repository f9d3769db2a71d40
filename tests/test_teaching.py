"""What a teacher exports, and the grades that nbgrader gives."""

import os
import re
import subprocess
import sys
import tomllib
from copy import deepcopy
from decimal import Decimal
from fractions import Fraction
from functools import cache

import nbformat
import pytest
import torch
from nbgrader.api import Gradebook

from muonlab import cli
from muonlab.cli import main
from muonlab.files import course
from muonlab.notebooks import texts
from muonlab_teaching import collected, export, grading, learner_process, variants
from muonlab_teaching.apart import GradeApart, PutRight
from muonlab_teaching.export import assignment
from muonlab_teaching.variants import BY_A_PERSON, book_tasks, stored_answers, task

MUTANTS = course() / "tests" / "mutants"
TASKS_02 = {id: task(id, "a") for id in book_tasks("02")}
DESERVING = ("right", "copied", "unmarked")
KINDS = ("blank", "patching", "endless", *DESERVING)
PATCH = """
import builtins, json, multiprocessing, subprocess, sys
import torch
import muonlab.classroom.guarded as guarded, muonlab.classroom.exercise as exercise
import muonlab.classroom.kinds as kinds, muonlab_teaching.grading as grading
import muonlab_teaching.variants as variants

right = exercise.Verdict("x", "right", "")
exercise.judge_answer = variants.judge_answer = lambda *given, **named: right
variants.ClassTask.judge = lambda task, answer: right
exercise.compare = kinds.equal = exercise.equal = lambda *given, **named: True
grading.grade = grading.verdicts = lambda *given, **named: right
torch.equal = torch.allclose = lambda *given, **named: True
subprocess.run = subprocess.Popen = lambda *given, **named: None

class Anything(float):
    __eq__ = __lt__ = __gt__ = __le__ = __ge__ = lambda self, other: True
    __hash__ = float.__hash__

def {name}(*given, **named):
    return Anything(1)
"""


def written(kind, asked, number):
    """The cell that a learner of that kind hands in."""
    mutants = str(MUTANTS / f"lesson_{asked.exercise[:2]}.py")
    if kind in DESERVING:
        return asked.code
    if kind == "patching":
        return PATCH.replace("{name}", asked.name)
    if kind == "endless":
        return f"def {asked.name}(*given, **named):\n    while True:\n        pass"
    return (  # a stored wrong answer, as one to this variant
        "from pathlib import Path\nfrom muonlab_teaching.variants import stored_answers, task\n"
        f"asked = task({asked.exercise!r}, SEED)\n"
        f"found = list(stored_answers(Path({mutants!r}).read_text(), asked, {kind!r}).values())\n"
        f"{asked.name} = found[{number} % len(found)]"
    )


def hand_in(folder, name, student, kind, number, seed):
    notebook = nbformat.read(folder / "release" / name / f"{name}.ipynb", as_version=4)
    for cell in list(notebook.cells):
        id, handed_out = cell.metadata.nbgrader.grade_id, cell.source
        if cell.metadata.nbgrader.solution and id not in BY_A_PERSON and kind != "blank":
            cell.source = f"SEED = {seed!r}\n" + written(kind, task(id, seed), number)
            if kind == "copied":  # with its marks, as JupyterLab does; the copy is the answer
                copy = nbformat.from_dict({**cell, "source": handed_out, "id": f"a-{cell.id}"})
                notebook.cells.insert(notebook.cells.index(cell), copy)
        if kind == "unmarked":
            cell.metadata.nbgrader.schema_version = 1
            if cell.metadata.nbgrader.grade and cell.metadata.nbgrader.locked:
                notebook.cells.remove(cell)
    place = folder / "submitted" / student / name
    place.mkdir(parents=True)
    nbformat.write(notebook, place / f"{name}.ipynb")


def most_wrong(lesson, seed):
    """How many stored wrong answers the exercise of a lesson with the most has."""
    source = (MUTANTS / f"lesson_{lesson}.py").read_text()
    return max(len(stored_answers(source, task(id, seed), "wrong")) for id in book_tasks(lesson))


def graded(folder, lesson, seed, kinds, wrong):
    """Points by student and exercise, after nbgrader has graded each of these kinds of learners."""
    name = assignment(lesson, seed)
    hands = [(kind, kind, 0) for kind in kinds]
    hands += [(f"wrong-{number}", "wrong", number) for number in range(wrong)]
    for student, kind, number in hands:
        hand_in(folder, name, student, kind, number, seed)
    export._nbgrader(folder, "autograde", name, "--GradeApart.seconds=1", "--create")
    with Gradebook(f"sqlite:///{folder}/gradebook.db") as book:
        return {
            student: {
                grade.name.removesuffix("-test"): grade.auto_score
                for notebook in book.find_submission(name, student).notebooks
                for grade in notebook.grades
                if grade.name not in BY_A_PERSON
            }
            for student, _, _ in hands
        }


def deserved(scores, lesson, seed):
    """Fails unless who hands in right answers gets all points, and any other none."""
    points = {id: t.minutes for id, t in book_tasks(lesson).items() if id not in BY_A_PERSON}
    assert scores.keys() & DESERVING
    for kind in scores.keys() & DESERVING:
        assert scores.pop(kind) == points, kind
    for student, found in scores.items():
        assert found == dict.fromkeys(points, 0), student


@pytest.mark.parametrize("linked", ["submitted/eve/00-a/00-a.ipynb", "submitted/eve/00-a"])
def test_a_link_is_nobodys_work(linked, tmp_path):
    theirs = tmp_path / "submitted" / "ada" / "00-a" / "00-a.ipynb"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("{}")
    link = tmp_path / linked
    link.parent.mkdir(parents=True)
    link.symlink_to(theirs if link.suffix else theirs.parent)
    names = {"student": "eve", "assignment": "00-a", "notebook": "00-a"}
    at = {"nbgrader": names, "metadata": {"path": str(tmp_path / "submitted/eve/00-a")}}
    with pytest.raises(ValueError, match="is a link: ask for the notebook itself"):
        PutRight().preprocess(nbformat.v4.new_notebook(), at)


@cache
def exercises_02():
    return export.exercises_notebook("02", TASKS_02, "a")


def test_a_hand_in_sends_a_fraction_as_the_number_that_a_notebook_takes_it_for():
    for value, number in ((Fraction(1, 2), 0.5), (Decimal("0.5"), 0.5), ([Fraction(1, 2)], [0.5])):
        said, _, failed, *_ = learner_process._answered(lambda v=value: v, "()", False, False)
        assert (said, failed) == (number, "")


def test_a_cell_before_the_answer_stops_nothing_and_what_it_sets_stays_set():
    cells = ["raise NotImplementedError", "torch.set_default_dtype(torch.float64)", "def f(): ..."]
    try:
        assert learner_process._function("f", cells, {"torch": torch}).__name__ == "f"
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_a_helper_may_stand_right_below_its_exercise():
    notebook = deepcopy(exercises_02())
    cells = [cell.metadata.nbgrader.grade_id for cell in notebook.cells]
    below = nbformat.v4.new_code_cell("helper = 1")
    notebook.cells.insert(cells.index("02-e1") + 1, below)
    assert grading.written(notebook, "02-e1") == [TASKS_02["02-e1"].code, "helper = 1"]
    assert grading.written(notebook, "02-e3")[-1] == TASKS_02["02-e3"].code
    unmarked = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    assert {*grading.written(notebook, "02-e9")} <= {*unmarked}


LESSONS = [path.name[:2] for path in texts(course() / "lessons")]


@pytest.mark.parametrize(
    "lesson",
    [
        pytest.param(n, marks=getattr(pytest.mark, "slow" if n > "00" else "processes"))
        for n in LESSONS
    ],
)
def test_nbgrader_gives_what_each_submission_deserves(lesson, tmp_path):
    assert main(["teach", "export", "--lessons", lesson, "--to", str(tmp_path), "--seed", "a"]) == 0
    kinds, wrong = KINDS, most_wrong(lesson, "a")
    if lesson == "00":  # for each change; each hand-in takes seconds
        kinds, wrong = ("patching", "unmarked"), 0
    deserved(graded(tmp_path, lesson, "a", kinds, wrong), lesson, "a")


@pytest.mark.slow
def test_where_no_process_begins_nbgrader_gives_no_points(tmp_path):
    assert main(["teach", "export", "--lessons", "00", "--to", str(tmp_path), "--seed", "a"]) == 0
    hand_in(tmp_path, "00-a", "ada", "right", 0, "a")
    broken = tmp_path / "bin" / "bwrap"  # it contains what says nothing, and begins nothing else
    broken.parent.mkdir()
    broken.write_text('#!/bin/sh\nfor last; do :; done\ntest -z "$last"\n', encoding="utf-8")
    broken.chmod(0o755)
    command = [sys.executable, "-m", "nbgrader", "autograde", "00-a", "--create"]
    env = {**os.environ, "PATH": f"{broken.parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=env)
    assert done.returncode != 0
    assert "RuntimeError: no process began that could run an answer" in done.stderr
    assert re.search("error processing assignment: .*submitted/ada/00-a", done.stderr)
    assert not (tmp_path / "autograded" / "ada" / "00-a").exists()  # so it is graded again
    with Gradebook(f"sqlite:///{tmp_path}/gradebook.db") as book:
        [notebook] = book.find_submission("00-a", "ada").notebooks
        assert {grade.auto_score for grade in notebook.grades} == {None}


def tree(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def no_nbgrader(monkeypatch):
    """An export as far as nbgrader's own part: the release."""
    monkeypatch.setattr(export, "_nbgrader", lambda folder, *words: None)


def refused(capsys, folder, *words):
    """Calls the export of lesson 00, which must fail; returns what it said."""
    capsys.readouterr()
    assert main(["teach", "export", "--lessons", "00", "--to", str(folder), *words]) == 2
    return capsys.readouterr().err


def test_a_seed_used_before_a_changed_copy_and_other_things_are_left_alone(
    no_nbgrader, tmp_path, capsys
):
    made, other = tmp_path / "course", tmp_path / "other"
    exported = ["teach", "export", "--lessons", "00", "--to", str(made)]
    assert main([*exported, "--seed", "a"]) == 0
    before = tree(tmp_path)
    assert "assignment 00-a was made in" in refused(capsys, made, "--seed", "a")
    assert tree(tmp_path) == before
    assert main(exported) == 0
    assert before.items() <= tree(tmp_path).items()
    assert "assignment 00 was made in" in refused(capsys, made)
    copy = next((made / "teacher").iterdir())
    copy.write_text("my notes")
    assert "differs" in refused(capsys, made, "--seed", "c")
    assert copy.read_text() == "my notes"
    other.mkdir()
    (other / "thesis.txt").write_text("mine")
    for place in (other, other / "thesis.txt"):
        assert "holds other things" in refused(capsys, place)
    assert tree(other) == {other / "thesis.txt": b"mine"}


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("00 (1).ipynb", b'{"cells": []}', "rename it 00.ipynb"),
        ("00.ipynb", b'\xef\xbb\xbf{"cells": []}', "BOM"),
        ("00.ipynb", b'<<<<<<< HEAD\n{"cells": []}', "JSONDecodeError"),
        ("00.ipynb", b"[]", "TypeError"),
        ("00.ipynb", b'{"cells": ["\\ud800"]}', "surrogates not allowed"),
        ("00.ipynb", b'{"cells": []}', None),
    ],
)
def test_what_nbgrader_cannot_read_is_said_in_a_line(name, content, words, tmp_path, capsys):
    place = tmp_path / "ada" / "00"
    place.mkdir(parents=True)
    (place / name).write_bytes(content)
    for _ in range(3):  # as nbgrader does
        collected.name_unreadable(tmp_path)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == (words is not None)
    assert all(words in line and name in line for line in lines)


DRESSED = {  # ways in which students dress a cell that lesson.check calls right
    "timed, kept": "{}\nt = %timeit -o -n1 -r1 len('x')",
    "asked about": "{}\nprint?",
    "files listed": "{}\nfiles = !ls",
    "awaited": "{}\nimport asyncio\nawait asyncio.sleep(0.001)",
    "timed": "%%time\n{}",
    "quiet": "%%capture seen\n{}",
    "a line timed": "%time one = 1\n{}\nassert one == 1",
    "magics": "%matplotlib inline\n{}\n%timeit -n1 -r1 1 + 1",
    "the shell itself": "get_ipython().run_line_magic('matplotlib', 'inline')\n{}",
    "shown": "{}\ndisplay(1)",
    "compiled": "@torch.compile\n{}",
}


@pytest.mark.processes
def test_a_folder_that_was_exported_by_an_older_version_is_graded(tmp_path):
    assert main(["teach", "export", "--lessons", "00", "--to", str(tmp_path)]) == 0
    for file in (tmp_path / "nbgrader_config.py", *tmp_path.glob("source/*/*.ipynb")):
        text = file.read_text(encoding="utf-8")
        assert "muonlab_teaching" in text
        file.write_text(text.replace("muonlab_teaching", "muonlab.teaching"), encoding="utf-8")
    deserved(graded(tmp_path, "00", None, ["unmarked"], 0), "00", None)


@pytest.mark.parametrize("words", [[], ["class", "folder", "--out", "page.html"]])
def test_where_the_package_of_teachers_is_not_installed_the_verb_says_so(
    monkeypatch, capsys, words
):
    monkeypatch.setattr(cli, "find_spec", lambda name: None)
    assert main(["teach", *words]) == 2
    assert "muonlab-teaching has it: pip install its wheel" in capsys.readouterr().err


def test_the_package_of_teachers_goes_with_the_course_of_its_version():
    ours, theirs = (
        tomllib.loads((course() / folder / "pyproject.toml").read_text("utf-8"))["project"]
        for folder in (".", "teaching")
    )
    assert ours["version"] == theirs["version"]
    assert {f"muonlab=={ours['version']}", *ours["optional-dependencies"]["grading"]} == {
        *theirs["dependencies"]
    }


def test_a_lesson_without_exercises_is_named(monkeypatch):
    empty = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("lesson = start('00')")])
    monkeypatch.setattr(variants, "read", lambda text: empty)
    with pytest.raises(ValueError, match="lesson 00 has no exercises"):
        book_tasks.__wrapped__("00")


def test_without_nbgrader_nothing_is_written(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(export.importlib.util, "find_spec", lambda name: None)
    assert "nbgrader is missing" in refused(capsys, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_what_nbgrader_cannot_do_leaves_no_half_assignment(monkeypatch, tmp_path):
    def fails(folder, *words):
        raise ChildProcessError("nbgrader failed")

    monkeypatch.setattr(export, "_nbgrader", fails)
    with pytest.raises(ChildProcessError):
        list(export.export(["00"], tmp_path / "new", "a"))
    assert list((tmp_path / "new" / "source").iterdir()) == []


def test_a_source_has_set_up_answers_and_tests_apart():
    cells, tasks = exercises_02().cells, TASKS_02
    ids = [cell.metadata.nbgrader.grade_id for cell in cells]
    assert ids[:5] == ["02-start", "02-setup", "02-e1-text", "02-e1", "02-e1-test"]
    for cell in cells:
        mark = cell.metadata.nbgrader
        assert (mark.solution and not mark.grade) == (mark.grade_id in tasks)
        assert mark.grade == mark.grade_id.endswith("-test") == ("grade(" in cell.source)
        assert mark.locked == (mark.grade_id not in tasks)
        assert not mark.grade or mark.points == tasks[mark.grade_id[:-5]].minutes
    assert not any("train_step" in cell.source for cell in cells)


def test_a_study_of_ones_own_is_graded_by_a_person():
    tasks = {"16-e4": task("16-e4", "a")}
    *_, last = export.exercises_notebook("16", tasks, "a").cells
    assert last.metadata.nbgrader.grade_id == "16-e4"
    assert last.metadata.nbgrader.points == tasks["16-e4"].minutes


def test_where_a_kernel_would_grade_nobody_is_graded():
    """A hand-in could patch the grader there."""
    hidden = export.hidden("00-e2", "a")
    with pytest.raises(RuntimeError, match="00-e2 is not graded"):
        exec(hidden, {})
    own = nbformat.v4.new_code_cell("assert f(1)", metadata=own_marks("f-test"))
    ours = nbformat.v4.new_code_cell(hidden, metadata=own_marks("00-e2-test"))
    with pytest.raises(ValueError, match="put them in another notebook"):
        GradeApart().preprocess(nbformat.v4.new_notebook(cells=[own, ours]), {})


def own_marks(id):
    return {"nbgrader": {"grade": True, "solution": False, "grade_id": id}}


WRONG = {
    "def stretched(G):\n    ...": "Write your code in place of the dots",
    "def stretched(G) return 1": "no function `stretched`.* cannot be read",
    "%matplotlib inline\n1 / 0": "no function `stretched`.*ZeroDivisionError",
    "%time 1\ndef stretched(G):\n    return 1 / 0": "ZeroDivisionError",
    "import os\nos._exit(0)": "ended the program",
}
DOUBTFUL = """
import muonlab
right = {name}

def {name}(*given):
    {does}
    return right(*given)
"""
HOW = {  # what is seen where a hand-in runs, and judged here
    "02-e1": ("muonlab.polar(torch.eye(2))", "`muonlab.polar` made it"),
    "02-e3": ("torch.ones(99, 99) @ torch.ones(99, 99)", "times the operations needed"),
}


@pytest.fixture(scope="module")
def judged():
    """The verdicts on what is handed in below, in order; to start a process takes seconds."""
    tasks = [task(id, "a") for lesson in LESSONS for id in book_tasks(lesson)]
    step, stretched = task("02-e1"), task("00-e2", "a")
    handed_in = {
        "right": [(t, [t.code]) for t in tasks if t.exercise not in BY_A_PERSON],
        "dressed": [(step, [dress.format(step.code)]) for dress in DRESSED.values()],
        "how": [
            (t, [t.code, DOUBTFUL.format(name=t.name, does=HOW[t.exercise][0])])
            for t in map(task, HOW)
        ],
        "wrong": [(stretched, [source]) for source in WRONG],
    }
    verdicts = iter(grading.verdicts([pair for pairs in handed_in.values() for pair in pairs]))
    return {kind: [next(verdicts) for _ in pairs] for kind, pairs in handed_in.items()}


@pytest.mark.processes
def test_every_solution_is_right_where_hand_ins_run_and_a_dressed_one(judged):
    """Also what is changed in place, what is in double precision, and what counts operations."""
    assert [v for v in judged["right"] + judged["dressed"] if v.status != "right"] == []


@pytest.mark.processes
def test_a_wrong_answer_is_told_what_is_wrong_where_hand_ins_run(judged):
    for words, verdict in zip(WRONG.values(), judged["wrong"], strict=True):
        assert verdict.status != "right"
        assert re.search(words, verdict.message)


@pytest.mark.processes
def test_how_a_result_came_about_is_seen_there_and_judged_here(judged):
    for (_, words), verdict in zip(HOW.values(), judged["how"], strict=True):
        assert words in verdict.message
