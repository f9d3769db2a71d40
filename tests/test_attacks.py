"""What a learner may try against the grader: none of it makes a wrong answer right."""

import ctypes
import json
import math
import os
import resource
import signal
import socket
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from muonlab import bubblewrap
from muonlab.classroom.exercise import Verdict
from muonlab.files import course
from muonlab_teaching import confined, grading
from muonlab_teaching.variants import task

pytestmark = pytest.mark.processes
ASKED = task("02-e1", "a")  # step_towards(X)
FRAME = """
import sys

def found(name):
    frame = sys._getframe()
    while frame and name not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals[name] if frame else None

"""
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
CHEATS = {
    "the task on the stack": FRAME + "step_towards = found('asked').solution()",
    "the task in memory": f"""
import gc
solved = [o.code for o in gc.get_objects() if type(o).__name__ == "{type(ASKED).__name__}"]
exec(solved[0])
""",
    "the patterns": f"""
from muonlab_teaching.variants import task
step_towards = task("{ASKED.exercise}", "a").solution()
""",
    "the source": """
import json
cells = json.load(open(SOURCE))["cells"]
exec("".join(cells[0]["source"]))
""",
    "a forged deep list": SPEAK.format(said=b"[" * 100_000 + b"\n", then="time.sleep(1_000)"),
    "a forged verdict": SPEAK.format(said=b'["right"]\n', then=""),
    "no end of it": SPEAK.format(said=b"1", then="while True: os.write(number, b'1')"),
    "a signal": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "other builtins": """
import builtins
builtins.len = builtins.max = builtins.abs = lambda *given, **named: 0
builtins.__import__ = lambda *given, **named: None
def step_towards(X): return X
""",
    "other modules": """
import sys, types
class Any(types.ModuleType):
    def __getattr__(self, name): return lambda *given, **named: True
for name in [name for name in sys.modules if name.startswith("muonlab")]:
    sys.modules[name] = Any(name)
def step_towards(X): return X
""",
}
CONTAINED = not bubblewrap.uncontained()
CLOSED = pytest.mark.skipif(not CONTAINED, reason=bubblewrap.uncontained() or "contained")


def verdicts(codes, seconds=grading.CALL_SECONDS):
    return grading.verdicts([(ASKED, [code]) for code in codes], seconds)


@CLOSED
def test_no_cheat_makes_a_wrong_answer_right(tmp_path):
    """A solution lies in a teacher's folder, whose place they know."""
    path = tmp_path / "source.ipynb"
    path.write_text(json.dumps({"cells": [{"source": [ASKED.code]}]}))
    place = f"SOURCE = {str(path)!r}\n"
    began = time.monotonic()
    outcomes = verdicts([place + code for code in CHEATS.values()], seconds=2)
    assert {v.status for v in outcomes} == {"not right"}, dict(zip(CHEATS, outcomes, strict=True))
    assert time.monotonic() - began < 30 * len(CHEATS), "each ends in time"


SECRET, MARK = "a-token-of-the-teacher", "4242.25"  # of the environment; a sleep that stays
KEY = 0x4D55  # of shared memory
ATTACK = """
import ctypes, fcntl, os, resource, signal, socket, subprocess, termios, time
from pathlib import Path

C = ctypes.CDLL(None)
FILE, HOME, COURSE = map(Path, (FILE, HOME, COURSE))
OTHER = os.readlink("/proc/self/ns/pid") == PIDS  # whether PID is the grader's number here, too

def done(answer):
    if answer < 0:
        raise OSError

def stays():
    if not os.fork():
        os.setsid()
        os.execvp("sleep", ["sleep", MARK])

def attack():
    {code}

try:
    attack()
except (OSError, ValueError, MemoryError, AssertionError):
    def step_towards(X): return "refused"
else:
    def step_towards(X): return "done"
"""
# Each: what a hand-in does, and what of the grader's it must leave as it is; None: it is refused.
ATTACKS = {
    "write the gradebook": ("FILE.write_text('mine')", "files"),
    "delete it": ("FILE.unlink()", "files"),
    "read the gradebook": ("FILE.read_text()", None),
    "read the checks": ("(COURSE / 'lessons/checks/lesson_02.py').read_text()", None),
    "read the home folder": ("(HOME / 'id_ed25519').read_text()", None),
    "read the grader's environment": (
        "Path(f'/proc/{PID}/environ').read_bytes(); assert OTHER",
        None,
    ),
    "a process that stays": ("stays()", "ps"),
    "connect to a port": ("socket.create_connection(('127.0.0.1', PORT), 1)", None),
    "connect to a socket": ("socket.socket(socket.AF_UNIX).connect(str(FILE) + '.socket')", None),
    "a signal": ("os.kill(PID, signal.SIGUSR1)", "signals"),
    "a limit": ("resource.prlimit(PID, resource.RLIMIT_NOFILE, (MANY - 1, MANY))", "limits"),
    "a limit of what starts it": (
        "resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (3, 3))",
        "limits",
    ),
    "memory that stays": ("done(C.shmget(KEY, 4096, 0o1600))", "sysv"),
    "shared memory by name": ("Path('/dev/shm/muonlab-probe').write_text('mine')", "shm"),
    "a queue by name": ("done(C.mq_open(b'/muonlab-probe', 0o102, 0o600, None))", "queue"),
    "a text of the course": ("(COURSE / 'data' / 'mine').write_text('mine')", None),
    "a secret of the environment": ("assert SECRET in os.environ.values()", None),
    "connect to an abstract socket": (
        "socket.socket(socket.AF_UNIX).connect(chr(0) + f'muonlab-{PID}')",
        None,
    ),
    "the clock": ("time.clock_settime(time.CLOCK_REALTIME, time.time())", None),
    "the machine's parameters": (
        "at = Path('/proc/sys/vm/swappiness'); at.write_text(at.read_text())",
        None,
    ),
    "keys typed for the teacher": (
        "fcntl.ioctl(os.open('/dev/tty', os.O_RDWR), termios.TIOCSTI, b'x')",
        None,
    ),
    "a mount": ("done(C.mount(b'none', b'/tmp', b'tmpfs', 0, None))", None),
    "new rights": ("done(C.unshare(0x10000000))", None),
    "a higher limit": (
        "resource.setrlimit(resource.RLIMIT_AS, (-1, -1)); bytearray(8 * 2**30)",
        None,
    ),
    "a full disk": ("open('/tmp/full', 'wb').write(bytes(2**27))", None),
    "many processes": ("[stays() for _ in range(50)]", "ps"),
    "every watch of files": ("while C.inotify_init() >= 0: pass", "watches"),
}

