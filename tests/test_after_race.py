"""Contests of recorded runs: who ended where, and how many steps one saved on another."""

from dataclasses import replace

import pytest

from muonlab.records.record import Record, contestant
from muonlab.records.runs import by_contestant, contrasted, grouped
from muonlab.statistics import mean_interval
from muonlab.studies.equal_time import leads_in_time, step_ratio
from muonlab.studies.evidence import FEWER_STEPS, SEARCHES
from muonlab.studies.table1 import ALL_GROUPS
from muonlab.sweeps.results import recorded
from muonlab.sweeps.study import HERE
from muonlab.training.config import TrainConfig


def run(name, seed, *losses, failure="", steps=(50, 100)):
    held_out = [{"step": step, "overall": x} for step, x in zip(steps, losses, strict=True)]
    config = {"name": name, "seed": seed}
    return Record(config, [], [], held_out, tokens=0, failure=failure)


def named(config):
    return config["name"]


def test_each_contestant_has_its_last_loss_in_the_order_of_seeds():
    runs = [run("b", 2, 9, 4), run("a", 2, 9, 2), run("a", 1, 9, 1), run("b", 1, 9, 3)]
    assert by_contestant(runs, named) == {"a": [1, 2], "b": [3, 4]}
    assert by_contestant(runs, named, lambda at: at["step"]) == {"a": [100] * 2, "b": [100] * 2}


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ([run("b", 1, 1, 1), run("a", 1, failure="diverged", steps=())], "a, seed 1: div"),
        ([run("a", 1, 1, 1), run("b", 2, 1, 1)], "same seeds, each once; got {'a'"),
        ([run("a", 1, 1, 1), run("a", 1, 1, 2)], "same seeds, each once; got {'a'"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused(runs, message):
    with pytest.raises(ValueError, match=message):
        by_contestant(runs, named)


def test_runs_that_need_no_pair_are_grouped_by_who_stepped_the_matrices():
    runs = [run("", seed, 1, 1) for seed in (2, 1, 3)]
    for one, muon in zip(runs, ([], [], ["VO"]), strict=True):
        one.config |= {"rule": "muon", "muon": muon}
    runs.append(run("", 4, failure="diverged at step 3", steps=()))
    groups = grouped(runs, paired=False)
    seeds = {who: [r.config["seed"] for r in group] for who, group in groups.items()}
    assert seeds == {"AdamW": [1, 2], "Muon(VO)": [3]}
    with pytest.raises(ValueError, match="run `muonlab ablate cpu`"):
        grouped([], preset="cpu")


def test_a_contrast_of_several_pairs_is_their_sum():
    ends = {"a": [9.0, 8.0], "b": [1.0, 2.0], "c": [4.0, 4.0], "d": [5.0, 7.0]}
    found = contrasted(ends, {"one": ("a", "b"), "more": [("a", "b"), ("d", "c")]})
    assert found == {"one": [8.0, 6.0], "more": [9.0, 9.0]}


def test_in_equal_time_muons_loss_lies_on_a_line_between_its_runs():
    everybody = [*ALL_GROUPS]
    ends = {("AdamW", 120): (5.0, 6.0), ("Muon", 100): (4.0, 5.0), ("Muon", 120): (3.0, 4.5)}
    runs = []
    for (who, steps), losses in ends.items():
        for seed, loss in enumerate(losses):
            made = run("", seed, loss, steps=(steps,))
            groups = [] if who == "AdamW" else everybody
            made.config |= {"muon": groups, "rule": "muon", "steps": steps}
            runs.append(made)
    # 1.2: 100 steps fit; 1: all of them; 12/11: 110, half-way between the two
    by_seed = ([2.0, 1.5], [1.0, 1.0], [1.5, 1.25])
    for lead, differences in zip(leads_in_time(runs, [1, 1.2, 12 / 11]), by_seed, strict=True):
        assert lead == pytest.approx(mean_interval(differences))
    with pytest.raises(ValueError, match=r"longer must be 1 to 1.2, .*got \[1.3\]"):
        leads_in_time(runs, [1.3])
    named = {"name": lambda c: "slow" if c["steps"] == 100 else contestant(c)}
    rare = lambda at: -10 * at["overall"]  # noqa: E731
    assert leads_in_time(runs, [1.2], rare, ("AdamW", "slow"), **named) == [(-10, -10, -10, 2)]
    with pytest.raises(ValueError, match=r"AdamW at one length, and quick; got \[120\], \[\]"):
        leads_in_time(runs, [1.2], rare, ("AdamW", "quick"))


def test_how_much_longer_muons_step_is_comes_from_medians_of_processor_time():
    runs = []
    for who, seconds in (("AdamW", (2.0, 4.0, 90.0)), ("Muon", (5.0, 6.0, 400.0))):
        for seed, each in enumerate(seconds):
            made = run("", seed, 3.0, steps=(10,))
            groups = [] if who == "AdamW" else [*ALL_GROUPS]
            made.config |= {"muon": groups, "rule": "muon"}
            made.held_out[-1] |= {"cpu_seconds": each * 10, "step": 10 + 10 * (each == 6)}
            runs.append(made)
    other = lambda c: contestant(c)[0]  # noqa: E731
    assert step_ratio(runs, ("M", "A"), other) == 4 / 5
    assert step_ratio(runs) == 5 / 4  # 6 seconds for 20 steps are 3 for 10: 3, 5, 400; 2, 4, 90
    with pytest.raises(KeyError, match="Muon"):
        step_ratio(runs[:3])


@pytest.mark.parametrize("name", FEWER_STEPS)
def test_shorter_runs_are_the_best_setting_in_fewer_steps_at_the_seeds_that_judge(name):
    search, parts = SEARCHES[FEWER_STEPS[name]["search"]], FEWER_STEPS[name]["parts"]
    runs = [TrainConfig(**run.config) for run in recorded(f"{name}-shorter")]
    best = {replace(c, steps=1, eval_every=1): c.steps for c in search.best(HERE)}
    for config in runs:
        whole = best[replace(config, steps=1, eval_every=1, seed=0)]
        assert config.steps in [round(part * whole) for part in parts]
        assert config.eval_every == config.steps
        assert config.muon
    judged = recorded(search.name)
    assert {c.seed for c in runs} == {run.config["seed"] for run in judged}
