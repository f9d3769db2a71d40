"""Keep content in a file of the user's cache folder: whole and checked, or not there at all.

A file is the line `muonlab corpus 1 SHA256`, then the content, which the hash covers.
"""

import warnings
from collections.abc import Callable
from hashlib import sha256

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
    path.parent.mkdir(parents=True, exist_ok=True)  # better refused now than after the work
    try:
        if path.exists():
            return checked_content(path.read_bytes())
    except ValueError as error:  # the warning points at the caller of load_corpus
        warnings.warn(f"{path} {error}; it is built again", stacklevel=5)
    content = build()
    digest = sha256(content).hexdigest()
    replace_file(path, f"{STAMP}{digest}\n".encode() + content)
    return content, digest


def checked_content(file: bytes) -> tuple[bytes, str]:
    """Returns the content of a file and its hash; raises ValueError where they do not fit."""
    first, _, content = file.partition(b"\n")
    digest = sha256(content).hexdigest()
    if first != f"{STAMP}{digest}".encode():
        raise ValueError(f"should begin with {STAMP!r} and the hash of what follows")
    return content, digest
