"""Workers elsewhere that a grid is spread over: a Ray cluster, or the jobs of a Slurm queue.

The driver, the process that asks for the grid, gives each worker one configuration at a time and
writes each record that comes back. So workers need no file of the driver's, only the same version
of muonlab, and the text.
"""

import dataclasses
import importlib
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from muonlab.data.corpus import load_corpus
from muonlab.records.provenance import code_version
from muonlab.records.record import Record
from muonlab.sweeps.sweep import Engine, Lost, run, spread, sweep
from muonlab.training.config import TrainConfig

SLURM_JOBS = 8  # in the queue at once, unless --workers says otherwise
SLURM_MINUTES = 24 * 60  # after which Slurm ends a job, unless SBATCH_TIMELIMIT says otherwise
POLL = 0.2  # seconds between two looks at the jobs of Slurm


class Ray:
    """A Ray cluster: $RAY_ADDRESS, or the one of this machine, or a new one on its cores.

    A run takes a CPU, and a GPU where the cluster has any.
    """

    def __init__(self, path: Path, workers: int | None = None) -> None:
        self.ray = _module("ray", "ray")
        if not self.ray.is_initialized():
            self.ray.init(include_dashboard=False, log_to_driver=False)
        held = self.ray.cluster_resources()
        self.gpus = int(held.get("GPU", 0))
        self.workers = workers or self.gpus or int(held["CPU"])

    def submit(self, config: TrainConfig) -> Any:
        gpus = int(self.gpus > 0 and config.device != "cpu")
        # the driver retries, so Ray must not: it would not say how often a worker has died
        task = self.ray.remote(num_cpus=1, num_gpus=gpus, max_retries=0)(run_here)
        return task.remote(dataclasses.asdict(config), code_version())

    def finished(self, jobs: list[Any]) -> Any:
        return self.ray.wait(jobs)[0][0]

    def result(self, job: Any) -> dict[str, Any] | str:
        try:
            return self.ray.get(job)
        except self.ray.exceptions.RayTaskError:  # an error of ours, in the worker
            raise
        except self.ray.exceptions.RayError as error:
            raise Lost(f"{type(error).__name__}") from error

    def cancel(self, job: Any) -> None:
        self.ray.cancel(job, force=True)


class Slurm:
    """A Slurm queue, by submitit. What sbatch must know stands in its own variables, `SBATCH_*`.

    Each job leaves its log in .jobs, beside the records: a folder that all machines must see.
    """

    def __init__(self, path: Path, workers: int | None = None, cluster: str = "slurm") -> None:
        submitit = _module("submitit", "slurm")
        self.errors, self.as_completed = submitit.core.utils, submitit.helpers.as_completed
        self.workers = workers or SLURM_JOBS
        try:
            self.executor = submitit.AutoExecutor(path.parent / ".jobs", cluster)
        except RuntimeError as error:
            raise ValueError(f"engine 'slurm' needs a machine that has sbatch: {error}") from error
        if cluster == "slurm":
            _check_accounting()
        self.executor.update_parameters(timeout_min=SLURM_MINUTES, name="muonlab")

    def submit(self, config: TrainConfig) -> Any:
        try:
            return self.executor.submit(run_here, dataclasses.asdict(config), code_version())
        except self.errors.FailedJobError as error:
            raise OSError(f"sbatch has refused a job: {error}") from error

    def finished(self, jobs: list[Any]) -> Any:
        return next(self.as_completed(jobs, poll_frequency=POLL))

    def result(self, job: Any) -> dict[str, Any] | str:
        try:
            return job.result()
        except self.errors.FailedJobError:  # an error of ours, in the worker
            raise
        except self.errors.UncompletedJobError as error:
            raise Lost(f"job {job.job_id} ended without a result") from error

    def cancel(self, job: Any) -> None:
        job.cancel(check=False)


ENGINES: dict[str, Callable[[Path, int | None], Engine]] = {"ray": Ray, "slurm": Slurm}


def run_here(fields: dict[str, Any], code: str) -> dict[str, Any] | str:
    """Returns the fields of a run's record, or why this worker cannot take part; workers call it.

    Args:
        fields: of the TrainConfig.
        code: the driver's `code_version()`; records of other code must not come into its file.
    """
    worker = f"worker {socket.gethostname()}"
    if code != code_version():
        return (
            f"{worker} has muonlab at {code_version()}, and the driver at {code}: install the same "
            "code on both, and git, which names it"
        )
    config = TrainConfig(**fields)
    try:
        return dataclasses.asdict(run(config, _corpus, progress=False))
    except (OSError, ValueError) as error:  # of the machine, see `run`: it is no record
        return f"{worker} cannot do a run on the text {config.corpus!r}: {error}"


@lru_cache(maxsize=2)  # a worker of Ray does many runs, and a grid has one text, or two
def _corpus(name: str) -> Any:
    return load_corpus(name)


def run_grid(
    configs: Sequence[TrainConfig],
    path: Path | str,
    engine: str = "local",
    workers: int | None = None,
) -> Iterator[Record]:
    """Yields the record of each configuration; it runs those that `path` lacks on the engine.

    Args:
        path: a file of JSON lines, made when missing; only this machine needs it.
        engine: "local" runs one after the other here (see `sweep`), "ray" on a Ray cluster, and
            "slurm" on a Slurm queue.
        workers: how many runs at once; None is all that the Ray cluster holds, or SLURM_JOBS.

    Raises:
        ValueError: an unknown engine, or one that is not installed.
        OSError: a worker without the text or with other code; a run that no worker outlived.
    """
    if engine == "local" and workers is None:
        return sweep(configs, path)
    if engine == "local":
        raise ValueError(
            "workers are those of ray or slurm: to do several runs at once on this machine, "
            "start the same command several times"
        )
    if engine not in ENGINES:
        raise ValueError(f"engine must be one of local, {', '.join(ENGINES)}; got {engine!r}")
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    return spread(configs, path, ENGINES[engine](Path(path), workers))


def _check_accounting() -> None:
    """Raises ValueError where a job that was killed would look, for ever, as if it ran."""
    answer = subprocess.run(["sacct", "-n", "-j", "1"], capture_output=True, text=True, check=False)
    if answer.returncode:
        raise ValueError(
            "engine 'slurm' asks sacct how a job has ended, and it does not answer here "
            f"({answer.stderr.strip()}): run on another machine of the cluster, or start "
            "`muonlab ablate` in each job, since several may share one grid"
        )


def _module(name: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ValueError(
            f"engine {extra!r} is not installed: pip install 'muonlab[{extra}]', or from a clone "
            f"pip install -e '.[{extra}]'"
        ) from error
