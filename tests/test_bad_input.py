"""What a person may give by mistake: each gets an error that says what was expected and came.

A row holds a call, and words that its error must hold: of what was expected, and of what came.
"""
# ruff: noqa: F401  the rows use what is imported

import itertools
import json
import math
import os
import shlex
import signal
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import muonlab
from muonlab import GPT, GPTConfig, Muon, NorMuon, lr_scale, newton_schulz, polar, route
from muonlab.benchmark.bench import read_bench
from muonlab.classroom import claims, exercise, explore, quiz, report
from muonlab.classroom.explorer_data import facts_data, learner, measured_spectra
from muonlab.classroom.lesson import Lesson, start
from muonlab.cli import main
from muonlab.cost import formulas, plans, timeline
from muonlab.data import corpus as texts
from muonlab.data import shards
from muonlab.data.facts import load_facts, selections
from muonlab.data.load import load_corpus
from muonlab.data.regression import load_regression
from muonlab.data.zipf import exponent, exponent_interval, zipf
from muonlab.distributed import parallel
from muonlab.drawing import figures, heatmaps
from muonlab.files import prepare_file
from muonlab.machine import pick_device
from muonlab.models import QKClip, keys_and_values, pair_angles
from muonlab.models.regressor import Regressor
from muonlab.optim import own
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
    verdict,
)
from muonlab.studies import facts as fact_studies
from muonlab.studies import table1
from muonlab.studies.finding import judge
from muonlab.studies.hypothesis import Hypothesis, state
from muonlab.sweeps.results import read_runs, recorded
from muonlab.sweeps.search import Knob
from muonlab.sweeps.study import Place, best_trial
from muonlab.sweeps.sweep import sweep
from muonlab.teaching import variants
from muonlab.theory import embeddings, memory, polynomials, spectra, theorems
from muonlab.training import checkpoints
from muonlab.training.build import build_model
from muonlab.training.config import TrainConfig
from muonlab.training.run import CURVES, Run, load_model, train
from muonlab.training.schedule import factor

PACKAGE = str(Path(muonlab.__file__).parent)
OURS = (
    PACKAGE,
    sys.modules["torch.optim.optimizer"].__file__,
)  # whose words about parameters torch's users know
FITTING = (ValueError, TypeError, OSError, ArithmeticError, claims.ClaimDoesNotHold)
SECONDS = 20  # after which a call counts as one without an end
NAN, INF, HUGE = math.nan, math.inf, 10**12
FACTS = load_facts("facts-3")
SMALL = GPTConfig(vocab_size=32, context=8, layers=1, width=8, heads=2)
LINES = {"l": {"a": [1, 2]}, "r": {"a": [3, 4]}}
MAP = {"below": 0, "xlabel": "x", "ylabel": "y"}


def p(*shape, dtype=torch.float32):
    return nn.Parameter(torch.ones(shape or (4, 3), dtype=dtype), dtype.is_floating_point)


def on_meta():
    of = nn.Parameter(p().to("meta"))
    of.grad = torch.ones_like(of)
    return of


def adamw(**options):
    return Muon([{"params": [p()], "rule": "adamw", **options}])


def saved(make=Muon, key="momentum_buffer", value=None):
    """A state after one step, one number of it exchanged."""
    of = p()
    of.grad = torch.ones_like(of)
    optimizer = make([of])
    optimizer.step()
    found = optimizer.state_dict()
    if value is not None:
        found["state"][0][key] = value
    return found


def stepped(after=None, **options):
    """Muon after one step, which something has changed."""
    of = p()
    of.grad = torch.ones_like(of)
    optimizer = Muon([of])
    optimizer.step()
    optimizer.param_groups[0].update(options)
    if after:
        of.data, of.grad = torch.tensor(after), None
    return optimizer


def lacking():
    """A state of two parameters, without that of one."""
    both = [p(), p()]
    for of in both:
        of.grad = torch.ones_like(of)
    optimizer = Muon(both)
    optimizer.step()
    found = optimizer.state_dict()
    del found["state"][1]
    return found


def world(**variables):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        parallel.rank()


def cached(name):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MUONLAB_CACHE", str(Path(name).resolve()))
        load_corpus("docs")


def bomb(name, shape, data=0):
    """A checkpoint whose index is right, and whose model, or data, would fill the machine."""
    folder, index = Path(name), {"data": "data-00000000", "checksums": {"a.safetensors": ""}}
    (folder / index["data"]).mkdir(parents=True, exist_ok=True)
    with (folder / index["data"] / "a.safetensors").open("wb") as file:
        file.truncate(data)  # it takes no room
    index |= {name: [] for name in CURVES} | {"config": {}, "step": 0, "cpu_seconds": 0.0}
    index |= {"shape": vars(SMALL) | shape}
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
    """Runs a command; what argparse itself refuses is clear by its form."""
    try:
        if not main(shlex.split(line)):
            return
    except SystemExit as error:
        raise Refused from error


class Refused(Exception):
    """By argparse."""


def asked(lesson="02", options=("one", "two")):
    found = Lesson(lesson)
    found.predict(f"{lesson}-p1", "Which?", list(options))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    here = tmp_path_factory.mktemp("here")
    for name in ("empty", "latin", "cut", "odd", "half", "book", "hand-ins"):
        (here / name).mkdir()
    (here / "file").write_text("something")
    (here / "latin" / "a.txt").write_bytes("Gr\xfc\xdfe".encode("latin-1"))
    for part in ("train", "val"):
        (here / "cut" / f"x_{part}_000001.bin").write_bytes(b"short")
        (here / "odd" / f"x_{part}_000001.bin").write_bytes(bytes(2048))
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
        ("numbers", "held_out", [5]),
        ("nan-lr", "config", {**whole["config"], "lr": NAN}),
        ("word-lr", "config", {**whole["config"], "lr": "x"}),
    ):
        path = here / f"{name}.jsonl"
        path.write_text("".join(json.dumps({**whole, field: value}) + "\n" for _ in range(2)))
    if hasattr(os, "mkfifo"):
        os.mkfifo(here / "pipe")
    else:
        (here / "pipe").mkdir()
    (here / "large").mkdir()
    with (here / "large" / "checkpoint.json").open("wb") as file:
        file.truncate(2**40)  # it takes no room
    (here / "broken").mkdir()
    (here / "broken" / "checkpoint.json").write_text("{")
    return here


