"""The text of a lesson, read as a notebook."""

from collections.abc import Sequence
from pathlib import Path

import jupytext
from nbformat import NotebookNode

from muonlab.classroom.claims import EVIDENCE
from muonlab.publishing.fold import folds

STATE = "application/vnd.jupyter.widget-state+json"


def texts(folder: Path, ids: Sequence[str] = ()) -> list[Path]:
    """Returns the texts of all lessons, or of `ids`, as "04" or "race", which is evidence.

    FileNotFoundError names what is missing.
    """
    lessons = {path.name[:2]: path for path in sorted(folder.glob("text/[0-9][0-9]-*.md"))}
    path_of = lessons | {path.stem: path for path in evidence_texts(folder)}
    if missing := [id for id in ids if id not in path_of]:
        raise FileNotFoundError(f"no lesson {missing} in {folder}/text; there are {list(path_of)}")
    return [path_of[id] for id in ids or lessons]


def evidence_texts(folder: Path) -> list[Path]:
    """Returns the texts of the pages of evidence, by name."""
    return sorted(folder.glob(f"text/{EVIDENCE}/*.md"))


def notebook_path(text: Path) -> Path:
    """Returns where the executed notebook of a text lies: beside the folder `text`."""
    if text.parent.name == EVIDENCE:
        return text.parents[2] / EVIDENCE / f"{text.stem}.ipynb"
    return text.parents[1] / f"{text.stem}.ipynb"


def page_id(text: Path) -> str:
    """Returns what the ids of a page's cells begin with: "04", or the name of evidence."""
    return text.stem if text.parent.name == EVIDENCE else text.name[:2]


def read(text: Path) -> NotebookNode:
    """Returns the notebook of a MyST text, without outputs; code that asks or shows is folded."""
    notebook = jupytext.read(text, fmt="md:myst")
    for number, cell in enumerate(notebook.cells):
        tags = cell.metadata.get("tags", [])
        cell.id = f"{page_id(text)}-{number:03d}"
        cell.metadata = NotebookNode({"tags": tags} if tags else {})
        if cell.cell_type == "code" and folds(cell.source, tags):
            cell.metadata["jupyter"] = {"source_hidden": True}
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata = NotebookNode(kernelspec=kernel, language_info={"name": "python"})
    return notebook
