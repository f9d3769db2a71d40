"""Collect text as documents: from the documentation on this machine, or from a folder of files.

No package is imported to be read: docstrings are taken from the source files. A regular expression
finds them in a few seconds, where `ast` needs half a minute; a test compares the two.
"""

import ast
import inspect
import os
import platform
import re
import sysconfig
import warnings
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from pydoc_data.topics import topics

from muonlab import checks
from muonlab.files import data_beside

_READ = data_beside(__file__, "documents.json")
# What the course's own dependencies bring, never its extras: so the text does not depend on them.
PACKAGES: dict[str, list[str]] = _READ["packages"]  # with the folders of their source files
# Test suites, copies of other people's packages, and what Linux systems package apart from Python.
LEFT_OUT = re.compile("|".join(_READ["left out"]))
TEXT_SUFFIXES = (".txt", ".md", ".rst", ".text")
SHORTEST = 80  # characters: shorter docstrings say little beyond the name they describe
PASSAGE = 4_000  # characters: a long text file is cut at blank lines into passages of this length

_DOUBLE = r'"""([^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*)"""'
_SINGLE = r"'''([^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*)'''"
_SKIP = r"[ \t]*(?:\#[^\n]*)?\n"  # a blank line or a comment
_LITERAL = rf"([rRuU]?)(?:{_DOUBLE}|{_SINGLE})"
_DOCSTRING = re.compile(rf"(?:\A(?:{_SKIP})*|:{_SKIP}(?:{_SKIP})*)[ \t]*{_LITERAL}", re.DOTALL)
_ANY_STRING = re.compile(rf"(?<!\w){_LITERAL}", re.DOTALL)


def installed() -> list[tuple[str, str]]:
    """Returns name and version of Python and of each package that `docs` reads here."""
    versions = [("python", platform.python_version())]
    for name in PACKAGES:
        try:
            versions.append((name, distribution(name).version))
        except PackageNotFoundError:
            continue  # the list that is returned tells, and the cache goes by that list
    return versions


def documentation() -> list[str]:
    """Returns every document of `docs`."""
    return [text for _, of_source in by_source() for text in of_source]


def by_source() -> Iterator[tuple[str, list[str]]]:
    """Yields a source's name and its documents: the language reference of `help()` first."""
    yield "python's topics", list(map(_clean, topics.values()))
    for name, folder in source_folders():
        yield name, [text for path in python_files(folder) for text in docstrings(path)]


def source_folders() -> Iterator[tuple[str, Path]]:
    """Yields the name of Python and of each installed package with a folder of its source files."""
    yield "python", Path(sysconfig.get_path("stdlib"))
    for name, _ in installed()[1:]:
        for folder in PACKAGES[name]:
            yield name, Path(str(distribution(name).locate_file(folder)))


def python_files(folder: Path) -> list[Path]:
    """Returns the source files below a folder, without test suites and copies of packages."""
    return _files(folder, LEFT_OUT, (".py",))


def docstrings(path: Path) -> list[str]:
    """Returns the docstrings of one source file that are long enough, with indentation removed.

    Files such as `_torch_docs.py` and `_add_newdocs.py` hold documentation as arguments of calls:
    there every long string counts. A file that is not UTF-8 gives none.
    """
    pattern = _ANY_STRING if path.stem.endswith(("_docs", "newdocs")) else _DOCSTRING
    texts = (_value(*match.groups(default="")) for match in pattern.finditer(_source(path)))
    return [text for text in map(_clean, texts) if len(text) >= SHORTEST]


def bare_code(path: Path) -> str:
    """Returns a source file without its strings in triple quotes; nothing if it is not UTF-8."""
    return _ANY_STRING.sub("", _source(path))


def passages(folder: Path) -> list[str]:
    """Returns the text files below a folder, without hidden ones, in order, cut into passages.

    Raises:
        FileNotFoundError: no text there.
        ValueError: a file that is not UTF-8.
    """
    files = _files(folder, re.compile(r"\..*"), TEXT_SUFFIXES)
    texts = [checks.text(path, "text").removeprefix("\N{BYTE ORDER MARK}") for path in files]
    if cut_passages := [passage for text in texts for passage in _cut(text)]:
        return cut_passages
    raise FileNotFoundError(f"expected files of text ({', '.join(TEXT_SUFFIXES)}) below {folder}")


def _files(folder: Path, left_out: re.Pattern[str], suffixes: tuple[str, ...]) -> list[Path]:
    """Returns files below a folder, in order of their path inside it."""

    def refuse(error: OSError) -> None:
        raise error  # it names the folder, which os.walk alone would pass over

    files_below = []
    for root, folders, files in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not left_out.fullmatch(name)]
        files_below += [Path(root, name) for name in files if not left_out.fullmatch(name)]
    # a named pipe would be waited for, for ever
    chosen = [path for path in files_below if path.suffix in suffixes and path.is_file()]
    return sorted(chosen, key=lambda path: path.relative_to(folder).as_posix())


def _source(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def _value(prefix: str, double: str, single: str) -> str:
    """Returns the text that a literal stands for."""
    body, quotes = (double, '"""') if double else (single, "'''")
    if prefix in ("r", "R") or "\\" not in body:
        return body
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # other people's invalid escapes are not ours to report
            return ast.literal_eval(f"{quotes}{body}{quotes}")
    except (SyntaxError, ValueError):  # an escape that Python refuses: keep what the author wrote
        return body


def _clean(text: str) -> str:
    """Returns the text without common indentation; a surrogate has no bytes, so it becomes `?`."""
    return inspect.cleandoc(text).encode("utf-8", "replace").decode()


def _cut(text: str) -> Iterator[str]:
    """Yields passages of about `PASSAGE` characters that end at a blank line."""
    passage: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        passage.append(paragraph)
        if sum(map(len, passage)) >= PASSAGE:
            yield "\n\n".join(passage)
            passage = []
    if any(passage):
        yield "\n\n".join(passage)
