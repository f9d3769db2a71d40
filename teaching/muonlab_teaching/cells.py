"""Cells run as IPython runs them: magics, shell lines, questions, and top-level await.

A second, rougher reading would turn answers down that `lesson.check` has called right. Nothing is
started or shown: of a magic only the Python in it runs.
"""

import ast
import asyncio
import linecache
from inspect import CO_COROUTINE
from typing import Any

from IPython.core.inputtransformer2 import TransformerManager

PYTHON = ("time", "timeit", "capture", "prun")  # whose cell, or line, is Python


class Shell:
    """Stands for `get_ipython()`: any method may be called, and gives nothing."""

    def __init__(self, names: dict[str, Any], place: str) -> None:
        self.names, self.place = names, place

    def run_line_magic(self, name: str, line: str) -> None:
        """Runs the code of `%time`, which may give a name its value."""
        if name == "time":
            run_code(compiled(line, f"{self.place} %time"), self.names)

    def run_cell_magic(self, name: str, line: str, cell: str) -> None:
        """Runs the cell below one of PYTHON; of another language nothing."""
        if name in PYTHON:
            run_code(compiled(cell, self.place), self.names)

    def getoutput(self, line: str) -> list[str]:
        """Returns what a shell says that is not there."""
        return []

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **options: None


def compiled(source: str, place: str) -> Any:
    """Returns a cell's code; SyntaxError where IPython could not read it either."""
    text = TransformerManager().transform_cell(source)
    linecache.cache[place] = (len(text), None, text.splitlines(True), place)  # to be quoted
    return compile(text, place, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def run_code(made: Any, names: dict[str, Any]) -> None:
    """Runs the code of a cell in these names."""
    shell = Shell(names, made.co_filename)
    names.setdefault("display", lambda *shown, **options: None)
    names["get_ipython"] = lambda: shell
    if made.co_flags & CO_COROUTINE:
        with asyncio.Runner() as runner:
            runner.run(eval(made, names))
    else:
        exec(made, names)
