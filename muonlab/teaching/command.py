"""The verb `muonlab teach`: what teachers do from a terminal."""

import argparse
from pathlib import Path
from typing import Any

from muonlab.teaching import together


def declare(parser: argparse.ArgumentParser) -> None:
    """Adds what a teacher can ask for; each sets `run`, which takes the options."""
    asked = parser.add_subparsers(dest="asked", required=True, metavar="WHAT")
    _declare_class(asked)


def _declare_class(asked: Any) -> None:
    text = "put what a class predicted and checked on one HTML page, for the projector"
    parser = asked.add_parser("class", help=text, description=text)
    text = "the files that students made with lesson.hand_in() or in the book"
    parser.add_argument("folder", type=Path, metavar="FOLDER", help=text)
    text = "the page to write (default: class.html)"
    parser.add_argument("--out", type=Path, metavar="FILE", default=Path("class.html"), help=text)
    parser.set_defaults(run=_class)


def _class(options: argparse.Namespace) -> int:
    print(together.write_page(options.folder, options.out))
    return 0
