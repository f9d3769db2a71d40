"""The folder data/results: the names of its files, and the manifest that says they are whole."""

import json
import os
from pathlib import Path
from typing import Any

from muonlab import checks
from muonlab.files import checksum, course, lock, replace_file
from muonlab.records.record import read_records

RESULTS = course() / "data" / "results"
MANIFEST = "manifest.json"


def path_of(preset: str, corpus: str | None = None, folder: Path | None = None) -> Path:
    """Returns the file of a grid's records, on another text if named; in RESULTS, or a folder."""
    checks.word("a phase of a study", preset, "race-1200", r"[^/\\]+")
    text = f"-{Path(os.path.abspath(corpus)).name}" if corpus else ""
    return (folder or RESULTS) / f"{preset}{text}.jsonl"


def write_manifest(folder: Path = RESULTS) -> None:
    """Writes the manifest: for each file of records its checksum and how many runs it holds."""
    with lock(folder / MANIFEST, "write"):  # files that another process has written since count
        runs = {path: len(read_records(path)) for path in folder.glob("*.jsonl")}
        files = {path.name: {"sha256": checksum(path), "runs": n} for path, n in runs.items()}
        text = json.dumps(files, indent=1, sort_keys=True) + "\n"
        replace_file(folder / MANIFEST, text.encode())


def changed(folder: Path = RESULTS) -> list[str]:
    """Returns which files of records are not as the manifest says, a sentence each."""
    path = folder / MANIFEST
    manifest: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    checksums = {file.name: checksum(file) for file in sorted(folder.glob("*.jsonl"))}
    lost = [f"{name}: in the manifest, not there" for name in sorted(manifest.keys() - checksums)]
    other = [name for name in checksums if manifest.get(name, {}).get("sha256") != checksums[name]]
    again = "run its phase to the end, or restore it from git"
    return lost + [f"{name}: its checksum is not that of the manifest: {again}" for name in other]
