"""Which cells are folded: a reader sees results and questions first, and their code on a click.

A notebook folds their code; the book's page also leaves out code that only asks.
"""

import json
import re
from typing import Any

from muonlab.notebooks import asks, product

EXERCISE = re.compile(r"^\*\*Exercise (\d\d-e\d+)\*\*", re.MULTILINE)
HINTS = re.compile(r"\A(?:\s*<details>.*?</details>)+", re.DOTALL)
STILL = "muonlab-still"  # the class of such an output's element
SUMMARY = re.compile(r"<details>\s*<summary>(Hint|Solution)")

Cell = dict[str, Any]


def fold(notebook: str) -> str:
    """Returns a lesson's JSON as its page shows it.

    Code that only asks is left out, and the code of what is shown stands behind a button. Exercises
    stand in a box.
    """
    contents = json.loads(notebook)
    cells = contents["cells"]
    for cell in cells:
        cell["source"] = "".join(cell["source"])
    for cell in cells:
        if cell["cell_type"] == "code":
            _fold_code(cell)
    _box(cells)
    return json.dumps(contents)


def is_still(output: Cell) -> bool:
    """Whether an output is for pages that draw no widgets; the book's pages draw them."""
    return STILL in "".join(output.get("data", {}).get("text/html", ""))


def _fold_code(cell: Cell) -> None:
    tags = cell["metadata"].get("tags", [])
    cell["outputs"] = [output for output in cell["outputs"] if not is_still(output)]
    if "exercise" in tags:
        cell["outputs"] = []  # "run this cell" is no word for a page without a kernel
        return
    if asks(cell["source"]):
        _tag(cell, "remove-input")
        return
    if made := product(cell["source"], tags):
        _tag(cell, "hide-input")
        words = {"code_prompt_show": f"Code of {made}", "code_prompt_hide": f"Hide code of {made}"}
        cell["metadata"]["mystnb"] = words


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
