"""What a person may give by mistake: each gets an error that says what was expected and came.

bad_input.txt holds a line for each: a call → words that its error must hold.
"""
# ruff: noqa: F401  the rows use what is imported

import json
import math
import os
import shlex
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import muonlab
import muonlab_teaching
from muonlab import GPT, GPTConfig, Muon, NorMuon, lr_scale, newton_schulz, polar, route
from muonlab.benchmark.bench import read_bench
from muonlab.classroom import claims, exercise, explore, quiz, report
from muonlab.classroom.explorer_data import facts_data, learner, measured_spectra
from muonlab.classroom.lesson import Lesson, start
from muonlab.cli import main
from muonlab.cost import formulas, plans, timeline
from muonlab.data import shards
from muonlab.data.facts import load_facts, selections
from muonlab.data.load import load_corpus, shape_for
from muonlab.data.regression import load_regression
from muonlab.data.zipf import exponent, exponent_interval
from muonlab.distributed import parallel
from muonlab.drawing import figures, heatmaps
from muonlab.files import prepare_file
from muonlab.machine import pick_device
from muonlab.models import QKClip, keys_and_values, pair_angles
from muonlab.models.regressor import Regressor
from muonlab.optim.fast import fast_newton_schulz
from muonlab.records import record, runs
from muonlab.records.record import Record
from muonlab.records.table import runs_table
from muonlab.statistics import (
    Interval,
    chance_to_see,
    contrast,
    half_width,
    mean_interval,
    paired_interval,
    seeds_needed,
)
from muonlab.studies import equal_time, table1
from muonlab.studies import facts as fact_studies
from muonlab.studies.hypothesis import Hypothesis, state
from muonlab.studies.verdicts import judge
from muonlab.sweeps.results import read_runs, recorded
from muonlab.sweeps.study import Place, best_trial
from muonlab.sweeps.sweep import sweep
from muonlab.theory import embeddings, memory, polynomials, spectra, theorems
from muonlab.training import checkpoints, own_rule
from muonlab.training.build import build_model
from muonlab.training.config import TrainConfig
from muonlab.training.run import CURVES, Run, load_model, train
from muonlab_teaching import variants

# and of torch, whose words about parameters its users know
PACKAGES = (str(Path(package.__file__).parent) for package in (muonlab, muonlab_teaching))
OURS = (*PACKAGES, sys.modules["torch.optim.optimizer"].__file__)
FITTING = (ValueError, TypeError, OSError, ArithmeticError, claims.ClaimDoesNotHold, SystemExit)
NAN, INF, HUGE = math.nan, math.inf, 10**12
FACTS = load_facts("facts-3")
SMALL = GPTConfig(vocab_size=32, context=8, layers=1, width=8, heads=2)
MAP = {"below": 0, "xlabel": "x", "ylabel": "y"}


def p(*shape, dtype=torch.float32):
    return nn.Parameter(torch.ones(shape or (4, 3), dtype=dtype), dtype.is_floating_point)


def adamw(**options):
    return Muon([{"params": [p()], "rule": "adamw", **options}])


def saved(make=Muon):
    """A state after one step."""
    of = p()
    of.grad = torch.ones_like(of)
    optimizer = make([of])
    optimizer.step()
    return optimizer.state_dict()


def stepped(**options):
    """Muon after one step, whose options have changed."""
    of = p()
    of.grad = torch.ones_like(of)
    optimizer = Muon([of])
    optimizer.step()
    optimizer.param_groups[0].update(options)
    return optimizer


def cached(name):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MUONLAB_CACHE", str(Path(name).resolve()))
        load_corpus("docs")


def bomb(folder, shape):
    """A checkpoint whose index is right, and whose model would fill the machine."""
    folder, index = Path(folder), {"data": "data-00000000", "shape": vars(SMALL) | shape}
    folder.mkdir()
    index |= {"checksum": checkpoints._digest(index)}
    (folder / checkpoints.INDEX).write_text(json.dumps(index))
    return folder


def gpt():
    return GPT(SMALL)


def ids(*shape, dtype=torch.long):
    return torch.ones(shape, dtype=dtype)


