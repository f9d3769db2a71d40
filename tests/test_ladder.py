"""The studies of Muon's lead: what was recorded on a GPU, and which held-out spans are new."""

import json
import re
import shutil
from dataclasses import asdict, replace
from itertools import count, product
from random import Random

import pytest
import torch

from muonlab.cli import main
from muonlab.data import rare_tokens
from muonlab.data.corpus import Corpus
from muonlab.data.rare_tokens import CLASSES, SPAN
from muonlab.models.gpt import GPT, GPTConfig
from muonlab.records import store
from muonlab.records.record import Record, line_of
from muonlab.statistics import paired_interval
from muonlab.studies import ladder
from muonlab.studies.grids import PHASES
from muonlab.studies.ladder import UNFINISHED
from muonlab.studies.races import GPU_RACE
from muonlab.sweeps.results import known, recorded
from muonlab.sweeps.study import HERE, Place
from muonlab.training.config import TrainConfig
from printing import gpu

ON_GPU = ("race-gpu-1", "race-gpu-2", "race-gpu", "table-gpu-tuning")
OFTEN = (40, 20, 15, 10, 5, 5, 3, 2)  # how often each token comes: some are head, some tail
WORDS = len(OFTEN)


@pytest.mark.parametrize("name", ON_GPU)
def test_a_phase_on_a_gpu_was_run_there(name):
    assert {run.provenance["device"] for run in recorded(name)} == {"NVIDIA H200"}


def test_an_unfinished_phase_holds_some_runs_of_its_grid_and_says_so(capsys):
    assert main(["results"]) == 0
    listed = capsys.readouterr().out
    assert listed.count("unfinished") == len(UNFINISHED)
    for name in UNFINISHED:
        runs, grid = recorded(name), PHASES[name](HERE)
        assert {TrainConfig(**run.config) for run in runs} < {*grid}
        counted = f"{name}: {len(runs)} of {len(grid)} runs, unfinished\n"
        assert counted in listed
        assert main(["results", name]) == 0
        assert capsys.readouterr().out.startswith(counted)


# The list for a card


def finished(config, loss):
    return line_of(Record(asdict(config), [1.0], [0.1], [{"step": 1, "overall": loss}], 0)) + "\n"


@pytest.mark.parametrize("better", [False, True])
def test_the_list_for_a_card_can_be_done_from_first_to_last(tmp_path, better):
    """With made losses: all above those recorded, or each trial of AdamW below the one before."""
    for name in (*ON_GPU, "race-gpu-normuon-1"):
        shutil.copy(store.path_of(name), tmp_path)
    at, sizes, trials, finals = Place(tmp_path), {}, count(), {}
    race = GPU_RACE.best(at)
    for name, phase in ladder.LEAD["gpu-list"].phases().items():
        grid = finals[name] = at.on_its_text(phase(at))  # its trials are recorded by now
        assert len({*grid}) == len(grid)
        have = known(at.path(name)).read()
        missing = [c for c in grid if c not in have]
        sizes[name] = len(grid), len(missing)
        with at.path(name).open("a") as file:
            for config in missing:
                loss = 2 - 1e-3 * next(trials) if better and not config.muon else 5.0
                file.write(finished(config, loss))
    rungs = [f"ladder-gpu-{name}" for name in ("300", "tokens", "context", "wide")]
    assert list(sizes.items()) == [
        ("race-gpu-1", (32, 0)),
        ("race-gpu-2", (16, 0)),
        ("race-gpu-low-1", (16, 16)),
        ("race-gpu-near-1", (18, 18)),
        ("race-gpu-again", (10, 10) if better else (0, 0)),
        ("table-gpu-tuning", (8, 0)),
        ("table-gpu", (20, 20)),
        ("race-gpu-shorter", (25, 25)),
        ("race-gpu-normuon-1", (16, 13)),
        ("race-gpu-normuon-2", (8, 8)),
        ("normuon-gpu", (5, 5)),
        *(item for rung in rungs for item in ((f"{rung}-1", (18, 18)), (rung, (6, 6)))),
        ("paper-gpu-tuning", (8, 8)),
        ("paper-gpu", (4, 4)),
        ("ladder-gpu-4000-1", (18, 18)),
        ("ladder-gpu-4000", (6, 6)),
    ]
    if better:
        adamw, muon = finals["race-gpu-again"][:2]
        assert replace(muon, seed=0, eval_every=1000, spectra_every=0) == race[1]
        assert adamw.adamw_matrix_lr != race[0].adamw_matrix_lr  # the last trial, near the low ones
        assert {c.seed for c in finals["race-gpu-again"]} == {6, 7, 8, 9, 10}