SIGNALS = []
LIMITS = (resource.RLIMIT_NOFILE, resource.RLIMIT_AS, resource.RLIMIT_NPROC)


def outside(folder):
    """What of the grader's a hand-in might change."""
    libc, watch = ctypes.CDLL(None), ctypes.CDLL(None).inotify_init()
    os.close(watch) if watch >= 0 else None
    facts = {str(path): path.lstat() for path in sorted(folder.rglob("*"))}
    commands = [*Path("/proc").glob("[0-9]*/cmdline")]
    return {
        "files": [(path, f.st_mode, f.st_mtime, f.st_size) for path, f in facts.items()],
        "limits": [resource.getrlimit(limit) for limit in LIMITS],
        "sysv": str(KEY) in Path("/proc/sysvipc/shm").read_text(),
        "shm": Path("/dev/shm/muonlab-probe").exists(),
        "queue": libc.mq_open(b"/muonlab-probe", os.O_RDWR) >= 0,
        "signals": list(SIGNALS),
        "ps": sum(MARK in read(path) for path in commands),
        "watches": watch >= 0,
    }


def outside_at_last(folder):
    """The same, when what the sandbox killed with it has ended."""
    until = time.monotonic() + 30
    while (facts := outside(folder))["ps"] and time.monotonic() < until:
        time.sleep(0.1)
    return facts


def read(path):
    try:
        return path.read_text()
    except OSError:  # it has just ended
        return ""


