"""Keep tokens in one file of the user's cache folder: whole and checked, or not there at all.

A file is two lines and the tokens: `muonlab corpus 1 SHA256`, a line of JSON, then the training
tokens and the held-out ones as little-endian uint16. The hash covers all that follows the first
line, so it names the text, the tokenizer and the split.
"""

import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

from muonlab.data.tokenization import TOKEN
from muonlab.files import UNFINISHED, cache_folder, replace_file

FORMAT = 1
MAGIC = f"muonlab corpus {FORMAT} "
HOUR = 3600  # seconds; a file that has been unfinished for an hour was left by a killed process


class Broken(Exception):
    """A file of the cache that is not what was once written."""


@dataclass(frozen=True, eq=False)
class Stored:
    """What one file of the cache holds."""

    train: np.ndarray  # (tokens,) uint16
    held_out: np.ndarray  # (tokens,) uint16
    tokenizer: str  # JSON of the tokenizers library
    documents: int
    characters: int

    def to_bytes(self) -> bytes:
        """Returns the file: the same content gives the same bytes."""
        facts = {"train": len(self.train), "held_out": len(self.held_out)}
        facts |= {name: getattr(self, name) for name in ("documents", "characters", "tokenizer")}
        tokens = self.train.astype(TOKEN).tobytes() + self.held_out.astype(TOKEN).tobytes()
        body = json.dumps(facts).encode() + b"\n" + tokens
        return f"{MAGIC}{sha256(body).hexdigest()}\n".encode() + body


def load_or_build(name: str, build: Callable[[], Stored]) -> tuple[Stored, str]:
    """Returns the content of file `name` of the cache and its hash; builds it when it is missing.

    A broken file is named in a warning and built again. Processes that build at once each write
    their own file, and the last to finish puts its own, equal one in place.

    Raises:
        OSError: the folder or the file cannot be read or written; nothing is left behind.
    """
    path = cache_folder() / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)  # better refused now than after the work
        return parse(path.read_bytes())
    except FileNotFoundError:
        pass
    except Broken as error:
        warnings.warn(
            f"{path} {error}; it is built again", stacklevel=5
        )  # the caller of load_corpus
    except OSError as error:
        raise _refused("read the cache", error, path) from error
    content = build().to_bytes()
    write(path, content)
    return parse(content)


def parse(content: bytes) -> tuple[Stored, str]:
    """Returns what the bytes of a file hold, and their hash.

    Raises:
        Broken: cut short, changed, or written by something else.
    """
    first, _, body = content.partition(b"\n")
    if not first.startswith(MAGIC.encode()):
        raise Broken(f"should begin with {MAGIC!r}, but begins with {first[: len(MAGIC)]!r}")
    expected, found = first[len(MAGIC) :].decode("ascii", "replace"), sha256(body).hexdigest()
    if found != expected:
        raise Broken(f"should have sha256 {expected[:12]}…, but has {found[:12]}…")
    line, _, tokens = body.partition(b"\n")
    facts = json.loads(line)
    train, held_out = np.split(np.frombuffer(tokens, TOKEN), [facts.pop("train")])
    return Stored(**facts | {"train": train, "held_out": held_out}), found


def write(path: Path, content: bytes) -> None:
    """Puts a file in place whole, or leaves everything as it was and raises OSError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(path.parent)
        replace_file(path, content)
    except OSError as error:
        size = f"{len(content) / 1e6:.1f} MB"
        raise _refused(f"write {size} to the cache", error, path) from error


def _refused(what: str, error: OSError, path: Path) -> OSError:
    return OSError(
        error.errno,
        f"expected to {what}, got: {error.strerror}; "
        "make room or give access there, or set MUONLAB_CACHE to another folder",
        str(path),
    )


def _remove_abandoned(folder: Path) -> None:
    for path in folder.glob(f"*{UNFINISHED}"):
        try:
            if time.time() - path.stat().st_mtime > HOUR:
                path.unlink()
        except OSError:  # another process was faster, or still holds it: it can wait
            continue
