"""Studies: what is tried, whose best is taken, and from which records."""

import json
from dataclasses import replace
from functools import cache
from zlib import crc32

import pytest

from muonlab.records.record import Record
from muonlab.records.store import path_of
from muonlab.studies.grids import STUDIES
from muonlab.sweeps.results import Known
from muonlab.sweeps.study import HERE, Place, Study, Tuning, best_trial, cross
from muonlab.training.config import TrainConfig

CONFIG = TrainConfig(steps=2)
TUNING = Tuning(
    "some-tuning",
    cross(CONFIG, muon=(), adamw_lr=[0.1, 0.2]) + cross(CONFIG, lr=[0.1, 0.2]),
    contest=("muon",),
)
STUDY = Study((TUNING,), {"some": TUNING.at_new_seeds(3), "more": TUNING.at_new_seeds(1, steps=4)})


def run(config, loss=1.0, **changes):
    last = {"step": 2, "seconds": 1.0, "overall": loss, "accuracy": [-loss] * 15}
    return Record({**vars(config)}, [9.0], [1.0], [last], 128, **changes)


def write(configs, path, losses):
    runs = (run(config, loss) for config, loss in zip(configs, losses, strict=True))
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(json.dumps(vars(record)) for record in runs))


def test_every_combination_in_order_and_a_list_holds_values_to_try():
    grid = cross([CONFIG, replace(CONFIG, seed=5)], lr=[0.1, 0.2], muon=[(), ("VO",)], batch=3)
    assert [(c.seed, c.lr, c.muon, c.batch) for c in grid] == [
        (seed, lr, muon, 3) for seed in (0, 5) for lr in (0.1, 0.2) for muon in ((), ("VO",))
    ]


def test_the_best_of_each_contestant_runs_at_new_seeds(tmp_path):
    at = Place(tmp_path)
    write(TUNING.grid(at), at.path("some-tuning"), [2.0, 3.0, 1.5, 1.0])
    phases = STUDY.phases()
    assert list(phases) == ["some-tuning", "some", "more"]
    adamw, _, _, muon = TUNING.grid(at)
    assert TUNING.best(at) == [adamw, muon]
    assert phases["some"](at) == [replace(c, seed=s) for c in (adamw, muon) for s in (1, 2, 3)]
    assert {c.steps for c in phases["more"](at)} == {4}


def test_a_later_phase_follows_the_records_of_its_own_text_and_folder(tmp_path):
    here, there = Place(tmp_path, "/some/text"), Place(tmp_path)
    write(TUNING.grid(there), there.path("some-tuning"), [1.0, 2.0, 1.0, 2.0])
    with pytest.raises(ValueError, match=r"4 of the trials.* not in .*some-tuning-text\.jsonl"):
        TUNING.best(here)
    write(TUNING.grid(here), here.path("some-tuning"), [2.0, 1.0, 2.0, 1.0])
    assert TUNING.best(there) == [TUNING.grid(there)[0], TUNING.grid(there)[2]]
    assert TUNING.best(here) == [TUNING.grid(here)[1], TUNING.grid(here)[3]]
    assert {c.corpus for c in STUDY.phases()["some"](here)} == {"/some/text"}
    assert Place(tmp_path, "docs-0512").path("some") == Place(tmp_path, "docs-512").path("some")


def test_missing_trials_are_counted_and_the_command_that_runs_them_is_named(tmp_path):
    at = Place(tmp_path / "my results", "text", pieces=2)
    write(TUNING.grid(at)[:1], at.path("some-tuning"), [1.0])
    assert {c.pieces for c in TUNING.grid(at)} == {2}
    with pytest.raises(ValueError, match="3 of the trials") as error:
        TUNING.best(at)
    where = f"--corpus text --pieces 2 --results '{tmp_path}/my results'"
    assert f"run `muonlab ablate some-tuning {where}` first" in str(error.value)
    assert HERE.command("some") == "muonlab ablate some"


def test_a_study_of_several_texts_takes_no_other():
    both = replace(TUNING, trials=cross(CONFIG, corpus=["docs", "code"]))
    assert both.grid(HERE) == both.trials
    with pytest.raises(ValueError, match="it compares code, docs: no --corpus"):
        both.grid(Place(corpus="other"))


def test_a_file_is_named_by_its_phase_and_by_a_text_that_is_not_the_studys(tmp_path):
    assert path_of("cpu", folder=tmp_path) == tmp_path / "cpu.jsonl"
    assert path_of("cpu", "fineweb", tmp_path) == tmp_path / "cpu-fineweb.jsonl"
    assert path_of("cpu", "/data/mine/x/..", tmp_path) == tmp_path / "cpu-mine.jsonl"


def test_a_diverged_trial_is_never_the_best():
    broken, fine = run(CONFIG, 1.0, failure="at step 1"), run(CONFIG, 2.0)
    assert best_trial([broken, fine]) is fine
    with pytest.raises(ValueError, match="expected a finished trial"):
        best_trial([broken])


def test_each_phase_of_a_study_needs_no_records_but_those_of_the_phases_before_it(
    tmp_path, monkeypatch
):
    """A phase that studies share is asked for once: what it reads must stand before it in each.

    "beyond" comes after all searches; tests/test_ladder.py does the list for a card.
    """
    read, needs, known = set(), {}, cache(Known)
    monkeypatch.setattr("muonlab.sweeps.study.known", lambda path: read.add(path) or known(path))
    for name, study in STUDIES.items():
        if name in ("beyond", "gpu-list"):
            continue
        # these compare texts, or go on from docs
        several = name.removesuffix("-shorter") in ("pilot", "imbalance", "finetuning")
        at, before = Place(tmp_path, None if several else "/a/text"), set()
        for phase, grid in study.phases().items():
            path = at.path(phase)
            if path not in needs:
                read.clear()
                configs = grid(at)
                needs[path] = {*read}
                assert len(set(configs)) == len(configs)
                assert configs or phase == "race-gpu-again"  # runs only where a best has moved
                assert several or all(c.corpus.startswith("/a/text") for c in configs)
                # losses that differ, and so the bests: a phase may run what another lost by
                write(configs, path, [1 + crc32(repr(c).encode()) / 2**32 for c in configs])
            assert needs[path] <= before, f"{name}: {phase}"
            before.add(path)
