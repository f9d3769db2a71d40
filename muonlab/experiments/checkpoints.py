"""Checkpoints that are either whole or refused: written beside, read back, renamed."""

import io
import zipfile
from pathlib import Path
from typing import Any

import torch

from muonlab.files import replace_file


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
    advice = "delete it to start again, or bring back a copy"
    try:
        with zipfile.ZipFile(path) as archive:
            broken = archive.testzip()
        state = torch.load(path, map_location=device, weights_only=True) if not broken else {}
    except FileNotFoundError:
        raise
    except Exception as error:  # whatever a damaged zip or pickle provokes
        raise ValueError(f"{path} is no whole checkpoint ({error}): {advice}") from error
    if broken:
        raise ValueError(f"{path} is damaged: the checksum of {broken} does not fit: {advice}")
    if not isinstance(state, dict) or "config" not in state:
        raise ValueError(f"{path} was not written by muonlab: expected a run's checkpoint")
    return state


def check_same(found: dict[str, Any], wanted: dict[str, Any], path: Path | str) -> None:
    """Raises ValueError, naming every field, unless the checkpoint's config is the wanted one."""
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
