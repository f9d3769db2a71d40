"""What a learner has built: a function called my_NAME whose check passes is kept as text.

It lies as `built/NAME.py` in the learner's own folder. A later lesson runs it as the learner's own
cell was run, in the learner's own notebook; nothing else reads it.
"""

import ast
import inspect
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

import muonlab
from muonlab import checks
from muonlab.classroom.exercise import judge_answer
from muonlab.files import home, replace_file

PREFIX = "my_"
GIVEN = {name: getattr(muonlab, name) for name in muonlab.__all__} | {"torch": torch, "math": math}
ASSIGNMENTS = (ast.Assign, ast.AnnAssign)
DEFINES = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, *ASSIGNMENTS)


def keep_answer(exercise: str, answer: Callable[..., Any]) -> str:
    """Keeps a right answer called my_NAME; returns a line on what came of it, or "" for others.

    Kept is what the answer's cell defines without a call, if the check accepts it alone, too.
    """
    own = getattr(answer, "__name__", "")
    if not own.startswith(PREFIX):
        return ""
    path = _path(own.removeprefix(PREFIX))
    try:
        source = "\n\n".join(_definitions(answer))
        alone = judge_answer(exercise, _run(source, path))
        if alone.status != "right":
            raise ValueError(f"without your other cells, {alone.message}")
        replace_file(path, source.encode())
    except Exception as error:  # whatever a learner's code or disk raises must not stop the lesson
        return f"`{own}` is not kept for later lessons. {_said(error)}"
    return f"`{own}` is kept: later lessons run it."


def given_back(
    name: str, library: Callable[..., Any], **names: Any
) -> tuple[Callable[..., Any], str]:
    """Returns the learner's my_NAME, or `library` without one; and a line that says which.

    `names`: what the learner's function finds under a name, in place of the course's.
    """
    checks.word("what you built", name, "polar", r"[a-z_]+")
    path, own = _path(name), f"`{PREFIX}{name}`"
    if not path.is_file():
        return library, f"Here the library's own stands in for {own}, which you have not built yet."
    try:
        function = _run(path.read_text(encoding="utf-8"), path, **names)
        return function, f"Here your own {own} runs."
    except Exception as error:  # the learner may have edited the file
        return library, f"Here the library's own stands in for {own}. {path}: {_said(error)}"


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".replace("<", "&lt;")  # it is shown as Markdown


def _path(name: str) -> Path:
    return home() / "built" / f"{name}.py"


def _definitions(answer: Callable[..., Any]) -> Iterator[str]:
    """Yields what the answer's cell defines; of assignments only those that call nothing."""
    lines, _ = inspect.findsource(inspect.unwrap(answer))
    for node in ast.parse("".join(lines)).body:
        calls = any(isinstance(part, ast.Call) for part in ast.walk(node))
        if isinstance(node, DEFINES) and not (isinstance(node, ASSIGNMENTS) and calls):
            first = min(part.lineno for part in (node, *getattr(node, "decorator_list", [])))
            yield "".join(lines[first - 1 : node.end_lineno]).rstrip() + "\n"


def _run(source: str, path: Path, **given: Any) -> Callable[..., Any]:
    """Returns the function of a kept source; it knows what the course's lessons import."""
    names = {**GIVEN, **given, "__name__": path.stem}
    read = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    others = {n: _path(n.removeprefix(PREFIX)) for n in read if n.startswith(PREFIX)}
    for name, other in others.items():
        if other != path and other.is_file():
            names[name] = _run(other.read_text(encoding="utf-8"), other)
    exec(compile(source, path, "exec"), names)
    return names[f"{PREFIX}{path.stem}"]