@pytest.fixture
def here(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MUONLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MUONLAB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MUONLAB_TRACEBACK", "1")


OPTIMIZER = [
    ("Muon(None)", "parameters None"),
    ("Muon(5)", "parameters 5"),
    ("Muon('model')", "parameters 'model'"),
    ("Muon([])", "parameters got none"),
    ("Muon(p())", "several parameter"),
    ("Muon({'params': [p()]})", "groups {'params'"),
    ("Muon([{'lr': 0.1}])", "params lr"),
    ("Muon([1, 2])", "Tensors int"),
    ("Muon([2 * p()])", "leaf Tensor"),
    ("Muon([one := p(), one])", "once twice"),
    ("Muon([{'params': [one := p()]}, {'params': [one]}])", "more than one"),
    ("Muon([p(dtype=torch.int64)])", "floating-point int64"),
    ("Muon([p(dtype=torch.complex64)])", "real complex64"),
    ("Muon([p(5)])", "matrices (5,) AdamW"),
    ("Muon(nn.LazyLinear(3).parameters())", "numbers 0' shape model"),
    ("Muon([nn.Parameter(torch.ones(1, 3).expand(3, 3))])", "numbers expanded clone"),
    ("Muon([torch.inference_mode()(p)()])", "numbers inference clone"),
    ("Muon([p()], lr=NAN)", "lr number nan"),
    ("Muon([p()], lr=INF)", "lr number inf"),
    ("Muon([p()], lr=-0.1)", "lr number -0.1"),
    ("Muon([p()], lr='0.1')", "lr number '0.1'"),
    ("Muon([p()], lr=None)", "lr number None"),
    ("Muon([p()], lr=True)", "lr number True"),
    ("Muon([p()], lr=1e300)", "lr e+38 1e+300"),
    ("Muon([p()], lr=torch.tensor(1e300).double())", "lr inf"),
    ("adamw(lr=torch.tensor(1e300, dtype=torch.float64))", "lr e+38 1e+300"),
    ("Muon([p()], lr=3.0, weight_decay=0.5)", "weight_decay 1 1.5 signs"),
    ("adamw(lr=3.0, weight_decay=0.5)", "weight_decay 1 1.5 signs"),
    ("Muon([{'params': [p()], 'kernels': 'no'}])", "kernels True False 'no'"),
    ("Muon([{'params': [p()], 'kernels': 1}])", "kernels True False 1"),
    ("Muon([('w', p()), ('w', p())])", "name once twice"),
    ("Muon([p()], ns_steps=0)", "ns_steps [1, 101) 0"),
    ("Muon([p()], ns_steps=0, ns_coefficients='exact')", "ns_steps [1, 101) 0"),
    ("Muon([p()], ns_steps=101)", "ns_steps [1, 101) 101"),
    ("Muon([p()], lr=10**400)", "lr number"),
    ("Muon([p()], lr=torch.tensor([0.1, 0.2]))", "lr number tensor"),
    ("Muon([p()], weight_decay=NAN)", "weight_decay number nan"),
    ("Muon([p()], weight_decay=-1)", "weight_decay number -1"),
    ("Muon([p()], weight_decay='none')", "weight_decay number 'none'"),
    ("Muon([p()], momentum=1)", "momentum [0, 1) 1"),
    ("Muon([p()], momentum=95)", "momentum [0, 1) 95"),
    ("Muon([p()], momentum=NAN)", "momentum [0, 1) nan"),
    ("Muon([p()], nesterov='no')", "nesterov True False 'no'"),
    ("Muon([p()], nesterov=None)", "nesterov True False None"),
    ("Muon([p()], nesterov=2)", "nesterov True False 2"),
    ("Muon([p()], eps=0)", "eps above 0"),
    ("Muon([p()], eps=NAN)", "eps nan"),
    ("Muon([p()], ns_steps=-1)", "steps whole -1"),
    ("Muon([p()], ns_steps=2.5)", "steps whole 2.5"),
    ("Muon([p()], ns_steps=NAN)", "steps whole nan"),
    ("Muon([p()], ns_steps=INF)", "steps whole inf"),
    ("Muon([p()], ns_steps=None)", "steps whole None"),
    ("Muon([p()], ns_steps=True)", "steps whole True"),
    ("Muon([p()], ns_steps='5')", "steps whole '5'"),
    ("Muon([p()], ns_steps=10**9)", "steps whole 1000000000"),
    ("Muon([p()], ns_coefficients='jordn')", "jordan 'jordn' mean"),
    ("Muon([p()], ns_coefficients=(1, 2))", "triples (1, 2)"),
    ("Muon([p()], ns_coefficients=(1, 2, 'x'))", "triples 'x'"),
    ("Muon([p()], ns_coefficients=(NAN, 0, 0))", "triples nan"),
    ("Muon([p()], ns_coefficients=None)", "triples None"),
    ("Muon([p()], ns_coefficients=5)", "triples 5"),
    ("Muon([p()], ns_coefficients=())", "triples ()"),
    ("Muon([p()], ns_coefficients=(0.0, 0.0, 0.0))", "triples 0.0"),
    ("Muon([p()], ns_coefficients=(100.0, 100.0, 100.0))", "triples 100.0"),
    ("Muon([p()], adjust_lr_fn='match_rms_adam')", "adjust_lr_fn match_rms_adamw 'match_rms_adam'"),
    ("Muon([p()], ns_norm='frobenious')", "ns_norm frobenius 'frobenious'"),
    ("Muon([p()], ns_dtype=torch.float16)", "ns_dtype bfloat16 float16"),
    ("Muon([p()], ns_dtype='bf16')", "ns_dtype bfloat16 'bf16'"),
    ("Muon([{'params': [p()], 'momentun': 0.9}])", "'momentun' mean 'momentum'"),
    ("Muon([{'params': [p()], 'wd': 0.1}])", "'wd' mean 'weight_decay'"),
    ("Muon([{'params': [p()], 'learning_rate': 0.1}])", "'learning_rate' mean 'lr'"),
    ("Muon([{'params': [p()], 'rule': 'adam'}])", "rule adamw 'adam'"),
    ("Muon([{'params': [p()], 'betas': (0.9, 0.95)}])", "betas rule='adamw'"),
    ("Muon([{'params': [p()], 'use_muon': 'no'}])", "use_muon True False 'no'"),
    ("Muon([{'params': [p()], 'optim_type': 'adam'}])", "rule='adamw' optim_type='adam'"),
    ("Muon([{'params': [p()], 'use_muon': True, 'rule': 'adamw'}])", "rule use_muon=True"),
    ("Muon([{'params': [p()], 'adamw_betas': (0.9, 0.95)}])", "'adamw_betas' mean 'betas'"),
    ("Muon([{'params': [p()], 'maximize': True}])", "maximize=True supported"),
    ("adamw(amsgrad=True)", "amsgrad=True supported"),
    ("adamw(differentiable=True)", "differentiable=True supported"),
    ("record.read_records(None)", "path None"),
    ("record.append(run(provenance={'utc': 'noon'}), 'new.jsonl')", "isoformat 'noon'"),
    ("adamw(fused={1, 2})", "fused True {1, 2}"),
    ("claims.claim(NAN, 1.0)", "claim nan"),
    ("load_facts(object())", "name object"),
    ("load_regression(torch.ones(2, 2))", "name tensor"),
    ("prepare_file(5)", "path 5"),
    ("pick_device(torch.ones(2, 2))", "device tensor"),
    ("factor(0, 1e308, 0.1, 0.4)", "steps whole 1e+308"),
    ("adamw(momentum=0.5)", "momentum rule='muon'"),
    ("adamw(ns_steps=3)", "ns_steps rule='muon'"),
    ("Muon([p()]).add_param_group(None)", "group None"),
    ("Muon([p()]).add_param_group('x')", "group 'x'"),
    ("Muon([nn.Parameter(p().to(torch.float8_e4m3fn))])", "floating-point float8_e4m3fn"),
    ("Muon([on_meta()]).step()", "numbers meta"),
    ("Muon([p()]).step(5)", "closure function 5"),
    ("stepped(after=[[2.0], [2.0]]).step()", "momentum_buffer (2, 1) (4, 3)"),
    ("stepped(ns_coefficients=(100.0, 100.0, 100.0)).step()", "triples (100.0, 100.0, 100.0)"),
    ("stepped(lr=20.0).step()", "lr weight_decay 2 signs"),
    ("adamw(betas=(0.9,))", "betas two (0.9,)"),
    ("adamw(betas=(0.9, 1.5))", "betas [0, 1) 1.5"),
    ("adamw(betas=0.9)", "betas two 0.9"),
    ("adamw(betas=None)", "betas two None"),
    ("adamw(eps=0)", "eps above 0"),
    ("adamw(lr=NAN)", "lr number nan"),
    ("NorMuon([p()], scale='papr')", "scale paper 'papr'"),
    ("NorMuon([p()], beta2=1.0)", "beta2 [0, 1) 1.0"),
    ("NorMuon([p()], row_eps=0)", "row_eps above 0"),
    ("NorMuon([p()], row_eps=NAN)", "row_eps nan"),
    ("Muon([p()]).load_state_dict({})", "state_dict param_groups"),
    ("Muon([p()]).load_state_dict(None)", "state_dict None"),
    ("Muon([p()]).load_state_dict({'param_groups': []})", "state_dict state"),
    ("Muon([p(2, 2)]).load_state_dict(saved())", "momentum_buffer (2, 2) (4, 3)"),
    ("Muon([p()]).load_state_dict(saved(value=torch.ones(1, 1)))", "momentum_buffer (4, 3) (1, 1)"),
    ("Muon([p()]).load_state_dict(saved(value=torch.full((4, 3), NAN)))", "momentum_buffer NaN"),
    (
        "NorMuon([p()]).load_state_dict(saved(NorMuon, 'row_mean_square', torch.ones(9)))",
        "row_mean_square (4,) (9,)",
    ),
    (
        "NorMuon([p()]).load_state_dict(saved(NorMuon, 'row_mean_square', -torch.ones(4)))",
        "row_mean_square negative",
    ),
    ("Muon([p()]).load_state_dict(saved(torch.optim.AdamW))", "another ns_steps betas"),
    ("adamw().load_state_dict(saved(torch.optim.Adagrad))", "another betas lr_decay"),
    ("adamw().load_state_dict(saved(torch.optim.RMSprop))", "another betas alpha"),
    ("adamw().load_state_dict(saved(torch.optim.AdamW, 'exp_avg_sq', 5))", "exp_avg_sq tensors"),
    ("Muon([p(), p()]).load_state_dict(lacking())", "state lacks 'group 0, number 1'"),
    ("lr_scale('orignal', 4, 4)", "original 'orignal'"),
    ("newton_schulz(None)", "matrix None"),
    ("newton_schulz([[1.0]])", "matrix [[1.0]]"),
    ("newton_schulz(np.eye(3))", "matrix ndarray"),
    ("newton_schulz(torch.ones(3))", "matrix (3,)"),
    ("newton_schulz(torch.ones(3, 3, dtype=torch.int64))", "floating-point int64"),
    ("newton_schulz(torch.eye(3).to_sparse())", "dense sparse"),
    ("newton_schulz(torch.eye(3, device='meta'))", "on meta"),
    ("newton_schulz(torch.eye(3).to(torch.float8_e5m2))", "16 float8_e5m2"),
    ("polar(torch.eye(3, device='meta'))", "on meta"),
    ("polar(torch.eye(3).to(torch.float8_e5m2))", "16 float8_e5m2"),
    ("newton_schulz(torch.full((2, 2), NAN))", "finite NaN"),
    ("newton_schulz(torch.eye(3), steps=-1)", "steps -1"),
    ("newton_schulz(torch.eye(3), steps=None)", "steps None"),
    ("newton_schulz(torch.eye(3), steps=10**9)", "steps 1000000000"),
    ("newton_schulz(torch.eye(3), coefficients='polar_expres')", "polar_express 'polar_expres'"),
    ("newton_schulz(torch.eye(3), coefficients=7)", "triples 7"),
    ("newton_schulz(torch.eye(3), steps=101)", "steps [0, 101) 101"),
    ("newton_schulz(torch.eye(3), coefficients=(100, 100, 100))", "triples (100, 100, 100)"),
    ("fast_newton_schulz(torch.eye(3), coefficients=(9.0, 9.0, 9.0))", "triples (9.0, 9.0, 9.0)"),
    ("newton_schulz(torch.eye(3), norm='l2')", "norm frobenius 'l2'"),
    ("newton_schulz(torch.eye(3), dtype=torch.float16)", "dtype bfloat16 float16"),
    ("newton_schulz(torch.eye(3), dtype=torch.int8)", "dtype bfloat16 int8"),
    ("newton_schulz(torch.eye(3), dtype='bf16')", "dtype bfloat16 'bf16'"),
    ("polar(None)", "matrix None"),
    ("polar(torch.eye(3).to_sparse())", "dense sparse"),
    ("polar(torch.full((2, 2), INF))", "finite Inf"),
    ("route(None)", "model None"),
    ("route('gpt')", "model 'gpt'"),
    ("route(nn.Linear)", "model class"),
    ("route(Muon([p()]))", "model Muon"),
    ("route(nn.Sequential(nn.LazyLinear(3)))", "shapes '0.weight' call"),
    ("route(nn.ReLU())", "parameters ReLU"),
    ("route(gpt(), muon='QK')", "muon several 'QK'"),
    ("route(gpt(), muon=None)", "muon names None"),
    ("route(gpt(), muon={'QK': 0.02})", "muon several ('QK',) {'QK': 0.02}"),
    ("route(gpt(), muon=5)", "muon names 5"),
    ("route(gpt(), muon=[None])", "muon names None"),
    ("route(gpt(), muon=['QV'])", "'QV' QK"),
    ("route(gpt(), muon=[], adamw=['hed'])", "'hed' parameter"),
    ("route(gpt()).count('moun')", "muon 'moun'"),
    ("route(gpt()).groups(momentm=0.9)", "momentum 'momentm'"),
    ("Muon(route(gpt()).groups(lr=NAN))", "lr number nan"),
    ("Muon([{'params': [p()], 'beta1': 0.9, 'rule': 'adamw'}])", "beta1 betas"),
    ("Muon([p()], nesterov='False')", "'False': mean False?"),
    ("lr_scale('original', 4.5, 2)", "rows whole 4.5"),
    ("lr_scale('spectral', 4, 0)", "columns 1 0"),
    ("Muon([torch.ones(4, 3)])", "gradient none"),
    ("Muon([{'params': [p()], 'norm': 'schatten4'}])", "norm ns_norm"),
    (
        "Muon([p()]).load_state_dict({'state': {}, 'param_groups': [{'lr': 1, 'params': [0]}]})",
        "ns_steps another",
    ),
]
MODELS = [
    ("GPTConfig(vocab_size=0)", "vocab_size 0"),
    ("GPTConfig(vocab_size=2.5)", "vocab_size whole 2.5"),
    ("GPTConfig(vocab_size='10')", "vocab_size whole '10'"),
    ("GPTConfig(vocab_size=None)", "vocab_size whole None"),
    ("GPTConfig(vocab_size=NAN)", "vocab_size whole nan"),
    ("GPTConfig(vocab_size=True)", "vocab_size whole True"),
    ("GPTConfig(context=-1)", "context -1"),
    ("GPTConfig(context='8')", "context whole '8'"),
    ("GPTConfig(layers=0)", "layers 0"),
    ("GPTConfig(layers=1.5)", "layers whole 1.5"),
    ("GPTConfig(width=127)", "width multiple 127"),
    ("GPTConfig(width=128.0)", "width whole 128.0"),
    ("GPTConfig(heads=0)", "heads 0"),
    ("GPTConfig(heads=3)", "heads=3 multiple"),
    ("GPTConfig(gated='yes')", "gated True False 'yes'"),
    ("GPTConfig(gated=None)", "gated True False None"),
    ("GPTConfig(qk_norm='no')", "qk_norm True False 'no'"),
    ("GPTConfig(fused_qkv=2)", "fused_qkv True False 2"),
    ("GPTConfig(rope_base=0)", "rope_base >= 1"),
    ("GPTConfig(rope_base=-1)", "rope_base -1"),
    ("GPTConfig(rope_base=NAN)", "rope_base nan"),
    ("GPTConfig(rope_base=INF)", "rope_base inf"),
    ("GPTConfig(rope_base='x')", "rope_base 'x'"),
    ("GPTConfig(attention='latnt')", "attention latent 'latnt'"),
    ("GPTConfig(attention=None)", "attention latent None"),
    ("GPTConfig(attention='latent', latent=0)", "latent 0"),
    ("GPTConfig(attention='latent', latent=1.5)", "latent whole 1.5"),
    ("GPTConfig(rotary=2)", "rotary latent 'multi-head'"),
    ("GPTConfig(latent=16)", "latent=16 attention 'multi-head'"),
    ("GPTConfig(attention='latent', latent=129)", "latent width=128 129"),
    ("GPTConfig(active_experts=2)", "active_experts=2 experts=0"),
    ("GPTConfig(expert_hidden=8)", "expert_hidden=8 experts=0"),
    ("GPTConfig(attention='latent', rotary=3)", "rotary even 3"),
    ("GPTConfig(attention='latent', rotary=1000)", "rotary 1000"),
    ("GPTConfig(experts=-1)", "experts -1"),
    ("GPTConfig(experts=4.5)", "experts whole 4.5"),
    ("GPTConfig(experts='4')", "experts whole '4'"),
    ("GPTConfig(experts=2)", "active_experts 3 experts=2"),
    ("GPTConfig(experts=4, active_experts=0)", "active_experts 0"),
    ("GPTConfig(experts=4, active_experts=1.5)", "active_experts whole 1.5"),
    ("GPTConfig(experts=4, shared_experts=-1)", "shared_experts -1"),
    ("GPTConfig(experts=4, expert_hidden=0)", "expert_hidden 0"),
    ("GPTConfig(experts=4, balance=-0.1)", "balance -0.1"),
    ("GPTConfig(experts=4, balance=NAN)", "balance nan"),
    ("GPTConfig(experts=4, balance='x')", "balance 'x'"),
    ("GPTConfig(inputs=0)", "inputs 0"),
    ("GPT(None)", "GPTConfig None"),
    ("GPT({})", "GPTConfig {}"),
    ("GPT('tiny')", "GPTConfig 'tiny'"),
    ("GPT(GPTConfig(vocab_size=HUGE))", "GiB free"),
    ("GPT(GPTConfig(context=HUGE))", "GiB free"),
    ("GPT(GPTConfig(layers=10**9))", "layers 1000000000"),
    ("GPT(GPTConfig(experts=10**9))", "GiB free"),
    ("GPT(GPTConfig(width=2**24))", "GiB free"),
    ("gpt()(None)", "tokens None"),
    ("gpt()([[1, 2]])", "tokens [[1, 2]]"),
    ("gpt()(torch.ones(1, 3))", "int64 float32"),
    ("gpt()(ids(1, 3, dtype=torch.bool))", "int64 bool"),
    ("gpt()(ids(3))", "(B, T) (3,)"),
    ("gpt()(ids(1, 9))", "context=8 (1, 9)"),
    ("gpt()(ids(0, 3))", "(B, T) (0, 3)"),
    ("gpt()(99 * ids(1, 3))", "[0, 32) 99"),
    ("gpt()(-ids(1, 3))", "[0, 32) -1"),
    ("gpt()(ids(1, 3), ids(1, 2))", "targets (1, 3) (1, 2)"),
    ("gpt()(ids(1, 3), torch.ones(1, 3))", "int64 float32"),
    ("gpt()(ids(1, 3), ids(1, 3), reduction='sum')", "reduction mean 'sum'"),
    ("gpt().generate(ids(1, 3), -1)", "n -1"),
    ("gpt().generate(ids(1, 3), 1.5)", "n whole 1.5"),
    ("gpt().generate(ids(1, 3), 10**5)", "n 100000 100000"),
    ("gpt().generate([1, 2, 3], 2)", "tokens tensor [1, 2, 3]"),
    ("gpt().generate('text', 2)", "tokens tensor 'text'"),
    ("gpt().generate(ids(3), 2)", "tokens (B, T) (3,)"),
    ("gpt().generate(ids(3), 0)", "tokens (B, T) (3,)"),
    ("gpt().generate(torch.ones(1, 9), 2)", "int64 float32"),
    ("gpt().generate(ids(1, 3), NAN)", "n whole nan"),
    ("gpt().generate(ids(1, 3), 2, temperature=-1)", "temperature -1"),
    ("gpt().generate(ids(1, 3), 2, temperature=NAN)", "temperature nan"),
    ("gpt().generate(ids(1, 3), 2, temperature='hot')", "temperature 'hot'"),
    ("gpt().decode(ids(1, 3), [])", "caches 1 layer []"),
    ("gpt().decode(ids(1, 3), [5])", "Cache layer 5"),
    ("gpt().decode(ids(2, 1), gpt().decode(ids(1, 3))[1])", "caches 2 batch 1"),
    ("gpt().decode(ids(1, 3), 'none')", "caches 1 layer 'none'"),
    ("Regressor(SMALL)", "inputs None"),
    ("QKClip(gpt())", "latent QK-norm"),
    ("QKClip(GPT(GPTConfig(attention='latent', qk_norm=False)), tau=0)", "tau above 0"),
    ("QKClip(GPT(GPTConfig(attention='latent', qk_norm=False)), tau=NAN)", "tau nan"),
    ("QKClip(GPT(GPTConfig(attention='latent', qk_norm=False)), tau='x')", "tau 'x'"),
    ("keys_and_values(nn.Linear(2, 2), ids(1, 3))", "module w_out"),
    ("pair_angles(torch.ones(1, 3))", "two (1, 3)"),
    ("pair_angles(torch.zeros(2, 3))", "zero (2, 3)"),
    ("pair_angles(torch.full((2, 3), NAN))", "finite (2, 3)"),
    ("pair_angles(None)", "rows None"),
    ("GPT(SMALL).generate(torch.cat([99 * ids(1, 4), ids(1, 8)], 1), 1)", "token 32 99"),
    (
        "Regressor(GPTConfig(inputs=7))(torch.ones(1, 4, 7), torch.ones(1, 2, 1))",
        "targets (1, 2, 1)",
    ),
    ("Regressor(GPTConfig(inputs=7))(torch.ones(0, 4, 7), torch.ones(0, 2))", "tokens (0, 4, 7)"),
    ("Regressor(GPTConfig(inputs=7))(torch.ones(1, 4, 7).double())", "tokens float32 float64"),
    ("Regressor(GPTConfig(inputs=7))(torch.ones(1, 4, 7), None, 'mena')", "reduction mean mena"),
    ("pair_angles(torch.ones(2, 3, dtype=torch.complex64))", "real complex64"),
    ("QKClip('model')", "model 'model'"),
    ("keys_and_values('model', ids(1, 3))", "model 'model'"),
    ("GPT(GPTConfig(inputs=7))", "inputs=7 Regressor"),
    ("GPTConfig(shared_experts=4)", "shared_experts=4 experts=0"),
    ("GPTConfig(layers=10**6)", "layers 1000000"),
    ("Regressor(GPTConfig(inputs=7)).generate(torch.ones(1, 4, 7), 2)", "numbers tokens"),
]
THEORY = [
    ("embeddings.two_block(4, 5, 0.5)", "0 < L < K L=5"),
    ("embeddings.two_block(4, 1, 0.1)", "alpha alpha=0.1"),
    ("embeddings.two_block(4, 1, NAN)", "alpha nan"),
    ("embeddings.two_block(4.5, 1, 0.5)", "K whole 4.5"),
    ("embeddings.two_block(4, '1', 0.5)", "L whole '1'"),
    ("embeddings.two_block(HUGE, 1, 0.5)", "GiB free"),
    ("embeddings.power_law(0, 1)", "K 0"),
    ("embeddings.power_law(2.5, 1)", "K whole 2.5"),
    ("embeddings.power_law(5, -1)", "exponent -1"),
    ("embeddings.power_law(5, NAN)", "exponent nan"),
    ("embeddings.power_law(5, INF)", "exponent inf"),
    ("embeddings.power_law(HUGE, 1)", "GiB free"),
    ("embeddings.coupled(4)", "multiple of 3 4"),
    ("embeddings.coupled(0)", "multiple of 3 0"),
    ("embeddings.coupled(6.5)", "K whole 6.5"),
    ("embeddings.coupled(3, NAN)", "turn nan"),
    ("embeddings.coupled(3, 'half')", "turn 'half'"),
    ("embeddings.coupled(3 * 10**6)", "GiB free"),
    ("embeddings.gaussian(0, 5)", "d 0"),
    ("embeddings.gaussian(3, -1)", "K -1"),
    ("embeddings.gaussian(3, 2.5)", "K whole 2.5"),
    ("embeddings.gaussian(3, 5, seed='x')", "seed 'x'"),
    ("embeddings.gaussian(3, 5, seed=1.5)", "seed whole 1.5"),
    ("embeddings.gaussian(HUGE, 5)", "GiB free"),
    ("embeddings.rotation(0)", "0"),
    ("embeddings.rotation(10**7)", "GiB free"),
    ("memory.store(torch.eye(3), torch.eye(4))", "keys (3, 3) (4, 4)"),
    ("memory.store(None, torch.eye(4))", "keys None"),
    ("memory.direction(torch.eye(3), 'adam')", "rule muon 'adam'"),
    ("memory.direction(None, 'muon')", "matrix None"),
    ("memory.recall(torch.eye(4), E3, E3)", "(3, 3) (4, 4)"),
    ("memory.recall(None, E3, E3)", "memory None"),
    ("memory.train(-p3, E3, E3, 'gd', 1.0, 3)", "p probabilities 1"),
    ("memory.train(NAN * p3, E3, E3, 'gd', 1.0, 3)", "p probabilities nan"),
    ("memory.train(1.5 * p3[:2], E3, E3, 'gd', 1.0, 3)", "K=2 (3, 3)"),
    ("memory.train(p3, E3, E3, 'adagrad', 1.0, 3)", "rule adam 'adagrad'"),
    ("memory.train(p3, E3, E3, 'gd', NAN, 3)", "lr nan"),
    ("memory.train(p3, E3, E3, 'gd', 'x', 3)", "lr 'x'"),
    ("memory.train(p3, E3, E3, 'gd', 1.0, -1)", "steps -1"),
    ("memory.train(p3, E3, E3, 'gd', 1.0, 1.5)", "steps whole 1.5"),
    ("memory.train(p3, E3, E3, 'gd', 1.0, HUGE)", "steps 100000 1000000000000"),
    ("memory.train(p3, E3, E3, 'gd', 1.0, 3, momentum=1)", "momentum [0, 1) 1"),
    ("memory.train(p3, E3, E3, 'adam', 1.0, 3, beta2=2)", "beta2 [0, 1) 2"),
    ("memory.train(p3, E3, E3, 'gd', 1.0, 3, batch=0)", "batch 0"),
    ("memory.train(p3, E3, E3, 'gd', 1.0, 3, batch=1.5)", "batch whole 1.5"),
    ("memory.train([0.5, 0.5], E3, E3, 'gd', 1.0, 3)", "p [0.5 0.5]"),
    ("polynomials.minimax_quintic(0, 1)", "0 < lower lower=0"),
    ("polynomials.minimax_quintic(1, 0.5)", "lower < upper upper=0.5"),
    ("polynomials.minimax_quintic(NAN, 1)", "lower nan"),
    ("polynomials.minimax_quintic('a', 1)", "lower 'a'"),
    ("polynomials.minimax_quintic(1e-300, 1)", "lower 1e-300"),
    ("polynomials.minimax_quintic(1e-16, 1)", "lower 1e-16"),
    ("polynomials.minimax_quintic(1e57, 1e60)", "upper 1e+60"),
    ("polynomials.derive_schedule(0)", "0 < lower < 1 0"),
    ("polynomials.derive_schedule('x')", "lower 'x'"),
    ("polynomials.derive_schedule(0.1, steps=-1)", "steps -1"),
    ("polynomials.derive_schedule(0.1, steps=1.5)", "steps whole 1.5"),
    ("polynomials.derive_schedule(0.1, steps=10**9)", "steps 1000000000"),
    ("polynomials.scalar_map('jordn')", "jordan 'jordn'"),
    ("polynomials.scalar_map('jordan', steps=-1)", "steps -1"),
    ("spectra.isotropy(None)", "matrix None"),
    ("spectra.isotropy([[1.0]])", "matrix [[1.0]]"),
    ("spectra.isotropy(torch.ones(3))", "matrix (3,)"),
    ("spectra.isotropy(torch.zeros(3, 3))", "not all of them 0"),
    ("spectra.isotropy(torch.full((3, 3), NAN))", "finite"),
    ("spectra.isotropy(torch.eye(3, dtype=torch.complex64))", "real complex64"),
    ("spectra.isotropy(torch.eye(3), top=0)", "top 0"),
    ("spectra.isotropy(torch.eye(3), top=1.5)", "top whole 1.5"),
    ("spectra.nuclear_rank(torch.ones(3))", "matrix (3,)"),
    ("spectra.stable_rank('A')", "matrix 'A'"),
    ("theorems.run_blocks(9, 3, 0.5, 'adam', 1.0, 3)", "rule muon 'adam'"),
    ("theorems.run_blocks(9, 3, 0.5, 'gd', 1.0, -1)", "steps -1"),
    ("theorems.run_blocks(9, 3, 0.5, 'gd', NAN, 3)", "lr nan"),
    ("theorems.run_blocks(9, 3, 0.5, 'gd', 1.0, HUGE)", "steps 100000 1000000000000"),
    ("theorems.run_blocks(9, 9, 0.5, 'gd', 1.0, 3)", "0 < L < K L=9"),
    ("theorems.gradient_spectrum(3, 3, 0.5)", "0 < L < K L=3"),
    ("theorems.imbalance_exponent(0, 0.5)", "(0, 1) 0"),
    ("theorems.imbalance_exponent(NAN, 0.5)", "alpha nan"),
    ("theorems.imbalance_exponent('a', 0.5)", "alpha 'a'"),
    ("theorems.imbalance_exponent(0.5, 'b')", "beta 'b'"),
    ("memory.recall(E3, E3, None)", "values (d_o, K) None"),
    ("theorems.gd_worst(9, 3, 0.5, 0)", "epsilon 0"),
    ("theorems.gd_worst(9, 3, 0.5, 2)", "epsilon 2"),
    ("theorems.gd_worst(9, 3, 0.5, NAN)", "epsilon nan"),
    ("memory.store(torch.full((3, 3), NAN), torch.eye(3))", "finite NaN"),
    ("memory.recall(E3 * NAN, E3, E3)", "memory finite NaN"),
    ("memory.loss(E3, E3, E3, torch.ones(3, 3))", "probabilities (3, 3)"),
    ("memory.descent(E3, E3, E3, E3)", "probabilities (3, 3)"),
    ("memory.answers(torch.eye(4).double(), E3, E3)", "memory (3, 3) (4, 4)"),
    ("memory.direction(E3 * NAN, 'gd')", "finite gradient NaN"),
    ("memory.train(p3, E3, E3, 'gd', -1.0, 3)", "lr 0 -1.0"),
    ("memory.train(3 * p3, E3, E3, 'gd', 1.0, 3)", "probabilities sum"),
    ("memory.train(p3, E3, E3, 'gd', 1.0, 3, beta2=0.9)", "beta2 adam 0.9"),
    ("memory.train(p3, E3.float(), E3.float(), 'gd', 1.0, 3)", "float64 float32"),
    ("theorems.TwoBlock(3, 5)", "L 3 5"),
    ("theorems.TwoBlock(4, 1).descent(NAN, 0.1)", "p_frequent nan"),
    ("theorems.TwoBlock(4, 1).add(theorems.TwoBlock(9, 3), 1.0)", "K=4 K=9"),
    ("theorems.TwoBlock(9, 3).descent(0.5, 0.5)", "p_rare 1 4.5"),
    ("theorems.TwoBlock(9, 3, a=NAN)", "NaN a=nan"),
    ("embeddings.coupled(9, -1)", "turn [0, 1] -1"),
    ("theorems.run_blocks(9, 3, 0.5, 'adam', 1.0, 0)", "rule gd adam"),
    ("theorems.gd_worst(9.5, 3, 0.5, 0.1)", "K whole 9.5"),
    ("embeddings.coupled(9, 50)", "turn 50"),
    ("memory.train(p3, E3, E3, 'gd', lambda t: 1 - t, 8)", "lr -1"),
    ("memory.train(p3, E3, E3, 'gd', 1.0, 10**7)", "steps 100000 10000000"),
    ("theorems.run_blocks(9, 3, 0.5, 'gd', -1.0, 3)", "lr -1.0"),
]
STATISTICS = [
    ("mean_interval([])", "two 0"),
    ("mean_interval([1.0])", "two 1"),
    ("mean_interval([1.0, NAN])", "finite nan"),
    ("mean_interval([1.0, INF])", "finite inf"),
    ("mean_interval(['a', 'b'])", "numbers 'a'"),
    ("mean_interval(5)", "number 5"),
    ("mean_interval([[1.0], [2.0]])", "one number [[1.0], [2.0]]"),
    ("paired_interval([1.0, 2.0], [1.0])", "paired 2, 1"),
    ("paired_interval([1.0, NAN], [1.0, 2.0])", "finite nan"),
    ("paired_interval(['a', 'b'], [1.0, 2.0])", "numbers 'a'"),
    ("verdict(Interval(1, 0, 2, 3), 0)", "size 0"),
    ("verdict((1, 0, 2, 3), 0.1)", "Interval (1, 0, 2, 3)"),
    ("verdict(Interval(1, 0, 2, 3), NAN)", "size nan"),
    ("verdict(Interval(NAN, NAN, NAN, 3), 0.1)", "finite nan"),
    ("contrast([[1.0, 2.0], [3.0]], 0)", "(2, …, 2, seeds)"),
    ("contrast([[1.0, 2.0], [3.0, 4.0]])", "factors ()"),
    ("contrast([[1.0, 2.0], [3.0, 4.0]], 1)", "factors (1,)"),
    ("contrast([[1.0, 2.0], [3.0, 4.0]], 0, 0)", "factors (0, 0)"),
    ("contrast([[1.0, NAN], [3.0, 4.0]], 0)", "finite nan"),
    ("half_width(0.1, 1)", "seeds 2 1"),
    ("half_width(0.1, 2.5)", "seeds whole 2.5"),
    ("half_width(0.1, '5')", "seeds whole '5'"),
    ("half_width(0.1, INF)", "seeds whole inf"),
    ("half_width(0, 5)", "spread above 0"),
    ("half_width(NAN, 5)", "spread nan"),
    ("half_width(INF, 5)", "spread inf"),
    ("chance_to_see(NAN, 0.1, 5)", "effect nan"),
    ("chance_to_see(0.1, -1, 5)", "spread -1"),
    ("chance_to_see('x', 0.1, 5)", "effect 'x'"),
    ("seeds_needed(0, 1)", "effect 0"),
    ("seeds_needed(NAN, 1)", "effect nan"),
    ("seeds_needed(INF, 1)", "effect inf"),
    ("seeds_needed(1, 1, chance=1)", "chance 1"),
    ("seeds_needed(1, 1, chance=80)", "chance 80"),
    ("seeds_needed(1, 1, by=NAN)", "by nan"),
    ("seeds_needed(1e-9, 1)", "seeds 1e-09"),
    ("zipf(0, 1)", "words 0"),
    ("zipf(2.5, 1)", "words whole 2.5"),
    ("zipf(5, NAN)", "exponent nan"),
    ("zipf(HUGE, 1)", "GiB free"),
    ("exponent([])", "two (0,)"),
    ("exponent([3, -1])", "0 or more (2,)"),
    ("exponent([3, NAN])", "finite"),
    ("exponent(['a', 'b'])", "count 'a'"),
    ("exponent([3, 2], first=0)", "rank 0"),
    ("exponent_interval(np.ones(3))", "(blocks, ranks) (3,)"),
    ("verdict(Interval(0, -INF, INF, 3), 0.1)", "finite interval inf"),
    ("contrast([[1.0, NAN], [3.0, 4.0]], 0)", "finite nan"),
]
DATA = [
    ("load_corpus('dcos')", "'docs' 'dcos' mean"),
    ("load_corpus('finweb')", "'fineweb' 'finweb' mean"),
    ("load_corpus('')", "name ''"),
    ("load_corpus(None)", "name None"),
    ("load_corpus(5)", "name 5"),
    ("load_corpus('docs-')", "vocabulary 'docs-'"),
    ("load_corpus('docs-12')", "257 'docs-12'"),
    ("load_corpus('docs-1e3')", "vocabulary 'docs-1e3'"),
    ("load_corpus('docs-99999999')", "65,536 'docs-99999999'"),
    ("load_corpus('code-x')", "vocabulary 'code-x'"),
    ("load_corpus('facts-')", "'facts-9' 'facts-'"),
    ("load_corpus('facts-0')", "1 to 15 0"),
    ("load_corpus('facts-99')", "1 to 15 99"),
    ("load_corpus('facts-9-zipf3')", "0 to 2 3"),
    ("load_corpus('facts-9-zip1')", "zipf 'facts-9-zip1'"),
    ("load_corpus('facts')", "facts-9 'facts'"),
    ("load_corpus('regression-0')", "1 to 32 'regression-0'"),
    ("load_corpus('regression-x')", "dimension 'regression-x'"),
    ("load_corpus('file')", "folder 'file' file"),
    ("load_corpus('nowhere')", "folder 'nowhere' neither"),
    ("load_corpus('empty')", "text empty none"),
    ("load_corpus('latin')", "UTF-8 latin 0xfc"),
    ("load_corpus('cut')", "header 5 bytes"),
    ("load_corpus('odd')", "magic 0"),
    ("load_corpus('half')", "shards held-out|second half"),
    ("load_corpus(Path('docs'))", "folder 'docs' neither: check"),
    ("load_corpus('x\\0y')", "folder 'x\\x00y'"),
    ("load_corpus('~nobody-here/text')", "folder '~nobody-here/text'"),
    ("FACTS.batch(0, 0, 8, 0)", "batch 0"),
    ("FACTS.batch(0, 1.5, 8, 0)", "batch whole 1.5"),
    ("FACTS.batch(0, 2, 8.0, 0)", "context whole 8.0"),
    ("FACTS.batch(0, 2, 10**9, 0)", "context below 1,000,000,000"),
    ("FACTS.batch(0, HUGE, 8, 0)", "GiB free"),
    ("load_regression('regression-4').batch(0, 2, 3, 0)", "2, 4, 6 3"),
    ("load_regression('regression-4').batch(0, 0, 4, 0)", "batch 0"),
    ("selections(0)", "1 to 15 0"),
    ("selections(4, -1)", "0 to 2 -1"),
    ("selections('4')", "1 to 15 '4'"),
    ("texts.words_of('docs-x')", "vocabulary 'docs-x'"),
    ("shards.write_shard(np.array([70_000]), 50_257, Path('s.bin'))", "token 50257 70000"),
    ("shards.write_shard(np.array([-1]), 50_257, Path('s.bin'))", "token -1"),
    ("FACTS.batch(-1, 2, 8, 0)", "step 0 -1"),
    ("FACTS.batch(0, 2, 8, None)", "seed whole None"),
    ("FACTS.text([99999])", "token 99999"),
    ("FACTS.text([1.7])", "token whole 1.7"),
    ("shards.write_shard(np.array([1]), 100, Path('nowhere/s.bin'))", "folder nowhere: make"),
    ("FACTS.text(5)", "tokens 5"),
    ("shards.training_names('docs-4')", "fineweb-7 docs-4"),
]
TRAINING = [
    ("config(corpus=None)", "corpus name None"),
    ("config(corpus=5)", "corpus name 5"),
    ("config(corpus='')", "corpus name ''"),
    ("config(size='tinny')", "size tiny 'tinny' mean"),
    ("config(size=None)", "size None"),
    ("config(gated='yes')", "gated True False 'yes'"),
    ("config(muon='QK')", "muon several 'QK'"),
    ("config(muon=None)", "muon several None"),
    ("config(muon=5)", "muon several 5"),
    ("config(muon=('QK', 'QK'))", "muon once 'QK'"),
    ("config(muon=('QKX',))", "muon QK 'QKX'"),
    ("config(muon=({'QK'},))", "muon QK {'QK'}"),
    ("config(rule='normoun')", "rule normuon 'normoun' mean"),
    ("config(lr=None)", "lr number None"),
    ("config(lr=NAN)", "lr number nan"),
    ("config(lr=-1)", "lr number -1"),
    ("config(lr='0.1')", "lr number '0.1'"),
    ("config(lr=10**400)", "lr number"),
    ("config(lr=torch.tensor(0.1))", "lr number tensor"),
    ("config(adamw_lr=INF)", "adamw_lr number inf"),
    ("config(momentum=1)", "momentum [0, 1) 1"),
    ("config(nesterov=None)", "nesterov True False None"),
    ("config(ns_steps=10**9)", "ns_steps 1000000000"),
    ("config(ns_steps=0)", "ns_steps 0"),
    ("config(ns_coefficients='jordon')", "ns_coefficients jordan 'jordon'"),
    ("config(betas=0.9)", "betas two 0.9"),
    ("config(betas=(0.9,))", "betas two (0.9,)"),
    ("config(betas=(0.9, 1.0))", "betas [0, 1) 1.0"),
    ("config(matrix_lr_factors=(1.0,))", "matrix_lr_factors four (1.0,)"),
    ("config(weight_decay=-0.1)", "weight_decay -0.1"),
    ("config(steps=0)", "steps 0"),
    ("config(steps=np.int64(0))", "steps 0"),
    ("config(steps=np.float64(5))", "steps whole 5.0"),
    ("config(matrix_decay=0.1, lr=0.0)", "matrix_decay lr 0"),
    ("config(matrix_decay=0.1, muon=(), adamw_matrix_lr=0.0)", "matrix_decay adamw_matrix_lr 0"),
    ("config(matrix_decay=0.1, matrix_lr_factors=(1.0, 0.0, 1.0, 1.0))", "matrix_decay factors 0"),
    ("config(steps=1.5)", "steps whole 1.5"),
    ("config(steps=HUGE)", "steps 1000000000000"),
    ("config(batch=0)", "batch 0"),
    ("config(batch='16')", "batch whole '16'"),
    ("config(context=65)", "context 64 65"),
    ("config(context=64.0)", "context whole 64.0"),
    ("config(warmup=NAN)", "warmup number nan"),
    ("config(warmup=0.7, decay=0.7)", "warmup=0.7 sum 1"),
    ("config(warmup=10)", "warmup=10 fraction"),
    ("config(decay=None)", "decay number None"),
    ("config(seed=-1)", "seed -1"),
    ("config(seed=0.5)", "seed whole 0.5"),
    ("config(seed=2**64)", "seed 18446744073709551616"),
    ("config(eval_every=0)", "eval_every 0"),
    ("config(eval_tokens=10)", "eval_tokens 64 10"),
    ("config(eval_tokens=HUGE)", "eval_tokens 1000000000000"),
    ("config(experts=2)", "experts 3 2"),
    ("config(experts=8, rule='sgd')", "'sgd' experts"),
    ("config(precision='fp16')", "precision bf16 'fp16'"),
    ("config(device='meta')", "device cpu 'meta'"),
    ("config(device='mps:0')", "device mps 'mps:0'"),
    ("config(device='mps', precision='bf16')", "mps auto 'bf16'"),
    ("config(device='gpu')", "device cuda 'gpu'"),
    ("config(device='cpu:7')", "device cpu 'cpu:7'"),
    ("train(config(device='cuda:99'), FACTS)", "device cuda:99"),
    ("train(config(), 5)", "task 5"),
    ("train(config(), 'facts-3')", "task 'facts-3' load_corpus"),
    ("train(config(context=60, batch=10**8), FACTS)", "GiB free"),
    ("train(config(corpus='nowhere'))", "folder 'nowhere'"),
    ("train(config(), FACTS, checkpoint='~/x')", "checkpoint folder '~/x'"),
    ("train(config(), FACTS, checkpoint=Path('~'))", "checkpoint folder '~'"),
    ("world(WORLD_SIZE='two')", "WORLD_SIZE torchrun 'two'"),
    ("world(WORLD_SIZE='0')", "WORLD_SIZE torchrun 0"),
    ("world(WORLD_SIZE='2')", "RANK torchrun None"),
    ("world(WORLD_SIZE='2', RANK='2')", "RANK [0, 2) 2"),
    ("world(WORLD_SIZE='2', RANK='-1')", "RANK '-1'"),
    ("train(config(), FACTS, checkpoint='')", "checkpoint folder ''"),
    ("train(config(), FACTS, checkpoint='file')", "checkpoint folder file"),
    ("train(config(), FACTS, checkpoint='file/below')", "checkpoint folder file/below"),
    ("train(config(), FACTS, checkpoint='x' * 300)", "checkpoint folder long"),
    ("train(config(), FACTS, checkpoint='broken')", "checkpoint broken delete"),
    ("load_model('nowhere')", "checkpoint nowhere"),
    ("load_model('empty')", "checkpoint empty"),
    ("load_model('broken')", "checkpoint broken"),
    ("load_model('large')", "large bytes"),
    ("load_model(bomb('wide', {'layers': 10**9}))", "layers 1000000000"),
    ("load_model(bomb('heavy', {'layers': 1}, data=2**40))", "heavy bytes 1,099,511,627,776"),
    ("checkpoints.load({}, 'nowhere')", "checkpoint nowhere"),
    ("config().rate(NAN)", "step whole nan"),
    ("config().rate(99)", "step 99"),
    ("train(config(corpus='docs', steps=1), FACTS)", "corpus='docs' facts-3"),
    ("factor(3, 10, 10, 40)", "warmup=10 fractions"),
    ("factor(3, 10, NAN, 0.4)", "warmup=nan fractions"),
    ("build_model('tiny', FACTS)", "TrainConfig 'tiny'"),
    ("build_model(config(), 'facts-3')", "task load_corpus 'facts-3'"),
    ("build_model(config(corpus='docs'), FACTS)", "corpus='docs' facts-3"),
    ("Run(config(), 'facts-3')", "task load_corpus 'facts-3'"),
    ("Run(config(), FACTS, replicas=2)", "replicas 2"),
    (
        "train(config(corpus='regression-4', steps=1), load_regression('regression-8'))",
        "regression-4 regression-8",
    ),
]
RECORDS = [
    ("record.read_records('nowhere.jsonl')", "records nowhere.jsonl"),
    ("record.read_records('empty')", "file empty"),
    ("record.read_records('latin.jsonl')", "UTF-8 latin.jsonl"),
    ("record.read_records('broken.jsonl')", "record line 1"),
    ("record.read_records('list.jsonl')", "record line 1 []"),
    ("record.read_records('nested.json')", "record line 1"),
    ("read_runs('no-config.jsonl')", "config line 1 None"),
    ("runs_table(read_runs('no-end.jsonl'))", "held_out finished []"),
    ("read_runs('words.jsonl')", "held_out line 1 'low'"),
    ("read_runs('no-place.jsonl')", "provenance line 1 None"),
    ("record.append(run(), 'empty')", "file empty"),
    ("record.append(run(), 'file/below.jsonl')", "file file/below.jsonl"),
    ("record.append(run(), 'broken.jsonl')", "record line 1"),
    ("runs_table([run()], {'lrr': '1'})", "lr 'lrr'"),
    ("runs_table([run()], {'lr': '5'})", "lr=5"),
    ("runs_table([])", "no recorded run"),
    ("runs.contrasted({'a': [1.0]}, {'x': ('a', 'b')})", "a 'b'"),
    ("runs.grouped([])", "recorded ablate"),
    ("list(sweep(config(), 'new.jsonl'))", "TrainConfig several"),
    ("list(sweep([config()], 'empty'))", "file empty"),
    ("list(sweep([config()], 'new.jsonl', engine='lokal'))", "engine local 'lokal'"),
    ("list(sweep([config()], 'new.jsonl', workers=2))", "ray 'local'"),
    ("list(sweep([config()], 'new.jsonl', engine='slurm', workers=0))", "workers 0"),
    ("best_trial([])", "trial finished"),
    ("Knob('lrr', 0.1, 1)", "lr 'lrr'"),
    ("Knob('lr', 1, 0.1)", "low high 0.1"),
    ("Hypothesis('lr', {})", "fields 'lr'"),
    ("Hypothesis({'muon': ()}, {}, -5, 'accuracy 6', {'corpus': 'facts-6'})", "[-1, 1) -5"),
    ("Hypothesis({'lr': 0.2}, {'lr': 0.1}, metric=lambda run: 1.0, by=1)", "def lambda"),
    ("Hypothesis({'lr': 0.2}, {'lr': 0.1}, metric=print, by=1)", "text print cell"),
    ("config(muon=('QK.3',))", "block [0, 3) 3"),
    ("config(muon=('QK.x',))", "muon QK 'QK.x'"),
    ("config(rule='own-step')", "rule muon 'own-step'"),
    ("own.own_rule('muon')", "function 'muon'"),
    ("own.own_step('own-step-0000')", "own_rule 'own-step-0000'"),
    ("Hypothesis({'lr': 0.2}, {'lr': 0.1}, 'tail', 0.05)", "metric 0.05"),
    ("judge(Hypothesis({'lr': 0.2}, {'lr': 0.1}), [])", "run lr=0.2"),
    ("judge(None, [])", "Hypothesis None"),
    ("state(Hypothesis({'lr': 0.2}, {'lr': 0.1}), 'file')", "file/hypothesis.json"),
    ("state(Hypothesis({'lr': 0.2}, {'lr': 0.1}), Path('a'), pairs=NAN)", "pairs nan"),
    ("read_bench(Path('nowhere.json'))", "bench nowhere.json"),
    ("read_bench(Path('empty'))", "bench empty"),
    ("read_bench(Path('null.json'))", "bench null.json"),
    ("read_bench(Path('empty.json'))", "bench empty.json"),
    ("read_bench(Path('nested.json'))", "bench nested.json"),
    ("read_bench(Path('parts.json'))", "bench parts.json"),
    ("read_bench(Path('latin.jsonl'))", "bench latin.jsonl"),
    ("plans.estimate([], 1.0)", "runs 0"),
    ("plans.estimate([config()], NAN)", "speed nan"),
    ("timeline.timeline(formulas.Counts(SMALL), 8, 8, way='ownrs')", "owners 'ownrs'"),
    ("timeline.timeline(formulas.Counts(SMALL), 8, 8, gpus=0)", "gpus 0"),
    ("timeline.timeline(formulas.Counts(SMALL), NAN, 8)", "tokens nan"),
    ("timeline.Machine(cards=0)", "cards 0"),
    ("timeline.Machine(speed=-1e12)", "speed -1000000000000.0"),
    ("formulas.muon_overhead(-768, 65_536)", "width -768"),
    ("formulas.muon_overhead(768, NAN)", "tokens nan"),
    ("runs.contrasted({'a': [NAN], 'b': [2.0]}, {'x': ('a', 'b')})", "finite nan"),
    ("runs.curves([run()], 'heads')", "part overall heads"),
    ("Place('~/r').folder and record.append(run(), '~/runs.jsonl')", "~ out"),
    ("best_trial('race-1200')", "records recorded 'race-1200'"),
    ("best_trial([run(), other(steps=400)])", "length 200 400"),
    ("table1.widened([run()], [other(corpus='code')])", "one code docs"),
    ("runs.grouped('race-1200')", "records 'race-1200'"),
    ("runs.curves([])", "run none"),
    ("runs.leads_in_time([run()], [1.1])", "AdamW [] [200]"),
    ("runs.step_ratio([run()])", "AdamW Muon cpu_seconds"),
    ("runs.leads_in_time(recorded('lesson-04-longer'), [0.0])", "longer 0.0"),
    ("fact_studies.people_known({'overall': 3.0})", "facts {'overall': 3.0}"),
    ("fact_studies.people_known(run())", "held_out[-1] Record"),
    ("Hypothesis({'muon': ()}, {}, metric='accuracy 9', shared={'corpus': 'facts-6'})", "6 9"),
    ("Knob('momentum', 0.8, 0.99, average=True)", "average 0.8"),
    ("plans.estimate(config(), 1e9)", "list TrainConfig"),
    ("plans.estimate([config(), 'tiny'], 1e9)", "list 'tiny'"),
    ("timeline.timeline(SMALL, 8, 8)", "Counts GPT_1B GPTConfig"),
    ("timeline.timeline(formulas.Counts(SMALL), 8, 8, machine='H100')", "Machine 'H100'"),
    ("timeline.timeline(formulas.Counts(SMALL), 8, 8, gpus=4)", "context 32 8"),
    ("formulas.Counts(SMALL).flops(4, 8)", "context 8 4"),
    ("learner(config())", "run.config TrainConfig"),
    ("learner('Muon')", "run.config 'Muon'"),
    ("measured_spectra([run()])", "spectra none"),
    ("measured_spectra('race-1200')", "records 'race-1200'"),
    ("facts_data([run()], FACTS)", "docs facts-3"),
    ("recorded('race-12000')", "'race-12000' recorded results"),
]
CLASSROOM = [
    ("start(2)", "digits '02' 2"),
    ("start('99')", "lesson 99"),
    ("start('٠٢')", "digits '02' '٠٢'"),
    ("asked().predict('02-p2', 'Which?', ['yes'])", "two ['yes']"),
    ("asked().predict('03-p1', 'Which?', ['yes', 'no'])", "02-p1 '03-p1'"),
    ("asked().reveal('02-p9', 0, 'so')", "asked '02-p9'"),
    ("asked().reveal('02-p1', 2, 'so')", "options 0 to 1 2"),
    ("asked().reveal('02-p1', 0.5, 'so')", "options 0 to 1 0.5"),
    ("asked().explore('norm')", "norms 'norm'"),
    ("asked().explore(EXPLORER, stps=1)", "controls stps"),
    ("asked().explore(EXPLORER, **{SLIDER: 10**9})", "SLIDER 1000000000"),
    ("asked().explore(EXPLORER, **{SLIDER: 'low'})", "SLIDER 'low'"),
    ("asked().explore(EXPLORER, [1])", "data [1]"),
    ("asked().explore('trials')", "trials data None"),
    ("asked().show(figures.plt.figure(), 'short')", "alt 'short'"),
    ("asked().table(['a', 'b'], [[1]])", "2 1"),
    ("asked().claim('02-c999', 1)", "02-c1 02-c999"),
    ("asked().claim('02-c1', [])", "number 02-c1"),
    ("asked().claim('02-c1', NAN)", "02-c1 nan"),
    ("asked().check('02-e99', len)", "02-e1 '02-e99'"),
    ("asked().compare({}, unit='nats', alt='Nothing at all is shown here.')", "effect {}"),
    (
        "asked().compare({'a': [1.0, 2.0]}, unit='nats', alt='Two of them.', matters=-1)",
        "matters -1",
    ),
    ("asked().hand_in()", "prediction"),
    ("asked().hand_in(5)", "name 5"),
    ("exercise.judge('../x-e1', len)", "02-e1 '../x-e1'"),
    ("quiz.questions('99')", "quiz 99"),
    ("claims.collect(Path('nowhere.ipynb'))", "notebook nowhere.ipynb"),
    ("claims.collect(Path('null.json'))", "notebook null.json"),
    ("figures.lines([1, 2], {}, xlabel='x', ylabel='y')", "series {}"),
    ("figures.lines([1, 2], {'a': [1, 2, 3]}, xlabel='x', ylabel='y')", "'a' 2 3"),
    ("figures.lines({'a': [1]}, {'a': [1], 'b': [1]}, xlabel='x', ylabel='y')", "'b' ['a']"),
    ("figures.panels([1], {}, xlabel='x', ylabel='y', band='b')", "series {}"),
    ("figures.panels([1], LINES, xlabel='x', ylabel='y', band='b')", "'a' 1 2"),
    ("figures.panels({'l': [1, 2]}, LINES, xlabel='x', ylabel='y', band='b')", "'r' ['l']"),
    ("figures.bars({'s': {'a': [1, 2]}, 't': {'b': [1, 2]}}, xlabel='x')", "'a' 'b'"),
    ("figures.bars({'s': {'a': [1, 2]}, 't': {'a': [1, 2], 'b': [1, 2]}}, xlabel='x')", "'a' 'b'"),
    ("heatmaps.maps({'a': {1: {1: 2.0, 2: 3.0}, 2: {1: 2.0}}}, **MAP)", "(1, 2) (1,)"),
    ("heatmaps.maps({'a': {1: {1: 2.0}}, 'b': {1: {2: 2.0}}}, **MAP)", "(1,) (2,)"),
    ("heatmaps.maps({'a': {1: {1: 2.0}}, 'b': {1: {1: 2.0}, 2: {1: 2.0}}}, **MAP)", "rows [[2.0]]"),
    ("figures.lines([1, 2], {'a': ['b', 'c']}, xlabel='x', ylabel='y')", "numbers 'b'"),
    ("figures.lines([1, 2], {'a': [NAN, NAN]}, xlabel='x', ylabel='y', logy=True)", "logy 'a'"),
    ("figures.lines([1, 2], {'a': [0, -1]}, xlabel='x', ylabel='y', logy=True)", "logy 'a'"),
    ("figures.lines([1, 2], {'a': [NAN, NAN]}, xlabel='x', ylabel='y')", "finite 'a'"),
    ("figures.lines([0, 1, 2], {'a': [1, 2, 3]}, xlabel='x', ylabel='y', ticks='ab')", "ticks 2"),
    ("figures.spectra({'a': [1.0, -1.0]})", "singular 'a'"),
    ("figures.spectra({'a': [1.0, NAN]})", "singular 'a'"),
    ("figures.forest({'a': [1.0, 2.0]}, xlabel='x', matters=NAN)", "matters nan"),
    ("figures.spectra({})", "series {}"),
    ("figures.spectra('abc')", "series 'abc'"),
    ("figures.spectra({'a': 'abc'})", "numbers 'abc'"),
    ("figures.dots({}, xlabel='x')", "series {}"),
    ("figures.dots({'a': [1.0]}, xlabel='x')", "two 1"),
    ("figures.forest({'a': [1.0, NAN]}, xlabel='x')", "finite nan"),
    ("figures.forest({}, xlabel='x')", "series {}"),
    ("figures.bars({}, xlabel='x')", "series {}"),
    ("heatmaps.matrix({})", "series {}"),
    ("heatmaps.maps({}, below=0, xlabel='x', ylabel='y')", "series {}"),
    ("report.write('page', Path('nowhere/page.html'))", "folder nowhere"),
    ("report.write('page', Path('empty'))", "report.html empty"),
    ("report.page(None, [])", "Hypothesis None"),
    ("figures.lines([1, NAN], {'a': [1, 2]}, xlabel='x', ylabel='y')", "'a' finite"),
    ("figures.lines([0, 1], {'a': [1, 2]}, xlabel='x', ylabel='y', logx=True)", "logx 0"),
    ("figures.spectra({'a': [0.0, 0.0]})", "singular 'a'"),
    ("figures.forest({'a': Interval(1, 0, 2, 3)}, xlabel='x')", "differences 'a'"),
    ("figures.bars({'s': {}}, xlabel='x')", "series {}"),
    ("heatmaps.maps({'a': {1: {1: NAN}}}, **MAP)", "finite nan"),
    ("heatmaps.matrix({'a': [[NAN]]})", "finite nan"),
    ("figures.lines([1, 2], {'_a': [1, 2], 'b': [2, 3]}, xlabel='x', ylabel='y')", "Muon _a"),
    ("figures.lines([1, 2], {'a': '34'}, xlabel='x', ylabel='y')", "numbers '34'"),
    ("heatmaps.maps({'a': {1: {1: 1.0}}}, sides=('AdamW', 'AdamW'), **MAP)", "different AdamW"),
    ("explore.Explorer('polynomial', steps=2.5)", "steps 2.5"),
    ("explore.Explorer('polynomial', steps=99)", "steps [0, 8] 99"),
    ("heatmaps.matrix({'a': [[1.0]]}, shared='no')", "shared True 'no'"),
    ("figures.lines([1, 2], {5: [1, 2]}, xlabel='x', ylabel='y')", "series 5"),
    ("claims.stored_claims(Path('empty'))", "lessons empty"),
    ("claims.stored_claims(Path('empty'), before='2')", "digits '02' '2'"),
]
CLI = [
    ("cli('trian')", ""),
    ("cli('train --steps many')", ""),
    ("cli('train --lr')", ""),
    ("cli('train --steps 0')", "steps 0"),
    ("cli('train --steps 99999999999999999999')", "steps 99999999999999999999"),
    ("cli('train --batch 1000000000')", "GiB free batch"),
    ("cli('train --lr nan')", "lr nan"),
    ("cli('train --lr -1')", "lr -1"),
    ("cli('train --warmup nan')", "warmup nan"),
    ("cli('train --decay 2')", "decay=2 fraction"),
    ("cli('train --device meta')", "device cpu 'meta'"),
    ("cli('train --corpus facts-3 --shard')", "--shard torchrun"),
    ("cli('train --corpus facts-3 --replicas 0')", "replicas 0"),
    ("cli('train --corpus facts-3 --replicas 2')", "replicas 2"),
    ("cli('train --corpus facts-3 --timeout nan')", "timeout nan"),
    ("cli('train --corpus facts-3 --timeout 3')", "--timeout 3 one torchrun"),
    ("cli('ablate --pieces 3')", "name"),
    ("cli('results race-1200 --where betas=x')", "betas numbers 'x'"),
    ("cli('teach export --lessons 00 --to ~/kurs')", "~ shell"),
    ("cli('teach export --lessons 00 --to file/x')", "written file"),
    ("cli('teach export --lessons 00 --to new --seed ' + 'a' * 300)", "seed 64 'aaa"),
    ("cli('ablate --workers 2')", "name"),
    ("cli('train --corpus facts-3 --timeout 0')", "timeout 0"),
    ("cli('train --device mps')", "device cpu 'mps'"),
    ("cli('train --device cpu:3')", "device cpu 'cpu:3'"),
    ("cli('train --device cuda:99')", "device cuda:99"),
    ("cli('train --size tinny')", "size tiny 'tinny'"),
    ("cli('train --muon QKV2')", "muon QKV 'QKV2'"),
    ("cli('train --corpus dcos')", "'docs' 'dcos'"),
    ("cli('train --corpus \"\"')", "corpus name ''"),
    ("cli('train --corpus facts-3 --checkpoint file')", "checkpoint folder file"),
    ("cli('train --corpus facts-3 --checkpoint \"\"')", "checkpoint folder"),
    ("cli('train --corpus facts-3 --record empty')", "file empty"),
    ("cli('train --corpus facts-3 --record file/below.jsonl')", "file file/below.jsonl"),
    ("cli('train --corpus facts-3 --record \"\"')", "file '.'"),
    ("cli('train --corpus facts-3 --record latin.jsonl')", "UTF-8 latin.jsonl"),
    ("cli('ablate lesson-4')", "study 'lesson-4' lesson-04"),
    ("cli('ablate cpu --corpus \"\"')", "corpus ''"),
    ("cli('ablate lesson-04 --results file')", ""),
    ("cli('ablate lesson-04 --results \"\"')", ""),
    ("cli('ablate lesson-04 --pieces 0')", "pieces 0"),
    ("cli('ablate lesson-04 --results file/below')", "file/below"),
    ("cli('ablate lesson-04 --engine lokal')", "engine local 'lokal'"),
    ("cli('ablate lesson-04 --workers 0')", "workers"),
    ("cli('results lesson-4')", "lesson-4 recorded"),
    ("cli('results lesson-04-seeds --where lr')", ""),
    ("cli('results lesson-04-seeds --where lrr=1')", "'lrr' lr"),
    ("cli('results lesson-04-seeds --where lr=99')", "lr=99"),
    ("cli('results lesson-04-seeds --against lr=99')", "lr=99"),
    ("cli('results lesson-04-seeds --search')", "search 'lesson-04-seeds'"),
    ("cli('results --check --results empty')", "--check"),
    ("cli('results --results nowhere')", "folder nowhere"),
    ("cli('report lesson-04-seeds --better lr=nan --than lr=0.1')", "lr nan"),
    ("cli('report lesson-04-seeds --better lr=low --than lr=0.1')", "lr number 'low'"),
    ("cli('report lesson-04-seeds --better lrr=1 --than lr=0.1')", "'lrr' lr"),
    ("cli('report lesson-04-seeds --better lr=0.1 --than lr=0.1')", "differ"),
    ("cli('report nowhere.jsonl --better muon=QK --than muon=none')", "nowhere.jsonl"),
    ("cli('report empty.jsonl --better muon=QK --than muon=none --by nan')", "by nan"),
    ("cli('report lesson-4 --better muon=QK --than muon=none')", "lesson-4 recorded"),
    (
        "cli('report null-tokens.jsonl --better muon=QK --than muon=none')",
        "tokens null-tokens.jsonl",
    ),
    ("cli('report words-loss.jsonl --better muon=QK --than muon=none')", "'low' words-loss.jsonl"),
    ("cli('report numbers.jsonl --better muon=QK --than muon=none')", "line 1 numbers.jsonl"),
    ("cli('report nan-lr.jsonl --better muon=QK --than muon=none')", "lr nan nan-lr.jsonl"),
    ("cli('report word-lr.jsonl --better muon=QK --than muon=none')", "lr 'x' word-lr.jsonl"),
    (
        "cli('report no-end.jsonl --better muon=QK --than muon=none --out empty')",
        "report.html empty",
    ),
    ("cli('report no-end.jsonl --better muon=QK --than muon=none --out pipe')", "pipe"),
    ("cli('train --corpus facts-3 --record pipe')", "pipe"),
    ("cli('train --corpus facts-3 --record new --checkpoint ./new')", "--record checkpoint new"),
    ("cached('file')", "MUONLAB_CACHE folder file"),
    ("cli('report latin.jsonl --better muon=QK --than muon=none')", "UTF-8 latin.jsonl"),
    ("cli('results --results .')", "record line 1"),
    ("cli('report no-end.jsonl --better muon=QK+VO+FFN --than muon=none')", "Muon seed twice"),
    ("cli('claims --lesson 99')", "lesson 99"),
    ("cli('claims --lesson \"*\"')", "lesson '*'"),
    ("cli('bench --show nowhere.json')", "bench nowhere.json"),
    ("cli('bench --show parts.json')", "bench parts.json"),
    ("cli('bench --show empty')", "bench empty"),
    ("cli('bench --record empty')", "file empty"),
    ("cli('bench --record file/below.json')", "file file/below.json"),
    ("cli('corpus export file')", "file there"),
    ("cli('corpus export file/class.zip')", "file file/class.zip"),
    ("cli('corpus export class.zip --texts dosc')", "docs 'dosc'"),
    ("cli('corpus import nowhere.zip')", "archive nowhere.zip"),
    ("cli('corpus import empty')", "archive empty"),
    ("cli('corpus import file')", "archive"),
    ("cli('corpus import file --texts docs')", "--texts export"),
    ("cli('corpus export new.zip --replace')", "--replace import"),
    ("cli('bench --record new.json --show parts.json')", "--record --show"),
    ("homed('file')", "MUONLAB_HOME folder file"),
]
TEACH = [
    ("cli('teach class nowhere')", "folder nowhere"),
    ("cli('teach class empty')", "empty hand_in"),
    ("cli('teach class hand-ins --out file')", "file page"),
    ("cli('teach export --lessons 99 --to new')", "lesson 99"),
    ("cli('teach export --lessons 02 --to latin')", "folder latin"),
    ("cli('teach export --lessons 02 --to new --seed a/b')", "seed 'a/b'"),
    ("cli('teach export --lessons 02 --to new --seed \"\"')", "seed ''"),
    ("cli('teach export --to new')", ""),
    ("variants.task('02-e99', 'a')", "02-e1 '02-e99'"),
]
ROWS = {
    "optimizer": OPTIMIZER,
    "models": MODELS,
    "theory": THEORY,
    "statistics": STATISTICS,
    "data": DATA,
    "training": TRAINING,
    "records": RECORDS,
    "classroom": CLASSROOM,
    "cli": CLI,
    "teach": TEACH,
}
EXPLORER = "norms"
SLIDER = next((c["name"] for c in explore.controls(EXPLORER) if "min" in c), "")
TABLE = [(group, *row) for group, rows in ROWS.items() for row in rows]
p3, E3 = torch.ones(3, dtype=torch.float64) / 3, torch.eye(3, dtype=torch.float64)


def fared(code, words):
    """Says how a call went: "clear", or what is wrong with the answer, and the answer."""

    def ring(number, frame):
        raise Endless

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(SECONDS)
    try:
        eval(code, globals())
    except Endless:
        return "endless"
    except Refused:
        return "clear"
    except Exception as error:
        return clear(error, words.replace("SLIDER", SLIDER))
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return "silent"


class Endless(BaseException):
    """The time is up."""


def clear(error, words):
    """Says "clear" if the error is ours, of a fitting type, and has the words; a | is an or."""
    told = f"{type(error).__name__}: {error}"
    ours = traceback.extract_tb(error.__traceback__)[-1].filename.startswith(OURS)
    if not ours or not isinstance(error, FITTING):
        return f"raw: {told}"
    lacking = [w for w in words.split() if not any(each in told for each in w.split("|"))]
    return f"lacks {lacking}: {told}" if lacking else "clear"


@pytest.mark.parametrize(("code", "words"), [row[1:] for row in TABLE], ids=itertools.count())
def test_bad_input_gets_a_clear_answer(code, words, here, capsys):
    assert fared(code, words) == "clear", code
