"""Who does a run: this process, a Ray cluster, or the jobs of a Slurm queue.

Workers elsewhere get one configuration at a time, and send its record back. So they need no file of
the driver's, only the same version of muonlab, and the text.
"""

import dataclasses
import socket
import subprocess
import warnings
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import torch

from muonlab import checks
from muonlab.data.load import load_corpus
from muonlab.data.task import Task
from muonlab.machine import pick_device
from muonlab.optim.rules import OWN
from muonlab.records.provenance import code_version, provenance
from muonlab.records.record import Record
from muonlab.training.config import IDLE, TrainConfig
from muonlab.training.own_rule import own_step
from muonlab.training.run import Diverged, train

SLURM_JOBS = 8  # in the queue at once, unless --workers says otherwise
SLURM_MINUTES = 24 * 60  # after which Slurm ends a job, unless SBATCH_TIMELIMIT says otherwise
SLURM_POLL = 0.2  # seconds between two looks at the jobs of Slurm


class Lost(OSError):
    """A worker ended before its run did."""


class Here:
    """This process, which does one run after the other. Elsewhere a job stands for one run."""

    workers = 1  # how many jobs it may hold at once

    def __init__(self, progress: bool = True) -> None:
        self.progress, self.load = progress, cache(load_corpus)

    def submit(self, config: TrainConfig) -> Any:
        """Begins a run and returns its job."""
        return config

    def finished(self, jobs: list[Any]) -> Any:
        """Waits, and returns one of the jobs that has ended."""
        return jobs[0]

    def result(self, job: Any) -> dict[str, Any] | str:
        """Returns a record's fields, or why the worker cannot do it; raises Lost when it died."""
        return dataclasses.asdict(run_once(job, self.load, progress=self.progress))

    def cancel(self, job: Any) -> None:
        """Ends a job that nobody waits for."""


class Ray(Here):
    """A Ray cluster: $RAY_ADDRESS, or the one of this machine, or a new one on its cores.

    A run takes a CPU, and a GPU where the cluster has any.
    """

    def __init__(self, path: Path, workers: int | None = None) -> None:
        import ray

        self.ray = ray
        if not self.ray.is_initialized():
            self.ray.init(include_dashboard=False, log_to_driver=False)
        resources = self.ray.cluster_resources()
        self.gpus = int(resources.get("GPU", 0))
        self.workers = workers or self.gpus or int(resources["CPU"])

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
            raise Lost(type(error).__name__) from error

    def cancel(self, job: Any) -> None:
        self.ray.cancel(job, force=True)


class Slurm(Here):
    """A Slurm queue, by submitit. What sbatch must know stands in its own variables, `SBATCH_*`.

    Each job leaves its log in .jobs, beside the records: a folder that all machines must see.
    """

    def __init__(self, path: Path, workers: int | None = None, cluster: str = "slurm") -> None:
        import submitit

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
        return self.executor.submit(run_here, dataclasses.asdict(config), code_version())

    def finished(self, jobs: list[Any]) -> Any:
        return next(self.as_completed(jobs, poll_frequency=SLURM_POLL))

    def result(self, job: Any) -> dict[str, Any] | str:
        try:
            return job.result()
        except self.errors.FailedJobError:  # an error of ours, in the worker
            raise
        except self.errors.UncompletedJobError as error:
            raise Lost(f"job {job.job_id} ended without a result") from error

    def cancel(self, job: Any) -> None:
        job.cancel(check=False)


ENGINES: dict[str, Callable[[Path, int | None], Here]] = {"ray": Ray, "slurm": Slurm}


def run_once(config: TrainConfig, load: Callable[[str], Task], *, progress: bool = True) -> Record:
    """Returns the record of one run, also of one that cannot succeed anywhere.

    What lies in the machine is raised instead: no such device, rule or text (which `load` gives, as
    `load_corpus` does), or too little memory. A record of it would keep the run from being done
    where it can be.
    """
    pick_device(config.device)
    if OWN.fullmatch(config.rule):
        own_step(config.rule)
    task = load(config.corpus)
    if config.pretraining:
        load(config.first_run().corpus)  # which is what it reads first
    try:
        with warnings.catch_warnings():  # a grid gives all sides the same options
            warnings.filterwarnings("ignore", IDLE)
            return train(config, task, progress=progress)
    except checks.NoRoom:
        raise
    except Diverged as error:
        return error.record
    except (ValueError, torch.linalg.LinAlgError) as error:  # such as a model without w_gate
        where = {"command": config.command(), **provenance()}
        why = f"{type(error).__name__}: {error}"
        return Record(dataclasses.asdict(config), [], [], [], 0, provenance=where, failure=why)


def run_here(fields: dict[str, Any], code: str) -> dict[str, Any] | str:
    """Returns the fields of a run's record, or why this worker cannot take part; workers call it.

    `fields` are those of the TrainConfig. `code` is the driver's `code_version()`: its file takes
    no records of other code.
    """
    worker = f"worker {socket.gethostname()}"
    if code != code_version():
        other = f"has muonlab at {code_version()}, and the driver at {code}"
        return f"{worker} {other}: install the same code on both, and git, which names it"
    config = TrainConfig(**fields)
    try:
        return dataclasses.asdict(run_once(config, _corpus, progress=False))
    except (OSError, ValueError) as error:  # of the machine, see `run_once`: it is no record
        return f"{worker} cannot do a run on the text {config.corpus!r}: {error}"


@lru_cache(maxsize=2)  # a worker of Ray does many runs on a text, or two
def _corpus(name: str) -> Task:
    return load_corpus(name)


def _check_accounting() -> None:
    """Raises ValueError where a job that was killed would look, for ever, as if it ran."""
    answer = subprocess.run(["sacct", "-n", "-j", "1"], capture_output=True, text=True, check=False)
    if answer.returncode:
        message = "engine 'slurm' asks sacct how a job has ended, and it does not answer here"
        then = "run on another machine, or start `muonlab ablate` in each job"
        raise ValueError(f"{message} ({answer.stderr.strip()}): {then}")
