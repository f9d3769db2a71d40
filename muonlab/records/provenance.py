"""Where a record comes from: with what code, on what machine, and when."""

import platform
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import torch

import muonlab
from muonlab.machine import device_name


def provenance(device: torch.device | str = "cpu") -> dict[str, Any]:
    """Returns where and with what code a run on `device` happens; no path and no host name."""
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "muonlab": muonlab.__version__,
        "code": code_version(),
        "device": device_name(device),
        "threads": torch.get_num_threads(),
        "system": platform.system(),
        "utc": now(),
    }


def now() -> str:
    """Returns the time, UTC, to a second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@cache  # asked again an hour into a sweep, git would name code that this process never loaded
def code_version() -> str:
    """Returns the git commit of the package, with "-dirty" if tracked code differs from it.

    The classroom may differ: no run imports it. Without git, it is the version number.
    """
    folder = Path(muonlab.__file__).parent
    tracked = _git(folder, "ls-files", "__init__.py")
    if not tracked:  # no git, or an installed copy that only lies inside another repository
        return f"muonlab {muonlab.__version__}"
    compared = (".", ":(exclude)classroom")
    changes = _git(folder, "status", "--porcelain", "-uno", "--", *compared)
    return (_git(folder, "rev-parse", "HEAD") or "")[:12] + ("-dirty" if changes else "")


def unchanged(folder: Path, paths: Iterable[Path]) -> list[Path]:
    """Returns which files of a folder git knows, and are as it knows them, in the package's clone.

    Git is not asked in another place: a stranger's folder may say what it shall run.
    """
    if not folder.is_relative_to(home := Path(muonlab.__file__).parents[1]):
        return []
    odd = _git(home, "status", "--porcelain", "-z", "-uall", "--ignored", "--", str(folder))
    return [path for path in paths if odd is not None and path.name not in odd]


def _git(folder: Path, *arguments: str) -> str | None:
    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]  # it only reads
    try:
        # names as Python has them, which may be no UTF-8
        answer = subprocess.run(command, capture_output=True, errors="surrogateescape")
    except FileNotFoundError:  # no git on this machine
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None
