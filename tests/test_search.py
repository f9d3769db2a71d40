"""Are all contestants of a search tuned alike, and is the best of all rounds taken?"""

import dataclasses
import re
from itertools import permutations
from math import log
from statistics import mean

import pytest

from muonlab.records import record
from muonlab.studies import evidence
from muonlab.studies.protocol import knobs, sides
from muonlab.studies.races import RACE, VO_FFN
from muonlab.sweeps.search import Knob, Search, expected_best, outcome
from muonlab.sweeps.study import HERE, Place
from muonlab.training.config import TrainConfig

RATE, MEMORY = Knob("lr", 0.001, 0.016), Knob("betas.0", 0.02, 0.5, average=True)
CONFIGS = [TrainConfig(eval_tokens=64), TrainConfig(eval_tokens=64, rule="normuon")]


def turn(config: TrainConfig, place: float, *turned: Knob) -> TrainConfig:
    values = dict(vars(config))
    for knob in turned:
        knob.turn(values, place)
    return TrainConfig(**values)


def test_a_knob_is_turned_to_a_place_of_its_range_in_logarithms_and_read_back():
    for place, rate, beta in [(0, 0.001, 0.98), (0.5, 0.004, 0.9), (1, 0.016, 0.5)]:
        turned = turn(CONFIGS[0], place, RATE, MEMORY)
        assert (turned.lr, turned.betas[0]) == pytest.approx((rate, beta))
        assert RATE.position(turned) == pytest.approx(place)
        assert MEMORY.position(turned) == pytest.approx(place, abs=0.01)
        assert turned.betas[1] == CONFIGS[0].betas[1]


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
    assert len(others) == 2
    assert all(other == first for other in others)
    assert len(first) == 16
    assert all(0 < u < 1 for place in first for u in place)
    spread = [sorted(place[axis] for place in first) for axis in range(5)]
    assert all(sum(u < 0.5 for u in axis) in range(6, 11) for axis in spread)


def put(configs, path, loss, part="overall"):
    lines = []
    for config in configs:
        held_out = [{"step": 2, "overall": 0.0, part: loss(config)}]
        run = record.Record(dataclasses.asdict(config), [5.0], [0.1], held_out, tokens=64)
        lines.append(record.json.dumps(dataclasses.asdict(run)))
    path.write_text("\n".join(lines))


def test_a_later_round_looks_around_the_best_so_far_and_may_leave_the_range(tmp_path):
    search = Search("some", CONFIGS, lambda c: (RATE, MEMORY), ("rule",), rounds=(16, 8))
    at = Place(tmp_path)
    loss = lambda c: 1 - RATE.position(c) if c.rule == "muon" else (MEMORY.position(c) - 0.5) ** 2  # noqa: E731
    wide, near = search.tunings
    put(wide.grid(at), at.path("some-1"), loss)
    best = dict(zip(["muon", "normuon"], search.best(at, 1), strict=True))
    grid = near.grid(at)
    assert [c.rule for c in grid] == ["muon"] * 8 + ["normuon"] * 8
    for config in grid:
        for knob in (RATE, MEMORY):
            assert abs(knob.position(config) - knob.position(best[config.rule])) < 1 / 6 + 0.01
    assert max(RATE.position(c) for c in grid) > 1
    put(grid, at.path("some-2"), loss)
    found = search.best(at)
    assert loss(found[0]) == min(loss(c) for c in grid if c.rule == "muon") < loss(best["muon"])
    assert found[1] in (best["normuon"], *grid[8:])
    head, muon, _ = outcome(search, at).splitlines()
    assert " ".join(head.split()[-10:]) == "after 1 after 4 after 8 after 16 after 24"
    assert f"lr {found[0].lr:.4g} (10" in muon
    assert muon.endswith(f"{search.budget(at)['muon',][-1]:.4f}")
    trials = search.trials(at)
    assert [[len(r) for r in rounds] for rounds in trials.values()] == [[16, 8], [16, 8]]


def test_an_outcome_shows_each_side_its_own_knobs(tmp_path):
    own = lambda config: (RATE,) if config.rule == "muon" else (MEMORY,)  # noqa: E731
    search = Search("some", CONFIGS, own, ("rule",), rounds=(4,))
    put(search.tunings[0].grid(Place(tmp_path)), tmp_path / "some-1.jsonl", lambda c: c.lr)
    _, muon, other = outcome(search, Place(tmp_path)).splitlines()
    assert "lr " in muon
    assert "betas.0 " in other


