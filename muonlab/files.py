"""Write a file so that nobody ever sees half of it."""

import errno
import os
import secrets
from pathlib import Path

UNFINISHED = ".part"  # how the name of a file ends while it is being written


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
