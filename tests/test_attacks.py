"""What a learner may try against the grader: none of it makes a wrong answer right."""

import json
import os
import socket
import time
from pathlib import Path

import pytest

from muonlab.teaching import grading
from muonlab.teaching.variants import task

ASKED = task("02-e1", "a")  # step_towards(X)
FRAME = """
import sys

def found(name):
    frame = sys._getframe()
    while frame and name not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals[name] if frame else None

"""
REFERENCE = {
    "the task on the stack": FRAME + "step_towards = found('asked').solution()",
    "the task in memory": """
import gc
solved = [o.code for o in gc.get_objects() if type(o).__name__ == "Task"]
exec(solved[0])
""",
    "the patterns": f"""
from muonlab.teaching.variants import task
step_towards = task("{ASKED.exercise}", "a").solution()
""",
    "the check on the stack": FRAME
    + """
kept = {}

def step_towards(X):
    kept.setdefault("look", found("look"))
    asked = kept.setdefault("asked", found("asked"))
    return asked._converts("gives")(lambda *args: kept["look"](*args)[0])(X)
""",
    "the source": """
import json
cells = json.load(open(SOURCE))["cells"]
exec("".join(cells[0]["source"]))
""",
    "the source, by torch": """
import json, torch
held = bytes(torch.from_file(SOURCE, size=SIZE, dtype=torch.uint8).tolist())
exec("".join(json.loads(held)["cells"][0]["source"]))
""",
}
SPEAK = """
import os, time
for number in range(3, 60):
    try:
        os.write(number, {said!r})
    except OSError:
        pass
{then}
def step_towards(X):
    return X
"""
STALL = "time.sleep(1_000)"
FORGED = {
    "half a message": SPEAK.format(said=b"\0\0\3\xe8[", then=STALL),
    "no list": SPEAK.format(said=b"\0\0\0\0015\n", then=STALL),
    "a deep list": SPEAK.format(said=b"[" * 100_000 + b"\n", then=STALL),
    "no text": SPEAK.format(said=b"\xff\xfe\n", then=STALL),
    "a verdict": SPEAK.format(said=b'["right"]\n', then=""),
    "answers": SPEAK.format(said=b"[[[0.1]], [null]]\n", then=""),
    "no end of it": SPEAK.format(said=b"1", then="while True: os.write(number, b'1')"),
    "the end": "import os\nos._exit(0)",
    "a signal": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
}
REPLACED = {
    "builtins": """
import builtins
builtins.len = builtins.max = builtins.abs = lambda *given, **named: 0
builtins.__import__ = lambda *given, **named: None
def step_towards(X): return X
""",
    "torch and NumPy": """
import numpy, torch
torch.Tensor.__eq__ = torch.Tensor.__le__ = lambda one, other: True
torch.allclose = torch.equal = numpy.allclose = lambda *given, **named: True
def step_towards(X): return X
""",
    "modules": """
import sys, types
class Any(types.ModuleType):
    def __getattr__(self, name): return lambda *given, **named: True
for name in [name for name in sys.modules if name.startswith("muonlab")]:
    sys.modules[name] = Any(name)
def step_towards(X): return X
""",
}


LONG = ("half a message", "a signal", "the check on the stack")  # waits; the rest is as telling


def ways(known):
    """Each way to try; the long ones by `make grades`."""
    return [pytest.param(way, marks=pytest.mark.slow if way in LONG else ()) for way in known]


def verdict(code):
    return grading.verdict(ASKED, [code], seconds=2)


@pytest.fixture
def source(tmp_path):
    """What stands in a teacher's folder: the solution."""
    path = tmp_path / "source.ipynb"
    path.write_text(json.dumps({"cells": [{"source": [ASKED.code]}]}))
    return f"SOURCE, SIZE = {str(path)!r}, {path.stat().st_size}\n"


@pytest.mark.skipif(not Path("/proc/sys/kernel").exists(), reason="Linux confines processes")
@pytest.mark.parametrize("way", ways(REFERENCE))
def test_a_learner_does_not_find_the_reference(way, source):
    assert verdict(source + REFERENCE[way]).status == "not right"


@pytest.mark.parametrize("way", ways(FORGED))
def test_what_a_process_says_ends_in_a_verdict_and_in_time(way):
    began = time.monotonic()
    assert verdict(FORGED[way]).status == "not right"
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("way", REPLACED)
def test_what_is_replaced_there_is_not_replaced_here(way):
    assert verdict(REPLACED[way]).status == "not right"


