"""The course in one archive, to read without a network: `make bundle`."""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from muonlab.files import course, replace_file
from muonlab.notebooks import released_text

BUILT = "book/_build/html/searchindex.js"
FILES = ("constraints.txt", "CITATION.cff", "LICENSE", "LICENSE-TEXT")
INDEX = """<!doctype html><html lang="en"><meta charset="utf-8"><title>muonlab</title>
<meta http-equiv="refresh" content="0; url=book/index.html"><a href="book/index.html">Read</a>
"""
START = r"""To read: unpack everything, then open index.html in a browser. No network is needed.
To run the lessons: Python 3.11 or newer, and a network once, for the libraries. In this folder:
    python -m venv .venv
    .venv\Scripts\activate            (on Linux and macOS: source .venv/bin/activate)
    pip install -c constraints.txt ./WHEEL
    muonlab lab --trust               (it shows what the notebooks have stored)
To teach, too: pip install -c constraints.txt ./TEACHING
With a .venv in another folder, set MUONLAB_COURSE to this one before.
"""


def _content(path: Path) -> bytes:
    """Returns a file's bytes; of a notebook, those of its release."""
    return released_text(path).encode() if path.suffix == ".ipynb" else path.read_bytes()


def build_wheels(folder: Path) -> list[Path]:
    """Returns the two packages as wheels in `folder`; OSError when pip cannot build them."""
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder)]
    sources = str(course()), str(course() / "teaching")
    if subprocess.run([*pip, *sources], check=False).returncode:
        raise OSError("pip made no wheel; it needs a network, to fetch hatchling")
    return sorted(folder.glob("muonlab*.whl"))


def pack(root: Path, wheels: Sequence[Path]) -> bytes:
    """Returns the archive: names in order and no times, so that equal files make equal bytes.

    Of lessons/ and data/ it takes what git knows, of a notebook what was released.
    CalledProcessError where git knows no `root`.
    """
    asked = ["git", "-C", str(root), "ls-files", "-z", "lessons", "data"]
    tracked = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split("\0")
    path_of = {name: root / name for name in (*FILES, *tracked[:-1])}
    built = (root / BUILT).parent
    path_of |= {f"book/{p.relative_to(built).as_posix()}": p for p in built.rglob("[!.]*")}
    ours = {n: p for n, p in path_of.items() if p.is_file() and not p.is_symlink()}
    files = {name: _content(path) for name, path in ours.items()}
    files |= {wheel.name: wheel.read_bytes() for wheel in wheels}
    course_name, teaching_name = (wheel.name for wheel in wheels)
    start = START.replace("WHEEL", course_name).replace("TEACHING", teaching_name)
    files |= {"index.html": INDEX.encode(), "START-HERE.txt": start.encode()}
    with ZipFile(buffer := BytesIO(), "w") as archive:
        for name in sorted(files):
            entry = ZipInfo(name)  # dated 1 January 1980
            entry.create_system, entry.external_attr = 3, 0o100644 << 16  # Unix: all may read
            archive.writestr(entry, files[name], ZIP_DEFLATED)
    return buffer.getvalue()


def main() -> None:
    """Writes dist/muonlab-VERSION.zip and prints its size; or says what is missing."""
    root = course()
    try:
        if not (root / BUILT).is_file():
            raise FileNotFoundError(f"there is no {BUILT}: run make book first")
        with tempfile.TemporaryDirectory() as folder:
            content = pack(root, wheels := build_wheels(Path(folder)))
        target = root / "dist" / f"muonlab-{wheels[0].name.split('-')[1]}.zip"
        target.parent.mkdir(exist_ok=True)
        replace_file(target, content)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        sys.exit(f"bundle: {error}")
    print(f"{target.relative_to(root)}: {len(content) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
