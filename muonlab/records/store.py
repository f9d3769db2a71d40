"""The records kept in data/results: find them, choose among them, and check them."""

import dataclasses
import json
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
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


def recorded(name: str) -> list[Record]:
    """Returns the records kept in data/results for a grid; empty when it was never run."""
    return read_runs(RESULTS / f"{name}.jsonl")


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


def badness(record: Record) -> float:
    """Returns what is low for a good run: minus the sum of accuracies, or the loss at the end."""
    last = record.held_out[-1]
    return -sum(last["accuracy"]) if "accuracy" in last else last["overall"]


def best_trial(trials: Iterable[Record], by: Callable[[Record], float] = badness) -> Record:
    """Returns the record that ended best, for which `by` is lowest."""
    finished = [record for record in trials if not record.failure]
    if not finished:
        raise ValueError("every trial diverged: choose lower rates")
    return min(finished, key=by)


def best_at_new_seeds(
    tuning: str,
    trials: Sequence[TrainConfig],
    contestant: Callable[[TrainConfig], Hashable],
    seeds: int,
    by: Callable[[Record], float] = badness,
) -> list[TrainConfig]:
    """Returns, for each contestant of a recorded grid, its best trial at the seeds 1, 2, …

    Args:
        tuning: the name of the grid.
        trials: its configurations; they have seed 0, which does not count any more.
        contestant: gives the same value for all trials that compete with each other.
        by: what is lowest for the best of them.

    Raises:
        ValueError: the grid has not been run to its end.
    """
    known = {record.run_id: record for record in recorded(tuning)}
    if missing := sum(records.run_id(config) not in known for config in trials):
        raise ValueError(
            f"{missing} of the trials that choose the rates are not in {RESULTS.name}/"
            f"{tuning}.jsonl: run `muonlab ablate {tuning}` first"
        )
    groups: dict[Hashable, list[Record]] = {}
    for config in trials:
        groups.setdefault(contestant(config), []).append(known[records.run_id(config)])
    best = [TrainConfig(**best_trial(group, by).config) for group in groups.values()]
    return [replace(config, seed=seed) for config in best for seed in range(1, seeds + 1)]


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
