"""The studies of Muon's lead: what was recorded on a GPU, and which held-out spans are new."""

from dataclasses import replace
from random import Random

import pytest
import torch

from muonlab.cli import main
from muonlab.data import corpus
from muonlab.data.corpus import CLASSES, SPAN, Corpus
from muonlab.models.gpt import GPT, GPTConfig
from muonlab.records import store
from muonlab.records.record import append
from muonlab.studies.grids import PHASES
from muonlab.studies.lead import GPU_SEEDS, UNFINISHED
from muonlab.sweeps.results import problems, recorded
from muonlab.sweeps.study import HERE
from muonlab.training.config import TrainConfig

ON_GPU = ("race-gpu-1", "race-gpu-2", "race-gpu", "table-gpu-tuning")
OFTEN = (40, 20, 15, 10, 5, 5, 3, 2)  # how often each token comes: some are head, some tail
WORDS = len(OFTEN)


@pytest.mark.parametrize("name", ON_GPU)
def test_a_phase_on_a_gpu_is_exactly_what_was_recorded(name):
    grid = PHASES[name](HERE)
    runs = recorded(name)
    assert len({*grid}) == len(grid) == len(runs)
    assert {*grid} == {TrainConfig(**run.config) for run in runs}
    assert {run.provenance["device"] for run in runs} == {"NVIDIA H200"}
    seeds = {config.seed for config in grid}
    assert seeds == ({*GPU_SEEDS} if name == "race-gpu" else {0})


@pytest.mark.parametrize("name", UNFINISHED)
def test_an_unfinished_phase_holds_some_runs_of_its_grid_and_says_so(name, capsys):
    runs, grid = recorded(name), PHASES[name](HERE)
    assert {TrainConfig(**run.config) for run in runs} < {*grid}
    told = f"{name}: {len(runs)} of {len(grid)} runs, unfinished\n"
    assert main(["results", name]) == 0
    assert capsys.readouterr().out.startswith(told)
    assert main(["results"]) == 0
    listed = capsys.readouterr().out
    assert told in listed
    assert listed.count("unfinished") == len(UNFINISHED)


def test_only_a_missing_run_is_forgiven_to_an_unfinished_phase(tmp_path):
    known = recorded("race-gpu-normuon-1")[:2]
    path = tmp_path / "some.jsonl"
    for run in known:
        append(run, path)
    store.write_manifest(tmp_path)
    configs = [TrainConfig(**run.config) for run in known]
    grid = {"some": lambda: [*configs, replace(configs[0], seed=9)]}
    missing = "some.jsonl: 1 of 3 runs of the grid are missing"
    assert problems(grid, tmp_path) == problems(grid, tmp_path, ["other"]) == [missing]
    assert problems(grid, tmp_path, ["some"]) == []
    append(known[0], path)
    changed = "some.jsonl: its checksum is not that of the manifest"
    twice = "some.jsonl: 1 runs are recorded twice"
    assert problems(grid, tmp_path, ["some"]) == [changed, twice]
    path.write_text(path.read_text().replace('"steps"', '"stairs"'))
    store.write_manifest(tmp_path)
    (odd,) = problems(grid, tmp_path, ["some"])
    assert "stairs" in odd


# Spans of held-out tokens that stand in the training text


def text(seed=0, copies=12):
    """Training and held-out tokens: pieces of the one, of 10 to 39 tokens, stand in the other."""
    chance = Random(seed)
    train = chance.choices(range(WORDS), OFTEN, k=700)
    held_out = []
    for _ in range(copies):
        held_out += chance.choices(range(WORDS), OFTEN, k=chance.randrange(1, 20))
        start, long = chance.randrange(len(train) - 40), chance.randrange(10, 40)
        held_out += train[start : start + long]
    return train, held_out + train[-SPAN:] + held_out[:5] + train[:SPAN]


def new_spans(train, held_out):
    """The same as `Corpus.unseen`, by sets of tuples: whether each token ends a span not there."""
    trained = {tuple(train[n : n + SPAN]) for n in range(len(train) - SPAN + 1)}
    spans = [tuple(held_out[max(0, n - SPAN + 1) : n + 1]) for n in range(len(held_out))]
    return [len(span) == SPAN and span not in trained for span in spans]


def made_of(train, held_out):
    tokens = (torch.tensor(part, dtype=torch.int32) for part in (train, held_out))
    return Corpus("made", *tokens, WORDS, "c0ffee", 1, None, None)


@pytest.mark.parametrize("part", [10_000_000, 100, 7, 1])
@pytest.mark.parametrize("seed", range(3))
def test_unseen_are_the_spans_that_a_set_of_tuples_lacks(seed, part, monkeypatch):
    monkeypatch.setattr(corpus, "PART", part)  # a span may begin in one part and end in the next
    train, held_out = text(seed)
    found = made_of(train, held_out).unseen.tolist()
    assert found == new_spans(train, held_out)
    assert 0.2 < sum(found) / len(found) < 0.9  # there is something to find, either way


@pytest.mark.parametrize("train", [SPAN - 1, SPAN, SPAN + 1])
@pytest.mark.parametrize("held_out", [SPAN, SPAN + 1])
def test_unseen_of_texts_as_short_as_a_span(train, held_out):
    both = [n % WORDS for n in range(train)], [n % WORDS for n in range(held_out)]
    assert made_of(*both).unseen.tolist() == new_spans(*both)


def test_seen_and_unseen_losses_weight_back_to_the_overall_means():
    train, held_out = text()
    made = made_of(train, held_out)
    torch.manual_seed(0)
    model = GPT(GPTConfig(vocab_size=WORDS, context=8, layers=1, width=8, heads=2))
    torch.nn.init.normal_(model.head.weight)  # or every token would have one loss
    context = 8
    count = (len(held_out) - 1) // context * context
    with torch.no_grad():
        found = made.measure(model, 3, context, len(held_out))
        inputs = torch.tensor(held_out[:count]).view(-1, context)
        targets = torch.tensor(held_out[1 : count + 1])
        losses = model(inputs, targets.view(-1, context), reduction="none").flatten().double()
    new = torch.tensor(new_spans(train, held_out)[1 : count + 1])
    assert 0 < (share := found["unseen_share"]) < 1
    assert share == pytest.approx(new.double().mean().item())
    kinds = made.frequency_class()[targets]
    groups = {"overall": kinds >= 0} | {name: kinds == n for n, name in enumerate(CLASSES)}
    for name, group in groups.items():
        seen, unseen = losses[group & ~new], losses[group & new]
        part = len(unseen) / (len(seen) + len(unseen))
        assert found[f"unseen_{name}"] == pytest.approx(unseen.mean().item(), rel=1e-6)
        back = part * found[f"unseen_{name}"] + (1 - part) * seen.mean().item()
        assert found[name] == pytest.approx(back, rel=1e-6)
        assert found[name] != pytest.approx(found[f"unseen_{name}"], rel=1e-3)
