"""What nbgrader runs in place of its Execute: notebooks whose tests are all ours need no kernel."""

import ast
import re
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader.preprocessors import Execute
from traitlets import Float

from muonlab.classroom.exercise import NotRight
from muonlab.teaching import grading

TEST = re.compile(r"^grade(\(.*\))$", re.MULTILINE)


class GradeApart(Execute):
    """Grades each test cell by `grading.grade`, so that what was handed in meets no kernel.

    The test cells are read, not run. A notebook with another graded test runs as nbgrader does it.
    """

    seconds = Float(grading.SECONDS, help="the longest that one call may take").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: Any, km: Any = None) -> Any:
        """Gives each test cell its output: an error where the answer is not right."""
        graded = [c for c in nb.cells if c.metadata.get("nbgrader", {}).get("grade")]
        tests = [c for c in graded if not c.metadata.nbgrader.get("solution")]  # else by a person
        if not all(TEST.search(cell.source) for cell in tests):
            return super().preprocess(nb, resources, km)
        grading.SECONDS = self.seconds
        for cell in tests:
            cell.outputs = [_output(nb, cell)]
        return nb, resources


def _output(notebook: NotebookNode, test: NotebookNode) -> NotebookNode:
    found = TEST.search(test.source)
    assert found
    exercise, seed = ast.literal_eval(found[1])
    try:
        grading.grade(exercise, seed, notebook)
    except NotRight as error:
        said = str(error)
        return new_output("error", ename="NotRight", evalue=said, traceback=[said])
    return new_output("stream", name="stdout", text=f"✓ {exercise}: right.\n")
