"""Files: where those of the course lie, and how one is written so that nobody sees half of it."""

import errno
import os
import re
import secrets
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import platformdirs
import psutil

RECORDS = "data/results/manifest.json"
UNFINISHED = ".part"  # how the name of a file ends while it is being written
LEFT = re.compile(rf".+-(\d+)-[0-9a-f]{{8}}\{UNFINISHED}")  # by the process of that number
MINUTE = 60  # seconds without a byte: on another machine that shares the folder, it may go on


def cache_folder() -> Path:
    """Returns the folder for what can be made again: $MUONLAB_CACHE, else the system's own place.

    The folder may not exist yet.
    """
    chosen = os.environ.get("MUONLAB_CACHE")
    return Path(os.path.expanduser(chosen)) if chosen else platformdirs.user_cache_path("muonlab")


def replace_file(path: Path, content: bytes) -> None:
    """Puts `content` at `path` in one move: a reader, or a power cut, sees the old or the new.

    Raises:
        OSError: the folder cannot be written, the disk is full, or what was written does not read
            back. The old file is untouched, and nothing is left beside it.

    What a killed process had begun in this folder is removed.
    """
    _remove_abandoned(path.parent)
    beside = path.with_name(f"{path.name}-{os.getpid()}-{secrets.token_hex(4)}{UNFINISHED}")
    try:
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if beside.read_bytes() != content:
            raise OSError(errno.EIO, "the file reads back otherwise than it was written", str(path))
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _remove_abandoned(folder: Path) -> None:
    for old in folder.glob(f"*{UNFINISHED}"):
        found = LEFT.fullmatch(old.name)
        with suppress(OSError):  # another process was faster, or still holds it
            idle = time.time() - old.lstat().st_mtime
            if found and idle > MINUTE and not psutil.pid_exists(int(found[1])):
                old.unlink()


def prepare_file(path: Path | str) -> Path:
    """Returns the path, once it is sure that a file can be written there; its folder is made.

    OSError: a folder or a file is in the way, or writing is forbidden.
    """
    path = Path(path)
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        path.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        told = f"expected a file that can be written, got: {error.strerror}; name another"
        raise OSError(error.errno, told, str(path)) from error
    return path


def course() -> Path:
    """Returns the folder of lessons/ and data/: the clone that holds this package, or the unpacked
    bundle in or below which one works; where neither is, the folder that holds the package."""
    home = Path(__file__).parents[1]
    if (home / RECORDS).is_file():
        return home
    here = Path.cwd()
    return next((p for p in (here, *here.parents) if (p / RECORDS).is_file()), home)
