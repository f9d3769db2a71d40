"""The verb `muonlab teach`: what teachers do from a terminal.

What reads notebooks is imported where it is used: every other verb would start a second later.
"""

import argparse
from pathlib import Path
from typing import Any


def declare(parser: argparse.ArgumentParser) -> None:
    """Adds the sub-verbs; each sets `run`, which takes the options and returns the exit status."""
    asked = parser.add_subparsers(dest="asked", required=True, metavar="WHAT")
    _declare_class(asked)
    _declare_export(asked)
    _declare_sheet(asked)


def _declare_class(asked: Any) -> None:
    text = "put what a class predicted and checked on one HTML page, for the projector"
    parser = asked.add_parser("class", help=text, description=text)
    text = "the files that students made with lesson.hand_in() or in the book"
    parser.add_argument("folder", type=Path, metavar="FOLDER", help=text)
    text = "the page to write (default: class.html)"
    parser.add_argument("--out", type=Path, metavar="FILE", default=Path("class.html"), help=text)
    parser.set_defaults(run=_class)


def _class(options: argparse.Namespace) -> int:
    from muonlab.teaching import together

    print(together.write_page(options.folder, options.out))
    return 0


def _declare_export(asked: Any) -> None:
    text = "write an nbgrader course, and copies of the lessons for students and teachers"
    parser = asked.add_parser("export", help=text, description=text)
    text = "two digits each; lessons with exercises"
    parser.add_argument("--lessons", nargs="+", required=True, metavar="NN", help=text)
    text = "a new folder, or one that this command made"
    parser.add_argument("--to", type=Path, required=True, metavar="FOLDER", help=text)
    text = "a name of the class, such as autumn-26: draws variants; none: the book's own exercises"
    parser.add_argument("--seed", metavar="CLASS", help=text)
    parser.set_defaults(run=_export)


def _export(options: argparse.Namespace) -> int:
    from muonlab.teaching.export import export

    for line in export(options.lessons, options.to, options.seed):
        print(line, flush=True)  # nbgrader takes some seconds for each
    print(f"in {options.to}: source, release (for nbgrader), student, teacher (the lessons)")
    return 0


def _declare_sheet(asked: Any) -> None:
    text = "put exercises for paper and an exit ticket on one A4 page to print"
    parser = asked.add_parser("sheet", help=text, description=text)
    text = "exercises, as 02-e1 (default: those of the class of 90 minutes)"
    parser.add_argument("--exercises", nargs="+", metavar="ID", help=text)
    text = "lessons, as 02: the first question of each quiz (default: the class of 90 minutes)"
    parser.add_argument("--ticket", nargs="+", metavar="NN", help=text)
    text = "the page to write (default: sheet.html)"
    parser.add_argument("--out", type=Path, metavar="FILE", default=Path("sheet.html"), help=text)
    parser.set_defaults(run=_sheet)


def _sheet(options: argparse.Namespace) -> int:
    from muonlab.teaching import sheet

    exercises, ticket = options.exercises or sheet.EXERCISES, options.ticket or sheet.TICKET
    print(sheet.write_sheet(exercises, ticket, options.out))
    return 0
