"""One call of a learner's function: on copies, with an end, and leaving nothing changed."""

import builtins
import copy
import ctypes
import dis
import inspect
import linecache
import math
import random
import signal
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from muonlab.classroom.kinds import Kind, Wrong, code, described

SECONDS = 20.0  # a right answer takes milliseconds
BEGIN = "Write your code in place of the dots, then run this cell."
PACKAGE = str(Path(__file__).parents[1])
JUDGES = tuple(str(Path(PACKAGE, room)) for room in ("classroom", "teaching"))
LIBRARIES = (PACKAGE, "<frozen", *(sysconfig.get_path(p) for p in ("stdlib", "purelib", "platlib")))
RELIED_ON = (torch, torch.linalg, torch.Tensor, torch.nn.functional, math, np)
OWN = ("torch", "numpy", "math", "muonlab")  # libraries exchange some of their functions themselves
PLAIN = (int, float, str, set, torch.dtype, torch.device)
BUILT_IN = (abs, all, any, float, int, len, list, max, min, round, sorted, sum, tuple, zip)
ORIGINAL = {
    (owner, name): getattr(owner, name)
    for owner in RELIED_ON
    for name in dir(owner)
    if not name.startswith("_") and callable(getattr(owner, name, None))
} | {(builtins, function.__name__): function for function in BUILT_IN}
STATE: tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...] = (
    (torch.get_rng_state, torch.set_rng_state),
    (np.random.get_state, np.random.set_state),
    (random.getstate, random.setstate),
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.get_default_device, torch.set_default_device),
    (torch.is_grad_enabled, torch.set_grad_enabled),
    (torch.get_num_threads, torch.set_num_threads),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    (sys.getrecursionlimit, sys.setrecursionlimit),
    (torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms),
    (np.geterr, lambda modes: np.seterr(**modes)),
)


class NotYet(Exception):
    """An exercise that has not been begun."""


class Endless(BaseException):
    """Stops a function that takes too long; where a bare `except` catches it, it comes again."""

    def __init__(self, frame: Any = None) -> None:
        frame = frame or sys._getframe(1)
        while frame and not frame.f_code.co_filename.startswith(PACKAGE):
            frame.f_trace, frame.f_trace_opcodes = _again, True
            frame = frame.f_back
        sys.settrace(_again)


def _wake(number: int, frame: FrameType | None) -> None:
    raise Endless(frame)


def _again(frame: Any, event: str, argument: Any) -> None:
    if event in ("line", "opcode"):
        raise Endless


def call(answer: Any, *args: Any, returns: Kind | None = None, none: bool = False) -> Any:
    """Returns `answer(*args)`, called on copies, as the kind of answer that `returns` makes of it.

    Raises NotYet when nothing is written yet. Raises Wrong when the function raised, had no end,
    changed an input in place, or returned None (unless `none`) or another kind than asked.
    Random states, threads, types and modes of torch and NumPy are what they were before. A function
    without end is stopped after SECONDS by an exception in its thread, on every system; while it
    is inside compiled code, such as one large product, it is stopped when that returns. One that
    sleeps is woken by a signal, in the main thread and not on Windows.
    """
    if not callable(answer):
        raise Wrong(f"Expected a function; {described(answer)} came. Give its name, without ().")
    given = copy.deepcopy(args)
    try:
        _accepts(answer, args)
        result = _run(answer, given)
        if result is Ellipsis or (result is None and _begins(answer)):
            raise NotYet(BEGIN)
        if result is None and not none:
            raise _none(answer)
        for place, (before, after) in enumerate(zip(args, given, strict=True), start=1):
            if not same(before, after):
                raise Wrong(f"Your function changed its argument {place} in place. Work on a copy.")
        return result if returns is None or result is None else returns(result)
    except Wrong as wrong:
        wrong.example = wrong.example or f"Try `{shown(answer, args)}`."
        raise


def shown(answer: Any, args: tuple[Any, ...]) -> str:
    """Returns the call as a learner may type it."""
    name = getattr(answer, "__name__", "f")
    return f"{name if name.isidentifier() else 'f'}({', '.join(map(code, args))})"


def unpatched() -> None:
    """Raises Wrong when a function that checks rely on was replaced, and puts it back."""
    for (owner, name), original in ORIGINAL.items():
        now = getattr(owner, name, None)
        if now is not original and not str(getattr(now, "__module__", "")).startswith(OWN):
            setattr(owner, name, original)
            raise Wrong(
                f"Your code replaced `{owner.__name__}.{name}`, which the check relies on. It has "
                "been put back: leave it as it is, and run your cell again."
            )


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
        built_in = getattr(argument, "__name__", "").removeprefix("linalg_")
        if event == "c_call" and built_in in others:
            watch.functions.append(built_in)
        elif event == "call" and file.startswith(PACKAGE) and not file.startswith(JUDGES):
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
        WATCHES.remove(watch)
    watch.operations += counter.get_total_flops()


