"""The texts of the lessons: solved, and compared with the notebooks that are stored."""

import copy
import re
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from muonlab.classroom import explore
from muonlab.classroom.predict import Prediction
from muonlab.classroom.quiz import Quiz
from muonlab.classroom.widget import Widget
from muonlab.notebooks import STATE, notebook_path, read

SOLUTION = re.compile(
    r"<summary>Solution (\d\d-e\d+)</summary>\s*```python\n(.*?)```\s*</details>", re.DOTALL
)
CHECK = re.compile(r'^lesson\.check\("(\d\d-e\d+)"', re.MULTILINE)


def solutions(notebook: NotebookNode) -> dict[str, str]:
    """Returns the code of each solution in the lesson's text, by exercise id."""
    words = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    return {id: code.rstrip() for id, code in SOLUTION.findall(words)}


def stubs(notebook: NotebookNode) -> dict[str, NotebookNode]:
    """Returns the exercise cells by exercise id."""
    cells = [c for c in notebook.cells if "exercise" in c.metadata.get("tags", [])]
    return {_call(cell).group(1): cell for cell in cells}


def _call(cell: NotebookNode) -> re.Match[str]:
    if found := CHECK.search(cell.source):
        return found
    raise ValueError(f"cell {cell.id} is tagged exercise and calls no lesson.check: {cell.source}")


def solve(notebook: NotebookNode) -> NotebookNode:
    """Returns a copy in which each exercise's stub is replaced by the lesson's own solution."""
    solved = copy.deepcopy(notebook)
    answers = solutions(notebook)
    for id, cell in stubs(solved).items():
        if id not in answers:
            raise ValueError(f"exercise {id} has no <summary>Solution {id}</summary> in the text")
        rest = cell.source[_call(cell).start() :]
        cell.source = f"{answers[id]}\n\n\n{rest}"
    return solved


def check_fresh(text: Path) -> list[str]:
    """Returns how a stored notebook differs from its text, or was not run; empty when fresh."""
    path = notebook_path(text)
    if not path.exists():
        return [f"{path.name} is missing: run `make lessons`"]
    wanted, stored = read(text), nbformat.read(path, as_version=4)
    problems = [
        f"{path.name}, cell {a.id}: differs from the text; run `make lessons`"
        for a, b in zip(wanted.cells, stored.cells, strict=False)
        if (a.id, a.cell_type, a.source, a.metadata) != (b.id, b.cell_type, b.source, b.metadata)
    ]
    if len(wanted.cells) != len(stored.cells):
        problems.append(f"{path.name} has {len(stored.cells)} cells, its text {len(wanted.cells)}")
    return problems + _unrun(path.name, stored) + _old_widgets(path.name, stored)


def _old_widgets(name: str, notebook: NotebookNode) -> list[str]:
    """A notebook stores the code of its widgets: readers see that, not what changed since."""
    current = {Prediction._esm, Quiz._esm, *map(explore.module, explore.names())}
    models = notebook.metadata.get("widgets", {}).get(STATE, {}).get("state", {}).values()
    stored = [model["state"] for model in models if "_esm" in model["state"]]
    if all(s["_esm"] in current and s["_css"] == Widget._css for s in stored):
        return []
    return [f"{name} holds older code of its widgets: run `make lessons`"]


def _unrun(name: str, notebook: NotebookNode) -> list[str]:
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    problems = [
        f"{name}, cell {cell.id}: stored error output"
        for cell in code
        if any(output.output_type == "error" for output in cell.outputs)
    ]
    counts = [cell.execution_count for cell in code]
    if counts != list(range(1, len(code) + 1)) or "muonlab" not in notebook.metadata:
        problems.append(f"{name} was not run from top to bottom: run `make lessons`")
    return problems
