"""A process that may read libraries and texts, and touch nothing else: Linux' Landlock.

It holds for the process, all its threads to come and its children, and nothing takes it back:
https://docs.kernel.org/userspace-api/landlock.html. Kernels from 5.13 on have it; from 6.12 on it
stops signals too. Elsewhere nothing is confined, and `confine` says so.
"""

import ctypes
import os
import site
import sys
from collections.abc import Iterator
from pathlib import Path

from muonlab.files import cache_folder, course

CREATE, ADD, RESTRICT = 444, 445, 446  # system calls, alike on all processors
VERSION, BENEATH, NO_NEW_PRIVILEGES = 1, 1, 38
READ = 0b1101  # run a file, read it, list a folder
KINDS_OF_ACCESS = (13, 14, 15, 15, 16)  # to files, which versions 1, 2, … can forbid
CONNECT, SCOPES = 0b11, 0b11  # TCP's bind and connect; abstract sockets and signals


class _Rule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def confine() -> bool:
    """Takes all but reading what code needs from this process; False where that cannot be done.

    What stays readable: Python and its libraries, the package, recorded runs, texts. Not: lessons,
    their checks and patterns, and whatever else the account holds.
    """
    if sys.platform != "linux":
        return False
    call = ctypes.CDLL(None, use_errno=True).syscall
    version = call(CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(VERSION))
    if version < 1:
        return False
    files = 2 ** KINDS_OF_ACCESS[min(version, len(KINDS_OF_ACCESS)) - 1] - 1
    handled = [files, *([CONNECT] if version >= 4 else []), *([SCOPES] if version >= 6 else [])]
    asked = (ctypes.c_uint64 * len(handled))(*handled)
    rules = call(CREATE, asked, ctypes.c_size_t(ctypes.sizeof(asked)), ctypes.c_uint32(0))
    for folder in _readable():
        opened = os.open(folder, os.O_PATH | os.O_CLOEXEC)
        rule = _Rule(READ, opened)
        call(ADD, rules, ctypes.c_int(BENEATH), ctypes.byref(rule), ctypes.c_uint32(0))
        os.close(opened)
    ctypes.CDLL(None).prctl(NO_NEW_PRIVILEGES, *map(ctypes.c_ulong, (1, 0, 0, 0)))
    done = call(RESTRICT, rules, ctypes.c_uint32(0)) == 0
    os.close(rules)
    return done


def _readable() -> Iterator[Path]:
    users = site.getusersitepackages() if site.ENABLE_USER_SITE else sys.prefix
    own = (Path(__file__).parents[1], course() / "data", cache_folder())
    places = (sys.prefix, sys.base_prefix, users, "/usr", "/lib", "/lib64", "/etc")
    yield from (path for path in (*map(Path, places), *own) if path.is_dir())
