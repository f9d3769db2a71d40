"""One call of a learner's function: on copies, with an end, and leaving nothing changed."""

import copy
import inspect
import random
import signal
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from muonlab.classroom.kinds import Kind, Wrong, code, described

SECONDS = 20.0  # a right answer takes milliseconds
LATE = (
    "Your code had not ended after {:g} seconds, and was stopped. Does each loop come to its end?"
)
NOT_BEGUN = "Write your code in place of the dots, then run this cell."
GRADER = spec.submodule_search_locations or [] if (spec := find_spec("muonlab_teaching")) else []
OURS = (str(Path(__file__).parents[1]), *GRADER)
JUDGES = (str(Path(__file__).parent), *GRADER)
NOT_OWN = (*OURS, "<frozen", *(sysconfig.get_path(p) for p in ("stdlib", "purelib", "platlib")))
SIMPLE = (int, float, str, set, torch.dtype, torch.device)
RESTORED: tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...] = (
    (torch.get_rng_state, torch.set_rng_state),
    (np.random.get_state, np.random.set_state),
    (random.getstate, random.setstate),
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.get_default_device, torch.set_default_device),
    (torch.is_grad_enabled, torch.set_grad_enabled),
    (np.geterr, lambda modes: np.seterr(**modes)),
)


class NotYet(Exception):
    """An exercise that has not been begun."""


class Endless(BaseException):
    """Stops a function that takes too long."""


def _wake(number: int, frame: FrameType | None) -> None:
    files = (f.f_code.co_filename for f, _ in traceback.walk_stack(frame))
    if any(file.startswith("<frozen importlib") for file in files):
        return  # half a module would be left behind: the next alarm is soon
    while frame and not frame.f_code.co_filename.startswith(OURS):
        frame.f_trace, frame = _again, frame.f_back
    sys.settrace(_again)
    raise Endless


def _again(frame: FrameType, event: str, argument: Any) -> None:
    """Raises it once more where a bare `except` has caught it."""
    if event == "line":
        raise Endless


def _blank() -> None: ...


def _blank_described() -> None:
    """Holds a description and dots, as an exercise that was not begun."""


BLANK = {f.__code__.co_code for f in (_blank, _blank_described)}


def call(answer: Any, *args: Any, returns: Kind | None = None, none: bool = False) -> Any:
    """Returns `answer(*args)`, called on copies, as the kind of answer that `returns` makes of it.

    Raises NotYet when nothing is written yet. Raises Wrong when the function raised, had no end,
    changed an input in place, or returned None (unless `none`) or another kind than asked.
    Random states, and torch's and NumPy's defaults, are what they were before. A function
    without end is stopped after SECONDS by a signal, in the main thread and not on Windows; while
    it is inside compiled code, such as one large product, it is stopped when that returns.
    """
    if not callable(answer):
        raise Wrong(f"Expected a function; {described(answer)} came. Give its name, without ().")
    given = copy.deepcopy(args)
    try:
        result = run(answer, given)
        code_object = getattr(inspect.unwrap(answer), "__code__", None)
        blank = result is None and getattr(code_object, "co_code", "") in BLANK
        if blank or result is Ellipsis:
            raise NotYet(NOT_BEGUN)
        if result is None and not none:
            raise Wrong("Your function returned None. Does each way through it end with return?")
        for place, (before, after) in enumerate(zip(args, given, strict=True), start=1):
            if not same(before, after):
                raise Wrong(f"Your function changed its argument {place} in place. Work on a copy.")
        return result if returns is None or result is None else returns(result)
    except Wrong as wrong:
        wrong.example = wrong.example or f"Try `{as_call(answer, args)}`."
        raise


def as_call(answer: Any, args: tuple[Any, ...]) -> str:
    """Returns the call as a learner may type it."""
    name = getattr(answer, "__name__", "f")
    return f"{name if name.isidentifier() else 'f'}({', '.join(map(code, args))})"


