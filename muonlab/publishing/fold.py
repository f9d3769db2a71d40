"""Which cells are folded: a reader sees results and questions first, and their code on a click.

A notebook folds their code; the book's page also leaves out code that only asks.
"""

import json
import re
from typing import Any

MAKES = (  # what a cell makes, by the first call that is found in its code
    ("figure", r"lesson\.(show|compare|matrix)\("),
    ("table", r"lesson\.table\("),
    ("explorer", r"lesson\.explore\("),
    ("claim", r"lesson\.claim\("),
    ("result", r"lesson\.reveal\("),
)
ASKS = re.compile(r"(?:#.*\n)*lesson\.(?:explore|recap)\(.*(?:\n[ )].*)*")  # and nothing beside it
PREDICTED = re.compile(r'lesson\.(predict|reveal)\(\s*"([^"]+)"')
EXERCISE = re.compile(r"^\*\*Exercise (\d\d-e\d+)\*\*", re.MULTILINE)
HINTS = re.compile(r"\A(?:\s*<details>.*?</details>)+", re.DOTALL)
SUMMARY = re.compile(r"<details>\s*<summary>(Hint|Solution)")

Cell = dict[str, Any]


def fold(notebook: str) -> str:
    """Returns a lesson's JSON as its page shows it.

    Code that only asks is left out, and the code of what is shown stands behind a button. Results
    carry the tag `after-ID` until their prediction is revealed. Exercises stand in a box.
    """
    contents = json.loads(notebook)
    cells = contents["cells"]
    for cell in cells:
        cell["source"] = "".join(cell["source"])
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    for cell in code:
        _fold_code(cell)
    _cover(code)
    _box(cells)
    return json.dumps(contents)


def _fold_code(cell: Cell) -> None:
    tags = cell["metadata"].get("tags", [])
    if "exercise" in tags:
        cell["outputs"] = []  # "run this cell" is no word for a page without a kernel
        return
    if asks(cell["source"]):
        _tag(cell, "remove-input")
        return
    made = _made(cell["source"], tags)
    if made:
        _tag(cell, "hide-input")
        words = {"code_prompt_show": f"Code of {made}", "code_prompt_hide": f"Hide code of {made}"}
        cell["metadata"]["mystnb"] = words


def folds(source: str, tags: list[str]) -> bool:
    """Whether a notebook opens with this code folded: it only asks, or makes what is shown."""
    return "exercise" not in tags and (asks(source) or bool(_made(source, tags)))


def _made(source: str, tags: list[str]) -> str:
    """Returns what the cell's code makes, or nothing where the code itself is the lesson."""
    if "by-hand" in tags or "by_hand" in source:
        return ""
    for name, call in MAKES:
        if calls := len(re.findall(call, source)):
            return f"these {name}s" if calls > 1 else f"this {name}"
    return "this result" if "hide-input" in tags else ""


def asks(source: str) -> bool:
    """Whether code only asks for a question, an explorer or the recap: nobody needs to read it.

    >>> asks('# explorer\\nlesson.explore("norms", steps=0)'), asks("x = 1\\nlesson.recap()")
    (True, False)
    """
    asked = "lesson.predict(" in source or "lesson.quiz(" in source
    return asked or bool(ASKS.fullmatch(source.strip()))


def _cover(code: list[Cell]) -> None:
    """Tags the cells from a prediction to its outcome; an exercise in between waits for nothing."""
    open_ids: list[str] = []
    for cell in code:
        calls = PREDICTED.findall(cell["source"])
        asked = [id for call, id in calls if call == "predict"]
        if open_ids and not asked and "exercise" not in cell["metadata"].get("tags", []):
            _tag(cell, f"after-{open_ids[-1]}")
        open_ids += asked
        for call, id in calls:
            if call == "reveal" and id in open_ids:
                open_ids.remove(id)


def _box(cells: list[Cell]) -> None:
    """Puts an exercise, from its title to its last hint, into one element of the page."""
    inside = False
    for cell in cells:
        if cell["cell_type"] != "markdown":
            continue
        if inside:
            hints = "".join(HINTS.findall(cell["source"])[:1])
            cell["source"] = f"{hints}\n\n</div>\n\n{cell['source'][len(hints) :]}"
        inside = bool(EXERCISE.search(cell["source"]))
        group = r'<div class="muonlab-exercise" role="group" aria-label="Exercise \1">'
        cell["source"] = EXERCISE.sub(rf"{group}\n\n**Exercise \1**", cell["source"])
        cell["source"] = SUMMARY.sub(_folded, cell["source"])


def _folded(match: re.Match[str]) -> str:
    return f'<details class="muonlab-{match[1].lower()}"><summary>{match[1]}'


def _tag(cell: Cell, tag: str) -> None:
    cell["metadata"]["tags"] = [*cell["metadata"].get("tags", []), tag]
