"""The door to everything that runs or has been run: `from muonlab.experiments import Run`.

Behind it are the rooms from `distributed` to `cost`, and `statistics`; what a lesson needs of them
stands here, so that nothing inside can move a lesson.
"""

from muonlab.cost.formulas import Counts, muon_overhead
from muonlab.cost.plans import GPT_1B, clock, estimate, speed
from muonlab.cost.timeline import Machine, ends, timeline
from muonlab.distributed.rehearse import rehearse
from muonlab.distributed.sharded import orthogonalize_apart
from muonlab.records.store import RESULTS
from muonlab.statistics import (
    chance_to_see,
    contrast,
    contrast_by_seed,
    corrected,
    mean_interval,
    paired_interval,
    seeds_needed,
)
from muonlab.studies import comparisons
from muonlab.studies.after_race import BATCH
from muonlab.studies.evidence import gained_beyond, knobs_of, rates_of
from muonlab.studies.facts import FACTS_400, people_known
from muonlab.studies.hypothesis import Hypothesis, state
from muonlab.studies.races import RACE, RATES, VOCABULARY
from muonlab.studies.table1 import (
    ALL_GROUPS,
    paper_losses,
    recovered,
    row_losses,
    row_name,
    table1_data,
    widened,
)
from muonlab.studies.verdicts import end_of, judge, verdict
from muonlab.sweeps.results import recorded
from muonlab.sweeps.search import Search
from muonlab.sweeps.study import HERE, best_trial
from muonlab.sweeps.sweep import sweep
from muonlab.training.build import build_model
from muonlab.training.config import TrainConfig
from muonlab.training.own_rule import own_rule
from muonlab.training.run import Run
