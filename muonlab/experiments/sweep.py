"""Run many configurations, keep every record, and go on where a kill left off."""

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from muonlab.data.corpus import load_corpus
from muonlab.experiments import records
from muonlab.experiments.config import TrainConfig
from muonlab.experiments.records import Record, run_id
from muonlab.experiments.train import Diverged, train


def sweep(
    configs: Iterable[TrainConfig], path: Path | str, *, progress: bool = True
) -> Iterator[Record]:
    """Yields the record of each configuration, in order; it runs those that `path` lacks.

    Nothing runs until the result is consumed: write `list(sweep(…))` or a loop. Each record is in
    the file before it is yielded. A diverged run is a result like any other: its record says why
    in `diverged`, is not run again, and the next configuration follows.

    Args:
        path: a file of JSON lines, made when missing.

    Raises:
        ValueError: a broken line in the file (see `records.read`).
    """
    corpus = cache(load_corpus)
    known = {record.run_id: record for record in records.read(path)} if Path(path).exists() else {}
    for config in configs:
        name = run_id(config)
        if name not in known:
            try:
                record = train(config, corpus(config.corpus), progress=progress)
            except Diverged as error:
                record = error.record
            records.append(record, path)
            known[name] = record
        yield known[name]