def test_a_search_without_its_trials_says_what_to_run(tmp_path):
    search = Search("some", CONFIGS[:1], lambda c: (RATE,), ("rule",), rounds=(4,))
    with pytest.raises(ValueError, match=r"4 of the trials .* run `muonlab ablate some-1"):
        outcome(search, Place(tmp_path))


def test_an_average_leaves_at_most_all_of_its_weight_to_the_new():
    past = Knob("betas.0", 0.02, 0.5, average=True)
    found = [turn(TrainConfig(), at, past).betas[0] for at in (0, 1, 1.2, 1.3, 2)]
    assert found == pytest.approx([0.98, 0.5, 0.048, 0, 0], abs=0.001)


def test_a_search_near_its_sides_begins_around_them(tmp_path):
    search = Search(
        "some", CONFIGS[:1], lambda c: (RATE,), ("rule",), rounds=(4,), around=("best",)
    )
    [tuning] = search.tunings
    start = RATE.position(CONFIGS[0])
    assert all(abs(RATE.position(c) - start) < 1 / 6 + 0.01 for c in tuning.grid(Place(tmp_path)))


def test_the_expected_best_is_the_mean_over_all_orders_of_the_trials():
    rounds = [[3.0, 1.5, 2.0, 4.0], [1.2, 2.5, 1.0]]
    found = expected_best(rounds)
    for n in range(1, 5):
        assert found[n - 1] == pytest.approx(mean(min(p[:n]) for p in permutations(rounds[0])))
    for n in range(1, 4):
        orders = permutations(rounds[1])
        assert found[3 + n] == pytest.approx(mean(min(1.5, *p[:n]) for p in orders))


def test_a_budget_counts_a_diverged_trial_as_the_worst(tmp_path):
    search = Search("some", CONFIGS[:1], lambda c: (RATE,), ("rule",), rounds=(4,))
    [tuning], at = search.tunings, Place(tmp_path)
    grid = tuning.grid(at)
    losses = dict(zip(grid, [4.0, 1.0, 2.0, 3.0], strict=True))
    put(grid, at.path("some-1"), losses.get)
    assert search.budget(at)["muon",] == pytest.approx(expected_best([[4.0, 1.0, 2.0, 3.0]]))
    lines = at.path("some-1").read_text().splitlines()
    lines[0] = lines[0].replace('"failure": ""', '"failure": "at step 1"')
    at.path("some-1").write_text("\n".join(lines))
    assert search.budget(at)["muon",] == pytest.approx(expected_best([[3.0, 1.0, 2.0, 3.0]]))


def test_an_average_is_shown_as_people_give_it():
    config = dataclasses.replace(CONFIGS[0], betas=(0.9, 0.99), lr=0.004)
    assert (MEMORY.shown(config), RATE.shown(config)) == ("0.9", "0.004")


def test_the_best_run_and_its_edges_are_those_of_their_own_knobs(tmp_path):
    own = {"muon": (RATE,), "normuon": (MEMORY,)}
    search = Search("here", CONFIGS, lambda c: own[c.rule], ("rule",), rounds=(4,))
    at = Place(tmp_path)
    trials = search.tunings[0].grid(at)
    for number, config in enumerate(trials):
        loss = 1.0 + number if number % 4 else 0.5  # the first trial of either is its best
        held_out = [{"step": 1, "overall": loss}]
        made = record.Record(dataclasses.asdict(config), [1.0], [1.0], held_out, tokens=1)
        record.append(made, at.path("here-1"))
    best = [trials[0], trials[4]]
    assert search.best(at) == best
    wide = [k.position(c) for c in best for k in own[c.rule]]
    _, *rows = outcome(search, at).splitlines()
    assert [re.search(r"\((\S+%)\)", row)[1] for row in rows] == [f"{place:.0%}" for place in wide]


