"""Keep content in a file of the user's cache folder: whole and checked, or not there at all.

A file is the line `muonlab corpus 1 SHA256`, then the content, which the hash covers.
"""

import warnings
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from muonlab.files import cache_folder, replace_file

CACHE_FORMAT = 1
STAMP = f"muonlab corpus {CACHE_FORMAT} "


def load_or_build(name: str, build: Callable[[], bytes]) -> tuple[bytes, str]:
    """Returns the content of file `name` of the cache and its hash; builds it when it is missing.

    A broken file is named in a warning and built again. Processes that build at once each write
    their own file, and the last to finish puts its own, equal one in place.

    Raises:
        OSError: the folder or the file cannot be read or written; nothing is left behind.
    """
    path = cache_folder() / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)  # better refused now than after the work
        return checked_content(path.read_bytes())
    except FileNotFoundError:
        pass
    except ValueError as error:  # the warning points at the caller of load_corpus
        warnings.warn(f"{path} {error}; it is built again", stacklevel=5)
    except OSError as error:
        raise _refused("read the cache", error, path) from error
    content = build()
    digest = sha256(content).hexdigest()
    write_whole(path, f"{STAMP}{digest}\n".encode() + content)
    return content, digest


def checked_content(file: bytes) -> tuple[bytes, str]:
    """Returns the content of a file and its hash; raises ValueError where they do not fit."""
    first, _, content = file.partition(b"\n")
    if not first.startswith(STAMP.encode()):
        raise ValueError(f"should begin with {STAMP!r}, but begins with {first[: len(STAMP)]!r}")
    expected, actual = first[len(STAMP) :].decode("ascii", "replace"), sha256(content).hexdigest()
    if actual != expected:
        raise ValueError(f"should have sha256 {expected[:12]}…, but has {actual[:12]}…")
    return content, actual


def write_whole(path: Path, file: bytes) -> None:
    """Puts a file in place whole, or leaves everything as it was and raises OSError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, file)
    except OSError as error:
        raise _refused(f"write {len(file) / 1e6:.1f} MB to the cache", error, path) from error


def _refused(what: str, error: OSError, path: Path) -> OSError:
    then = "make room or give access there, or set MUONLAB_CACHE to another folder"
    message = f"expected to {what}, got: {error.strerror}; {then}"
    return OSError(error.errno, message, str(path))
