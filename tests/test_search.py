"""Are all contestants of a search tuned alike, and is the best of all rounds taken?"""

import dataclasses
import json
import re
from itertools import permutations
from math import log
from statistics import mean

import pytest

from muonlab.records.record import Record
from muonlab.studies import evidence
from muonlab.studies.protocol import knobs, sides
from muonlab.studies.races import RACE, VO_FFN
from muonlab.sweeps.search import Knob, Search, expected_best, outcome
from muonlab.sweeps.study import HERE, Place
from muonlab.training.config import TrainConfig

RATE, MEMORY = Knob("lr", 0.001, 0.016), Knob("betas.0", 0.02, 0.5, average=True)
CONFIGS = [TrainConfig(eval_tokens=64), TrainConfig(eval_tokens=64, rule="normuon")]


@pytest.fixture
def at(tmp_path):
    return Place(tmp_path)


def searching(*rounds, knobs=(RATE,), sides=CONFIGS[:1], **options):
    return Search("some", sides, rounds, lambda config: knobs, ("rule",), **options)


def write(configs, path, loss, part="overall", fails=lambda config: False):
    """Adds a record of each to what lies at the path."""
    for config in configs:
        held_out = [{"step": 2, "overall": 0.0, part: loss(config)}]
        failure = "diverged" if fails(config) else ""
        run = Record(dataclasses.asdict(config), [5.0], [0.1], held_out, 64, failure=failure)
        with path.open("a") as file:
            file.write(f"{json.dumps(dataclasses.asdict(run))}\n")


def do(tuning, at, loss, **options):
    """Records the trials of a phase, as if they had been run; returns them."""
    trials = tuning.grid(at)
    at.path(tuning.name).unlink(missing_ok=True)
    write(trials, at.path(tuning.name), loss, **options)
    return trials


def turn(config, place, knob):
    values = dict(vars(config))
    knob.turn(values, place)
    return TrainConfig(**values)


# --- knobs ---------------------------------------------------------------------------------------


def test_a_knob_is_turned_to_a_place_of_its_range_in_logarithms_and_read_back():
    for place, rate, beta in [(0, 0.001, 0.98), (0.5, 0.004, 0.9), (1, 0.016, 0.5)]:
        turned = turn(turn(CONFIGS[0], place, RATE), place, MEMORY)
        assert (turned.lr, turned.betas[0]) == pytest.approx((rate, beta))
        assert RATE.position(turned) == pytest.approx(place)
        assert MEMORY.position(turned) == pytest.approx(place, abs=0.01)
        assert turned.betas[1] == CONFIGS[0].betas[1]
    assert (MEMORY.shown(turned), RATE.shown(turned)) == ("0.5", "0.016")
    assert (MEMORY.ends, RATE.ends) == ((0.5, 0.98), (0.001, 0.016))


def test_an_average_leaves_at_most_all_of_its_weight_to_the_new():
    betas = [turn(TrainConfig(), place, MEMORY).betas[0] for place in (1.2, 1.3, 2)]
    assert betas == pytest.approx([0.048, 0, 0], abs=0.001)


@pytest.mark.parametrize("steps", RACE)
def test_the_sides_of_the_race_have_as_many_knobs_whose_ranges_are_as_wide(steps):
    widths = [[log(k.high / k.low) for k in knobs(config)] for config in sides(steps)]
    assert len(widths) == 3
    assert len(widths[0]) == 5
    assert all(width == pytest.approx(widths[0]) for width in widths)
    assert steps not in VO_FFN or VO_FFN[steps].rounds == RACE[steps].rounds


def test_all_contestants_of_the_race_are_tried_at_the_same_places():
    places = {}
    for config in RACE[1200].tunings[0].grid(HERE):
        place = [round(k.position(config), 1) for k in knobs(config)]
        places.setdefault((config.muon, config.rule), []).append(place)
    first, *others = places.values()
    assert others == [first, first]
    assert len(first) == 16
    assert all(0 < u < 1 for place in first for u in place)
    assert all(sum(u < 0.5 for u in axis) in range(6, 11) for axis in zip(*first, strict=True))


# --- rounds --------------------------------------------------------------------------------------


def test_a_later_round_looks_around_the_best_so_far_and_may_leave_the_range(at):
    search = searching(16, 8, knobs=(RATE, MEMORY), sides=CONFIGS)
    loss = lambda c: 1 - RATE.position(c) if c.rule == "muon" else (MEMORY.position(c) - 0.5) ** 2  # noqa: E731
    wide, near = search.tunings
    do(wide, at, loss)
    best = dict(zip(["muon", "normuon"], search.best(at, 1), strict=True))
    trials = do(near, at, loss)
    assert [c.rule for c in trials] == ["muon"] * 8 + ["normuon"] * 8
    for config in trials:
        for knob in (RATE, MEMORY):
            assert abs(knob.position(config) - knob.position(best[config.rule])) < 1 / 6 + 0.01
    assert max(RATE.position(c) for c in trials) > 1
    muon, normuon = search.best(at)
    assert loss(muon) == min(loss(c) for c in trials if c.rule == "muon") < loss(best["muon"])
    assert normuon in (best["normuon"], *trials[8:])
    head, row, _ = outcome(search, at).splitlines()
    assert " ".join(head.split()[-10:]) == "after 1 after 4 after 8 after 16 after 24"
    assert f"lr {muon.lr:.4g} (10" in row
    assert row.endswith(f"{search.budget(at)['muon',][-1]:.4f}")
    trials = search.trials(at)
    assert [[len(r) for r in rounds] for rounds in trials.values()] == [[16, 8], [16, 8]]