@dataclass
class Watch:
    """What is watched while answers run, and what has been seen."""

    by_hand: bool | tuple[str, ...] = False
    counted: bool = False
    functions: list[str] = field(default_factory=list)
    operations: int = 0


WATCHES = [Watch()]  # the last one is in force: an answer that runs elsewhere is watched there


@contextmanager
def watched(by_hand: bool | tuple[str, ...] = False, counted: bool = False) -> Iterator[Watch]:
    """Gives what is seen while answers run.

    by_hand: whether muonlab's own functions are listed as they are called; a tuple names functions
    of libraries that are listed, too. counted: whether operations are, of products of matrices.
    """
    watch = Watch(by_hand, counted)
    others = by_hand if isinstance(by_hand, tuple) else ()

    def note(frame: Any, event: str, argument: Any) -> None:
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if event == "c_call":  # else it is what came back, in which torch.compile sees no name
            built_in = getattr(argument, "__name__", "").removeprefix("linalg_")
            watch.functions += [built_in] if built_in in others else []
        elif event == "call" and file.startswith(OURS) and not file.startswith(JUDGES):
            watch.functions.append(f"muonlab.{name}")
        elif event == "call" and name in others and {"torch", "numpy"} & {*Path(file).parts}:
            watch.functions.append(name)

    counter = FlopCounterMode(display=False)
    before = sys.getprofile()
    WATCHES.append(watch)
    try:
        with counter if counted else nullcontext():
            sys.setprofile(note if by_hand else before)
            yield watch
    finally:
        sys.setprofile(before)
        WATCHES.pop()  # by place: two that have seen nothing are equal
    watch.operations += counter.get_total_flops()


def run(answer: Callable, given: tuple[Any, ...], *, keeps: bool = False) -> Any:
    """Returns `answer(*given)`; raises as `call`. keeps: what it sets for torch and NumPy stays."""
    try:
        with nullcontext() if keeps else _untouched(), _limited(SECONDS):
            return answer(*given)
    except KeyboardInterrupt:  # the learner's own
        raise
    except Endless as error:
        raise Wrong(LATE.format(SECONDS)) from error
    except BaseException as error:
        if type(error) is NotImplementedError and not error.args:  # what stubs raise
            raise NotYet(NOT_BEGUN) from error
        raise Wrong(_raised(error)) from error


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer"):
        yield
        return
    handled, traced = signal.signal(signal.SIGALRM, _wake), sys.gettrace()
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)
    try:
        yield
    finally:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)  # what rings just now means the same
        finally:
            sys.settrace(traced)
            signal.signal(signal.SIGALRM, handled)


@contextmanager
def _untouched() -> Iterator[None]:
    before = [get() for get, _ in RESTORED]
    try:
        yield
    finally:
        for (get, put), value in zip(RESTORED, before, strict=True):
            if not same(value, get()):
                put(value)


def same(before: Any, after: Any) -> bool:
    """Whether nothing in a function's argument has changed."""
    if isinstance(before, SIMPLE):
        return before == after
    if isinstance(before, torch.Tensor):
        return torch.equal(before, after)
    if isinstance(before, np.ndarray):
        return np.array_equal(before, after)
    if isinstance(before, dict):
        return before.keys() == after.keys() and all(same(before[k], after[k]) for k in before)
    if not isinstance(before, list | tuple):
        return True
    if {*map(type, before)} <= {*SIMPLE}:  # at once: a state of `random` holds hundreds
        return before == after
    return len(before) == len(after) and all(map(same, before, after))


def _raised(error: BaseException) -> str:
    """Returns the exception with the last line of the learner's cell that led to it."""
    text = f"{type(error).__name__}: {error}".rstrip(": .") + "."
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith(NOT_OWN)]
    if own and own[-1].line:
        return f"Line {own[-1].lineno} of your cell, `{own[-1].line}`, raised {text}"
    return f"Your function raised {text}"