# The page on GPUs


def cells(table):
    """A made table: its first cells, in order, and the other cells of each row."""
    rows = [re.split(r" \| ", line.strip("| ")) for line in table.replace("\\", "").splitlines()]
    return [(row[0], row[1:]) for row in rows[2:]]


def test_the_page_shows_the_race_as_the_records_have_it():
    parts = ("overall", "head", "middle", "tail")
    runs = sorted(recorded("race-gpu"), key=lambda run: run.config["seed"])
    sides = [[r.held_out[-1] for r in runs if bool(r.config["muon"]) is m] for m in (False, True)]
    (name, judged), *rows = cells(gpu.gpu_race())
    ends = [[[end[part] for end in side] for side in sides] for part in parts]
    assert (name, judged) == ("all", [*(str(paired_interval(*two)) for two in ends), "5, new"])
    trials = [run for phase in ON_GPU if phase != "race-gpu" for run in recorded(phase)]
    best = {}
    for run in trials:
        groups, end = " + ".join(run.config["muon"]), run.held_out[-1]
        best[groups] = min(best.get(groups, end), end, key=lambda end: end["overall"])
    adamw = best.pop("")
    gaps = {who: [f"{adamw[p] - end[p]:+.3f}" for p in parts] for who, end in best.items()}
    assert rows[0][1][:4] == gaps.pop("QK + VO + FFN")
    assert {who: found[:4] for who, found in rows[1:]} == gaps


def test_the_page_says_of_the_card_what_was_timed():
    told = json.loads((store.RESULTS / "gpu-h200.json").read_text())
    assert not re.search(r'"[^"]*(/home|/root|/work|/tmp|:\\\\)', json.dumps(told))
    for (_, shown), row in zip(cells(gpu.gpu_step()), told["optimizer_step"], strict=True):
        timed = [row[key] for key in gpu.STEPPERS.values()]
        assert [float(ms) for ms in shown] == pytest.approx(timed, rel=0.03)
    assert cells(gpu.gpu_training())[1] == (
        "`paper`, 32,768",
        ["115.8 (33 %)", "134.1 (29 %)", "149.7 (26 %)", "1.16"],
    )
    assert len(cells(gpu.gpu_newton_schulz())) == len(told["newton_schulz"])


def test_the_page_names_what_is_unfinished():
    told = gpu.gpu_unfinished()
    for name in ("race-gpu-normuon-1",):  # others wait for a laptop
        assert f"`{name}` has {len(recorded(name))} of {len(PHASES[name](HERE))} runs" in told
    for name in ("table-gpu", "race-gpu", "normuon-gpu"):
        assert (f"`{name}`" in told) is not store.path_of(name).exists()


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
def test_unseen_are_the_spans_that_a_set_of_tuples_lacks(part, monkeypatch):
    monkeypatch.setattr(
        rare_tokens, "PART", part
    )  # a span may begin in one part and end in the next
    train, held_out = text(part % 3)
    unseen = made_of(train, held_out).unseen.tolist()
    assert unseen == new_spans(train, held_out)
    assert 0.2 < sum(unseen) / len(unseen) < 0.9  # there is something to find, either way


def test_unseen_of_texts_as_short_as_a_span_and_shorter():
    for lengths in product((SPAN - 1, SPAN, SPAN + 1), (9, SPAN, SPAN + 1)):
        both = [[n % WORDS for n in range(length)] for length in lengths]
        assert made_of(*both).unseen.tolist() == new_spans(*both), lengths


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
