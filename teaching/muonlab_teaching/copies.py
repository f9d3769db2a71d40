"""A lesson as students get it, without solutions, and as its teacher does, with notes."""

import posixpath
import re
from pathlib import Path
from typing import Any

import jinja2
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from muonlab.classroom.exercise import judge_answer
from muonlab.classroom.quiz import questions
from muonlab.files import course
from muonlab.notebooks import HAPPENED, notebook_path, outcomes, read, released, texts
from muonlab_teaching.variants import book_tasks, stored_answers

SOLVED = re.compile(r"<details>\s*<summary>Solution \d\d-e\d+</summary>.*?</details>\s*", re.DOTALL)
CHECKED = re.compile(r'^lesson\.check\("(\d\d-e\d+)"', re.MULTILINE)
LINKED = re.compile(r"\[([^]]+)\]\(((?:\.\./)?[\w/-]+\.(?:ipynb|md))[^)]*\)")  # in the course
ASKED = re.compile(r'lesson\.predict\(\s*"(\d\d-p\d+)"')
TRIED = re.compile(r"(?<=^Try `)\w+")  # the name of the answer: students see the exercise's
FITS = 300  # characters of an example
WORDS: Any = jinja2.Template((Path(__file__).parent / "words.md").read_text("utf-8")).module


def student(lesson: str) -> NotebookNode:
    """Returns a lesson's notebook without the solutions of its exercises, and without outputs."""
    notebook = _lesson(lesson)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = SOLVED.sub("", cell.source).strip()
    notebook.cells = [cell for cell in notebook.cells if cell.source]
    return notebook


def teacher(lesson: str) -> NotebookNode:
    """Returns a lesson's notebook with its solutions, and a note below all that it asks.

    What happened after a prediction is read from the stored notebook of the lesson.
    """
    notebook = _lesson(lesson)
    stored = released(notebook_path(_text(lesson)))
    happened = {id: HAPPENED + said.replace("<", "&lt;") for id, said in outcomes(stored).items()}
    cells: list[NotebookNode] = []
    for cell in notebook.cells:
        cells.append(cell)
        if cell.cell_type != "code":
            continue
        notes = [_exercise(id) for id in CHECKED.findall(cell.source)]
        asked = ASKED.findall(cell.source)
        notes += [WORDS.prediction(id, happened.get(id, "")) for id in asked]
        notes += [WORDS.quiz(questions(lesson))] if "lesson.quiz()" in cell.source else []
        for number, note in enumerate(notes):
            text = "\n".join(f"> {line}".rstrip() for line in note.splitlines())
            cells.append(new_markdown_cell(text, id=f"{cell.id}-note-{number}"))
    notebook.cells = cells
    return notebook


def _text(lesson: str) -> Path:
    return texts(course() / "lessons", [lesson])[0]


def _lesson(lesson: str) -> NotebookNode:
    """Returns the notebook; a link to a file of the course is a path: the copy stands elsewhere."""
    notebook = read(_text(lesson))
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = LINKED.sub(_path, cell.source)
    return notebook


def _path(link: re.Match[str]) -> str:
    return f"{link[1]} (in the course: `{posixpath.normpath(f'lessons/{link[2]}')}`)"


def _exercise(id: str) -> str:
    asked, wrong = book_tasks(id[:2])[id], {}
    mutants = course() / "tests" / "mutants" / f"lesson_{id[:2]}.py"
    if mutants.is_file():  # not in the archive for readers
        for name, answer in stored_answers(
            mutants.read_text(encoding="utf-8"), asked, "wrong"
        ).items():
            verdict = judge_answer(id, answer)
            tried = TRIED.sub(asked.name, verdict.example) if len(verdict.example) <= FITS else ""
            wrong[name] = f"{verdict.message} {tried}"
    return str(WORDS.exercise(asked, wrong))
