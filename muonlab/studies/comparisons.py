"""Every race of two optimizers that is recorded: what it asks, what came out, and on what ground.

The evidence notebooks make their first tables from these, and the map of Muon's lead its points.
Those of AdamW and Muon on text stand in comparisons.json.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from statistics import mean
from typing import Any

import numpy as np

from muonlab.files import data_beside
from muonlab.models.gpt import SIZES
from muonlab.records.record import Record, contestant
from muonlab.records.runs import OVERALL, Measure, by_contestant, curves, grouped
from muonlab.records.store import path_of
from muonlab.statistics import Interval, mean_interval, paired_interval
from muonlab.studies.equal_time import leads_in_time, step_ratio
from muonlab.studies.evidence import SEARCHES
from muonlab.studies.facts import SLOWER_MEMORIES, learner
from muonlab.studies.hypothesis import TOKEN_CLASSES
from muonlab.studies.protocol import MATTERS
from muonlab.studies.verdicts import verdict
from muonlab.sweeps.results import known, recorded
from muonlab.sweeps.search import Search
from muonlab.sweeps.study import HERE
from muonlab.training.config import TrainConfig

LONGER = (1.0, 1.03, 1.1, 1.2)  # Muon's step, times AdamW's; large runs publish 1.01 to 1.06
HEADS: tuple[str, ...] = ("question", "answer", "size [95 % interval]", "n", "steps")
HEADS += ("tokens a step", "trials a side", "study")


@dataclass(frozen=True)
class Comparison:
    """Two contestants at the end of a study: `rivals[0]`'s result minus `rivals[1]`'s, by seed.

    Of losses it is above 0 where the second ends lower, as Muon beside AdamW.
    """

    question: str
    phase: str  # of the final runs
    where: Mapping[str, Any] = field(default_factory=dict, hash=False)  # options of its runs
    rivals: tuple[str, str] = ("AdamW", "Muon")
    who: Callable[[Mapping[str, Any]], Any] = contestant
    shorter: str = ""  # in FEWER_STEPS: Muon's plans of fewer steps

    @property
    def runs(self) -> list[Record]:
        """The final runs."""
        return self._recorded(self.phase)

    @property
    def config(self) -> TrainConfig:
        """What both sides share, as one run of the second has it."""
        return TrainConfig(**grouped(self.runs, self.who)[self.rivals[1]][0].config)

    @property
    def trials(self) -> str:
        """How many trials each side had, or "none", where another study tuned them.

        ValueError where one side had more than the other: that compares nothing.
        """
        if not self._tuned:
            return "none"
        [count] = {sum(map(len, rounds)) for rounds in self._tuned.trials(HERE).values()}
        return str(count)

    def interval(self, measure: Measure = OVERALL) -> Interval:
        """Returns the difference with its 95 % interval over seeds."""
        ends = by_contestant(self.runs, self.who, measure)
        return paired_interval(*(ends[who] for who in self.rivals))

    def word(self, interval: Interval) -> str:
        """Returns who leads, in the words of `verdicts.verdict`: "Muon leads", "level", …"""
        word, (first, second) = verdict(interval, MATTERS), self.rivals
        ahead = second if interval.mean > 0 else first
        return f"{ahead} {word}" if "leads" in word else word

    def row(self, measure: Measure = OVERALL) -> list[str]:
        """Returns the comparison as a row below HEADS."""
        config, interval = self.config, self.interval(measure)
        counts = (interval.n, config.steps, config.batch * config.context)
        numbers = (f"{count:,}" for count in counts)
        answer = self.word(interval)
        return [self.question, answer, str(interval), *numbers, self.trials, self.phase]

    def saved(self, part: str = "overall") -> Interval | None:
        """Returns which share of its steps the second saves, stopped level with the first's end.

        Between measurements its loss is taken to fall straight. The rates of a stopped run are
        still high: one planned for fewer steps saves more. None: at a seed it gets there at no
        measurement, or is there at the first.
        """
        first, second = (grouped(self.runs, self.who)[who] for who in self.rivals)
        steps, losses = curves(second, part)
        shares = []
        for run, loss in zip(first, losses, strict=True):
            end = run.held_out[-1][part]
            below = next((n for n, value in enumerate(loss) if value <= end), 0)
            if not below:
                return None
            at = np.interp(-end, [-loss[below - 1], -loss[below]], steps[below - 1 : below + 1])
            shares.append(1 - float(at) / steps[-1])
        return mean_interval(shares)

    @property
    def lengths(self) -> list[Record]:
        """The final runs, and those of the second that were planned for fewer steps.

        FileNotFoundError where the comparison has none of fewer steps.
        """
        return self.runs + self._recorded(f"{self.shorter}-shorter", any_length=True)

    def leads(self, measure: Measure = OVERALL) -> list[Interval | None]:
        """Returns the lead in equal time at each of LONGER and at the clock.

        None where the second has no run as short, or as long, as that. Errors as `lengths`.
        """
        runs, how = self.lengths, (measure, self.rivals, self.who)
        most = self.config.steps / min(run.config["steps"] for run in runs)
        return [
            leads_in_time(runs, [longer], *how)[0] if 1 <= longer <= most else None
            for longer in (*LONGER, self.clock)
        ]

    @property
    def clock(self) -> float:
        """How much longer a step of the second took, in the final runs (see `step_ratio`)."""
        return step_ratio(self.runs, self.rivals, self.who)

    @property
    def clocks(self) -> list[float]:
        """The same in each round of its own search."""
        rounds = self._tuned.tunings if self._tuned else ()
        trials = (self._recorded(tuning.name) for tuning in rounds)
        return [step_ratio(runs, self.rivals, self.who) for runs in trials]

    @property
    def _tuned(self) -> Search | None:
        return SEARCHES.get(self.phase)

    def _recorded(self, phase: str, any_length: bool = False) -> list[Record]:
        where = {k: v for k, v in self.where.items() if not (any_length and k == "steps")}
        runs = known(path_of(phase)).read().values() or recorded(phase)  # FileNotFoundError
        return [run for run in runs if where.items() <= run.config.items()]


_RACES = data_beside(__file__, "comparisons.json")


def _races(group: str) -> tuple[Comparison, ...]:
    return tuple(Comparison(**fields) for fields in _RACES[group])


LENGTHS, KINDS, BATCHES = _races("lengths"), _races("kinds"), _races("batches")
MODELS, CODE, RUNGS, [GPU] = _races("models"), _races("code"), _races("rungs"), _races("GPU")
LAPTOP = LENGTHS[1]
IN_TIME = (LAPTOP, LENGTHS[3], *KINDS, *BATCHES, *MODELS, *CODE)


def _facts(steps: int, muon: str, adamw: str) -> Comparison:
    name = f"facts-{steps}"
    question = f"{steps:,} steps: {muon} against {adamw}"
    return Comparison(question, name, rivals=(adamw, muon), who=learner, shorter=name)


PAIRS = [("Muon(VO, FFN)", SLOWER_MEMORIES), ("Muon", SLOWER_MEMORIES)]
PAIRS += [("Muon", "AdamW, all slower"), ("Muon", "AdamW")]
FACTS = tuple(_facts(steps, *pair) for steps in (400, 1200) for pair in PAIRS)
REGRESSION = Comparison("linear regression in context", "regression-600", shorter="regression-600")


def unknown(steps: int) -> Measure:
    """Returns the share of wrong answers about the rarest groups that lesson 10 judges."""
    first = 7 if steps == 400 else 8
    return lambda at: 1 - mean(at["accuracy"][first:])


def lead_points(comparisons: Iterable[Comparison] = ()) -> list[dict[str, Any]]:
    """Returns where each recorded race on text lies, and Muon's lead there, as the map shows it.

    The races have dense multi-head models and start from nothing, so that size, tokens a step,
    steps and vocabulary are what differs. Those that are not recorded yet are left out.
    """
    races = comparisons or (*LENGTHS[:2], LENGTHS[3], KINDS[2], *BATCHES, MODELS[0], *RUNGS, GPU)
    return [_point(race) for race in races if path_of(race.phase).exists()]


lead_map = lead_points  # its name in older copies of lesson 04


def _point(race: Comparison) -> dict[str, Any]:
    config, shape = race.config, SIZES[race.config.size]
    saved = {part: race.saved(part) for part in ("overall", "tail")}
    return {
        "name": race.question,
        "study": race.phase,
        "size": 12 * shape.layers * shape.width**2,  # Q, K, V, O and the two of 4 times the width
        "tokens": config.batch * config.context,
        "steps": config.steps,
        "vocabulary": 512 if config.corpus.endswith("-512") else 4096,
        "lead": {part: [*race.interval(itemgetter(part))[:3]] for part in TOKEN_CLASSES},
        "saved": {part: share and [*share[:3]] for part, share in saved.items()},
        "n": race.interval().n,
    }
