"""Workers elsewhere: those of a Ray cluster, or the jobs of a Slurm queue; `spread` uses them."""

import dataclasses
import importlib
import socket
import subprocess
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from muonlab.data.corpus import load_corpus
from muonlab.machine import pick_device
from muonlab.records.record import code_version
from muonlab.sweeps.sweep import run
from muonlab.training.config import TrainConfig

SLURM_JOBS = 8  # in the queue at once, unless --workers says otherwise
SLURM_MINUTES = 24 * 60  # after which Slurm ends a job, unless SBATCH_TIMELIMIT says otherwise
POLL = 0.2  # seconds between two looks at the jobs of Slurm


class Lost(OSError):
    """A worker ended before its run did."""


class Engine(Protocol):
    """Workers somewhere; a job is what its library returns for one run."""

    workers: int  # how many jobs it may hold at once

    def submit(self, config: TrainConfig) -> Any: ...

    def finished(self, jobs: list[Any]) -> Any:
        """Waits, and returns one of the jobs that has ended."""

    def result(self, job: Any) -> dict[str, Any] | str:
        """Returns what `run_here` returned; raises Lost when its worker died."""

    def cancel(self, job: Any) -> None: ...


def connect(engine: str, path: Path | str, workers: int | None = None) -> Engine:
    """Returns the engine of that name, connected; `path` is where its driver will write."""
    if engine not in ENGINES:
        raise ValueError(f"engine must be one of local, {', '.join(ENGINES)}; got {engine!r}")
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    return ENGINES[engine](Path(path), workers)


def run_here(fields: dict[str, Any], code: str) -> dict[str, Any] | str:
    """Returns the fields of a run's record, or why this worker cannot take part; workers call it.

    Args:
        fields: of the TrainConfig.
        code: the driver's `code_version()`; records of other code must not come into its file.
    """
    if code != code_version():
        return (
            f"worker {socket.gethostname()} has muonlab at {code_version()}, and the driver at "
            f"{code}: install the same code on both, and git, which names it"
        )
    config = TrainConfig(**fields)
    try:
        pick_device(config.device)
        corpus = _corpus(config.corpus)
    except (OSError, ValueError) as error:  # it says nothing about the run, so it is no record
        here = socket.gethostname()
        return f"worker {here} cannot begin a run on the text {config.corpus!r}: {error}"
    return dataclasses.asdict(run(config, corpus, progress=False))


@lru_cache(maxsize=1)  # a worker of Ray does many runs, and a grid has one text
def _corpus(name: str) -> Any:
    return load_corpus(name)


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
        self.errors = submitit.core.utils
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
        while True:
            for job in jobs:
                if job.done():
                    return job
            time.sleep(POLL)

    def result(self, job: Any) -> dict[str, Any] | str:
        try:
            return job.result()
        except self.errors.FailedJobError:  # an error of ours, in the worker
            raise
        except self.errors.UncompletedJobError as error:
            raise Lost(f"job {job.job_id} ended without a result") from error

    def cancel(self, job: Any) -> None:
        job.cancel(check=False)


def _check_accounting() -> None:
    """Raises ValueError where a job that was killed would look, for ever, as if it ran."""
    answer = subprocess.run(["sacct", "-n", "-j", "1"], capture_output=True, text=True, check=False)
    if answer.returncode:
        raise ValueError(
            "engine 'slurm' asks sacct how a job has ended, and it does not answer here "
            f"({answer.stderr.strip()}): run on another machine of the cluster, or start "
            "`muonlab ablate` in each job, since several may share one grid"
        )


ENGINES: dict[str, Callable[[Path, int | None], Engine]] = {"ray": Ray, "slurm": Slurm}


def _module(name: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ValueError(
            f"engine {extra!r} is not installed: pip install 'muonlab[{extra}]', or from a clone "
            f"pip install -e '.[{extra}]'"
        ) from error
