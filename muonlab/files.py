"""Files: where those of the course lie, and how one is written so that nobody sees half of it."""

import errno
import os
import secrets
from pathlib import Path

import platformdirs

RECORDS = "data/results/manifest.json"
UNFINISHED = ".part"  # how the name of a file ends while it is being written


def cache_folder() -> Path:
    """Returns the folder for what can be made again: $MUONLAB_CACHE, else the system's own place.

    The folder may not exist yet.
    """
    chosen = os.environ.get("MUONLAB_CACHE")
    return Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("muonlab")


def replace_file(path: Path, content: bytes) -> None:
    """Puts `content` at `path` in one move: a reader, or a power cut, sees the old or the new.

    Raises:
        OSError: the folder cannot be written, the disk is full, or what was written does not read
            back. The old file is untouched, and nothing is left beside it.
    """
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


def course() -> Path:
    """Returns the folder of lessons/ and data/: the clone that holds this package, or the unpacked
    bundle in or below which one works; where neither is, the folder that holds the package."""
    home = Path(__file__).parents[1]
    if (home / RECORDS).is_file():
        return home
    here = Path.cwd()
    return next((p for p in (here, *here.parents) if (p / RECORDS).is_file()), home)
