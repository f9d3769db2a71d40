"""Kinds of answers: what counts as a number, a yes, numbers of a shape, a word; and how they read.

An answer of any type that an expert would call right becomes one plain value, the same way in all
lessons; any other raises Wrong, which says what was expected and what came.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Set
from decimal import Decimal
from numbers import Real
from typing import Any

import torch
from torch import Tensor

Kind = Callable[[Any], Any]
FEW = 40  # entries of a tensor that a message still shows


class Wrong(Exception):
    """An answer that is wrong: the diagnosis, and an example to try where there is one."""

    def __init__(self, message: str, example: str = "") -> None:
        super().__init__(message)
        self.example = example


def real_number(value: Any) -> float:
    """One real number: int, float, fraction, NumPy scalar, a tensor or array with one entry."""
    single = _one(value)
    if isinstance(single, bool) or not isinstance(single, Real | Decimal):
        raise Wrong(f"Expected one number; your function returned {described(value)}.")
    return single if isinstance(single, int) else float(single)


def yes(value: Any) -> bool:
    """True or False, also NumPy's and torch's, and 1 or 0 as int; no other number and no word."""
    single = _one(value)
    if not isinstance(single, int) or single not in (0, 1):
        raise Wrong(f"Expected True or False; your function returned {described(value)}.")
    return bool(single)


def float_array(value: Any) -> Tensor:
    """Numbers of any shape, as float64: a tensor, an array, a list, a tuple, nested or not."""
    in_lists = plain(value)
    leaves = list(_leaves(in_lists))
    sizes = [shape(v) for v in in_lists] if isinstance(value, tuple) else []
    if len(set(sizes)) > 1:
        listed = " and ".join(map(str, sizes))
        raise Wrong(f"Your function returned {len(sizes)} results, of shapes {listed}. Return one.")
    ordered = isinstance(in_lists, list) or (hasattr(value, "tolist") and leaves)
    if not ordered or any(isinstance(v, bool) or not isinstance(v, Real | Decimal) for v in leaves):
        raise Wrong(
            f"Expected numbers in a tensor or list; your function returned {described(value)}."
        )
    try:
        return torch.tensor(in_lists, dtype=torch.float64, device="cpu")
    except (ValueError, TypeError) as error:
        raise Wrong("The rows of your result have different lengths.") from error


def number_or_array(value: Any) -> float | Tensor:
    """One number where it is one, else an array: for a check that explains wrong shapes itself."""
    if isinstance(plain(value), str | Mapping | Set):
        raise Wrong(f"Expected numbers; your function returned {described(value)}.")
    return float_array(value) if isinstance(plain(value), list) else real_number(value)


def one_of(*known: str) -> Kind:
    """One of the words, letter by letter."""

    def one(value: Any) -> str:
        if isinstance(value, str) and value in known:
            return str(value)
        listed = ", ".join(map(repr, known))
        raise Wrong(f"Expected one of {listed}; your function returned {described(value)}.")

    return one


def plain(value: Any) -> Any:
    """Returns tensors, arrays and other ordered collections as nested lists of what they hold.

    A real number of a rarer type becomes a float, which a hand-in can send.
    """
    if isinstance(value, Tensor):
        return (value if value.layout == torch.strided else value.to_dense()).tolist()
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Collection) and not isinstance(value, str | bytes | Mapping | Set):
        return [plain(v) for v in value]
    rare = not isinstance(value, int | float) and isinstance(value, Real | Decimal)
    return float(value) if rare else value


def equal(came: Any, value: Any, within: float) -> bool:
    """Whether two answers are one: of one shape, no number further off than a share of the largest.

    within: the share of the largest finite size in `value`. NaN equals nothing.
    """
    if any(v is None or isinstance(v, str) for v in (came, value)):
        return bool(came == value) if type(came) is type(value) else False
    a, b = plain(came), plain(value)
    left, right = list(_leaves(a)), list(_leaves(b))
    room = within * max((abs(v) for v in right if math.isfinite(v)), default=0.0)
    near = (x == y or abs(x - y) < room for x, y in zip(left, right, strict=False))
    return shape(a) == shape(b) and all(near)


def is_rounded(came: Any, value: Any, digits: int, within: float) -> bool:
    """Whether `came` is `value` rounded to so many digits after the point, or to more, and near."""
    if not equal(came, value, within):
        return False
    pairs = list(zip(_leaves(plain(came)), _leaves(plain(value)), strict=True))
    return any(
        all(abs(x * u - round(x * u)) < 1e-3 and abs(x - y) * u < 0.501 for x, y in pairs)
        for u in (10.0**d for d in range(digits, 7))
    )


def shape(value: Any) -> tuple[int, ...]:
    """Returns how many entries stand along each dimension of a plain or other value."""
    inner, sizes = plain(value), []
    while isinstance(inner, list):
        sizes.append(len(inner))
        inner = inner[0] if inner else None
    return tuple(sizes)


def described(value: Any) -> str:
    """Returns the type of what came, with its shape or its first characters."""
    if isinstance(value, Tensor):
        kind = {torch.bool: "of True and False ", torch.complex64: "of complex numbers "}
        return f"a tensor {kind.get(value.dtype, '')}of shape {tuple(value.shape)}"
    return f"{type(value).__name__} {str(value)[:40]!r}"


def as_shown(value: Any, digits: int = 4) -> str:
    """Returns a value as a message shows it: numbers with so many digits, of many the shape."""
    in_lists = plain(value)
    if isinstance(in_lists, list) and sum(1 for _ in _leaves(in_lists)) > FEW:
        return f"{shape(in_lists)} numbers, the first {as_shown(next(_leaves(in_lists)), digits)}"
    if isinstance(in_lists, list):
        return f"[{', '.join(as_shown(v, digits) for v in in_lists)}]"
    return f"{in_lists + 0.0:.{digits}g}" if isinstance(in_lists, float) else str(in_lists)


def apart(expected: Any, came: Any) -> tuple[str, str]:
    """Returns both values with as many digits as it takes to see that they differ."""
    pairs = [(as_shown(expected, digits), as_shown(came, digits)) for digits in (4, 7, 17)]
    return next((pair for pair in pairs if pair[0] != pair[1]), pairs[0])


def code(value: Any) -> str:
    """Returns Python that makes the value again, where it is small; else what it is."""
    if isinstance(value, Tensor):
        if value.numel() > FEW:
            return f"<{described(value)}>"
        dtype = f", dtype={value.dtype}" if value.dtype == torch.float64 else ""
        return f"torch.tensor({code(value.tolist())}{dtype})"
    if isinstance(value, float):
        text = f"{value:.6g}" if math.isfinite(value) else f"math.{value}"
        return text if set(text) & set(".emn") else f"{text}.0"
    if type(value) in (list, tuple):
        inside = ", ".join(map(code, value))
        alone = "," if len(value) == 1 else ""
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{alone})"
    if type(value) is dict:
        return "{" + ", ".join(f"{code(k)}: {code(v)}" for k, v in value.items()) + "}"
    if callable(value) and hasattr(value, "__name__"):
        module = getattr(value, "__module__", None) or "torch"
        return f"torch.{value.__name__}" if module.startswith("torch") else value.__name__
    text = repr(value)
    return text if len(text) <= 200 and "\n" not in text else f"<{type(value).__name__}>"


def _one(value: Any) -> Any:
    in_lists = plain(value)
    while hasattr(value, "tolist") and isinstance(in_lists, list) and len(in_lists) == 1:
        in_lists = in_lists[0]
    return in_lists


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield value
