"""A lesson as students get it, without solutions, and as its teacher does, with notes."""

import posixpath
import re
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from muonlab.classroom.exercise import judge
from muonlab.classroom.quiz import questions
from muonlab.files import course
from muonlab.notebooks import HAPPENED, notebook_path, outcomes, read, released, texts
from muonlab.teaching.variants import answers, book_tasks

SOLVED = re.compile(r"<details>\s*<summary>Solution \d\d-e\d+</summary>.*?</details>\s*", re.DOTALL)
CHECKED = re.compile(r'^lesson\.check\("(\d\d-e\d+)"', re.MULTILINE)
LINKED = re.compile(r"\[([^]]+)\]\(((?:\.\./)?[\w/-]+\.(?:ipynb|md))[^)]*\)")  # in the course
ASKED = re.compile(r'lesson\.predict\(\s*"(\d\d-p\d+)"')
SPLIT = (
    "**When the class splits.** Count the hands for each option and write the numbers on the "
    "board. Say nothing yet. One of each side says what would have to be true for their option. "
    "Let them vote again, then run the cells. Ask those who changed: what convinced you?"
)
TRIED = re.compile(r"(?<=^Try `)\w+")  # the name of the answer: students see the exercise's
FITS = 300  # characters of an example


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
        for id in ASKED.findall(cell.source):
            outcome = happened.get(id, "")
            notes.append(f"**For the teacher: prediction {id}.** {outcome}\n\n{SPLIT}")
        notes += [_quiz(lesson)] if "lesson.quiz()" in cell.source else []
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
    asked = book_tasks(id[:2])[id]
    lines = [
        f"**For the teacher: exercise {id}.** Expected: {asked.minutes} minutes, {asked.level}. "
        "The solution is folded below. Typical wrong answers, and what to ask:",
        "",
    ]
    mutants = course() / "tests" / "mutants" / f"lesson_{id[:2]}.py"
    if mutants.is_file():  # not in the archive for readers
        for name, answer in answers(mutants.read_text(encoding="utf-8"), asked, "wrong").items():
            verdict = judge(id, answer)
            tried = TRIED.sub(asked.name, verdict.example) if len(verdict.example) <= FITS else ""
            lines.append(f"- *{name}*. The check says: {verdict.message} {tried}".rstrip())
        lines += ["", "Ask: how could you have found this without the check?"]
    return "\n".join(lines)


def _quiz(lesson: str) -> str:
    lines = ["**For the teacher: quiz.** What a wrong option says about a learner, what to ask."]
    for number, question in enumerate(questions(lesson), start=1):
        right = question["options"][question["right"]]["option"]
        lines += ["", f"{number}. {question['text']} Right: **{right}**", ""]
        for option in question["options"]:
            if "misconception" in option:
                lines.append(
                    f"   - *{option['option']}*: believes “{option['misconception']}”. Ask: what "
                    f"in the section “{option['section']}” speaks against it? {option['because']}"
                )
    return "\n".join(lines)