def config(**options):
    return TrainConfig(**{"corpus": "facts-3", "steps": 2, "device": "cpu", **options})


def run(**fields):
    found = {
        "config": json.loads(json.dumps(vars(TrainConfig()))),
        "train_loss": [3.0],
        "step_seconds": [0.1],
        "held_out": [{"step": 1, "seconds": 0.1, "overall": 3.0}],
        "tokens": 1024,
        "provenance": {"utc": "2026-11-22T21:55:21+00:00", "command": "muonlab train"},
    }
    return Record(**{**found, **fields})


def other(**fields):
    """A record like `run()`, its config changed."""
    return run(config={**run().config, **fields})


def homed(name):
    """Looks at a machine where the learner's folder is this one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MUONLAB_HOME", str(Path(name).resolve()))
        cli("doctor")


def cli(line):
    """Runs a command; what argparse itself refuses ends in SystemExit."""
    main(shlex.split(line))


def asked(lesson="02", options=("one", "two")):
    found = Lesson(lesson)
    found.predict(f"{lesson}-p1", "Which?", list(options))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    here = tmp_path_factory.mktemp("here")
    for name in ("empty", "latin", "cut", "half"):
        (here / name).mkdir()
    (here / "file").write_text("something")
    (here / "latin" / "a.txt").write_bytes("Gr\xfc\xdfe".encode("latin-1"))
    for part in ("train", "val"):
        (here / "cut" / f"x_{part}_000001.bin").write_bytes(b"short")
    (here / "half" / "x_train_000001.bin").write_bytes(bytes(2048))
    (here / "latin.jsonl").write_bytes(b"\xff\xfe\n")
    (here / "broken.jsonl").write_text("{\n")
    (here / "list.jsonl").write_text("[]\n")
    (here / "nested.json").write_text("[" * 100_000)
    (here / "null.json").write_text("null")
    (here / "empty.json").write_text("{}")
    parts = ("provenance", "peak", "newton_schulz_steps", "optimizer_step", "training")
    (here / "parts.json").write_text(json.dumps({part: [] for part in parts}))
    whole = vars(run())
    for name, field, value in (
        ("no-config", "config", None),
        ("no-field", "config", {"lr": 1}),
        ("no-end", "held_out", []),
        ("words", "held_out", [{"step": 1, "overall": "low"}]),
        ("no-place", "provenance", None),
        ("null-tokens", "tokens", None),
        ("words-loss", "train_loss", ["low"]),
        ("word-lr", "config", {**whole["config"], "lr": "x"}),
    ):
        path = here / f"{name}.jsonl"
        path.write_text("".join(json.dumps({**whole, field: value}) + "\n" for _ in range(2)))
    if hasattr(os, "mkfifo"):
        os.mkfifo(here / "pipe")
    else:
        (here / "pipe").mkdir()
    (here / "broken").mkdir()
    (here / "broken" / "checkpoint.json").write_text("{")
    return here


@pytest.fixture
def here(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MUONLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MUONLAB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MUONLAB_TRACEBACK", "1")


ROWS = Path(__file__).with_name("bad_input.txt").read_text(encoding="utf-8").splitlines()
TABLE = {n: row.partition(" →") for n, row in enumerate(ROWS, 1) if row and row[0] != "#"}
EXPLORER = "norms"
SLIDER = next((c["name"] for c in explore.controls(EXPLORER) if "min" in c), "")
p3, E3 = torch.ones(3, dtype=torch.float64) / 3, torch.eye(3, dtype=torch.float64)


@pytest.mark.parametrize("line", TABLE)
def test_bad_input_gets_a_clear_answer(line, here, capsys):
    """The error is ours, of a fitting type, and has the words."""
    code, _, words = TABLE[line]
    with pytest.raises(FITTING) as caught:
        eval(code, globals())
    if caught.type is SystemExit:
        return
    said = f"{caught.typename}: {caught.value}"
    assert traceback.extract_tb(caught.tb)[-1].filename.startswith(OURS), said
    lacking = [word for word in words.replace("SLIDER", SLIDER).split() if word not in said]
    assert not lacking, said