def _run(answer: Callable, given: tuple[Any, ...]) -> Any:
    try:
        with _untouched(), _limited(SECONDS):
            return answer(*given)
    except KeyboardInterrupt:  # the learner's own
        raise
    except Endless as error:
        raise Wrong(
            f"Your function had not ended after {SECONDS:g} seconds, and was stopped. Does each "
            "loop come to its end?"
        ) from error
    except BaseException as error:
        if isinstance(error, NotImplementedError) and _raises(answer, error):
            raise NotYet(BEGIN) from error
        raise Wrong(_raised(answer, error)) from error


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    thread, done = threading.get_ident(), threading.Event()
    given, handled = (ctypes.c_ulong(thread), ctypes.py_object(Endless)), None
    stop = partial(ctypes.pythonapi.PyThreadState_SetAsyncExc, *given)
    if threading.current_thread() is threading.main_thread() and hasattr(signal, "pthread_kill"):
        stop = partial(signal.pthread_kill, thread, signal.SIGURG)  # it ends a sleep, too
        handled = signal.signal(signal.SIGURG, _wake) or signal.SIG_DFL

    def watch() -> None:
        wait = seconds
        while not done.wait(wait):
            if not _importing(thread):  # half a module would be left behind
                stop()
            wait = 0.5  # again, for nothing came while a module was imported

    watcher, before = threading.Thread(target=watch, daemon=True), sys.gettrace()
    watcher.start()
    try:
        yield
    finally:
        try:
            done.set()
            watcher.join()  # what it sent at the last moment is raised here, and means the same
        finally:
            sys.settrace(before)
            if handled is not None:  # SIG_DFL is 0
                signal.signal(signal.SIGURG, handled)


def _importing(thread: int) -> bool:
    frames = traceback.walk_stack(sys._current_frames().get(thread))
    return any(frame.f_code.co_filename.startswith("<frozen importlib") for frame, _ in frames)


@contextmanager
def _untouched() -> Iterator[None]:
    before = [get() for get, _ in STATE]
    try:
        yield
    finally:
        for (get, put), value in zip(STATE, before, strict=True):
            if not same(value, get()):
                put(value)


def _accepts(answer: Callable, args: tuple[Any, ...]) -> None:
    try:
        inspect.signature(answer).bind(*args)
    except ValueError:  # built in, without a signature
        return
    except TypeError as error:
        raise Wrong(
            f"The check calls your function with {len(args)} value{'s' if len(args) > 1 else ''}; "
            f"{error}. Keep the line that begins with def as it was."
        ) from error


def same(before: Any, after: Any) -> bool:
    """Whether nothing in a function's argument has changed."""
    if isinstance(before, PLAIN):  # first, for a state of `random` holds hundreds
        return before == after
    if isinstance(before, torch.nn.Module):
        flags = ([(p, p.requires_grad) for p in m.parameters()] for m in (before, after))
        return same(*flags) and same(before.state_dict(), after.state_dict())
    if isinstance(before, torch.Tensor):
        return torch.equal(before, after)
    if isinstance(before, np.ndarray):
        return np.array_equal(before, after)
    if isinstance(before, dict):
        return before.keys() == after.keys() and all(same(before[k], after[k]) for k in before)
    several = isinstance(before, list | tuple)
    return not several or (len(before) == len(after) and all(map(same, before, after)))


def _code(answer: Any) -> CodeType | None:
    return getattr(inspect.unwrap(answer), "__code__", None)


def _steps(answer: Any) -> list[dis.Instruction]:
    return list(dis.get_instructions(place)) if (place := _code(answer)) else []


def _begins(answer: Any) -> bool:
    """Whether the function holds nothing but its description and dots."""
    operations = {step.opname for step in _steps(answer)} or {"unknown"}
    return operations <= {"RESUME", "NOP", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}


def _none(answer: Any) -> Exception:
    """Returns what to raise for None: a way through the function returns a value, or none."""
    steps = _steps(answer)
    ends = [s for s in steps if s.opname == "RETURN_CONST"]
    last = [(before, s) for before, s in pairwise(steps) if s.opname == "RETURN_VALUE"]
    ends += [s if s.is_jump_target else before for before, s in last]  # `x if y else None` jumps
    if ends and all(s.opname in ("LOAD_CONST", "RETURN_CONST") and s.argval is None for s in ends):
        return NotYet("Your function returns nothing: end it with return.")
    return Wrong("Here your function returned None. Does each way through it end with a return?")


def _raises(answer: Any, error: BaseException) -> bool:
    """Whether the learner's own function says `raise`, not a library that it called."""
    at = error.__traceback__
    while at and at.tb_next:
        at = at.tb_next
    if at is None or at.tb_frame.f_code is not _code(answer):
        return False
    return at.tb_frame.f_code.co_code[at.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def _raised(answer: Any, error: BaseException) -> str:
    """Returns the exception with the last line of the learner's that led to it."""
    text = f"{type(error).__name__}: {error}".rstrip(": .") + "."
    frames = traceback.walk_tb(error.__traceback__)
    own = [(f.f_code, n) for f, n in frames if not f.f_code.co_filename.startswith(LIBRARIES)]
    if not own:
        return f"Your function raised {text}"
    place, number = own[-1]
    line, outer = linecache.getline(place.co_filename, number).strip(), _code(answer)
    if outer and place.co_qualname.startswith(f"{outer.co_qualname}.<locals>.<"):
        place = outer  # a comprehension stands in the function
    where = "your function" if place is outer else f"`{place.co_name}`"
    quoted = f", `{line}`," if line else ""
    return f"Line {number - _first(place) + 1} of {where}{quoted} raised {text}"


def _first(place: CodeType) -> int:
    """Returns the line of `def`: a function's code begins with its decorators."""
    start = place.co_firstlineno
    lines = (
        number
        for number in range(start, start + 20)
        if linecache.getline(place.co_filename, number).lstrip().startswith(("def ", "async def "))
    )
    return start if place.co_name == "<lambda>" else next(lines, start)
