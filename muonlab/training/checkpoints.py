"""Checkpoints that are either whole or refused: written beside, read back, renamed."""

import hashlib
import io
import json
import secrets
import shutil
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from muonlab.distributed import parallel
from muonlab.files import replace_file

ADVICE = "delete it to start again, or bring back a copy"
INDEX = "checkpoint.json"  # in a folder; it names the folder inside which holds the tensors
DATA = "data-"  # how that folder's name begins
PARTS = {"config", "shapes", "data", "checksums"}  # of the index, at least


def save(state: dict[str, Any], path: Path | str) -> None:
    """Writes the state at `path`; what was there stays until the new file is whole.

    Args:
        state: tensors, numbers, strings, and dicts, lists and tuples of them.

    Raises:
        OSError: the folder cannot be written, or the disk is full. The old file is untouched.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = io.BytesIO()
    torch.save(state, content)
    replace_file(path, content.getvalue())


def load(path: Path | str, device: torch.device | str = "cpu") -> dict[str, Any]:
    """Returns the state that `save` wrote, its tensors on `device`; runs no code from the file.

    Raises:
        FileNotFoundError: no such file.
        ValueError: the file is cut or changed: torch's format is a zip with a checksum a tensor.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            broken = archive.testzip()
        state = torch.load(path, map_location=device, weights_only=True) if not broken else {}
    except FileNotFoundError:
        raise
    except Exception as error:  # whatever a damaged zip or pickle provokes
        raise ValueError(f"{path} is no whole checkpoint ({error}): {ADVICE}") from error
    if broken:
        raise ValueError(f"{path} is damaged: the checksum of {broken} does not fit: {ADVICE}")
    if not isinstance(state, dict) or "config" not in state:
        raise ValueError(f"{path} was not written by muonlab: expected a run's checkpoint")
    return state


def check_same(found: dict[str, Any], wanted: dict[str, Any], path: Path | str) -> None:
    """Raises ValueError, naming every field, unless the checkpoint's config is the wanted one."""
    found, wanted = (json.loads(json.dumps(values)) for values in (found, wanted))  # no tuples
    differing = [
        f"{name} is {found.get(name, 'absent')!r} there and {wanted.get(name, 'absent')!r} here"
        for name in sorted(found.keys() | wanted.keys())
        if found.get(name) != wanted.get(name)
    ]
    if differing:
        raise ValueError(
            f"checkpoint {path} belongs to another run: {'; '.join(differing)}. "
            "Use the same values, or give this run a checkpoint file of its own"
        )


def exists(path: Path | str) -> bool:
    """Returns whether a checkpoint has been written there: a file, or a folder by `save_parts`."""
    return Path(path).is_file() or (Path(path) / INDEX).is_file()


def save_parts(tensors: dict[str, Tensor], rest: dict[str, Any], folder: Path | str) -> None:
    """Writes a checkpoint as a folder, in which each process writes what it has of the tensors.

    All processes call it. What was there stays until the new one is whole: the data go to a new
    folder inside, and then one small file is replaced, which names it.

    Args:
        tensors: DTensors, or whole tensors that are the same in all processes.
        rest: what JSON can hold; "config" must be in it.

    Raises:
        OSError: the folder cannot be written, or the disk is full. The old data are untouched.
    """
    from torch.distributed import checkpoint as dcp

    folder, data = Path(folder), parallel.gather(f"{DATA}{secrets.token_hex(4)}")[0]
    with _failing_as(OSError, f"nothing was saved in {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        dcp.save(dict(tensors), checkpoint_id=folder / data, no_dist=parallel.size() == 1)
    if parallel.rank() == 0:
        sums = {file.name: _checksum(file) for file in sorted((folder / data).iterdir())}
        index = {**rest, "shapes": _shapes(tensors), "data": data, "checksums": sums}
        replace_file(folder / INDEX, json.dumps(index).encode())
        for old in folder.glob(f"{DATA}*"):
            if old.name != data:
                shutil.rmtree(old, ignore_errors=True)  # what stays does no harm
    parallel.gather(None)  # nobody goes on before the checkpoint stands


def read_index(folder: Path | str) -> dict[str, Any]:
    """Returns `rest` of `save_parts`, and the shapes of the tensors; runs no code from the file.

    Raises:
        ValueError: the file is damaged.
    """
    try:
        index = json.loads((Path(folder) / INDEX).read_text(encoding="utf-8"))
        missing = PARTS - index.keys()
    except (AttributeError, ValueError) as error:
        raise ValueError(f"{folder} is no whole checkpoint ({error!r}): {ADVICE}") from error
    if missing:
        raise ValueError(f"{folder} is no whole checkpoint: {missing} missing in {INDEX}: {ADVICE}")
    return index


def load_parts(tensors: dict[str, Tensor], folder: Path | str) -> None:
    """Fills the tensors, or each process its rows of them, from what any number of processes saved.

    All processes call it. The folder must come from somebody you trust: torch's table of contents
    is a pickle, which can run code.

    Raises:
        ValueError: a name or shape is not in the checkpoint, or the data are damaged; nothing has
            been loaded then.
    """
    from torch.distributed import checkpoint as dcp

    folder, index = Path(folder), read_index(folder)
    shapes = _shapes(tensors)
    check_same({name: index["shapes"].get(name, "absent") for name in shapes}, shapes, folder)
    names = sorted(index["checksums"])[parallel.rank() :: parallel.size()]  # to each its share
    data = folder / index["data"]
    broken = [name for name in names if _checksum(data / name) != index["checksums"][name]]
    if broken := [name for some in parallel.gather(broken) for name in some]:
        raise ValueError(f"{data} is damaged: {', '.join(broken)} changed or missing: {ADVICE}")
    with _failing_as(ValueError, f"{data} cannot be read: {ADVICE}"):
        dcp.load(dict(tensors), checkpoint_id=data, no_dist=parallel.size() == 1)


@contextmanager
def _failing_as(kind: type[Exception], what: str) -> Iterator[None]:
    from torch.distributed.checkpoint import CheckpointException

    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "torch.distributed is disabled")  # as it should be
            yield
    except CheckpointException as error:  # no Exception: `except Exception` would pass it over
        raise kind(f"{what}: {error}") from error


def _shapes(tensors: dict[str, Tensor]) -> dict[str, list[int]]:
    return {name: list(t.shape) for name, t in tensors.items()}


def _checksum(path: Path) -> str | None:
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
