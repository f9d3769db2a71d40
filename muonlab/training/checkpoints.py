"""Checkpoints: folders that are either whole or refused, and that can run no code::

    run/checkpoint.json              names the data, has their checksums, and holds the curves
    run/data-1f0c29ab/*.safetensors  weights and states; each process of torchrun writes its rows

The data go to a new folder, then `checkpoint.json` is replaced in one move: whenever a run is
killed, the old checkpoint is there or the new one. Any number of processes reads what any number of
them wrote. Nothing is unpickled: JSON and safetensors hold plain data.
"""

import hashlib
import json
import re
import secrets
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any

from torch import Tensor

from muonlab import checks
from muonlab.distributed import parallel
from muonlab.files import checksum, prepare_file, replace_file

ADVICE = "delete it to start again, or bring back a copy"
INDEX = "checkpoint.json"
DATA = re.compile(r"data-[0-9a-f]{8}")


def prepare_folder(path: Path | str) -> Path:
    """Returns the folder for a checkpoint, once it is sure that one can be written there.

    ValueError: it is "" or ".", or begins with ~, which a shell knows. OSError: a file is in the
    way, or writing is forbidden.
    """
    if Path(path) == Path():
        raise ValueError(f"a checkpoint needs a folder of its own, as runs/a; got {str(path)!r}")
    prepare_file(Path(path) / INDEX)
    return Path(path)


def exists(path: Path | str) -> bool:
    """Returns whether a checkpoint has been written there."""
    return (Path(path) / INDEX).is_file()


def save(tensors: dict[str, Tensor], rest: dict[str, Any], path: Path | str) -> None:
    """Writes a checkpoint, each process what it has; all call it.

    `tensors` are DTensors, or whole ones that are the same in all processes; JSON can hold `rest`.
    OSError: the folder cannot be written, or the disk is full; the old checkpoint stands.
    """
    from torch.distributed import checkpoint as dcp  # its import takes a second

    folder, name = prepare_folder(path), parallel.gather(f"data-{secrets.token_hex(4)}")[0]
    data = folder / name
    then = "the last checkpoint stands" if exists(folder) else "none was there before"
    try:
        with _failing_as(OSError, f"nothing was saved in {folder}", then):
            writer = dcp.HuggingFaceStorageWriter(str(data), save_distributed=True)
            dcp.save(dict(tensors), storage_writer=writer, no_dist=parallel.size() == 1)
        # so torch names what this one wrote
        own_files = data.glob(f"shard-{parallel.rank() + 1:05d}-*")
        by_process = parallel.gather({file.name: checksum(file) for file in own_files})
        if parallel.rank() == 0:
            sums = dict(chain.from_iterable(map(dict.items, by_process)))
            index = {**rest, "data": name, "checksums": sums}
            content = json.dumps(index | {"checksum": _digest(index)})
            replace_file(folder / INDEX, content.encode())
    finally:
        if parallel.rank() == 0:
            _tidy(folder)
    parallel.gather(None)  # nobody goes on before the checkpoint stands


def read_index(path: Path | str) -> dict[str, Any]:
    """Returns `rest` of `save`; FileNotFoundError without a checkpoint, ValueError if damaged."""
    with _failing_as(ValueError, f"{path} is no whole checkpoint", ADVICE):
        index = dict(json.loads(checks.content(Path(path) / INDEX, "the checkpoint of a run")))
        # the data may not lie elsewhere
        if index.pop("checksum") != _digest(index) or not DATA.fullmatch(index["data"]):
            raise ValueError(f"{INDEX} has been changed")
    return index


def load(tensors: dict[str, Tensor], path: Path | str) -> None:
    """Fills the tensors, or each process its rows of them, from what any number of processes saved.

    All processes call it. FileNotFoundError: no checkpoint is there. ValueError: it is damaged, or
    lacks a name or shape; nothing has been loaded then.
    """
    from torch.distributed import checkpoint as dcp

    index = read_index(path)
    data = Path(path) / index["data"]
    with _failing_as(ValueError, f"{data} cannot be read", ADVICE):
        names = index["checksums"].keys() | {file.name for file in data.glob("*.safetensors")}
        own_names = sorted(names)[parallel.rank() :: parallel.size()]
        wrong = [n for n in own_names if checksum(data / n) != index["checksums"].get(n)]
        for name in chain(*parallel.gather(wrong)):
            raise ValueError(f"{name} is changed or missing")
        reader = dcp.HuggingFaceStorageReader(str(data))
        dcp.load(dict(tensors), storage_reader=reader, no_dist=parallel.size() == 1)


def _tidy(folder: Path) -> None:
    """Removes what the index does not name: the last data, and what a killed run left."""
    with suppress(ValueError):  # a damaged index: somebody may mend it
        current = read_index(folder)["data"] if exists(folder) else None
        for old in folder.iterdir():
            if DATA.fullmatch(old.name) and old.name != current:
                shutil.rmtree(old, ignore_errors=True)  # what stays does no harm


@contextmanager
def _failing_as(kind: type[Exception], what: str, then: str) -> Iterator[None]:
    from torch.distributed.checkpoint import CheckpointException

    wrong = (AttributeError, KeyError, TypeError, ValueError, RecursionError)  # in files, not ours
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "torch.distributed is disabled")  # as it should be
            yield
    except (CheckpointException, *wrong) as error:
        why = getattr(error, "failures", {0: (error,)})  # torch's hold an error of each process
        reasons = dict.fromkeys(f"{type(e).__name__}: {e}" for e, *_ in why.values())
        raise kind(f"{what} ({'; '.join(reasons)}): {then}") from error


def _digest(index: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(index).encode()).hexdigest()
