"""Files: where those of the course lie, and how one is written so that nobody sees half of it."""

import errno
import os
import platform
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import platformdirs
import psutil

from muonlab import checks

RECORDS = "data/results/manifest.json"
ENDING = ".part"  # how the name of a file ends while it is being written
MACHINE = sha256(platform.node().encode()).hexdigest()[:8]  # this machine, among those that share
LEFT = re.compile(rf".+-([0-9a-f]{{8}})-(\d+)-[0-9a-f]{{8}}\{ENDING}")  # machine, process
MINUTE = 60  # seconds without a byte: a process of another machine is gone


def cache_folder() -> Path:
    """Returns the folder for what can be made again: it may not exist yet."""
    return own_folder("MUONLAB_CACHE", platformdirs.user_cache_dir)


def own_folder(variable: str, usual: Callable[[str], str]) -> Path:
    """Returns the folder that a variable of the environment names, or the usual one.

    ValueError unless it is a whole path, of no file: a relative one is another folder wherever one
    works.
    """
    try:
        folder = os.path.expanduser(os.environ.get(variable) or usual("muonlab"))
    except RuntimeError:  # an account without a home folder
        folder = ""
    if not os.path.isabs(folder) or os.path.isfile(folder):
        message = f"{variable} must be a whole path, of a folder, as /data/muonlab, got {folder!r}"
        raise ValueError(f"{message}; without a home folder, set MUONLAB_HOME and MUONLAB_CACHE")
    return Path(folder)


def replace_file(path: Path, content: bytes) -> None:
    """Puts `content` at `path` in one move: a reader, or a power cut, sees the old or the new.

    Raises:
        OSError: the folder cannot be written, the disk is full, no file can be there, or what was
            written does not read back. The old file is untouched, and nothing is left beside it.

    What a link points to is replaced. What a killed process had begun in its folder is removed.
    """
    path = _behind(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent}: make it, or name another file")
    _remove_abandoned(path.parent)
    own = f"{MACHINE}-{os.getpid()}-{secrets.token_hex(4)}{ENDING}"
    beside = path.with_name(f"{path.name}-{own}")
    try:
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if beside.read_bytes() != content:
            raise OSError(errno.EIO, "the file reads back otherwise than it was written", str(path))
        if path.exists():  # a private file stays private
            shutil.copymode(path, beside)
        os.replace(beside, path)
    except BaseException as error:
        beside.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:  # from a write, as on a full disk
            message = f"{error.strerror}: make room there, or name another place"
            raise OSError(error.errno, message, str(path)) from error
        raise


def _remove_abandoned(folder: Path) -> None:
    for old in folder.glob(f"*{ENDING}"):
        match = LEFT.fullmatch(old.name)
        with suppress(OSError):  # another process was faster, or still holds it
            idle = time.time() - old.lstat().st_mtime > MINUTE
            gone = match and (not psutil.pid_exists(int(match[2])) if match[1] == MACHINE else idle)
            if gone:
                old.unlink()


def _behind(path: Path) -> Path:
    """Returns the file that a link points to, or the path itself; OSError where no file can be."""
    if path.exists() and not path.is_file():
        raise FileExistsError(errno.EEXIST, "a folder, a device or a pipe is there", str(path))
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def prepare_file(path: Path | str) -> Path:
    """Returns the path, once it is sure that a file can be written there; its folder is made.

    Of a link it is the path of the file that it points to. OSError: a folder, a device or a file is
    in the way, or writing is forbidden.
    """
    checks.kind("the path of a file", path, str, Path)
    path = Path(path)
    if path.parts and path.parts[0].startswith("~"):
def prepare_page(path: Path, starts: bytes = b"") -> Path:
    """Returns the path of a page, as `prepare_file`; ValueError unless it is called .html.

    starts: how the page begins; one that begins otherwise is somebody else's, and a ValueError.
    """
    if path.suffix != ".html":  # records, notes: nothing of another kind is overwritten
        raise ValueError(f"a page is called like 'report.html'; got {path.name!r}")
    if path.is_file() and not path.read_bytes().startswith(starts):
        raise ValueError(f"{path} is there, and this command made no such page: name another file")
    return prepare_file(path)


        raise ValueError(f"a shell knows what ~ is, this program not; write {path} out")
    try:
        path = _behind(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(path.parent)
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        message = f"expected a file that can be written, got: {error.strerror}; name another"
        raise OSError(error.errno, message, str(path)) from error
    return path


def course() -> Path:
    """Returns the folder of lessons/ and data/: the one that MUONLAB_COURSE names, or the clone or
    unpacked bundle that this package lies in; where neither is, the folder that holds the package.

    Never where one works: its checks of exercises are run, and a stranger may have written them.
    """
    if named := os.environ.get("MUONLAB_COURSE"):
        return Path(named).resolve()
    around = Path(__file__).parents[1:]
    return next((p for p in around if (p / RECORDS).is_file()), around[0])
