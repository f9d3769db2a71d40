"""Texts in one file, so that a whole class trains on the same ones.

An archive is a zip of texts as the cache keeps them. A member's name is the text's and the hash of
its content, `docs-512.HASH`. Nothing is unpacked to a path, and nothing in it can run. Where the
cache folder holds an archive, its texts come before those that this machine can make.
"""

import re
import struct
import warnings
import zlib
from collections.abc import Mapping
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from muonlab import checks
from muonlab.files import cache_folder, replace_file

CEILING = 200_000_000  # bytes, of an archive, packed or not: ten times what the lessons need
TEXT_NAME = re.compile(r"(?:docs|code)(?:-[1-9]\d{2,4})?")
MEMBER = re.compile(rf"({TEXT_NAME.pattern})\.([0-9a-f]{{64}})")
BROKEN = (BadZipFile, EOFError, NotImplementedError, OverflowError, RuntimeError, struct.error)


def place() -> Path:
    """Returns where the archive of a class lies; the file may not exist."""
    return cache_folder() / "class.zip"


def pack(contents: Mapping[str, bytes]) -> bytes:
    """Returns an archive; equal texts give equal bytes."""
    with ZipFile(buffer := BytesIO(), "w") as archive:
        for name, digest in sorted(hashes(contents).items()):
            entry = ZipInfo(f"{name}.{digest}")  # dated 1 January 1980
            entry.create_system = 3  # on every system
            archive.writestr(entry, contents[name], ZIP_DEFLATED, 9)
    return buffer.getvalue()


def read_archive(path: Path) -> bytes:
    """Returns the bytes of a file that is no larger than an archive may be, else a ValueError."""
    if path.is_file() and (size := path.stat().st_size) > CEILING:
        raise ValueError(f"{path} has {size:,} bytes; expected an archive of {CEILING:,} at most")
    return checks.content(path, "an archive that `muonlab corpus export` wrote")


def read_texts(archive: bytes) -> dict[str, bytes]:
    """Returns the content of each text by its name; ValueError unless all are whole."""
    contents = {}
    try:
        with ZipFile(BytesIO(archive)) as opened:
            entries = opened.infolist()
            if sum(entry.file_size for entry in entries) > CEILING:
                raise ValueError(f"the archive has more than {CEILING:,} bytes unpacked")
            if {entry.compress_type for entry in entries} - {ZIP_STORED, ZIP_DEFLATED}:
                raise BadZipFile("its members are packed otherwise")
            for entry in entries:
                named, content = MEMBER.fullmatch(entry.filename), opened.read(entry)
                if not named or sha256(content).hexdigest() != named[2]:
                    raise ValueError(f"expected docs.HASH of a text, got {entry.filename!r:.80}")
                contents[named[1]] = content
    except (*BROKEN, zlib.error) as error:
        raise ValueError(f"the archive is cut short or changed ({error}): copy it again") from error
    if not contents or len(contents) < len(entries):
        raise ValueError(f"expected each text once, got {len(entries)} members in the archive")
    return contents


def hashes(contents: Mapping[str, bytes]) -> dict[str, str]:
    """Returns the hash of each text by its name, which a class can compare."""
    return {name: sha256(content).hexdigest() for name, content in contents.items()}


def kept() -> dict[str, bytes] | None:
    """Returns the texts of this machine's class by name; None where there is no archive."""
    try:
        return read_texts(read_archive(place()))
    except FileNotFoundError:
        return None


def of_class(name: str) -> tuple[bytes, str] | None:
    """Returns a text of this machine's class, and its hash; None where there is no class.

    An archive without this text is named in a warning, a broken one in a ValueError: nobody is to
    train on another text than the class without being told.
    """
    try:
        contents = kept()
    except ValueError as error:
        again = "import it again, or delete it to use this machine's own text"
        raise ValueError(f"{place()}: {error}; {again}") from error
    if contents and name in contents:
        return contents[name], sha256(contents[name]).hexdigest()
    if contents:
        own = f"{name} is made from this machine's own packages"
        message = f"your class has {', '.join(contents)}; {own}, and may differ from that of others"
        warnings.warn(message, stacklevel=4)  # points at the caller of load_corpus
    return None


def put_in_place(archive: bytes, replace: bool = False) -> None:
    """Puts an archive in place, whole or not at all.

    ValueError: another one lies there, and `replace` is False.
    """
    if not replace and place().exists() and place().read_bytes() != archive:
        raise ValueError(f"another archive is in {place()}: keep it, or exchange it with --replace")
    replace_file(place(), archive)
