"""What nbgrader runs beside its own steps: marks put right, and tests that need no kernel.

Folders that were exported before import it as `muonlab.teaching.apart`.
"""

import ast
import re
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_output
from nbgrader.preprocessors import Execute, NbGraderPreprocessor
from traitlets import Float

from muonlab.classroom.exercise import Verdict
from muonlab_teaching import grading
from muonlab_teaching.variants import task

TEST = re.compile(r"^grade(\(.*\))$", re.MULTILINE)


class PutRight(NbGraderPreprocessor):
    """Makes nbgrader's marks of what was handed in again those of its source.

    A cell that was copied with its marks, or marks of another version, would end nbgrader, and
    nobody else were graded. A test that was deleted comes again. ValueError: it is a link, so it
    may be somebody else's, or the solution.
    """

    def preprocess(self, nb: NotebookNode, resources: Any) -> Any:
        """Marks known cells alone, and of copies the last, as nbgrader does."""
        names = resources["nbgrader"]
        folder = Path(resources["metadata"]["path"])  # submitted/STUDENT/ASSIGNMENT
        own = folder.parents[1].resolve() / names["student"] / names["assignment"]
        file = folder / f"{names['notebook']}.ipynb"
        if file.resolve() != own / file.name:
            raise ValueError(f"{file} is a link: ask for the notebook itself")
        source = folder.parents[2] / "source" / names["assignment"] / file.name
        marked = [c for c in nbformat.read(source, as_version=4).cells if "nbgrader" in c.metadata]
        missing = {cell.metadata.nbgrader.grade_id: cell for cell in marked}
        for cell in reversed(nb.cells):
            marks = cell.metadata.pop("nbgrader", None)
            name = str(marks.get("grade_id")) if isinstance(marks, dict) else ""
            if name in missing:
                cell.metadata["nbgrader"] = missing.pop(name).metadata.nbgrader
        for cell in missing.values():
            marks = cell.metadata.nbgrader
            if marks.grade and marks.locked:
                nb.cells.append(new_code_cell(cell.source, metadata={"nbgrader": marks}))
        return nb, resources


class GradeApart(Execute):
    """Grades our test cells in processes that learners' code cannot reach, and not in a kernel.

    They are read, not run. A notebook without such a cell runs as nbgrader does it.
    """

    seconds = Float(grading.CALL_SECONDS, help="the longest that one call may take").tag(
        config=True
    )

    def preprocess(self, nb: NotebookNode, resources: Any, km: Any = None) -> Any:
        """Gives each test cell its output: an error where the answer is not right."""
        graded = [c for c in nb.cells if c.metadata.get("nbgrader", {}).get("grade")]
        tests = [c for c in graded if not c.metadata.nbgrader.get("solution")]  # else by a person
        calls = [match[1] for cell in tests if (match := TEST.search(cell.source))]
        if not calls:
            return super().preprocess(nb, resources, km)
        if len(calls) < len(tests):
            raise ValueError("tests of your own run in a kernel: put them in another notebook")
        tasks = [task(*ast.literal_eval(call)) for call in calls]
        answers = [(asked, grading.written(nb, asked.exercise)) for asked in tasks]
        verdicts = grading.graded(answers, self.seconds)
        for cell, verdict in zip(tests, verdicts, strict=True):
            cell.outputs = [_output(verdict)]
        return nb, resources


def _output(verdict: Verdict) -> NotebookNode:
    said = str(verdict)
    if verdict.status == "right":
        return new_output("stream", name="stdout", text=f"✓ {verdict.exercise}: right.\n")
    return new_output("error", ename="NotRight", evalue=said, traceback=[said])