@contextmanager
def attacker(tmp_path):
    """Gives what tries attacks: of each, what came of it, and what was outside before and after.

    Other codes run before them in the same process, for to start one takes seconds.
    """
    home = tmp_path / "home"
    places = {way: tmp_path / str(number) for number, way in enumerate(ATTACKS)}
    for place in (home, *places.values()):
        place.mkdir()
        (place / "gradebook.db").write_text("grades")
    (home / "id_ed25519").write_text(SECRET)
    with (
        pytest.MonkeyPatch.context() as patch,
        socket.create_server(("127.0.0.1", 0)) as port,
        socket.socket(socket.AF_UNIX) as named,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        patch.setenv("TOKEN", SECRET)
        patch.setenv("HOME", str(home))
        named.bind(str(places["connect to a socket"] / "gradebook.db.socket"))
        abstract.bind(f"\0muonlab-{os.getpid()}")
        for listener in (named, abstract):
            listener.listen()
        facts = {
            "SECRET": SECRET,
            "MARK": MARK,
            "KEY": KEY,
            "PID": os.getpid(),
            "PIDS": os.readlink("/proc/self/ns/pid"),
            "PORT": port.getsockname()[1],
            "MANY": resource.getrlimit(resource.RLIMIT_NOFILE)[1],
            "HOME": str(home),
            "COURSE": str(course()),
        }

        def tried(ways, others):
            codes = [
                "\n".join(f"{name} = {value!r}" for name, value in facts.items())
                + f"\nFILE = {str(places[way] / 'gradebook.db')!r}\n"
                + ATTACK.replace("{code}", ATTACKS[way][0])
                for way in ways
            ]
            before = {way: outside(places[way]) for way in ways}
            outcomes = verdicts([*others, *codes])
            came = dict(zip(ways, outcomes[len(others) :], strict=True))
            of_ways = {w: (repr(v), before[w], outside_at_last(places[w])) for w, v in came.items()}
            return of_ways, outcomes[: len(others)]

        usual = signal.signal(signal.SIGUSR1, lambda *_: SIGNALS.append(1))
        try:
            yield tried
        finally:
            signal.signal(signal.SIGUSR1, usual)


LIVE = (  # what may be done for once
    *("delete it", "a signal", "read the grader's environment"),
    *("read the gradebook", "read the checks", "read the home folder"),
    *("connect to a port", "connect to a socket", "connect to an abstract socket"),
)


LIMITED = """
import tempfile, threading
assert tempfile.gettempdir()  # as libraries do
try:
    bytearray(8 * 2**30)
except MemoryError:
    thread = threading.Thread(target=print)
    thread.start()
    thread.join()
else:
    raise SystemExit
"""


DIAGNOSED = (
    FRAME + "def step_towards(X): raise ValueError(found('asked').code)",
    "def step_towards(X):\n    nothing = 1 / 0",
    "def step_towards(X): return {1}",
    LIMITED + ASKED.code,
)
SPOILT = "import os, resource\nresource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (3, 3))\n"


@pytest.fixture(scope="module")
def contained(tmp_path_factory):
    with attacker(tmp_path_factory.mktemp("contained")) as tried:
        return tried(ATTACKS if CONTAINED else (), DIAGNOSED)


@pytest.fixture(scope="module")
def uncontained(tmp_path_factory):
    place = tmp_path_factory.mktemp("uncontained")
    with attacker(place) as tried, pytest.MonkeyPatch.context() as patch:
        patch.setattr(confined, "uncontained", lambda: "as where there is none")
        return tried(LIVE, (SPOILT + ASKED.code, ASKED.code))


@CLOSED
def test_a_hand_in_reaches_nothing_outside(contained):
    for way, (said, before, after) in contained[0].items():
        touched = ATTACKS[way][1]
        assert touched is None or after[touched] == before[touched], way
        stopped = "got refused" in said or touched == "signals"
        assert stopped or (touched and "got done" in said), (way, said)


def test_the_attacks_are_such_where_nothing_contains_them(uncontained):
    for way, (said, before, after) in uncontained[0].items():
        touched = ATTACKS[way][1]
        assert "got done" in said, (way, said)
        assert touched is None or after[touched] != before[touched], way


def test_who_spoils_what_starts_processes_harms_nobody_else(uncontained):
    assert [verdict.status for verdict in uncontained[1]] == ["right"] * 2


def test_a_diagnosis_tells_nothing_of_the_task_and_memory_has_an_end(contained):
    sought, raised, returned, limited = contained[1]
    assert "has no attribute 'code'" in sought.message
    assert "`nothing = 1 / 0`, raised ZeroDivisionError" in repr(raised)
    assert "returned set '{1}'" in repr(returned)
    assert limited.status == "right"


def test_where_the_solution_fails_nobody_is_graded(monkeypatch):
    failed = Verdict("02-e1", "not right", "No.")
    monkeypatch.setattr(grading, "verdicts", lambda handed_in, seconds: [failed])
    with pytest.raises(RuntimeError, match=r"our own solution was judged as follows.*02-e1"):
        grading.graded([(ASKED, [ASKED.code])])


def test_a_process_that_does_not_begin_is_no_learners_mistake(monkeypatch):
    monkeypatch.setattr(confined, "uncontained", lambda: "")
    monkeypatch.setattr(confined, "walls", lambda *packages: ["no-such-command"])
    with pytest.raises(RuntimeError, match=r"no process began.*No such file"):
        verdicts([ASKED.code])
    monkeypatch.setattr(confined, "walls", lambda *packages: ["sh", "-c", "echo no room >&2"])
    with pytest.raises(RuntimeError, match=r"(?s)no process began.*no room"):
        verdicts([ASKED.code])


def test_without_bubblewrap_a_teacher_is_told(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    bubblewrap.uncontained.cache_clear()
    try:
        with pytest.warns(UserWarning, match=r"NOT contained here.*bwrap: No such file"):
            verdicts([])
    finally:
        bubblewrap.uncontained.cache_clear()


def test_an_argument_arrives_as_what_it_is_and_no_other_kind_is_sent():
    for value in (
        *(1, True, None, "a", [1.5, (2, [])], (), {1: 0.1, "b": [math.inf]}),
        *(torch.tensor([[0.1]]), torch.zeros(0, 3), torch.tensor([1, 2])),
        torch.tensor(0.1, dtype=torch.float64),
    ):
        came = eval(grading.as_python(value), {"torch": torch, "inf": math.inf})
        assert (repr(came), type(came)) == (repr(value), type(value))
    with pytest.raises(TypeError, match="takes no set"):
        grading.as_python([{1}])


def test_two_lines_that_come_at_once_are_two():
    ours, theirs = socket.socketpair()
    process = object.__new__(confined.Confined)
    process.pipe, process.rest = ours, b""
    with ours:
        theirs.sendall(b"0\n[1]\n")
        assert [process.read(1), process.read(1)] == [0, [1]]
        with pytest.raises(TimeoutError):
            process.read(0.01)
        theirs.close()
        with pytest.raises(EOFError):
            process.read(1)
