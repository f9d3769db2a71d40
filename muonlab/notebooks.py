"""The text of a lesson, read as a notebook: which cells it has, and whose code is folded.

What a reader sees first are results and questions; code that asks or shows opens on a click.
"""

import copy
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

from muonlab.classroom.claims import EVIDENCE_FOLDER

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
HAPPENED = "What happened: "  # what a prediction is told begins so
MAKES = (  # what a cell makes, by the first call that is found in its code
    ("figure", r"(lesson|page)\.(show|compare|matrix)\("),
    ("table", r"(lesson|page)\.table\("),
    ("explorer", r"lesson\.explore\("),
    ("claim", r"(lesson|page)\.claim\("),
    ("result", r"(lesson\.reveal|page\.say)\("),
)
SET_UP = "the set-up"  # of a page of evidence, which shows nothing
ASKS = re.compile(r"(?:#.*\n)*lesson\.(?:explore|recap)\(.*(?:\n[ )].*)*")  # and nothing beside it


def texts(folder: Path, ids: Sequence[str] = ()) -> list[Path]:
    """Returns the texts of all lessons, or of `ids`, as "04" or "race", which is evidence.

    FileNotFoundError names what is missing.
    """
    lessons = {path.name[:2]: path for path in sorted(folder.glob("text/[0-9][0-9]-*.md"))}
    path_of = lessons | {path.stem: path for path in evidence_texts(folder)}
    if missing := [id for id in ids if id not in path_of]:
        raise FileNotFoundError(f"no lesson {missing[0]!r} in {folder}/text, but {[*path_of]}")
    return [path_of[id] for id in ids or lessons]


def evidence_texts(folder: Path) -> list[Path]:
    """Returns the texts of the pages of evidence, by name."""
    return sorted(folder.glob(f"text/{EVIDENCE_FOLDER}/*.md"))


def notebook_path(text: Path) -> Path:
    """Returns where the executed notebook of a text lies: beside the folder `text`."""
    if text.parent.name == EVIDENCE_FOLDER:
        return text.parents[2] / EVIDENCE_FOLDER / f"{text.stem}.ipynb"
    return text.parents[1] / f"{text.stem}.ipynb"


def page_id(text: Path) -> str:
    """Returns what the ids of a page's cells begin with: "04", or the name of evidence."""
    return text.stem if text.parent.name == EVIDENCE_FOLDER else text.name[:2]


def read(text: Path) -> NotebookNode:
    """Returns the notebook of a MyST text, without outputs; code that asks or shows is folded."""
    notebook = jupytext.read(text, fmt="md:myst")
    for number, cell in enumerate(notebook.cells):
        tags = cell.metadata.get("tags", [])
        cell.id = f"{page_id(text)}-{number:03d}"
        cell.metadata = NotebookNode({"tags": tags} if tags else {})
        if cell.cell_type == "code" and folds(cell.source, tags):
            cell.metadata["jupyter"] = {"source_hidden": True}
    notebook.metadata = NotebookNode(kernelspec=KERNEL, language_info={"name": "python"})
    return notebook


def seal(notebook: NotebookNode) -> str:
    """Returns a hash of all of a notebook but this hash itself, which its release stores.

    A notebook that was run, edited or saved in JupyterLab since has another one.
    """
    rest = copy.deepcopy(notebook)
    rest.metadata.get("muonlab", {}).pop("seal", None)
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()[:16]


def released_text(path: Path) -> str:
    """Returns the JSON of a lesson's notebook as it was released, whatever was saved in it since.

    A notebook whose seal is right is read as it is, committed or not. Of any other, it is what git
    has committed, which a line on stderr says; where git knows no such file, what is in it.
    """
    own = path.read_text(encoding="utf-8")
    if _sealed(own):
        return own
    command = ["git", "-C", str(path.parent), "cat-file", "blob", f"HEAD:./{path.name}"]
    try:
        asked = subprocess.run(command, capture_output=True)
    except FileNotFoundError:  # no git
        return own
    committed = asked.stdout.decode("utf-8") if asked.returncode == 0 else own
    if committed.splitlines() != own.splitlines():  # git may have changed how lines end
        print(f"{path.name} was saved since its release: git's copy is read", file=sys.stderr)
        return committed
    return own


def _sealed(text: str) -> bool:
    try:
        notebook = nbformat.reads(text, as_version=4)
        return bool(notebook.metadata["muonlab"]["seal"] == seal(notebook))
    except (nbformat.reader.NotJSONError, AttributeError, KeyError, TypeError):
        return False


def released(path: Path) -> NotebookNode:
    """Returns a lesson's notebook as it was released, with all that it stored then.

    ValueError: where git knows no such file, something has been lost since.
    """
    notebook = nbformat.reads(released_text(path), as_version=4)
    models = notebook.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
    for cell in notebook.cells:
        outputs = cell.get("outputs", [])
        views = [o.data[VIEW]["model_id"] for o in outputs if VIEW in o.get("data", {})]
        failed = any(output.output_type == "error" for output in outputs)
        makes = asks(cell.source) or product(cell.source, []) not in ("", SET_UP)
        lacks = cell.cell_type == "code" and makes and not outputs
        if failed or lacks or not models.keys() >= set(views):
            lost = f"{path.name} lacks what its release stored in cell {cell.id}"
            raise ValueError(f"{lost}: run `make lessons`, or take the notebook as it came")
    return notebook


def folds(source: str, tags: list[str]) -> bool:
    """Whether a notebook opens with this code folded: it only asks, or makes what is shown."""
    return "exercise" not in tags and (asks(source) or bool(product(source, tags)))


def product(source: str, tags: list[str]) -> str:
    """Returns what the cell's code makes, or nothing where the code itself is the lesson."""
    if "by-hand" in tags or "by_hand" in source:
        return ""
    for name, call in MAKES:
        if calls := len(re.findall(call, source)):
            return f"these {name}s" if calls > 1 else f"this {name}"
    if "start_evidence(" in source:
        return SET_UP
    return "this result" if "hide-input" in tags else ""


def asks(source: str) -> bool:
    """Whether code only asks for a question, an explorer or the recap: nobody needs to read it.

    >>> asks('# explorer\\nlesson.explore("norms", steps=0)'), asks("x = 1\\nlesson.recap()")
    (True, False)
    """
    asked = "lesson.predict(" in source or "lesson.quiz(" in source
    return asked or bool(ASKS.fullmatch(source.strip()))


def outcomes(notebook: NotebookNode) -> dict[str, str]:
    """Returns what a stored lesson says that happened, by the id of its prediction."""
    happened = {}
    for data in (o.get("data", {}) for c in notebook.cells for o in c.get("outputs", [])):
        if made := re.search('data-prediction="([^"]*)"', data.get("text/markdown", "")):
            happened[made[1]] = data["text/plain"].partition(HAPPENED)[2]
    return happened