def test_a_wide_round_spreads_over_the_whole_range_once_more(tmp_path):
    near = Search(
        "some", CONFIGS[:1], lambda c: (RATE,), ("rule",), rounds=(4, 4), around=("best",)
    )
    at = Place(tmp_path)
    put(near.tunings[0].grid(at), at.path("some-1"), lambda c: RATE.position(c))
    for search, spans in (
        (near, (0.0, 1 / 3)),
        (dataclasses.replace(near, around=("best", "all")), (0.4, 1.0)),
    ):
        places = [RATE.position(c) for c in search.tunings[1].grid(at)]
        assert spans[0] < max(places) - min(places) < spans[1]


def test_a_runoff_at_other_seeds_takes_the_lowest_mean_of_the_first_few(tmp_path):
    search = Search("some", CONFIGS, lambda c: (RATE,), ("rule",), rounds=(8, 4), runoff=3)
    at, lucky = Place(tmp_path), lambda c: c.seed == 0 and RATE.position(c) == pytest.approx(0.75)
    loss = lambda c: 0.0 if lucky(c) else abs(RATE.position(c) - 0.6) + c.seed / 1e4  # noqa: E731
    for number in (1, 2):
        put(search.tunings[number - 1].grid(at), at.path(f"some-{number}"), loss)
    with pytest.raises(ValueError, match=r"12 of the trials .* run `muonlab ablate some-runoff"):
        search.best(at)
    runoff = search.tunings[2].grid(at)
    assert {c.seed for c in runoff} == {101, 102}
    put(runoff, at.path("some-runoff"), loss)
    for alone, chosen, rounds in zip(
        search.best(at, 2), search.best(at), search.trials(at).values(), strict=True
    ):
        assert RATE.position(alone) == pytest.approx(0.75)  # by its one lucky seed
        tried = {TrainConfig(**r.config) for of_round in rounds for r in of_round}
        first = sorted(tried, key=loss)[:3]
        means = {
            c: mean(loss(dataclasses.replace(c, seed=s)) for s in (0, 101, 102)) for c in first
        }
        assert chosen == min(means, key=means.get) != alone
        assert chosen.seed == 0
        assert {c.seed for c in runoff if c.rule == chosen.rule and c.lr == chosen.lr} == {101, 102}


def test_a_setting_that_diverges_in_the_runoff_is_not_chosen(tmp_path):
    search = Search("some", CONFIGS[:1], lambda c: (RATE,), ("rule",), rounds=(4,), runoff=2)
    at = Place(tmp_path)
    put(search.tunings[0].grid(at), at.path("some-1"), lambda c: c.lr)
    least, second = sorted(search.tunings[0].grid(at), key=lambda c: c.lr)[:2]
    put(search.tunings[1].grid(at), at.path("some-runoff"), lambda c: c.lr)
    assert search.best(at) == [least]
    lines = at.path("some-runoff").read_text().splitlines()
    runs = [record.json.loads(line) for line in lines]
    for run in runs:
        run["failure"] = "diverged" if run["config"]["lr"] == least.lr else ""
    at.path("some-runoff").write_text("\n".join(map(record.json.dumps, runs)))
    assert search.best(at) == [second]


def test_the_ends_of_a_range_are_as_a_configuration_holds_them():
    assert Knob("lr", 0.1, 0.4).ends == (0.1, 0.4)
    assert Knob("betas.0", 0.02, 0.5, average=True).ends == (0.5, 0.98)
    assert expected_best([[1.0], []]) == [1.0]


def test_beyond_goes_further_than_all_trials_where_the_best_is_at_their_edge(tmp_path):
    search = Search("some", CONFIGS, lambda c: (RATE, MEMORY), ("rule",), rounds=(16,))
    at = Place(tmp_path)
    high = lambda c: -RATE.position(c) + (MEMORY.position(c) - 0.5) ** 2 / 10  # noqa: E731
    low = lambda c: RATE.position(c)  # noqa: E731
    trials = search.tunings[0].grid(at)
    put(trials, at.path("some-1"), lambda c: high(c) if c.rule == "muon" else low(c))
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


