"""The text of a lesson, read as a notebook."""

from collections.abc import Sequence
from pathlib import Path

import jupytext
from nbformat import NotebookNode

from muonlab.publishing.fold import folds

STATE = "application/vnd.jupyter.widget-state+json"


def texts(folder: Path, ids: Sequence[str] = ()) -> list[Path]:
    """Returns the lesson texts, all or those of `ids`; FileNotFoundError names what is missing."""
    found = {path.name[:2]: path for path in sorted(folder.glob("text/[0-9][0-9]-*.md"))}
    if missing := [id for id in ids if id not in found]:
        raise FileNotFoundError(f"no lesson {missing} in {folder}/text; there are {list(found)}")
    return [found[id] for id in ids or found]


def notebook_path(text: Path) -> Path:
    """Returns where the executed notebook of a text lies: one folder up."""
    return text.parent.parent / f"{text.stem}.ipynb"


def read(text: Path) -> NotebookNode:
    """Returns the notebook of a MyST text, without outputs; code that asks or shows is folded."""
    notebook = jupytext.read(text, fmt="md:myst")
    for number, cell in enumerate(notebook.cells):
        tags = cell.metadata.get("tags", [])
        cell.id = f"{text.name[:2]}-{number:03d}"
        cell.metadata = NotebookNode({"tags": tags} if tags else {})
        if cell.cell_type == "code" and folds(cell.source, tags):
            cell.metadata["jupyter"] = {"source_hidden": True}
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata = NotebookNode(kernelspec=kernel, language_info={"name": "python"})
    return notebook
