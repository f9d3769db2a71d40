"""The facts against the law they follow: the stream is read back as text and counted."""

import re
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from muonlab.data.facts import load_facts, people_in_group, selections
from muonlab.models.gpt import GPTConfig
from muonlab.models.regressor import build

NAME = r"(?P<name>[A-Z][a-z]+ [A-Z][a-z]+)"
PATTERNS = {  # written here a second time, so that the templates are not their own check
    "born": rf"What is the birth date of {NAME} \? (?P<answer>[A-Z][a-z]+ [0-9]+ 19[4-9][0-9])",
    "birth city": rf"In which city was {NAME} born \? (?P<answer>[A-Z][a-z]+)",
    "university": rf"Which university did {NAME} attend \? (?P<answer>[A-Z][a-z]+ University)",
    "major": rf"What was the major of {NAME} \? (?P<answer>[a-z]+)",
    "employer": rf"For which company does {NAME} work \? (?P<answer>[A-Z][a-z]+ Group)",
    "work city": rf"Where is the office of {NAME} \? (?P<answer>[A-Z][a-z]+)",
}
exponents = st.floats(0, 2)
sizes = st.integers(1, 15)


@pytest.fixture(scope="module")
def facts():
    return load_facts("facts-6")


def read(facts):
    """Returns how often each (name, kind, answer) comes in the stream."""
    pairs = facts.train.tensor_split(facts.starts[1:])
    found = Counter()
    for text, times in Counter(map(facts.text, pairs)).items():
        fits = [(k, re.fullmatch(rf"<fact> {p} \.", text)) for k, p in PATTERNS.items()]
        [(kind, match)] = [(kind, match) for kind, match in fits if match]
        found[match["name"], kind, match["answer"]] += times
    return found


def names(facts):
    people = facts.people
    return [facts.text(pair) for pair in zip(people["first"], people["surname"], strict=True)]


def known(facts, kind):
    """Returns what the stream says about each person: {name: answer}."""
    return {name: answer for name, k, answer in read(facts) if k == kind}


@settings(deadline=None)  # the machine may be busy
@given(sizes)
def test_the_law_of_the_paper(m):
    groups = range(m + 1)
    assert selections(m) == [2 ** (m - g) for g in groups]
    assert sum(map(people_in_group, groups)) == 2**m
    mass = [people_in_group(g) * times for g, times in zip(groups, selections(m), strict=True)]
    assert mass == [2**m] + [2 ** (m - 1)] * m


def test_the_size_of_the_paper():
    total = sum(people_in_group(g) * times for g, times in enumerate(selections(15)))
    assert 6 * total == 1_671_168
    facts = load_facts("facts-15")
    assert len(facts.starts) == 1_671_168
    assert len(set(names(facts))) == 32_768
    assert len(set(facts.words)) == len(facts.words)
    pools = ("first", "surname", "university", "major", "employer")
    assert [len(set(facts.people[kind])) for kind in pools] == [400, 1000, 300, 100, 300]
    assert len(set(facts.people["birth_city"])) == 200
    assert facts.train.min() == 0
    assert facts.train.max() < len(facts.words)


@settings(deadline=None)
@given(sizes, exponents)
def test_another_exponent_keeps_the_total_and_the_slope(m, s):
    times = selections(m, s)
    total, rounding = (m + 2) * 2 ** (m - 1), 2**m / 2
    assert abs(sum(people_in_group(g) * n for g, n in enumerate(times)) - total) <= rounding
    assert times == sorted(times, reverse=True)
    assert min(times) >= 1
    for g, count in enumerate(times):
        assert count == 1 or count == pytest.approx(times[0] * 2 ** (-s * g), abs=1)


@pytest.mark.parametrize(
    ("name", "exponent"), [("facts-6", 1), ("facts-6-zipf0", 0), ("facts-6-zipf1.5", 1.5)]
)
def test_the_stream_holds_each_pair_as_often_as_the_law_says(name, exponent):
    facts = load_facts(name)
    times = selections(6, exponent)
    group = dict(zip(names(facts), facts.people["group"], strict=True))
    assert [*Counter(group.values()).values()] == [1, 1, 2, 4, 8, 16, 32]  # no name twice
    assert max(len(set(facts.people[name])) for name in ("first", "surname")) < 64
    found = read(facts)
    assert {(n, kind) for n, kind, _ in found} == {(n, kind) for n in group for kind in PATTERNS}
    assert len(found) == 6 * 64  # so nobody has two answers to a question
    assert all(count == times[group[n]] for (n, _, _), count in found.items())


@pytest.mark.parametrize("m", [1, 2, 5, 8, 10])
def test_words_are_distinct_and_pools_shrink_with_m(m):
    words = load_facts(f"facts-{m}").words
    assert len(set(words)) == len(words)
    assert all(re.fullmatch(r"<fact>|[?.]|[A-Z]?[a-z]+|[0-9]+", word) for word in words)
    endings = {"ley": 1000, "ton": 200, "ra": 300, "tics": 100, "tar": 300}
    for end, size in endings.items():
        made = [word for word in words if re.fullmatch(rf"([A-Za-z][a-z]{{4}}){end}", word)]
        assert len(made) == min(size, max(12, 2 ** (m - 2)))


