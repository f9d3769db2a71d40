"""A process that may read libraries and texts, and touch nothing else: Linux' Landlock and seccomp.

Both hold for the process and all its threads to come, and nothing takes them back:
https://docs.kernel.org/userspace-api/landlock.html and …/seccomp_filter.html. Kernels from 5.13 on
have Landlock; from 6.12 on it stops signals too. Elsewhere nothing is confined.
"""

import ctypes
import os
import platform
import site
import sys
from collections.abc import Iterator
from pathlib import Path

from muonlab.files import cache_folder, course

CREATE, ADD, RESTRICT = 444, 445, 446  # system calls, alike on all processors
VERSION, BENEATH = 1, 1
NO_NEW_PRIVILEGES, SECCOMP, BY_FILTER = 38, 22, 2  # for prctl
READ = 0b1101  # run a file, read it, list a folder
KINDS_OF_ACCESS = (13, 14, 15, 15, 16)  # to files, which versions 1, 2, … can forbid
CONNECT, SCOPES = 0b11, 0b11  # TCP's bind and connect; abstract sockets and signals
ADDRESSES = 9  # for setrlimit: the memory of a process
MEMORY = 4 * 2**30  # bytes more than the process holds: a right answer takes some megabytes

# System calls by processor, from the kernel's tables, that nobody needs here: what makes processes
# and sockets (fork, vfork, clone3, io_uring_setup, socket); what acts on other processes (kill,
# tkill, setpriority, sched_setparam, …scheduler, …affinity, …attr, ioprio_set); what changes files
# without opening them, which Landlock does not see (chmod, chown, utime, setxattr, removexattr and
# their kin); what stays after a process (shmget, msgget, semget, mq_open).
NEEDLESS = {
    "x86_64": (
        *(57, 58, 435, 425, 41),
        *(62, 200, 141, 142, 144, 203, 314, 251),
        *(90, 91, 268, 452, 92, 93, 94, 260, 132, 235, 261, 280, 188, 189, 190, 197, 198, 199),
        *(29, 68, 64, 240),
    ),
    "aarch64": (
        *(435, 425, 198),
        *(129, 130, 140, 118, 119, 122, 274, 30),
        *(52, 53, 452, 54, 55, 88, 5, 6, 7, 14, 15, 16),
        *(194, 186, 190, 180),
    ),
}
# The processor's number; clone, which makes threads too; prlimit64, which a process may ask of
# itself: its first argument is then 0.
CALLS = {"x86_64": (0xC000003E, 56, 302), "aarch64": (0xC00000B7, 220, 261)}
LOAD, EQUAL, LARGER, HAS, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # what a filter does with a number
CALL, PROCESSOR, FIRST = 0, 4, 16  # where the numbers stand: the call's, its first argument
OTHER_CALLS, THREAD = 0x40000000, 0x10000  # x86's second table; CLONE_THREAD
ALLOW, REFUSE = 0x7FFF0000, 0x50000 | 38  # "not implemented": threads then begin by clone


class _Rule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


class _Step(ctypes.Structure):
    _fields_ = (
        ("does", ctypes.c_uint16),
        ("if_so", ctypes.c_uint8),  # how many steps to leave out
        ("if_not", ctypes.c_uint8),
        ("number", ctypes.c_uint32),
    )


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("steps", ctypes.POINTER(_Step)))


def confine() -> None:
    """Takes all but reading what code needs from this process, as far as the system can do it.

    What stays readable: Python and its libraries, the system's own files, the package, recorded
    runs, texts. Not: lessons, their checks and patterns, and what else the account holds. It makes
    no process and no socket, and takes 4 GiB of memory at most.
    """
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY
        ctypes.CDLL(None).setrlimit(ADDRESSES, (ctypes.c_ulong * 2)(most, most))
        ctypes.CDLL(None).prctl(NO_NEW_PRIVILEGES, *map(ctypes.c_ulong, (1, 0, 0, 0)))
        _reads_only()
        _alone()


def _reads_only() -> None:
    call = ctypes.CDLL(None, use_errno=True).syscall
    version = call(CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(VERSION))
    if version < 1:
        return
    files = 2 ** KINDS_OF_ACCESS[min(version, len(KINDS_OF_ACCESS)) - 1] - 1
    handled = [files, *([CONNECT] if version >= 4 else []), *([SCOPES] if version >= 6 else [])]
    asked = (ctypes.c_uint64 * len(handled))(*handled)
    rules = call(CREATE, asked, ctypes.c_size_t(ctypes.sizeof(asked)), ctypes.c_uint32(0))
    for folder in _readable():
        opened = os.open(folder, os.O_PATH | os.O_CLOEXEC)
        rule = _Rule(READ, opened)
        call(ADD, rules, ctypes.c_int(BENEATH), ctypes.byref(rule), ctypes.c_uint32(0))
        os.close(opened)
    call(RESTRICT, rules, ctypes.c_uint32(0))
    os.close(rules)


def _alone() -> None:
    if platform.machine() not in CALLS:
        return
    number, clone, limits = CALLS[platform.machine()]
    steps = [
        (LOAD, 0, 0, PROCESSOR),
        (EQUAL, 1, 0, number),
        (RETURN, 0, 0, REFUSE),
        (LOAD, 0, 0, CALL),
    ]
    tests = [(EQUAL, one) for one in NEEDLESS[platform.machine()]] + [(LARGER, OTHER_CALLS)]
    for test, one in tests:
        steps += [(test, 0, 1, one), (RETURN, 0, 0, REFUSE)]
    steps += [(EQUAL, 0, 4, limits), (LOAD, 0, 0, FIRST), (EQUAL, 0, 1, 0)]
    steps += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]
    steps += [(EQUAL, 1, 0, clone), (RETURN, 0, 0, ALLOW), (LOAD, 0, 0, FIRST)]
    steps += [(HAS, 0, 1, THREAD), (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]
    filter_steps = (_Step * len(steps))(*(_Step(*step) for step in steps))
    program = _Filter(len(steps), filter_steps)
    ctypes.CDLL(None).prctl(SECCOMP, ctypes.c_ulong(BY_FILTER), ctypes.byref(program))


def _readable() -> Iterator[Path]:
    users = site.getusersitepackages() if site.ENABLE_USER_SITE else sys.prefix
    own = (Path(__file__).parents[1], course() / "data", cache_folder())
    places = (sys.prefix, sys.base_prefix, users, "/usr", "/lib", "/lib64", "/etc")
    yield from (path for path in (*map(Path, places), *own) if path.is_dir())
