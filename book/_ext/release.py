"""Text to executed notebook, one way: `python book/_ext/release.py [NN ...]`."""

import argparse
import json
import math
import os
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from muonlab.files import LESSONS, replace_file
from muonlab.notebooks import STATE, evidence_texts, notebook_path, page_id, read, seal, texts
from still import add_stills

COLOURS = re.compile(r"\x1b\[[0-9;]*m")  # of a traceback meant for a terminal
SETTINGS = {
    "GOMP_SPINCOUNT": "10000",  # threads that spin longer are slow beside any other program
    "PYTHONHASHSEED": "0",
    "SOURCE_DATE_EPOCH": "0",
    "TQDM_DISABLE": "1",
}


def main(ids: Sequence[str]) -> int:
    """Releases the named pages, or all; returns 1 when one failed, whose notebook stays."""
    failed = 0
    for text in texts(LESSONS, ids) + ([] if ids else evidence_texts(LESSONS)):
        notebook = read(text)
        start = time.perf_counter()
        try:
            execute(notebook, LESSONS)
        except CellExecutionError as error:
            plain = COLOURS.sub("", str(error))
            print(f"{text.stem}, cell {_failed_cell(notebook)}: {plain}", file=sys.stderr)
            failed = 1
            continue
        seconds = math.ceil(time.perf_counter() - start)
        cleaned = clean(notebook, page_id(text), seconds)
        add_stills(cleaned)
        write(cleaned, notebook_path(text))
        print(f"{text.stem}: written")
    return failed


def execute(notebook: NotebookNode, folder: Path, threads: int = 2) -> NotebookNode:
    """Runs all cells in place, with no learner's data; returns the notebook."""
    with tempfile.TemporaryDirectory() as home:
        private = {"MUONLAB_HOME": home, "IPYTHONDIR": home, "OMP_NUM_THREADS": str(threads)}
        place = {"metadata": {"path": str(folder)}}
        client = NotebookClient(
            notebook, timeout=600, kernel_name="python3", resources=place, record_timing=False
        )
        client.execute(env={**os.environ, **SETTINGS, **private})
    return notebook


def _failed_cell(notebook: NotebookNode) -> str:
    errors = (c for c in notebook.cells for o in c.get("outputs", []) if o.output_type == "error")
    return next((cell.id for cell in errors), "unknown")


def clean(notebook: NotebookNode, lesson: str, seconds: int) -> NotebookNode:
    """Returns the notebook without what changes from run to run: progress, times, widget ids.

    Only the seconds of the whole run stay, in its metadata: the book's map shows them.
    """
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = joined([o for o in cell.outputs if o.get("name") != "stderr"])
    kept = ("kernelspec", "language_info", "widgets")
    notebook.metadata = NotebookNode({k: v for k, v in notebook.metadata.items() if k in kept})
    notebook.metadata.language_info = NotebookNode(name="python")
    notebook.metadata.muonlab = NotebookNode(seconds=seconds)
    written = nbformat.writes(notebook)
    widgets = notebook.metadata.get("widgets", {}).get(STATE, {})
    for number, model in enumerate(widgets.get("state", {})):
        written = written.replace(model, f"{lesson}-widget-{number:03d}")
    return nbformat.reads(written, as_version=4)


def joined(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Returns the outputs with neighbouring prints as one: how they were sent says nothing."""
    kept: list[NotebookNode] = []
    for output in outputs:
        if kept and output.output_type == kept[-1].output_type == "stream":
            kept[-1].text += output.text
        else:
            kept.append(output)
    return kept


def write(notebook: NotebookNode, path: Path) -> None:
    """Writes a valid notebook with its seal in one move; an invalid one leaves the old notebook."""
    nbformat.validate(notebook)
    notebook.metadata.setdefault("muonlab", NotebookNode())["seal"] = seal(notebook)
    text = json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    replace_file(path, text.encode())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ids", nargs="*", metavar="NN", help="04, or race, of evidence; none: all")
    try:
        sys.exit(main(parser.parse_args().ids))
    except FileNotFoundError as error:
        sys.exit(str(error))
