"""Bubblewrap (`bwrap`), which closes in what a learner hands in: its command, and whether it works.

Inside, processes, shared memory, queues, users and network are the hand-in's own. It reads Python,
the package, recorded runs and texts, and writes only into a memory that ends with it.
"""

import site
import subprocess
import sys
from functools import cache
from pathlib import Path

from muonlab.files import cache_folder, course

# /proc is not written to: whoever grades as root could be made to set the machine's parameters.
WALLS = (
    *("bwrap", "--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL"),
    *("--die-with-parent", "--new-session", "--proc", "/proc", "--remount-ro", "/proc"),
    *("--dev", "/dev", "--size", "67108864", "--tmpfs", "/dev/shm", "--remount-ro", "/dev"),
    *("--size", "67108864", "--tmpfs", "/tmp", "--chdir", "/tmp"),
    *("--setenv", "MUONLAB_PROCESSES", "500"),  # as many at most, threads too; as root: no limit
)
SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/alternatives")


def walls(*packages: Path) -> list[str]:
    """Returns the words before a command that close it in; it reads these packages, too."""
    users = {site.getusersitepackages()} if site.ENABLE_USER_SITE else set()
    own = map(str, (Path(__file__).parent, *packages, course() / "data", cache_folder()))
    readable = sorted({*SYSTEM, sys.prefix, sys.base_prefix, *users, *own})  # outer folders first
    binds = [word for place in readable for word in ("--ro-bind-try", place, place)]
    return [*WALLS, *binds, "--remount-ro", "/"]


@cache
def uncontained() -> str:
    """Returns why what is handed in is not contained here, for a teacher; "" where it is."""
    try:
        command = [*walls(), sys.executable, "-c", ""]
        tried = subprocess.run(command, capture_output=True, text=True)
        reason = (tried.stderr.strip() or "it fails") if tried.returncode else ""
    except OSError as error:
        reason = f"bwrap: {error.strerror}"
    message = "a hand-in is NOT contained here, its code can do whatever you can"
    then = "install bubblewrap 0.8 or newer (Linux), or grade in a container"
    return reason and f"{message}: {then} that holds nothing else ({reason})"
