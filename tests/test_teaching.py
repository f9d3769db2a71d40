"""What a teacher exports, and the grades that nbgrader gives: tests/test_variants.py has the rest."""

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from muonlab.cli import main
from muonlab.files import course
from muonlab.teaching.export import assignment
from muonlab.teaching.variants import BY_A_PERSON, answers, book_tasks, task

MUTANTS = course() / "tests" / "mutants"
PATCH = """
import builtins, json, multiprocessing, subprocess, sys
import torch
import muonlab.classroom.asking as asking, muonlab.classroom.exercise as exercise
import muonlab.classroom.kinds as kinds, muonlab.teaching.grading as grading
import muonlab.teaching.variants as variants

right = exercise.Verdict("x", "right", "")
exercise.judge = variants.judge = lambda *given, **named: right
variants.Task.judge = lambda task, answer: right
exercise.compare = kinds.equal = exercise.equal = lambda *given, **named: True
grading.grade = grading.verdict = lambda *given, **named: right
asking.unpatched = exercise.unpatched = lambda: None
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
    if kind == "right":
        return asked.code
    if kind == "patching":
        return PATCH.replace("{name}", asked.name)
    if kind == "endless":
        return f"def {asked.name}(*given, **named):\n    while True:\n        pass"
    return (  # a stored wrong answer, as one to this variant
        "from pathlib import Path\nfrom muonlab.teaching.variants import answers, task, templates\n"
        f"asked = task({asked.exercise!r}, SEED)\n"
        f"found = list(answers(Path({mutants!r}).read_text(), asked, {kind!r}).values())\n"
        f"{asked.name} = found[{number} % len(found)]"
    )


def hand_in(folder, name, student, kind, number, seed):
    notebook = nbformat.read(folder / "release" / name / f"{name}.ipynb", as_version=4)
    for cell in notebook.cells:
        id = cell.metadata.nbgrader.grade_id
        if cell.metadata.nbgrader.solution and id not in BY_A_PERSON and kind != "blank":
            cell.source = f"SEED = {seed!r}\n" + written(kind, task(id, seed), number)
    place = folder / "submitted" / student / name
    place.mkdir(parents=True)
    nbformat.write(notebook, place / f"{name}.ipynb")


def most_wrong(lesson, seed):
    """How many stored wrong answers the exercise of a lesson with the most has."""
    source = (MUTANTS / f"lesson_{lesson}.py").read_text()
    return max(len(answers(source, task(id, seed), "wrong")) for id in book_tasks(lesson))


def nbgrader(folder, *words):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    strict = {"TRAITLETS_APPLICATION_RAISE_CONFIG_FILE_ERROR": "1", "PATH": path}
    env = {**os.environ, **strict}
    command = [sys.executable, "-m", "nbgrader", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stderr


def graded(folder, lesson, seed, wrong):
    """Points by student and exercise, after nbgrader has graded each kind of learner."""
    name = assignment(lesson, seed)
    kinds = {"blank": 0, "right": 0, "patching": 0, "endless": 0}
    hands = [(kind, kind, 0) for kind in kinds]
    hands += [(f"wrong-{number}", "wrong", number) for number in range(wrong)]
    for student, kind, number in hands:
        hand_in(folder, name, student, kind, number, seed)
    nbgrader(folder, "autograde", name, "--GradeApart.seconds=2", "--create")
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
    """Fails unless the right learner gets all points, and any other none."""
    points = {id: t.minutes for id, t in book_tasks(lesson).items() if id not in BY_A_PERSON}
    assert scores.pop("right") == points
    for student, found in scores.items():
        assert found == dict.fromkeys(points, 0), student


LESSONS = [f"{n:02d}" for n in range(17)]


@pytest.mark.parametrize(
    "lesson", [pytest.param(n, marks=() if n == "02" else pytest.mark.slow) for n in LESSONS]
)
def test_nbgrader_gives_what_each_submission_deserves(lesson, tmp_path):
    assert main(["teach", "export", "--lessons", lesson, "--to", str(tmp_path), "--seed", "a"]) == 0
    wrong = 1 if lesson == "02" else most_wrong(lesson, "a")
    deserved(graded(tmp_path, lesson, "a", wrong), lesson, "a")
