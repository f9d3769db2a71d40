"""The named grids of runs; `muonlab ablate NAME` runs one."""

from collections.abc import Callable

from muonlab.studies import ablation, batches, capstone, facts_grids, grids, limits_grids
from muonlab.training.config import TrainConfig


def preset(name: str) -> list[TrainConfig]:
    """Returns the configurations of a named grid.

    Raises:
        ValueError: an unknown name; the message lists the known ones.
    """
    if name not in PRESETS:
        raise ValueError(f"preset must be one of {', '.join(PRESETS)}; got {name!r}")
    return PRESETS[name]()


PRESETS: dict[str, Callable[[], list[TrainConfig]]] = {
    "lesson-03-tuning": grids.lesson_03_tuning,
    "lesson-03-seeds": grids.lesson_03_seeds,
    "lesson-04-tuning": grids.lesson_04_tuning,
    "lesson-04-seeds": grids.lesson_04_seeds,
    "lesson-09-tuning": grids.lesson_09_tuning,
    "lesson-09-seeds": grids.lesson_09_seeds,
    "lesson-12-tuning": grids.lesson_12_tuning,
    "lesson-12-seeds": grids.lesson_12_seeds,
    "lesson-12-control": grids.lesson_12_control,
    "lesson-13-tuning": grids.lesson_13_tuning,
    "lesson-13-seeds": grids.lesson_13_seeds,
    "lesson-13-half": grids.lesson_13_half,
    "lesson-16-seeds": capstone.lesson_16_seeds,
    "lesson-16-averages-tuning": capstone.averages_tuning,
    "lesson-16-averages": capstone.averages,
    **batches.presets(),
    **facts_grids.presets(),
    **ablation.presets(),
    **limits_grids.PRESETS,
}