def test_nothing_is_beyond_a_best_value_inside_or_an_average_without_a_past(tmp_path):
    at = Place(tmp_path)
    inside = Search("inside", CONFIGS[:1], lambda c: (RATE,), ("rule",), rounds=(16,))
    middle = lambda c: abs(RATE.position(c) - 0.5)  # noqa: E731
    put(inside.tunings[0].grid(at), at.path("inside-1"), middle)
    assert inside.beyond(at) == {}
    all_tried = Search(
        "zero", [turn(CONFIGS[0], 1.174, MEMORY)], lambda c: (MEMORY,), (), (4,), around=("best",)
    )
    trials = all_tried.tunings[0].grid(at)
    assert min(c.betas[0] for c in trials) == 0 < all_tried.sides[0].betas[0] < 0.13
    put(trials, at.path("zero-1"), lambda c: abs(c.betas[0] - 0.126))
    assert all_tried.beyond(at) == {}
    past = Search("past", CONFIGS[:1], lambda c: (MEMORY,), ("rule",), (4,) * 8)
    for number, tuning in enumerate(past.tunings, 1):
        put(tuning.grid(at), at.path(f"past-{number}"), lambda c: c.betas[0])
    assert [c.betas[0] for c in past.best(at)] == [0]
    assert past.beyond(at) == {}


def test_beyond_asks_for_more_in_the_outer_tenth_of_what_was_tried_and_only_there(tmp_path):
    search = Search("tenth", CONFIGS[:1], lambda c: (RATE,), ("rule",), rounds=(64,))
    trials, at = search.tunings[0].grid(Place()), Place(tmp_path)
    places = {c: RATE.position(c) for c in trials}
    low, high = min(places.values()), max(places.values())
    asked = []
    for best, place in places.items():
        put(trials, at.path("tenth-1"), lambda c, best=best: float(c != best))
        room = min(place - low, high - place) / (high - low)
        assert bool(search.beyond(at)) == (room < 0.1), room
        asked.append(room)
    assert any(0.08 < room < 0.1 for room in asked)
    assert any(0.1 < room < 0.12 for room in asked)


def test_behind_a_trial_beyond_stands_the_record_of_the_runoff_s_winner(tmp_path):
    search = Search("some", CONFIGS[:1], lambda c: (RATE,), ("rule",), rounds=(4,), runoff=4)
    at = Place(tmp_path)
    trials = search.tunings[0].grid(at)
    put(trials, at.path("some-1"), lambda c: RATE.position(c))
    put(search.tunings[1].grid(at), at.path("some-runoff"), lambda c: -9 * RATE.position(c))
    highest = max(trials, key=lambda c: c.lr)
    [(further, best)] = search.beyond(at).items()
    assert search.best(at) == [highest] != search.best(at, 1)
    assert TrainConfig(**best.config) == highest
    assert further.lr > highest.lr


def test_what_is_gained_beyond_is_the_loss_of_the_best_minus_that_of_the_trial(
    tmp_path, monkeypatch
):
    text = Search("text", CONFIGS[:1], lambda c: (RATE,), ("rule",), rounds=(4,))
    facts = dataclasses.replace(CONFIGS[0], corpus="facts-9")
    searches = {"text": text, "facts": dataclasses.replace(text, name="facts", sides=[facts])}
    monkeypatch.setattr(evidence, "FIRST_SEARCHES", searches)
    at, loss = Place(tmp_path), lambda c: (RATE.position(c) - 0.8) ** 2
    known = lambda c: [0.5, 0.25 - loss(c)]  # noqa: E731
    put(text.tunings[0].grid(at), at.path("text-1"), loss)
    put(searches["facts"].tunings[0].grid(at), at.path("facts-1"), known, "accuracy")
    with pytest.raises(ValueError, match=r"2 of the trials .* run `muonlab ablate beyond"):
        evidence.gained_beyond(at, "docs")
    further = evidence.EVIDENCE["beyond"].finals["beyond"](at)
    put(further[:1], at.path("beyond"), loss)
    written = at.path("beyond").read_text()
    put(further[1:], at.path("beyond"), known, "accuracy")
    at.path("beyond").write_text(written + "\n" + at.path("beyond").read_text())
    [gained], both = (evidence.gained_beyond(at, t) for t in ("docs", ("docs", "facts")))
    first = lambda run: -run.held_out[-1]["accuracy"][0]  # noqa: E731
    assert evidence.gained_beyond(at, "facts", first) == [0]
    place = max(map(RATE.position, text.tunings[0].grid(at)))
    assert gained == pytest.approx((place - 0.8) ** 2 - (place + 1 / 6 - 0.8) ** 2, abs=0.001)
    assert gained < -0.01
    assert both == pytest.approx([gained, gained])
