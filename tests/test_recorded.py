"""Recorded runs are what this code computes: one of each kind is begun again and compared."""

import dataclasses
import os

import pytest
import torch

from muonlab.data.load import load_corpus
from muonlab.records.store import path_of
from muonlab.studies.grids import STUDIES
from muonlab.sweeps.results import recorded
from muonlab.training.config import TrainConfig
from muonlab.training.run import Run

STEPS, TOKENS = 8, 2**12  # at most; a whole run, below, passes through the whole schedule
FEW = {"small": 2}  # steps of a size of which one takes a second
# Other processors, and other orders of the same sums, round otherwise, and training makes the
# differences grow: on one other processor to 0.0014 at most (lesson-03-seeds). An optimizer that
# stands still makes 0.0026 or more: in a warm-up, the first steps are small.
TOLERANCE, IN_BF16 = 0.002, 0.01  # no other processor has been asked about bf16
# the last phase of a study stands for its searches: they are the same code with other numbers
LAST = [[p for p in study.phases() if path_of(p).exists()][-1:] for study in STUDIES.values()]
FOUND = {phase: recorded(phase) for phases in LAST for phase in phases}
# pretraining takes more than a minute: tests/test_train.py repeats that in small
NAMED = ("corpus", "size", "rule", "muon", "gated", "attention", "experts", "noise", "precision")
KINDS = {  # one of each kind of run: the others are the same code with other numbers
    tuple(map(str, (middle.config[name] for name in NAMED))): (phase, middle)
    for phase, runs in FOUND.items()
    if not (middle := runs[len(runs) // 2]).config["pretraining"]
    and middle.config["batch"] * middle.config["context"] <= TOKENS  # else not a step fits
}
SWEEPS = dict(KINDS.values())


@pytest.mark.parametrize("name", SWEEPS)
def test_the_beginning_of_a_run_of_each_kind_comes_out_again(name):
    record = SWEEPS[name]
    steps = min(STEPS, TOKENS // (record.config["batch"] * record.config["context"]))
    steps = FEW.get(record.config["size"], steps)
    tolerance = IN_BF16 if record.config["precision"] == "bf16" else TOLERANCE
    assert begin(record, steps) == pytest.approx(record.train_loss[:steps], rel=tolerance)


@pytest.mark.parametrize("change", [{"seed": 99}, {"lr": 0.0, "adamw_lr": 0.0}])
def test_another_seed_or_an_optimizer_that_stands_still_would_be_noticed(change):
    record = next(r for r in SWEEPS.values() if r.config["muon"])
    other = dataclasses.replace(record, config=record.config | change)
    assert begin(other, 4) != pytest.approx(record.train_loss[:4], rel=TOLERANCE)


@pytest.mark.slow  # half a minute
def test_a_whole_run_comes_out_again_with_its_spectra():
    record = next(r for r in recorded("race-150") if r.config["muon"])
    run, then = Run(TrainConfig(**record.config), corpus_of(record)), record.spectra[-1]
    while run.step < then["step"]:
        run.train_step()
    spectra = run.measure_spectra()
    while run.step < run.config.steps:
        run.train_step()
    last = run.evaluate()
    assert last["overall"] == pytest.approx(record.held_out[-1]["overall"], abs=0.02)
    assert last["tail"] == pytest.approx(record.held_out[-1]["tail"], abs=0.1)
    for name in ("q", "v", "w_out"):
        ours, theirs = torch.tensor(spectra[name]), torch.tensor(then[name])
        torch.testing.assert_close(ours, theirs, rtol=0.15, atol=0)  # 2 threads: 0.10 seen


def begin(record, steps):
    run = Run(TrainConfig(**record.config), corpus_of(record))
    return [run.train_step() for _ in range(steps)]


def corpus_of(record):
    corpus = load_corpus(record.config["corpus"])
    if corpus.sha256 != record.provenance["corpus_sha256"]:
        stop = pytest.fail if os.environ.get("CI") else pytest.skip  # there a guard must not sleep
        stop("this machine has other versions of the packages whose documentation is read")
    return corpus
