"""The texts of the lessons: their exercises, solved or not, and what a cell leaves behind."""

import copy
from collections.abc import Callable
from types import CodeType
from typing import Any
from unittest import mock

from ipykernel.compiler import XCachingCompiler
from nbformat import NotebookNode

from muonlab.classroom import lesson, output
from muonlab_teaching.copies import CHECKED
from muonlab_teaching.variants import SOLUTION


def solutions(notebook: NotebookNode) -> dict[str, str]:
    """Returns the code of each solution in the lesson's text, by exercise id."""
    words = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    return {id: code.rstrip() for id, code in SOLUTION.findall(words)}


def stubs(notebook: NotebookNode) -> dict[str, NotebookNode]:
    """Returns the exercise cells by exercise id."""
    cells = [c for c in notebook.cells if "exercise" in c.metadata.get("tags", [])]
    return {CHECKED.findall(cell.source)[0]: cell for cell in cells}


def compiled(source: str) -> CodeType:
    """Returns a cell's code as a kernel compiles it, so that its source can be asked for."""
    compiler = XCachingCompiler()
    return compiler(source, compiler.cache(source), "exec")


def outputs(call: Callable[..., Any], *args: Any, **options: Any) -> list[dict[str, Any]]:
    """Returns what a call leaves in a notebook: the forms of each thing that it displays."""
    shown: list[Any] = []
    with (
        mock.patch.object(lesson, "display", shown.append),
        mock.patch.object(output, "display", shown.append),
    ):
        call(*args, **options)
    return [thing._repr_mimebundle_() for thing in shown]


def imports(notebook: NotebookNode) -> str:
    """Returns the imports of a lesson, which stand above its start."""
    first = next(c for c in notebook.cells if c.cell_type == "code")
    return first.source.split("lesson = start")[0]


def solve(notebook: NotebookNode) -> NotebookNode:
    """Returns a copy in which each exercise's stub is replaced by the lesson's own solution."""
    solved = copy.deepcopy(notebook)
    for id, cell in stubs(solved).items():
        _, call, rest = cell.source.partition("lesson.check(")
        cell.source = f"{solutions(notebook)[id]}\n\n\n{call}{rest}"
    return solved
