"""A study that runs on this machine, while the cell that started it draws its runs as they end."""

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from html import escape
from pathlib import Path

from IPython.display import display

from muonlab.classroom.output import Output
from muonlab.drawing import figures, svg
from muonlab.records.record import Record
from muonlab.records.runs import curves, grouped
from muonlab.studies.grids import phases
from muonlab.sweeps.results import read_runs
from muonlab.sweeps.study import Place

LOOK_SECONDS = 1.0  # seconds between two looks at what has ended


def watch(study: str, folder: Path | str, minutes: float) -> list[Record]:
    """Runs a study in two processes of its own, and returns the runs of its last phase.

    Their held-out losses appear as they end; from the first on, a line says how long the others
    will take. No run begins that would end after the minutes; the next call goes on. Who stops the
    cell stops the processes, too.

    Args:
        study: such as "race-gpu"; the trials of its phases before the last must lie in the folder.
        folder: where its records are, and will be written.

    ValueError: no such study, or its trials are missing. RuntimeError: the processes ended badly.
    """
    at = Place(Path(folder))
    name, phase = list(phases(study).items())[-1]
    configs = phase(at)
    ended = read_runs(at.path(name))
    command = _command(study, at.folder, minutes)
    shown = display(_progress(ended, len(configs)), display_id=True)
    began, first = time.monotonic(), len(ended)
    with tempfile.TemporaryFile() as log, subprocess.Popen(command, stdout=log, stderr=log) as own:
        try:
            running = True
            while running:
                running = own.poll() is None
                if len(records := read_runs(at.path(name))) > len(ended):
                    ended = records
                    pace = (time.monotonic() - began) / (len(ended) - first)
                    rest = pace * (len(configs) - len(ended)) / 60
                    line = f"The others need about {rest:.0f} minutes." if rest else ""
                    shown.update(_progress(ended, len(configs), line))
                if running:
                    time.sleep(LOOK_SECONDS)
        finally:  # also when the cell is stopped
            own.send_signal(signal.SIGINT)
        if own.returncode:
            log.seek(0)
            raise RuntimeError(f"{study} has ended badly: {log.read().decode()[-500:]}")
    return ended


def _command(study: str, folder: Path, minutes: float) -> list[str]:
    command = [sys.executable, "-m", "muonlab", "ablate", study, "--results", str(folder)]
    return [*command, "--workers", "2", "--minutes", str(minutes)]


def _progress(ended: Sequence[Record], runs: int, line: str = "") -> Output:
    """Returns what the cell shows: how many runs have ended, and their losses along the steps."""
    text = f"{len(ended)} of {runs} runs have ended. {line}".strip()
    html = f"<p>{escape(text)}</p>"
    if whole := [run for run in ended if not run.failure]:
        steps, _ = curves(whole)
        losses = {who: curves(group)[1] for who, group in grouped(whole, paired=False).items()}
        figure = figures.lines(steps, losses, xlabel="step", ylabel="held-out loss, nats")
        html += svg.inline(figure, f"Held-out losses of {len(whole)} of {runs} runs.")
    return Output(text, {"text/html": html})