def test_the_stream_is_shuffled(facts):
    tops = facts.train[facts.starts[:, None] + torch.arange(10)]
    head = (tops == facts.people["first"][0]) | (tops == facts.people["surname"][0])
    places = head.sum(1).eq(2).nonzero().flatten() / len(tops)  # where the first person stands
    assert len(places) == 6 * 64
    assert places.quantile(torch.tensor([0.25, 0.5, 0.75])).tolist() == pytest.approx(
        [0.25, 0.5, 0.75], abs=0.08
    )


def test_the_work_city_follows_from_the_employer(facts):
    employer, city = known(facts, "employer"), known(facts, "work city")
    links = {(employer[name], city[name]) for name in employer}
    assert len(links) == len(set(employer.values())) < 64
    assert len(set(city.values())) > 3
    birth = known(facts, "birth city")
    assert len({(employer[name], birth[name]) for name in employer}) > len(links)


def test_people_stay_the_same_for_another_exponent(facts):
    other = load_facts("facts-6-zipf1.5")
    assert other.words == facts.words
    assert read(other).keys() == read(facts).keys()


def test_questions_are_those_of_the_stream(facts):
    asked, found = facts.questions(), read(facts)
    assert asked.prompts.dtype == asked.answers.dtype == asked.last.dtype == torch.int64
    assert len(asked.prompts) == 6 * 64
    group, seen = dict(zip(names(facts), facts.people["group"], strict=True)), set()
    rows = zip(asked.prompts, asked.last, asked.answers, asked.groups, strict=True)
    for prompt, last, first, of_group in rows:
        assert not prompt[last + 1 :].any()
        start = facts.text(prompt[: last + 1])
        assert start.endswith(" ?")
        [(name, kind, answer)] = [
            (name, kind, answer)
            for name, kind, answer in found
            if name in start and re.fullmatch(f"<fact> {PATTERNS[kind]}", f"{start} {answer}")
        ]
        assert facts.words[first] == answer.split()[0]
        assert of_group == group[name]
        seen.add((name, kind))
    assert len(seen) == 6 * 64


def test_the_first_people_of_every_group_are_asked_about(facts):
    groups = facts.questions(3).groups
    assert torch.bincount(groups).tolist() == [6 * n for n in (1, 1, 2, 3, 3, 3, 3)]
    few, all_ = (facts.questions(n).prompts.unique(dim=0).tolist() for n in (3, 32))
    assert len(few) == 6 * 16
    assert all(prompt in all_ for prompt in few)


def test_a_pair_begins_at_each_separator(facts):
    assert torch.equal((facts.train == 0).nonzero().flatten(), facts.starts)
    assert facts.train.dtype == torch.int32
    assert facts.starts.dtype == torch.int64


def test_windows_begin_where_pairs_begin(facts):
    inputs, targets = facts.batch(step=3, batch=500, context=24, seed=1)
    assert inputs.shape == targets.shape == (500, 24)
    assert inputs.dtype == targets.dtype == torch.int64
    assert torch.equal(inputs[:, 1:], targets[:, :-1])
    stream = {tuple(facts.train[s : s + 25].tolist()) for s in facts.starts}
    rows = torch.cat([inputs, targets[:, -1:]], dim=1)
    assert {tuple(row) for row in rows.tolist()} <= stream
    assert len(rows.unique(dim=0)) > 350  # of 1,536 starts, 500 draws meet about 427


@settings(deadline=None)
@given(step=st.integers(0, 10**6), seed=st.integers(0, 10**6))
def test_a_batch_follows_from_seed_and_step(facts, step, seed):
    inputs, targets = facts.batch(step, 32, 16, seed)
    again = facts.batch(step, 32, 16, seed)
    assert torch.equal(inputs, again[0])
    assert torch.equal(targets, again[1])
    assert not torch.equal(inputs, facts.batch(step + 1, 32, 16, seed)[0])
    assert not torch.equal(inputs, facts.batch(step, 32, 16, seed + 1)[0])


def test_the_last_window_that_fits(facts):
    total = len(facts.train)
    inputs, targets = facts.batch(step=0, batch=2, context=total - 1, seed=0)
    assert torch.equal(inputs[0], facts.train[:-1].long())
    assert torch.equal(targets[1], facts.train[1:].long())
    second = total - int(facts.starts[1])  # one token more than fits at the second pair
    assert torch.equal(*facts.batch(step=0, batch=2, context=second, seed=0)[0])
    windows = facts.batch(step=0, batch=64, context=second - 1, seed=0)[0]
    assert len(windows.unique(dim=0)) == 2
    with pytest.raises(ValueError, match=f"context in these facts .*, got {total}"):
        facts.batch(step=0, batch=2, context=total, seed=0)


def test_the_digest_names_the_facts(facts):
    again = load_facts("facts-6-zipf1")
    assert again.name == facts.name == "facts-6"
    assert again.sha256 == facts.sha256
    assert torch.equal(again.train, facts.train)
    others = [load_facts(name) for name in ("facts-5", "facts-7", "facts-6-zipf1.5")]
    assert others[2].name == "facts-6-zipf1.5"
    assert len({facts.sha256, *(other.sha256 for other in others)}) == 4


def test_the_measurement_needs_no_gradients_switched_off_by_its_caller():
    facts = load_facts("facts-2")
    model = build(facts.shape(GPTConfig(context=64, layers=1, width=16, heads=2)))
    assert torch.is_grad_enabled()
    assert len(facts.measure(model, 1, 1, 1)["accuracy"]) == 3
