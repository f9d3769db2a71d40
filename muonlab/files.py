"""Files: where those of the course lie, their locks, and how nobody ever sees half of one."""

import errno
import hashlib
import json
import os
import secrets
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import platformdirs
from filelock import BaseFileLock, FileLock

RECORDS = "data/results/manifest.json"
ENDING = ".muonlab-part"  # how the name of a file ends while it is being written
ABANDONED = 600  # seconds without a byte: its writer was killed
CACHE_FORMAT = 1
STAMP = f"muonlab corpus {CACHE_FORMAT} "


def cache_folder() -> Path:
    """Returns the folder for what can be made again: it may not exist yet."""
    return _own_folder("MUONLAB_CACHE", platformdirs.user_cache_dir)


def home() -> Path:
    """Returns the folder of the learner's own data; MUONLAB_HOME overrides it."""
    return _own_folder("MUONLAB_HOME", platformdirs.user_data_dir)


def _own_folder(variable: str, usual: Callable[[str], str]) -> Path:
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

    Its folder is made.

    Raises:
        OSError: the folder cannot be written, the disk is full, no file can be there, or what was
            written does not read back. The old file is untouched, and nothing is left beside it.

    What a link points to is replaced. What a killed process had begun in its folder is removed, ten
    minutes later.
    """
    path = _ready(path)
    beside = path.with_name(f"{path.name}-{secrets.token_hex(8)}{ENDING}")
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


def _ready(path: Path) -> Path:
    """Returns the path, or what it links to, in a folder that is there, without abandoned parts.

    OSError: no file can be there.
    """
    if path.exists() and not path.is_file():
        raise FileExistsError(errno.EEXIST, "a folder, a device or a pipe is there", str(path))
    path = Path(os.path.realpath(path)) if path.is_symlink() else path
    path.parent.mkdir(parents=True, exist_ok=True)
    for part in path.parent.glob(f"*{ENDING}"):
        with suppress(OSError):  # another process was faster
            if time.time() - part.lstat().st_mtime > ABANDONED:
                part.unlink()
    return path


def load_or_build(name: str, build: Callable[[], bytes]) -> tuple[bytes, str]:
    """Returns the content of file `name` of the cache and its hash; builds it when it is missing.

    The file is the line `muonlab corpus 1 SHA256`, then the content, which the hash covers. A
    broken one is named in a warning and built again. Processes that build at once each write their
    own file, and the last to finish puts its own, equal one in place.

    Raises:
        OSError: the folder or the file cannot be read or written; nothing is left behind.
    """
    path = cache_folder() / name
    path.parent.mkdir(parents=True, exist_ok=True)  # better refused now than after the work
    try:
        if path.exists():
            return checked_content(path.read_bytes())
    except ValueError as error:  # the warning points at the caller of load_corpus
        warnings.warn(f"{path} {error}; it is built again", stacklevel=5)
    content = build()
    digest = hashlib.sha256(content).hexdigest()
    replace_file(path, f"{STAMP}{digest}\n".encode() + content)
    return content, digest


def checked_content(file: bytes) -> tuple[bytes, str]:
    """Returns the content of a file and its hash; raises ValueError where they do not fit."""
    first, _, content = file.partition(b"\n")
    digest = hashlib.sha256(content).hexdigest()
    if first != f"{STAMP}{digest}".encode():
        raise ValueError(f"should begin with {STAMP!r} and the hash of what follows")
    return content, digest


def prepare_file(path: Path | str) -> Path:
    """Returns the path, once it is sure that a file can be written there; its folder is made.

    Of a link it is the path of the file that it points to. OSError: a folder, a device or a file is
    in the way, or writing is forbidden.
    """
    path = Path(path)
    if path.parts and path.parts[0].startswith("~"):
        raise ValueError(f"a shell knows what ~ is, this program not; write {path} out")
    try:
        path = _ready(path)
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        message = f"expected a file that can be written, got: {error.strerror}; name another"
        raise OSError(error.errno, message, str(path)) from error
    return path


def data_beside(module: str, name: str) -> Any:
    """Returns what a file of JSON holds that lies beside a module, of this `__file__`."""
    return json.loads(Path(module).with_name(name).read_text(encoding="utf-8"))


def checksum(path: Path) -> str | None:
    """Returns the sha256 of a file, in hexadecimal digits; None where there is no file."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def lock(path: Path | str, name: str) -> BaseFileLock:
    """Returns a lock on one thing that concerns a file, for all processes.

    The system frees it when its process ends in any way, so a killed run leaves nothing locked.
    """
    folder = Path(path).parent / ".locks"
    folder.mkdir(parents=True, exist_ok=True)
    return FileLock(folder / f"{Path(path).stem}-{name}.lock")


def prepare_page(path: Path, starts: bytes = b"") -> Path:
    """Returns the path of a page, as `prepare_file`; ValueError unless it is called .html.

    starts: how the page begins; one that begins otherwise is somebody else's, and a ValueError.
    """
    if path.suffix != ".html":  # records, notes: nothing of another kind is overwritten
        raise ValueError(f"a page is called like 'report.html'; got {path.name!r}")
    if path.is_file() and not path.read_bytes().startswith(starts):
        raise ValueError(f"{path} is there, and this command made no such page: name another file")
    return prepare_file(path)


def course() -> Path:
    """Returns the folder of lessons/ and data/: the one that MUONLAB_COURSE names, or the clone or
    unpacked bundle that this package lies in; where neither is, the folder that holds the package.

    Never where one works: its checks of exercises are run, and a stranger may have written them.
    """
    if named := os.environ.get("MUONLAB_COURSE"):
        return Path(named).resolve()
    around = Path(__file__).parents[1:]
    return next((p for p in around if (p / RECORDS).is_file()), around[0])


LESSONS = course() / "lessons"
