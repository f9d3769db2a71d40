"""Bad input, refused at the door: each error says what was expected, and what came."""

import re
import sys
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy
import psutil
from torch import Tensor

LARGEST = sys.float_info.max  # what a float can hold
FREE_ANYWAY = 2**26  # bytes: so much is there, or will be in a moment
SHOWN = 80  # characters of what came


def number(
    name: str,
    value: Any,
    low: float = -LARGEST,
    end: float = LARGEST,
    *,
    whole: bool = False,
    above: bool = False,
) -> None:
    """Raises ValueError unless it is a finite number with low <= value < end; `above`: low < value.

    True and False are no numbers; those of NumPy and torch are.
    """
    if isinstance(value, Tensor) and value.numel() == 1:
        value = value.item()
    numbers = (int, Integral) if whole else (float, int, Real)  # an ABC is slow to ask
    fits = isinstance(value, numbers) and not isinstance(value, bool)
    if fits and low <= value < end and not (above and value == low):
        return
    expected = "a whole number" if whole else "a number"
    if end < LARGEST:
        last = f"{end - 1}]" if whole else f"{end})"
        expected += f" in {'(' if above else '['}{low}, {last}"
    elif low > -LARGEST:
        expected += f" {'above' if above else '>='} {low} and finite"
    raise ValueError(f"{name} must be {expected}, got {short(value)}")


def choice(name: str, value: Any, known: Iterable[Any]) -> None:
    """Raises ValueError unless the value is one of those known; it names the nearest."""
    known = list(known)
    if not any(isinstance(value, type(option)) and value == option for option in known):
        listed = ", ".join(map(str, known))
        raise ValueError(f"{name} must be one of {listed}; got {short(value)}{meant(value, known)}")


def meant(value: Any, known: Iterable[Any]) -> str:
    """Returns a question for the known name that is nearest, if one is near."""
    near = get_close_matches(str(value), map(str, known), n=1)
    return f": did you mean {value if near == [value] else repr(near[0])}?" if near else ""


def kind(expected: str, value: Any, *kinds: Any) -> None:
    """Raises TypeError unless the value is of one of these types; a function is a Callable."""
    if not isinstance(value, kinds):
        raise TypeError(f"expected {expected}{';' if ',' in expected else ','} got {short(value)}")


def several(expected: str, values: Any, entry_kind: type = object) -> list[Any]:
    """Returns the values in a list; TypeError where one comes alone, or is of another type."""
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        kind(expected, values)
    for value in (entries := list(values)):
        kind(expected, value, entry_kind)
    return entries


def array(expected: str, values: Any) -> numpy.ndarray:
    """Returns the values as an array of floats; ValueError where they are none, or ragged."""
    try:
        values = values.detach().cpu() if isinstance(values, Tensor) else values
        return numpy.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"expected {expected}, got {short(values)}") from error


def word(what: str, value: Any, example: str, pattern: str = r"\w[\w.-]*") -> None:
    """Raises ValueError unless the value is a name of this pattern, which cannot be a path."""
    if not (isinstance(value, str) and re.fullmatch(pattern, value, re.ASCII)):
        raise ValueError(f"{what} is called like {example!r}; got {short(value)}")


class NoRoom(ValueError):
    """Too little memory is free, here and now."""


def memory(needed: float, what: str) -> None:
    """Raises NoRoom, before anything is allocated, if so many bytes are not free."""
    if needed > FREE_ANYWAY and needed > (free := psutil.virtual_memory().available):
        sizes = f"about {needed / 2**30:,.1f} GiB, and {free / 2**30:.1f} GiB free are here"
        raise NoRoom(f"{what} would need {sizes}: take smaller numbers, or a larger machine")


def content(path: Path | str, expected: str) -> bytes:
    """Returns the bytes of a file; OSError says what was expected there."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise OSError(error.errno, f"expected {expected}: {error.strerror}", str(path)) from error


def text(path: Path | str, expected: str) -> str:
    """Returns the text of a file; OSError, or ValueError if it is not UTF-8."""
    try:
        return content(path, expected).decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"expected {expected} in UTF-8 in {path}, got: {error}") from error


def short(value: Any) -> str:
    """Returns what came, on one short line."""
    if hasattr(value, "shape") and getattr(value, "ndim", False):
        return f"{type(value).__name__.lower()} of shape {tuple(value.shape)}"
    return printable(repr(value))


def printable(text: str, most: int = SHOWN) -> str:
    """Returns somebody's text on one short line, without what steers a terminal or a page.

    >>> printable("Ada\\x1b[2J\\u202e!")
    'Ada�[2J�!'
    """
    short = text if len(text) <= most else f"{text[: most - 1]}…"
    return "".join(c if c.isprintable() else "�" for c in short)
