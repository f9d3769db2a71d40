"""The verb `muonlab teach`: what its sub-verbs take and print."""

import argparse
from pathlib import Path

from muonlab.teaching.export import export


def declare(parser: argparse.ArgumentParser) -> None:
    """Adds the sub-verbs; each sets `run`, which takes the options and returns the exit status."""
    verbs = parser.add_subparsers(dest="teaching", required=True, metavar="WHAT")
    _declare_export(verbs)


def _declare_export(verbs: argparse._SubParsersAction) -> None:
    text = "write an nbgrader course, and copies of the lessons for students and teachers"
    parser = verbs.add_parser("export", help=text, description=text)
    text = "two digits each; lessons with exercises"
    parser.add_argument("--lessons", nargs="+", required=True, metavar="NN", help=text)
    text = "a new folder, or one that this command made"
    parser.add_argument("--to", type=Path, required=True, metavar="FOLDER", help=text)
    text = "a name of the class, such as autumn-26: draws variants; none: the book's own exercises"
    parser.add_argument("--seed", metavar="CLASS", help=text)
    parser.set_defaults(run=_export)


def _export(options: argparse.Namespace) -> int:
    print(*export(options.lessons, options.to, options.seed), sep="\n")
    print(f"in {options.to}: source, release (for nbgrader), student, teacher (the lessons)")
    return 0
