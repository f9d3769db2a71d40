"""The records kept in data/results: where they are, and whether they are whole."""

import dataclasses
import json
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from muonlab.files import course, replace_file
from muonlab.records import record as records
from muonlab.records.record import Record
from muonlab.training.config import TrainConfig

RESULTS = course() / "data" / "results"
MANIFEST = "manifest.json"
FIELDS = {field.name for field in dataclasses.fields(TrainConfig)}


def path_of(name: str, corpus: str | None = None, folder: Path | None = None) -> Path:
    """Returns the file of a grid's records; a text that is not its own stands in the name.

    Args:
        folder: None is data/results.
    """
    text = f"-{Path(os.path.abspath(corpus)).name}" if corpus else ""
    return (folder or RESULTS) / f"{name}{text}.jsonl"


def recorded(name: str, folder: Path | None = None) -> list[Record]:
    """Returns the records kept for a grid; empty when it was never run."""
    return read_runs(path_of(name, folder=folder))


def read_runs(path: Path | str) -> list[Record]:
    """Returns the records of a file whose runs this code could run again; none without the file.

    Raises:
        ValueError: a broken line, or a record of a version of the code with other options.
    """
    found = records.read(path) if Path(path).exists() else []
    for record in found:
        if differing := record.config.keys() ^ FIELDS:
            raise ValueError(
                f"{path}: run {record.run_id} was recorded by code "
                f"{record.provenance.get('code', 'unknown')}, whose options differ from today's by "
                f"{', '.join(sorted(differing))}: name another file, or go back to that code"
            )
    return found


def write_manifest(folder: Path = RESULTS) -> None:
    """Writes the manifest: for each file of records its checksum and how many runs it holds."""
    files = {
        path.name: {"sha256": _checksum(path), "runs": len(records.read(path))}
        for path in sorted(folder.glob("*.jsonl"))
    }
    text = json.dumps(files, indent=1, sort_keys=True)
    with records.lock(folder / MANIFEST, "write"):
        replace_file(folder / MANIFEST, f"{text}\n".encode())


def problems(
    presets: dict[str, Callable[[], list[TrainConfig]]], folder: Path = RESULTS
) -> list[str]:
    """Returns what is wrong with the records, a sentence each: nothing when all is well.

    Looked for: files that are not as the manifest says, broken records, records of a code with
    other options, runs recorded twice, and grids that are begun and not finished.
    """
    path = folder / MANIFEST
    manifest: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    there = {file.name for file in folder.glob("*.jsonl")}
    found = [f"{name}: in the manifest, but not there" for name in sorted(manifest.keys() - there)]
    for name in sorted(there):
        if manifest.get(name, {}).get("sha256") != _checksum(folder / name):
            found.append(f"{name}: its checksum is not that of the manifest")
        try:
            runs = read_runs(folder / name)
            configs = [TrainConfig(**run.config) for run in runs]
        except ValueError as error:
            found.append(f"{name}: {error}")
            continue
        ids = {records.run_id(config) for config in configs}
        if len(ids) < len(runs):
            found.append(f"{name}: {len(runs) - len(ids)} runs are recorded twice")
        if (grid := presets.get(Path(name).stem)) is None:
            continue
        wanted = {records.run_id(config) for config in grid()}
        if missing := len(wanted - ids):
            found.append(f"{name}: {missing} of {len(wanted)} runs of the grid are missing")
    return found


def _checksum(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()
