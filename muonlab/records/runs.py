"""Recorded runs, grouped: who contested, at which seeds, and what came out."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from muonlab.records.record import Record, contestant, several_runs
from muonlab.statistics import seed_values

Contrast = tuple[str, str] | Sequence[tuple[str, str]]
Measure = Callable[[dict[str, Any]], float]  # of run.held_out[-1]
OVERALL: Measure = itemgetter("overall")
Name = Callable[[dict[str, Any]], Hashable]  # of the contestant that a configuration belongs to


def grouped(
    records: Iterable[Record],
    name: Name = contestant,
    *,
    paired: bool = True,
    preset: str = "PRESET",
) -> dict[Any, list[Record]]:
    """Returns the finished runs of each contestant, in the order of their seeds.

    ValueError if there are none, or if they cannot be paired, as where one failed; TypeError if
    they are no records.

    Args:
        name: the contestant that a configuration belongs to.
        paired: whether all contestants need the same seeds, each once.
        preset: the grid to run where nothing is recorded; the error names it.
    """
    groups: dict[Any, list[Record]] = {}
    for run in sorted(several_runs(records), key=lambda r: r.config["seed"]):
        if run.failure and paired:  # an interval over the other seeds would hide it
            raise ValueError(f"{name(run.config)}, seed {run.config['seed']}: {run.failure}")
        if not run.failure:
            groups.setdefault(name(run.config), []).append(run)
    if not groups:
        raise ValueError(f"no recorded run is finished: run `muonlab ablate {preset}`")
    seeds = {who: [run.config["seed"] for run in runs] for who, runs in groups.items()}
    first = next(iter(seeds.values()))
    if paired and any(own != first or len(own) > len({*own}) for own in seeds.values()):
        raise ValueError(f"the contestants need the same seeds, each once; got {seeds}")
    return groups


def by_contestant(
    records: Iterable[Record], name: Name, measure: Measure = OVERALL
) -> dict[Any, list[float]]:
    """Returns what each contestant ended with, one number a seed; ValueError as `grouped`.

    `measure` takes the number from a run's last measurement.
    """
    return {who: [measure(r.held_out[-1]) for r in g] for who, g in grouped(records, name).items()}


def curves(runs: Sequence[Record], part: str = "overall") -> tuple[list[int], list[list[float]]]:
    """Returns the steps at which runs were measured, and each run's held-out losses there."""
    runs = several_runs(runs)
    steps = [at["step"] for at in runs[0].held_out]
    if any([at["step"] for at in run.held_out] != steps for run in runs):
        raise ValueError("expected runs that were measured at the same steps")
    return steps, [[at[part] for at in run.held_out] for run in runs]


def contrasted(
    results: Mapping[str, Sequence[float]], contrasts: Mapping[str, Contrast] | None = None
) -> dict[str, list[float]]:
    """Returns of each effect one difference a seed, ready for an interval.

    KeyError: a contestant without results. ValueError: unlike numbers of seeds.

    Args:
        results: of each contestant one number a seed, in the same order of seeds.
        contrasts: of each effect the pair (a, b) for a − b; of several pairs their sum, so that
            [("a", "b"), ("d", "c")] is the difference of two differences. None: `results` are
            differences already.

    >>> contrasted({"AdamW": [4.0, 4.25], "Muon": [3.5, 3.5]}, {"lead": ("AdamW", "Muon")})
    {'lead': [0.5, 0.75]}
    """
    if contrasts is None:
        return {name: seed_values(values).tolist() for name, values in results.items()}
    return {name: _sum(results, contrast) for name, contrast in contrasts.items()}


def _sum(results: Mapping[str, Sequence[float]], contrast: Contrast) -> list[float]:
    pairs: Any = [contrast] if isinstance(contrast[0], str) else contrast
    ends = (seed_values(results[name]).tolist() for pair in pairs for name in pair)
    by_seed = zip(*ends, strict=True)  # ValueError where the seeds are not as many
    return [float(sum(seed[::2]) - sum(seed[1::2])) for seed in by_seed]