def test_a_round_looks_over_the_whole_range_or_around_the_best_as_it_is_told(at):
    begun = searching(4, 4, around=("best",))
    start = RATE.position(CONFIGS[0])
    first = do(begun.tunings[0], at, RATE.position)
    assert all(abs(RATE.position(c) - start) < 1 / 6 + 0.01 for c in first)
    for around, spans in ((("best",), (0.0, 1 / 3)), (("best", "all"), (0.4, 1.0))):
        search = dataclasses.replace(begun, around=around)
        places = [RATE.position(c) for c in search.tunings[1].grid(at)]
        assert spans[0] < max(places) - min(places) < spans[1]


def test_each_side_has_its_own_knobs_in_its_best_and_in_the_outcome(at):
    own = {"muon": RATE, "normuon": MEMORY}
    search = Search("some", CONFIGS, (4,), lambda c: (own[c.rule],), ("rule",))
    trials = search.tunings[0].grid(at)
    do(search.tunings[0], at, lambda c: trials.index(c) % 4)  # the first of either is its best
    assert search.best(at) == [trials[0], trials[4]]
    _, *rows = outcome(search, at).splitlines()
    for row, best, name in zip(rows, search.best(at), ("lr ", "betas.0 "), strict=True):
        assert name in row
        assert re.search(r"\((\S+%)\)", row)[1] == f"{own[best.rule].position(best):.0%}"


# --- what more trials would be worth -------------------------------------------------------------


def test_the_expected_best_is_the_mean_over_all_orders_of_the_trials():
    rounds = [[3.0, 1.5, 2.0, 4.0], [1.2, 2.5, 1.0]]
    lows = [mean(min(p[:n]) for p in permutations(rounds[0])) for n in range(1, 5)]
    lows += [mean(min(1.5, *p[:n]) for p in permutations(rounds[1])) for n in range(1, 4)]
    assert expected_best(rounds) == pytest.approx(lows)
    assert expected_best([[1.0], []]) == [1.0]


def test_a_budget_counts_a_diverged_trial_as_the_worst(at):
    search = searching(4)
    trials = search.tunings[0].grid(at)
    losses = dict(zip(trials, [4.0, 1.0, 2.0, 3.0], strict=True))
    do(search.tunings[0], at, losses.get, fails=lambda c: c == trials[0])
    assert search.budget(at)["muon",] == pytest.approx(expected_best([[3.0, 1.0, 2.0, 3.0]]))


# --- the runoff ----------------------------------------------------------------------------------


def test_a_runoff_at_other_seeds_takes_the_lowest_mean_of_the_first_few(at):
    search = searching(8, 4, sides=CONFIGS, runoff=3)
    lucky = lambda c: c.seed == 0 and RATE.position(c) == pytest.approx(0.75)  # noqa: E731
    loss = lambda c: 0.0 if lucky(c) else abs(RATE.position(c) - 0.6) + c.seed / 1e4  # noqa: E731
    trials = [c for tuning in search.tunings[:2] for c in do(tuning, at, loss)]
    with pytest.raises(ValueError, match=r"12 of the trials .* run `muonlab ablate some-runoff"):
        search.best(at)
    runoff = do(search.tunings[2], at, loss)
    assert {c.seed for c in runoff} == {101, 102}
    for alone, chosen in zip(search.best(at, 2), search.best(at), strict=True):
        assert RATE.position(alone) == pytest.approx(0.75)  # by its one lucky seed
        first = sorted({c for c in trials if c.rule == chosen.rule}, key=loss)[:3]
        means = {
            c: mean(loss(dataclasses.replace(c, seed=s)) for s in (0, 101, 102)) for c in first
        }
        assert chosen == min(means, key=means.get) != alone
        assert {c.seed for c in runoff if c.rule == chosen.rule and c.lr == chosen.lr} == {101, 102}


def test_trials_that_all_diverged_have_no_runoff(at):
    search = searching(2, runoff=2)
    do(search.tunings[0], at, lambda c: c.lr, fails=lambda c: True)
    with pytest.raises(ValueError, match="expected a finished trial, got none"):
        search.tunings[1].grid(at)


