"""Texts in one file, so that a whole class trains on the same ones.

An archive is a zip of texts as the cache keeps them. A member's name is the text's and the hash of
its content, `docs-512.HASH`. Nothing is unpacked to a path, and nothing in it can run. Where the
cache folder holds an archive, its texts come before those that this machine can make.
"""

import re
import struct
import warnings
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from muonlab import checks
from muonlab.files import cache_folder, replace_file

CEILING = 200_000_000  # bytes, of an archive and of a text: ten times what the lessons need
TEXT_NAME = re.compile(r"(?:docs|code)(?:-[1-9]\d{2,4})?")
MEMBER = re.compile(rf"({TEXT_NAME.pattern})\.([0-9a-f]{{64}})")
BROKEN = (BadZipFile, EOFError, NotImplementedError, OverflowError, RuntimeError, struct.error)


def place() -> Path:
    """Returns where the archive of a class lies; the file may not exist."""
    return cache_folder() / "class.zip"


def pack(texts: Mapping[str, bytes]) -> bytes:
    """Returns an archive; equal texts give equal bytes."""
    with ZipFile(buffer := BytesIO(), "w") as archive:
        for name in sorted(texts):
            entry = ZipInfo(f"{name}.{sha256(texts[name]).hexdigest()}")  # dated 1 January 1980
            entry.create_system = 3  # on every system
            archive.writestr(entry, texts[name], ZIP_DEFLATED, 9)
    return buffer.getvalue()


def read_archive(path: Path) -> bytes:
    """Returns the bytes of a file that is no larger than an archive may be, else a ValueError."""
    if path.is_file() and (size := path.stat().st_size) > CEILING:
        raise ValueError(f"{path} has {size:,} bytes; expected an archive of {CEILING:,} at most")
    return checks.content(path, "an archive that `muonlab corpus export` wrote")


def hashes(archive: bytes) -> dict[str, str]:
    """Returns the hash of each text by its name; ValueError where it is no whole archive."""
    with _opened(archive) as opened:
        entries = opened.infolist()
    named = [MEMBER.fullmatch(entry.filename) for entry in entries]
    if odd := [e.filename for e, n in zip(entries, named, strict=True) if not n]:
        raise ValueError(f"expected texts like docs.HASH in the archive, got {odd[0][:80]!r}")
    if large := [e.filename for e in entries if e.file_size > CEILING]:
        raise ValueError(f"{large[0]} has more than {CEILING:,} bytes unpacked")
    texts = {match[1]: match[2] for match in named if match}
    if not texts or len(texts) < len(entries):
        raise ValueError(f"expected each text once, got {len(entries)} members in the archive")
    return texts


def content_of(archive: bytes, name: str) -> bytes:
    """Returns the content of one text; ValueError unless it has the hash of its name."""
    digest = hashes(archive)[name]
    with _opened(archive) as opened:
        content = opened.read(f"{name}.{digest}")  # reads no more than the size checked above
    if sha256(content).hexdigest() != digest:
        raise ValueError(f"the text {name} is not the one that its hash names")
    return content


def kept() -> bytes | None:
    """Returns the archive of this machine's class; None where there is none."""
    try:
        return read_archive(place())
    except FileNotFoundError:
        return None


def of_class(name: str) -> tuple[bytes, str] | None:
    """Returns a text of this machine's class, and its hash; None where there is no class.

    An archive without this text is named in a warning, a broken one in a ValueError: nobody is to
    train on another text than the class without being told.
    """
    if (archive := kept()) is None:
        return None
    try:
        texts = hashes(archive)
        if name in texts:
            return content_of(archive, name), texts[name]
    except ValueError as error:
        again = "import it again, or delete it to use this machine's own text"
        raise ValueError(f"{place()}: {error}; {again}") from error
    own = f"{name} is made from this machine's own packages"
    message = f"your class has {', '.join(texts)}; {own}, and may differ from that of others"
    warnings.warn(message, stacklevel=4)  # points at the caller of load_corpus
    return None


def put_in_place(archive: bytes, replace: bool = False) -> None:
    """Puts an archive in place, whole or not at all.

    ValueError: another one lies there, and `replace` is False.
    """
    if not replace and kept() not in (None, archive):
        message = f"another archive is there already, {place()}"
        raise ValueError(f"{message}: keep it, or exchange it with --replace")
    place().parent.mkdir(parents=True, exist_ok=True)
    replace_file(place(), archive)


@contextmanager
def _opened(archive: bytes) -> Iterator[ZipFile]:
    try:
        with ZipFile(BytesIO(archive)) as opened:
            yield opened
    except (*BROKEN, zlib.error) as error:
        raise ValueError(f"the archive is cut short or changed ({error}): copy it again") from error