@pytest.mark.skipif(not Path("/proc/sys/kernel").exists(), reason="Linux confines processes")
def test_a_learner_changes_no_file_and_stops_no_other_process(tmp_path):
    mine = tmp_path / "gradebook.db"
    mine.write_text("grades")
    code = f"""
import os, shutil, signal
from pathlib import Path
here = Path({str(tmp_path)!r})
for act in (
    lambda: (here / "gradebook.db").write_text("mine"),
    lambda: (here / "gradebook.db").unlink(),
    lambda: (here / "forged.ipynb").write_text("mine"),
    lambda: shutil.rmtree(here),
    lambda: os.system(f"touch {{here}}/forged"),
    lambda: os.kill({os.getpid()}, signal.SIGUSR1),
):
    try:
        act()
    except OSError:
        pass
"""
    assert verdict(code + ASKED.code).status == "right"
    assert [path.name for path in tmp_path.iterdir()] == ["gradebook.db"]
    assert mine.read_text() == "grades"


@pytest.mark.skipif(not Path("/proc/sys/kernel").exists(), reason="Linux confines processes")
def test_a_learner_leaves_no_process_opens_no_socket_and_has_an_end_of_memory():
    code = """
import os, socket, subprocess, threading

acts = (os.fork, lambda: subprocess.run(["true"]), socket.socket, lambda: bytearray(8 * 2**30))
for act in acts:
    try:
        act()
    except (OSError, MemoryError):
        continue
    os._exit(0)
thread = threading.Thread(target=print)
thread.start()
thread.join()
"""
    assert verdict(code + ASKED.code).status == "right"


ON_OTHERS = {
    "a limit of the process that starts all others": "resource.prlimit(os.getppid(), 7, (3, 3))",
    "its priority": "os.setpriority(os.PRIO_PROCESS, os.getppid(), 11)",
    "its cores": "os.sched_setaffinity(os.getppid(), {0})",
    "a signal": "os.kill(os.getppid(), 0)",
    "a mode": "os.chmod(FILE, 0)",
    "a time": "os.utime(FILE, (1, 1))",
    "an attribute": "os.setxattr(FILE, 'user.a', b'1')",
    "a queue that stays": "refused(ctypes.CDLL(None).msgget(0, 0o1600))",
    "memory that stays": "refused(ctypes.CDLL(None).shmget(0, 4096, 0o1600))",
}


@pytest.mark.parametrize("way", ON_OTHERS)
@pytest.mark.skipif(not Path("/proc/sys/kernel").exists(), reason="Linux confines processes")
def test_a_learner_reaches_no_other_process_and_changes_no_file_unopened(way, tmp_path):
    file = tmp_path / "mine"
    file.write_text("mine")
    before = file.stat()
    source = f"""
import ctypes, os, resource
FILE = {str(file)!r}

def refused(answer):
    if answer < 0:
        raise OSError

try:
    {ON_OTHERS[way]}
except (OSError, PermissionError):
    def step_towards(X):
        return "refused"
"""
    verdict = grading.verdict(ASKED, [source])
    assert "got refused" in verdict.example, f"{verdict}: it was done"
    after = file.stat()
    assert (after.st_mode, after.st_mtime) == (before.st_mode, before.st_mtime)
    assert grading.verdict(ASKED, [ASKED.code]).status == "right", "and the next is judged alike"


def test_a_diagnosis_tells_nothing_of_the_task():
    said = verdict(FRAME + "def step_towards(X): raise ValueError(found('asked').code)")
    assert "has no attribute 'code'" in said.message
    assert "`nothing = 1 / 0`, raised ZeroDivisionError" in repr(
        verdict("def step_towards(X):\n    nothing = 1 / 0")
    )
    assert "returned set '{1}'" in repr(verdict("def step_towards(X): return {1}"))


def test_a_library_may_still_ask_where_temporary_files_go():
    code = "import tempfile\nassert tempfile.gettempdir()\n"
    assert verdict(code + ASKED.code).status == "right"


def test_two_lines_that_come_at_once_are_two():
    ours, theirs = socket.socketpair()
    theirs.sendall(b"0\n[1]\n")
    theirs.close()
    assert [grading._read(ours, 1), grading._read(ours, 1)] == [0, [1]]
    with pytest.raises(EOFError):
        grading._read(ours, 1)
    ours.close()