@pytest.mark.parametrize("fails", [False, True])
def test_a_setting_that_diverges_in_the_runoff_is_not_chosen(at, fails):
    search = searching(4, runoff=2)
    trials = do(search.tunings[0], at, lambda c: c.lr)
    least, second = sorted(trials, key=lambda c: c.lr)[:2]
    do(search.tunings[1], at, lambda c: c.lr, fails=lambda c: fails and c.lr == least.lr)
    assert search.best(at) == [second if fails else least]


# --- beyond what was tried -----------------------------------------------------------------------


def test_beyond_goes_further_than_all_trials_where_the_best_is_at_their_edge(at):
    search = searching(16, knobs=(RATE, MEMORY), sides=CONFIGS)
    high = lambda c: -RATE.position(c) + (MEMORY.position(c) - 0.5) ** 2 / 10  # noqa: E731
    loss = lambda c: high(c) if c.rule == "muon" else RATE.position(c)  # noqa: E731
    trials = do(search.tunings[0], at, loss)
    best = dict(zip(["muon", "normuon"], search.best(at), strict=True))
    rates = {rule: [c.lr for c in trials if c.rule == rule] for rule in best}
    further = [c for c in search.beyond(at) if c.betas == best[c.rule].betas]
    assert [c.rule for c in further] == ["muon", "normuon"]
    assert further[0].lr > max(rates["muon"]) == best["muon"].lr
    assert further[1].lr < min(rates["normuon"]) == best["normuon"].lr
    for config in further:
        assert TrainConfig(**search.beyond(at)[config].config) == best[config.rule]
        assert dataclasses.replace(config, lr=best[config.rule].lr) == best[config.rule]
        moved = abs(RATE.position(config) - RATE.position(best[config.rule]))
        assert moved == pytest.approx(1 / 6, abs=0.002)


def test_beyond_asks_for_more_in_the_outer_tenth_of_what_was_tried_and_only_there(at):
    search = searching(64)
    [tuning] = search.tunings
    places = {c: RATE.position(c) for c in tuning.grid(at)}
    low, high = min(places.values()), max(places.values())
    rooms = {c: min(place - low, high - place) / (high - low) for c, place in places.items()}
    near = [c for c, room in rooms.items() if 0.06 < room < 0.14]
    for best in near:
        do(tuning, at, lambda c, best=best: float(c != best))
        assert bool(search.beyond(at)) == (rooms[best] < 0.1), rooms[best]
    assert {rooms[c] < 0.1 for c in near} == {True, False}


def test_nothing_is_beyond_an_average_without_a_past(at):
    side = turn(CONFIGS[0], 1.174, MEMORY)
    search = searching(4, knobs=(MEMORY,), sides=[side], around=("best",))
    trials = do(search.tunings[0], at, lambda c: abs(c.betas[0] - 0.126))
    assert min(c.betas[0] for c in trials) == 0 < side.betas[0] < 0.13  # the best is at an edge
    assert search.beyond(at) == {}
    do(search.tunings[0], at, lambda c: c.betas[0])
    assert [c.betas[0] for c in search.best(at)] == [0]
    assert search.beyond(at) == {}


def test_behind_a_trial_beyond_stands_the_record_of_the_runoff_s_winner(at):
    search = searching(4, runoff=4)
    trials = do(search.tunings[0], at, RATE.position)
    do(search.tunings[1], at, lambda c: -9 * RATE.position(c))
    highest = max(trials, key=lambda c: c.lr)
    [(further, best)] = search.beyond(at).items()
    assert search.best(at) == [highest] != search.best(at, 1)
    assert TrainConfig(**best.config) == highest
    assert further.lr > highest.lr


def test_what_is_gained_beyond_is_the_loss_of_the_best_minus_that_of_the_trial(at, monkeypatch):
    text = searching(4)
    sides = [dataclasses.replace(CONFIGS[0], corpus="facts-9")]
    facts = dataclasses.replace(text, name="facts", sides=sides)
    monkeypatch.setattr(evidence, "FIRST_SEARCHES", {"text": text, "facts": facts})
    loss = lambda c: (RATE.position(c) - 0.8) ** 2  # noqa: E731
    known = lambda c: [0.5, 0.25 - loss(c)]  # noqa: E731
    trials = do(text.tunings[0], at, loss)
    do(facts.tunings[0], at, known, part="accuracy")
    with pytest.raises(ValueError, match=r"2 of the trials .* run `muonlab ablate beyond"):
        evidence.gained_beyond(at, "docs")
    further = evidence.EVIDENCE["beyond"].finals["beyond"](at)
    write(further[:1], at.path("beyond"), loss)
    write(further[1:], at.path("beyond"), known, part="accuracy")
    [gained], both = (evidence.gained_beyond(at, t) for t in ("docs", ("docs", "facts")))
    first = lambda run: -run.held_out[-1]["accuracy"][0]  # noqa: E731
    assert evidence.gained_beyond(at, "facts", first) == [0]
    place = max(map(RATE.position, trials))
    assert gained == pytest.approx((place - 0.8) ** 2 - (place + 1 / 6 - 0.8) ** 2, abs=0.001)
    assert gained < -0.01
    assert both == pytest.approx([gained, gained])
