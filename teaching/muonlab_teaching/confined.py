"""A process tree of its own for what one learner wrote: lines of JSON go in and come out.

Bubblewrap closes it in where that works. Elsewhere it has limits and no more.
"""

import json
import os
import site
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL
from typing import Any

import muonlab
from muonlab.bubblewrap import uncontained, walls
from muonlab.files import cache_folder, course

READABLE = (Path(muonlab.__file__).parent, Path(__file__).parent)
STARTS_IN = 120.0  # seconds for a process to begin: it imports torch
FLOOD = 10_000_000  # bytes of an answer
ENDED = (EOFError, OSError, RecursionError, ValueError)  # no more comes, or not in time, or no JSON
PASSED = ("PATH", "LANG", "LD_LIBRARY_PATH", "OMP_NUM_THREADS")  # of the environment: no secrets


class Confined:
    """A process that runs a learner's code: each line to and from it is JSON.

    RuntimeError: none began, which is the grader's fault and never a learner's.
    """

    def __init__(self) -> None:
        env = {name: os.environ[name] for name in PASSED if name in os.environ}
        env |= {"HOME": "/tmp", "PYTHONUSERBASE": site.getuserbase()}
        env |= {"MUONLAB_COURSE": str(course()), "MUONLAB_CACHE": str(cache_folder())}
        env |= {"PYTHONPATH": os.pathsep.join(str(folder.parent) for folder in READABLE)}
        env |= {"TORCH_COMPILE_DISABLE": "1"}  # no compiler works inside
        closed = [] if uncontained() else walls(*READABLE)
        self.rest = b""
        self.pipe, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [*closed, sys.executable, "-P", "-m", "muonlab_teaching.learner_process"],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=subprocess.PIPE,
                cwd="/",
                env=env,
                start_new_session=True,
            )

    def send(self, said: Any, seconds: float) -> None:
        """Sends one line; TimeoutError where it is not taken in time."""
        self.pipe.settimeout(seconds)
        self.pipe.sendall(json.dumps(said).encode() + b"\n")

    def read(self, seconds: float) -> Any:
        """Returns what the next line says: never unpickled, for a learner may have made it.

        TimeoutError: it is not whole in time. EOFError: there is no more of it, or too much.
        ValueError: it is no JSON.
        """
        end = time.monotonic() + seconds
        while b"\n" not in self.rest:
            if (left := end - time.monotonic()) <= 0:
                raise TimeoutError
            self.pipe.settimeout(left)
            new = self.pipe.recv(65_536)
            if not new or len(self.rest) > FLOOD:
                raise EOFError
            self.rest += new
        line, _, self.rest = self.rest.partition(b"\n")
        return json.loads(line)

    def close(self) -> str:
        """Ends the tree; returns what its first process said of itself."""
        with suppress(ProcessLookupError, PermissionError):  # it has ended
            os.killpg(self.process.pid, SIGKILL)
        self.pipe.close()
        return self.process.communicate()[1].decode(errors="replace")
