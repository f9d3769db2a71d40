"""The verb `muonlab teach`: what teachers do from a terminal.

What reads notebooks is imported where it is used: every other verb would start a second later.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any


def declare(parser: argparse.ArgumentParser) -> None:
    """Adds the sub-verbs; each sets `run`, which takes the options and returns the exit status."""
    asked = parser.add_subparsers(dest="asked", required=True, metavar="WHAT")

    text = "put what a class predicted and checked on one HTML page, for the projector"
    verb = _verb(asked, "class", _class, text)
    text = "the files that students made with lesson.hand_in() or in the book"
    verb.add_argument("folder", type=Path, metavar="FOLDER", help=text)
    _add_out(verb, "class.html")

    text = "write an nbgrader course, and copies of the lessons for students and teachers"
    verb = _verb(asked, "export", _export, text)
    text = "two digits each; lessons with exercises"
    verb.add_argument("--lessons", nargs="+", required=True, metavar="NN", help=text)
    text = "a new folder, or one that this command made"
    verb.add_argument("--to", type=Path, required=True, metavar="FOLDER", help=text)
    text = "a name of the class, such as autumn-26: draws variants; none: the book's own exercises"
    verb.add_argument("--seed", metavar="CLASS", help=text)

    text = "put exercises for paper and an exit ticket on one A4 page to print"
    verb = _verb(asked, "sheet", _sheet, text)
    text = "exercises, as 02-e1 (default: those of the class of 90 minutes)"
    verb.add_argument("--exercises", nargs="+", metavar="ID", help=text)
    text = "lessons, as 02: the first question of each quiz (default: the class of 90 minutes)"
    verb.add_argument("--ticket", nargs="+", metavar="NN", help=text)
    _add_out(verb, "sheet.html")


def _verb(asked: Any, name: str, run: Callable[..., int], text: str) -> argparse.ArgumentParser:
    verb: argparse.ArgumentParser = asked.add_parser(name, help=text, description=text)
    verb.set_defaults(run=run)
    return verb


def _add_out(verb: argparse.ArgumentParser, name: str) -> None:
    text = f"the page to write (default: {name})"
    verb.add_argument("--out", type=Path, metavar="FILE", default=Path(name), help=text)


def _class(options: argparse.Namespace) -> int:
    from muonlab.teaching import class_page

    print(class_page.write_page(options.folder, options.out))
    return 0


def _export(options: argparse.Namespace) -> int:
    from muonlab.teaching.export import export

    for line in export(options.lessons, options.to, options.seed):
        print(line, flush=True)  # nbgrader takes some seconds for each
    print(f"in {options.to}: source, release (for nbgrader), student, teacher (the lessons)")
    return 0


def _sheet(options: argparse.Namespace) -> int:
    from muonlab.teaching import sheet

    exercises, ticket = options.exercises or sheet.EXERCISES, options.ticket or sheet.TICKET
    print(sheet.write_sheet(exercises, ticket, options.out))
    return 0
