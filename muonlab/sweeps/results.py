"""Recorded runs as the options of this code describe them: found by grid or file, and checked."""

import dataclasses
import json
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path

from muonlab.records import store
from muonlab.records.record import Record, read_records
from muonlab.training.config import TrainConfig


def recorded(name: str, folder: Path | None = None) -> list[Record]:
    """Returns a grid's records in a folder, None: data/results; FileNotFoundError without any."""
    path = store.path_of(name, folder=folder)
    if not path.exists():
        missing = f"no runs of {name!r} are recorded in {path.parent}: run `muonlab ablate {name}`"
        raise FileNotFoundError(f"{missing}, or name one that `muonlab results` lists")
    return read_runs(path)


def read_runs(path: Path | str) -> list[Record]:
    """Returns the records of a file, none without the file; options that one lacks are completed.

    A record that is older than an option has its default: what was done before there was a choice.
    ValueError names a broken line, or an option that this code does not know.
    """
    return [run for _, run in _with_configs(path)]


def _with_configs(path: Path | str) -> list[tuple[TrainConfig, Record]]:
    runs = read_records(path) if Path(path).exists() else []
    defaults = json.loads(json.dumps(dataclasses.asdict(TrainConfig())))  # tuples as lists
    pairs = []
    for run in runs:
        run.config = defaults | run.config
        try:
            pairs.append((TrainConfig(**run.config), run))
        except (TypeError, ValueError) as error:  # an option, or a setting, that this code lacks
            code = run.provenance.get("code", "unknown")
            raise ValueError(f"{path}: a run recorded by code {code}: {error}") from error
        run.config["corpus"] = pairs[-1][0].corpus  # as it is spelled now
    return pairs


class Known:
    """The records of a file by configuration; it is read again only after it has changed."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.version: tuple[int, ...] | None = None
        self.runs: dict[TrainConfig, Record] = {}

    def read(self) -> dict[TrainConfig, Record]:
        """Returns what the file has: the first record of each configuration."""
        status = self.path.stat() if self.path.exists() else None
        version = status and (status.st_ino, status.st_size, status.st_mtime_ns)
        if version != self.version:
            self.runs, self.version = dict(reversed(_with_configs(self.path))), version
        return self.runs


known = lru_cache(maxsize=32)(Known)  # a search asks the same few files over and over


def problems(
    presets: dict[str, Callable[[], list[TrainConfig]]],
    folder: Path = store.RESULTS,
    unfinished: Iterable[str] = (),
) -> list[str]:
    """Returns what is wrong with the records, a sentence each: nothing when all is well.

    Looked for: files that are not as the manifest says, broken records or unknown options, runs
    recorded twice, and grids that are begun and not finished.
    """
    messages = store.changed(folder)
    for path in sorted(folder.glob("*.jsonl")):
        try:
            runs_by_config = dict(runs := _with_configs(path))
            grid = set(presets.get(path.stem, list)())  # from the trials in other files
        except ValueError as error:
            messages.append(f"{path.name}: {error}")
            continue
        if twice := len(runs) - len(runs_by_config):
            messages.append(f"{path.name}: {twice} runs are recorded twice")
        missing = len(grid - runs_by_config.keys())
        if missing and path.stem not in unfinished:
            messages.append(f"{path.name}: {missing} of {len(grid)} runs of the grid are missing")
    return messages
