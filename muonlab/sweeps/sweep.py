"""Run many configurations, keep every record, and go on where a kill left off."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

from filelock import Timeout

from muonlab.data.load import load_corpus
from muonlab.data.task import Task
from muonlab.distributed import parallel
from muonlab.records import record as records
from muonlab.records.record import Record, provenance, run_id
from muonlab.records.store import read_runs
from muonlab.training.config import TrainConfig
from muonlab.training.run import Diverged, train


def sweep(
    configs: Iterable[TrainConfig], path: Path | str, *, progress: bool = True
) -> Iterator[Record]:
    """Yields the record of each configuration; it runs those that `path` lacks.

    Nothing runs until the result is consumed: write `list(sweep(…))` or a loop. Each record is in
    the file before it is yielded. A run that diverges or fails is a result like any other: its
    record says why in `failure`, it is not run again, and the next configuration follows.

    Several processes may run one sweep on one file: each takes what no other has begun, and the
    records of others come last. What a killed process had begun is run by another. Processes of
    torchrun, which share one run, are refused by a ValueError.

    Args:
        path: a file of JSON lines, made when missing.

    Raises:
        ValueError: a broken line in the file, a record of other code (see `read_runs`), or a text
            that is not on this machine (see `load_corpus`).
    """
    if parallel.size() > 1:  # they would average the gradients of different runs
        raise ValueError(
            "the processes of torchrun share one run, those of a sweep take different ones: start "
            "it without torchrun, once for each GPU, with CUDA_VISIBLE_DEVICES"
        )
    corpus = cache(load_corpus)
    begun_elsewhere = []
    for config in configs:
        try:
            with records.lock(path, run_id(config)).acquire(blocking=False):
                record = known(config, path) or _run(config, path, corpus, progress)
        except Timeout:
            begun_elsewhere.append(config)
        else:
            yield record
    for config in begun_elsewhere:
        with records.lock(path, run_id(config)):  # waits until the other has ended, in any way
            record = known(config, path) or _run(config, path, corpus, progress)
        yield record


def known(config: TrainConfig, path: Path | str) -> Record | None:
    """Returns the record that the file has of a run, if it has one."""
    return next((record for record in read_runs(path) if record.run_id == run_id(config)), None)


def run(config: TrainConfig, corpus: Task, *, progress: bool = True) -> Record:
    """Returns the record of one run, also of one that diverges or fails."""
    try:
        return train(config, corpus, progress=progress)
    except Diverged as error:
        return error.record
    except (RuntimeError, ValueError) as error:  # no memory, no GPU, a model without such matrices
        return Record(
            config=dataclasses.asdict(config),
            train_loss=[],
            step_seconds=[],
            held_out=[],
            tokens=0,
            provenance={"command": config.command(), **provenance()},
            failure=f"{type(error).__name__}: {error}",
        )


def _run(
    config: TrainConfig, path: Path | str, corpus: Callable[[str], Task], progress: bool
) -> Record:
    # a text that is not here says nothing about the run, so its error is not recorded
    record = run(config, corpus(config.corpus), progress=progress)
    records.append(record, path)
    return record
