"""The door to everything that runs or has been run: `from muonlab.experiments import Run`.

The rooms behind it are `training`, `records`, `sweeps`, `studies`, `distributed` and `cost`; what a
lesson needs of them stands here, so that nothing inside can move a lesson.
"""

from muonlab.benchmark.bench import read_bench
from muonlab.cost import formulas as cost
from muonlab.cost import plans as budget
from muonlab.cost.estimate import estimate, speed
from muonlab.cost.formulas import bytes_held
from muonlab.cost.plans import cost_table, muon_overhead
from muonlab.distributed.rehearse import rehearse
from muonlab.distributed.sharded import orthogonalize_apart
from muonlab.records.store import RESULTS
from muonlab.statistics import (
    Interval,
    chance_to_see,
    contrast,
    half_width,
    paired_interval,
    seeds_needed,
)
from muonlab.studies import ablation, capstone
from muonlab.studies.batches import tokens_to_reach
from muonlab.studies.hypothesis import Hypothesis, by_seed, judge, state
from muonlab.studies.limits_grids import known
from muonlab.studies.table1 import paper_losses, recovered, row_losses, row_name, table1_data
from muonlab.sweeps.results import recorded
from muonlab.sweeps.study import best_trial
from muonlab.sweeps.sweep import sweep
from muonlab.training.build import build_model
from muonlab.training.config import TrainConfig
from muonlab.training.evaluate import first_token_accuracy
from muonlab.training.run import Run

__all__ = [
    "RESULTS",
    "Hypothesis",
    "Interval",
    "Run",
    "TrainConfig",
    "ablation",
    "best_trial",
    "budget",
    "build_model",
    "by_seed",
    "bytes_held",
    "capstone",
    "chance_to_see",
    "contrast",
    "cost",
    "cost_table",
    "estimate",
    "first_token_accuracy",
    "half_width",
    "judge",
    "known",
    "muon_overhead",
    "orthogonalize_apart",
    "paired_interval",
    "paper_losses",
    "read_bench",
    "recorded",
    "recovered",
    "rehearse",
    "row_losses",
    "row_name",
    "seeds_needed",
    "speed",
    "state",
    "sweep",
    "table1_data",
    "tokens_to_reach",
]
