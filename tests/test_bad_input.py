"""What a person may give by mistake: each gets an error that says what was expected and came.

A row holds a call, and words that its error must hold: of what was expected, and of what came.
"""
# ruff: noqa: F401  the rows use what is imported

import itertools
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
from muonlab.teaching import variants
from muonlab.theory import embeddings, memory, polynomials, spectra, theorems
from muonlab.training import checkpoints, own_rule
from muonlab.training.build import build_model
from muonlab.training.config import TrainConfig
from muonlab.training.run import CURVES, Run, load_model, train

# and of torch, whose words about parameters its users know
OURS = (str(Path(muonlab.__file__).parent), sys.modules["torch.optim.optimizer"].__file__)
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


OPTIMIZER = [
    ("Muon([])", "empty parameter list"),
    ("Muon('model')", "Tensors str"),
    ("Muon([{'params': [one := p()]}, {'params': [one]}])", "more than one"),
    ("Muon([p(dtype=torch.complex64)])", "real complex64"),
    ("Muon([p(5)])", "matrices (5,) AdamW"),
    ("Muon([p()], lr=NAN)", "lr number nan"),
    ("Muon([p()], lr=torch.tensor([0.1, 0.2]))", "lr number tensor"),
    ("Muon([p()], lr=3.0, weight_decay=0.5)", "weight_decay 1 1.5 signs"),
    ("Muon([{'params': [p()], 'kernels': 'no'}])", "kernels True False 'no'"),
    ("Muon([p()], weight_decay=-1)", "weight_decay number -1"),
    ("Muon([p()], momentum=95)", "momentum [0, 1) 95"),
    ("Muon([p()], nesterov='False')", "'False': mean False?"),
    ("Muon([p()], ns_steps=0)", "ns_steps [1, 1000] 0"),
    ("Muon([p()], ns_coefficients='jordn')", "jordan 'jordn' mean"),
    ("Muon([p()], ns_coefficients=(1, 2))", "triples (1, 2)"),
    ("Muon([p()], ns_coefficients=(0.0, 0.0, 0.0))", "coefficients 0.0"),
    ("Muon([p()], adjust_lr_fn='match_rms_adam')", "adjust_lr_fn match_rms_adamw 'match_rms_adam'"),
    ("Muon([p()], ns_norm='frobenious')", "ns_norm frobenius 'frobenious'"),
    ("Muon([p()], ns_dtype=torch.float16)", "ns_dtype bfloat16 float16"),
    ("Muon([{'params': [p()], 'momentun': 0.9}])", "'momentun' mean 'momentum'"),
    ("Muon([{'params': [p()], 'wd': 0.1}])", "'wd' mean 'weight_decay'"),
    ("Muon([{'params': [p()], 'rule': 'adam'}])", "rule adamw 'adam'"),
    ("Muon([{'params': [p()], 'betas': (0.9, 0.95)}])", "betas rule='adamw'"),
    ("Muon([{'params': [p()], 'optim_type': 'adam'}])", "rule adamw 'adam'"),
    ("Muon([{'params': [p()], 'maximize': True}])", "maximize False True"),
    ("adamw(momentum=0.5)", "momentum rule='muon'"),
    ("adamw(betas=(0.9, 1.5))", "betas [0, 1) 1.5"),
    ("adamw(eps=0)", "eps above 0"),
    ("stepped(ns_coefficients=(100.0, 100.0, 100.0)).step()", "coefficients (100.0, 100.0, 100.0)"),
    ("stepped(lr=20.0).step()", "lr weight_decay 2 signs"),
    ("adamw(betas=(0.9,))", "unpack 2 1"),
    ("Muon([p(2, 2)]).load_state_dict(saved())", "momentum_buffer (2, 2) (4, 3)"),
    ("Muon([p()]).load_state_dict(saved(torch.optim.AdamW))", "momentum_buffer None"),
    ("adamw().load_state_dict(saved(torch.optim.Adagrad))", "exp_avg None"),
    ("route(gpt()).count('moun')", "muon 'moun'"),
    ("route(gpt(), ['QK'], ['blocks.0.attention.q.weight'])", "q.weight' claimed twice"),
    ("route(nn.ModuleDict({'q': nn.Linear(2, 2)}), ['FFN'])", "FFN q."),
    ("GPTConfig(gated='no')", "gated True False 'no'"),
    ("GPTConfig(rope_base=NAN)", "rope_base nan"),
    ("GPTConfig(experts=4, balance=-0.1)", "balance -0.1"),
    ("gpt().generate(ids(1, 3), 2, temperature=-1)", "temperature -1"),
    ("QKClip(GPT(GPTConfig(attention='latent', qk_norm=False)), tau=0)", "tau above 0"),
    ("shards.write_shard(np.array([70_000]), 50_257, Path('s.bin'))", "token 70000"),
    ("config(gated='yes')", "gated True False 'yes'"),
    ("config(betas=(0.9,))", "betas 2 (0.9,)"),
    ("figures.bars({'s': {'a': [1, 2]}, 't': {'a': [1, 2], 'b': [1, 2]}}, xlabel='x')", "'a' 'b'"),
    ("NorMuon([p()], scale='papr')", "scale paper 'papr'"),
    ("NorMuon([p()], beta2=1.0)", "beta2 [0, 1) 1.0"),
    ("NorMuon([p()], row_eps=0)", "row_eps (0, 1) 0"),
    ("lr_scale('orignal', 4, 4)", "original 'orignal'"),
    ("newton_schulz(torch.ones(3))", "matrix (3,)"),
    ("newton_schulz(torch.ones(3, 3, dtype=torch.int64))", "floating-point int64"),
    ("newton_schulz(torch.full((2, 2), NAN))", "finite NaN"),
    ("newton_schulz(torch.eye(3), steps=10**9)", "steps 1000000000"),
    ("newton_schulz(torch.eye(3), coefficients='polar_expres')", "polar_express 'polar_expres'"),
    ("newton_schulz(torch.eye(3), coefficients=(100, 100, 100))", "coefficients (100, 100, 100)"),
    ("newton_schulz(torch.eye(3), norm='l2')", "norm frobenius 'l2'"),
    ("newton_schulz(torch.eye(3), dtype=torch.float16)", "dtype bfloat16 float16"),
    ("polar(torch.full((2, 2), INF))", "finite Inf"),
    ("route(gpt(), muon='QK')", "muon several 'QK'"),
    ("route(gpt(), muon=[], adamw=['hed'])", "'hed' parameter"),
    ("route(gpt()).groups(momentm=0.9)", "momentum 'momentm'"),
    ("record.append(run(provenance={'utc': 'noon'}), 'new.jsonl')", "isoformat 'noon'"),
    ("claims.claim('../x', 1.0)", "lesson '..'"),
]
MODELS = [
    ("GPTConfig(vocab_size=0)", "vocab_size 0"),
    ("GPTConfig(layers=1.5)", "layers whole 1.5"),
    ("GPTConfig(width=127)", "width multiple 127"),
    ("GPTConfig(attention='latnt')", "attention latent 'latnt'"),
    ("GPTConfig(attention='latent', fused_qkv=True)", "fused_qkv=True nothing 'latent'"),
    ("GPTConfig(rotary=2)", "rotary nothing 'multi-head'"),
    ("GPTConfig(expert_hidden=8)", "expert_hidden=8 experts=0"),
    ("GPTConfig(attention='latent', rotary=3)", "rotary even 3"),
    ("GPTConfig(experts=2)", "active_experts 3 experts=2"),
    ("gpt()(ids(3))", "(B, T) (3,)"),
    ("gpt()(ids(1, 9))", "context=8 (1, 9)"),
    ("gpt()(99 * ids(1, 3))", "[0, 32) 99"),
    ("gpt()(ids(1, 3), ids(1, 2))", "targets (1, 3) (1, 2)"),
    ("QKClip(gpt())", "latent qk_norm"),
    ("QKClip(GPT(GPTConfig(attention='latent')))", "qk_norm=False"),
    ("keys_and_values(nn.Linear(2, 2), ids(1, 3))", "module w_out"),
    ("pair_angles(torch.zeros(2, 3))", "zeros"),
]
THEORY = [
    ("embeddings.two_block(4, 5, 0.5)", "0 < L < K L=5"),
    ("embeddings.two_block(4, 1, NAN)", "alpha nan"),
    ("embeddings.coupled(4)", "multiple of 3 4"),
    ("memory.direction(torch.eye(3), 'adam')", "coefficients 'adam'"),
    ("memory.train(NAN * p3, E3, E3, 'gd', 1.0, 3)", "p probabilities nan"),
    ("memory.train(3 * p3, E3, E3, 'gd', 1.0, 3)", "probabilities sum"),
    ("memory.train(p3, E3, E3, 'gd', NAN, 3)", "overflowed lr nan"),
    ("polynomials.minimax_quintic(1, 0.5)", "lower < upper upper=0.5"),
    ("polynomials.derive_schedule(0)", "lower (0, 1) 0"),
    ("polynomials.scalar_map('jordn')", "jordan 'jordn'"),
    ("spectra.isotropy(torch.zeros(3, 3))", "not all of them 0"),
    ("theorems.run_blocks(9, 3, 0.5, 'gd', NAN, 3)", "overflowed lr nan"),
    ("theorems.run_blocks(9, 3, 0.5, 'newton_schulz', 1.0, 3)", "rule gd sign muon"),
    ("theorems.imbalance_exponent(0, 0.5)", "alpha (0, 1) 0"),
    ("theorems.gd_worst(9, 3, 0.5, 0)", "epsilon 0"),
]
STATISTICS = [
    ("mean_interval([1.0])", "seeds 2 1"),
    ("mean_interval([1.0, NAN])", "finite nan"),
    ("mean_interval([[1.0], [2.0]])", "one finite number [[1.0], [2.0]]"),
    ("contrast([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], 0)", "(2, …, 2, seeds)"),
    ("contrast([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]], 1)", "a factor's axis 0 1"),
    ("chance_to_see(0.1, -1, 5)", "spread -1"),
    ("seeds_needed(0, 1)", "effect 0"),
    ("seeds_needed(1, 1, chance=80)", "chance 80"),
    ("seeds_needed(1e-9, 1)", "seeds 1e-09"),
    ("exponent([5, 0, 0])", "two ranks (3,)"),
    ("exponent_interval(np.ones((1, 3)))", "blocks 1"),
]
DATA = [
    ("load_corpus('dcos')", "'docs' 'dcos' mean"),
    ("load_corpus('')", "folder ''"),
    ("load_corpus('docs-12')", "257 'docs-12'"),
    ("load_corpus('fineweb-104')", "1 to 103 'fineweb-104'"),
    ("load_corpus('facts-0')", "m [1, 15] 0"),
    ("load_corpus('facts-9-zipf3')", "exponent [0, 2] 3"),
    ("load_corpus('facts-9-zip1')", "zipf 'facts-9-zip1'"),
    ("load_corpus('facts-٩')", "'facts-9' 'facts-٩'"),
    ("load_corpus('regression-x')", "regression-32 'regression-x'"),
    ("load_corpus('file')", "folder 'file'"),
    ("load_corpus('empty')", "text empty"),
    ("load_corpus('latin')", "UTF-8 latin 0xfc"),
    ("load_corpus('cut')", "cut whole shard"),
    ("load_corpus('half')", "shards val half"),
    ("load_corpus(Path('docs'))", "folder 'docs'"),
    ("load_corpus('x\\0y')", "folder 'x\\x00y'"),
    ("load_corpus('~nobody-here/text')", "folder '~nobody-here/text'"),
    ("FACTS.batch(0, 2, 10**9, 0)", "context 1000000000"),
    ("load_regression('regression-4').batch(0, 2, 3, 0)", "2, 4, 6 3"),
    ("selections(4, -1)", "exponent -1"),
    ("FACTS.text([99999])", "token 99999"),
]
TRAINING = [
    ("config(size='tinny')", "size tiny 'tinny' mean"),
    ("config(muon='QK')", "muon several 'QK'"),
    ("config(muon=('QKX',))", "muon QK 'QKX'"),
    ("config(rule='normoun')", "rule normuon 'normoun' mean"),
    ("config(rule=5)", "rule muon 5"),
    ("config(betas=0.9)", "betas 2 0.9"),
    ("config(device=None)", "text device None"),
    ("config(lr=NAN)", "lr number nan"),
    ("config(matrix_lr_factors=(1, 2, 3, -1))", "matrix_lr_factors -1"),
    ("config(precision='fp8')", "precision fp32 'fp8'"),
    ("config(ns_coefficients='magic')", "ns_coefficients jordan 'magic'"),
    ("config(adjust_lr_fn='rms')", "adjust_lr_fn match_rms_adamw 'rms'"),
    ("config(steps=np.float64(5))", "steps whole 5.0"),
    ("config(context=65)", "context 'tiny' 64] 65"),
    ("config(warmup=0.7, decay=0.7)", "warmup=0.7 sum 1"),
    ("config(experts=8, rule='sgd')", "'sgd' experts"),
    ("config(device='gpu')", "device cuda 'gpu'"),
    ("train(config(device='cuda:99'), FACTS)", "device cuda:99"),
    ("train(config(context=60, batch=10**8), FACTS)", "GiB free"),
    ("train(config(corpus='nowhere'))", "folder 'nowhere'"),
    ("train(config(), FACTS, checkpoint='~/x')", "shell ~/x"),
    ("train(config(), FACTS, checkpoint='')", "checkpoint folder ''"),
    ("train(config(), FACTS, checkpoint='file')", "file checkpoint.json"),
    ("train(config(), FACTS, checkpoint='broken')", "checkpoint broken delete"),
    ("load_model('nowhere')", "checkpoint nowhere"),
    ("load_model('broken')", "checkpoint broken"),
    ("load_model(bomb('words', {'vocab_size': HUGE}))", "GiB free"),
    ("train(config(corpus='docs', steps=1), FACTS)", "corpus='docs' facts-3"),
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
    ("runs.grouped([])", "recorded ablate"),
    ("list(sweep(config(), 'new.jsonl'))", "TrainConfig several"),
    ("list(sweep([config()], 'empty'))", "file empty"),
    ("list(sweep([config()], 'new.jsonl', engine='lokal'))", "engine local 'lokal'"),
    ("list(sweep([config()], 'new.jsonl', workers=2))", "ray 'local'"),
    ("list(sweep([config()], 'new.jsonl', engine='slurm', workers=0))", "workers 0"),
    ("best_trial([])", "trial finished"),
    ("Hypothesis('lr', {})", "field better 'l'"),
    ("Hypothesis({'lr': 0.2}, {'lr': 0.1}, metric=lambda run: 1.0, by=1)", "def lambda"),
    ("Hypothesis({'lr': 0.2}, {'lr': 0.1}, metric=print, by=1)", "text print cell"),
    ("config(muon=('QK.3',))", "block 0, 1, 2; '3'"),
    ("config(rule='own-step')", "rule muon 'own-step'"),
    ("own_rule.own_rule('muon')", "function 'muon'"),
    ("own_rule.own_rule(print)", "text print"),
    ("own_rule.own_step('own-step-0000')", "own_rule 'own-step-0000'"),
    ("Hypothesis({'lr': 0.2}, {'lr': 0.1}, 'tail', 0.05)", "by number 'tail'"),
    ("judge(Hypothesis({'lr': 0.2}, {'lr': 0.1}), [])", "no run nothing"),
    ("state(Hypothesis({'lr': 0.2}, {'lr': 0.1}), 'file')", "file/hypothesis.json"),
    ("state(Hypothesis({'lr': 0.2}, {'lr': 0.1}), Path('a'), pairs=NAN)", "pairs nan"),
    ("read_bench(Path('nested.json'))", "bench nested.json"),
    ("timeline.timeline(formulas.Counts(SMALL), 8, 8, way='ownrs')", "owners 'ownrs'"),
    ("runs.contrasted({'a': [NAN], 'b': [2.0]}, {'x': ('a', 'b')})", "finite nan"),
    ("Place('~/r').folder and record.append(run(), '~/runs.jsonl')", "~ out"),
    ("record.append(run(), Place('~nobody-here/r').folder / 'runs.jsonl')", "~nobody-here out"),
    ("best_trial([run(), other(steps=400)])", "length 200 400"),
    ("table1.widened([run()], [other(corpus='code')])", "one code docs"),
    ("runs.grouped('race-1200')", "records 'race-1200'"),
    ("equal_time.leads_in_time([run()], [1.1])", "AdamW [] [200]"),
    ("equal_time.leads_in_time(recorded('lesson-04-longer'), [0.0])", "longer 0.0"),
    ("Hypothesis({'muon': ()}, {}, metric='accuracy 9', shared={'corpus': 'facts-6'})", "6 9"),
    ("timeline.timeline(formulas.Counts(SMALL), 8, 8, gpus=4)", "context 8 2.0"),
    ("formulas.Counts(SMALL).flops(4, 8)", "context 8 4"),
    ("learner(config())", "run.config TrainConfig"),
    ("facts_data([run()], FACTS)", "docs facts-3"),
    ("recorded('race-12000')", "'race-12000' recorded results"),
]
CLASSROOM = [
    ("start(2)", "lesson '02' 2"),
    ("start('99')", "lesson 99"),
    ("start('٠٢')", "lesson '02' '٠٢'"),
    ("asked().predict('02-p2', 'Which?', ['yes'])", "two ['yes']"),
    ("asked().predict('03-p1', 'Which?', ['yes', 'no'])", "02-p1 '03-p1'"),
    ("asked().reveal('02-p9', 0, 'so')", "asked '02-p9'"),
    ("asked().reveal('02-p1', 2, 'so')", "option 02-p1 [0, 1] 2"),
    ("asked().explore('norm')", "norms 'norm'"),
    ("asked().explore(EXPLORER, stps=1)", "control stps"),
    ("asked().explore(EXPLORER, **{SLIDER: 10**9})", "SLIDER 1000000000"),
    ("asked().explore(EXPLORER, [1])", "data [1]"),
    ("asked().explore('trials')", "trials data None"),
    ("asked().show(figures.plt.figure(), 'short')", "alt 'short'"),
    ("asked().table(['a', 'b'], [[1]])", "2 1"),
    ("asked().claim('02-c999', 1)", "02-c1 02-c999"),
    ("asked().claim('02-c1', [])", "02-c1 []"),
    ("asked().claim('02-c1', NAN)", "02-c1 nan"),
    ("asked().check('02-e99', len)", "02-e1 '02-e99'"),
    ("asked().compare({}, unit='nats', alt='Nothing at all is shown here.')", "series {}"),
    (
        "asked().compare({'a': [1.0, 2.0]}, unit='nats', alt='Two of them.', matters=-1)",
        "matters -1",
    ),
    ("asked().hand_in(5)", "name 5"),
    ("quiz.questions('99')", "quiz 99"),
    ("claims.collect(Path('nowhere.ipynb'))", "notebook nowhere.ipynb"),
    ("claims.collect(Path('null.json'))", "notebook null.json"),
    ("figures.lines([1, 2], {}, xlabel='x', ylabel='y')", "series {}"),
    ("figures.lines([1, 2], {'a': [1, 2, 3]}, xlabel='x', ylabel='y')", "'a' 2 3"),
    ("heatmaps.maps({'a': {1: {1: 2.0, 2: 3.0}, 2: {1: 2.0}}}, **MAP)", "(1, 2) (1,)"),
    ("figures.lines([1, 2], {'a': ['b', 'c']}, xlabel='x', ylabel='y')", "numbers 'b'"),
    ("figures.lines([1, 2], {'a': [NAN, NAN]}, xlabel='x', ylabel='y')", "finite 'a'"),
    ("figures.lines([1, 2], {'a': [0, -1]}, xlabel='x', ylabel='y', logy=True)", "logy above 0"),
    ("figures.spectra({'a': [1.0, -1.0]})", "singular 'a'"),
    ("figures.forest({'a': [1.0]}, xlabel='x')", "seeds 2 1"),
    ("report.write('page', Path('empty'))", "report.html empty"),
    ("figures.lines([0, 1], {'a': [1, 2]}, xlabel='x', ylabel='y', logx=True)", "logx 0"),
    ("figures.forest({'a': Interval(1, 0, 2, 3)}, xlabel='x')", "differences 'a'"),
    ("heatmaps.matrix({'a': [[NAN]]})", "finite nan"),
    ("figures.lines([1, 2], {'_a': [1, 2], 'b': [2, 3]}, xlabel='x', ylabel='y')", "Muon _a"),
    ("explore.Explorer('polynomial', steps=99)", "steps [0, 8] 99"),
    ("claims.stored_claims(Path('empty'))", "lessons empty"),
]
CLI = [
    ("cli('trian')", ""),
    ("cli('train --steps 0')", "steps 0"),
    ("cli('train --batch 1000000000')", "GiB free batch"),
    ("cli('train --corpus facts-3 --shard')", "--shard torchrun"),
    ("cli('train --corpus facts-3 --timeout 3')", "--timeout one torchrun"),
    ("cli('ablate --pieces 3')", "name"),
    ("cli('ablate --plan')", "name"),
    ("cli('train --replicas 2')", "replicas --shard"),
    ("cli('results race-1200 --where betas=x')", "betas x"),
    ("cli('results race-1200 --where lr=0.01 lr=0.02')", "lr 2 one"),
    ("cli('report race-1200 --better muon=[1]')", "muon [1]"),
    ("cli('teach export --lessons 00 --to ~/kurs')", "~ shell"),
    ("cli('teach export --lessons 00 --to file/x')", "written file"),
    ("cli('teach export --lessons 00 --to new --seed ' + 'a' * 300)", "seed 64 'aaa"),
    ("cli('train --device mps')", "device cpu 'mps'"),
    ("cli('train --corpus facts-3 --record file/below.jsonl')", "file file/below.jsonl"),
    ("cli('train --corpus facts-3 --record latin.jsonl')", "UTF-8 latin.jsonl"),
    ("cli('ablate cpu --corpus \"\"')", "folder ''"),
    ("cli('ablate lesson-04 --pieces 0')", "pieces 0"),
    ("cli('ablate lesson-04 --results file/below')", "file/below"),
    ("cli('results lesson-04-seeds --search')", "search 'lesson-04-seeds'"),
    ("cli('results --results nowhere')", "folder nowhere"),
    ("cli('report lesson-04-seeds --better lr=low --than lr=0.1')", "lr number 'low'"),
    (
        "cli('report null-tokens.jsonl --better muon=QK --than muon=none')",
        "tokens null-tokens.jsonl",
    ),
    ("cli('report words-loss.jsonl --better muon=QK --than muon=none')", "'low' words-loss.jsonl"),
    ("cli('report word-lr.jsonl --better muon=QK --than muon=none')", "lr 'x' word-lr.jsonl"),
    (
        "cli('report no-end.jsonl --better muon=QK --than muon=none --out empty')",
        "report.html empty",
    ),
    ("cli('report no-end.jsonl --better muon=QK --than muon=none --out pipe')", "pipe"),
    ("cli('train --corpus facts-3 --record pipe')", "pipe"),
    ("cli('train --corpus facts-3 --record new --checkpoint ./new')", "--record checkpoint new"),
    ("cached('file')", "MUONLAB_CACHE folder file"),
    ("cli('results --results .')", "record line 1"),
    ("cli('report no-end.jsonl --better muon=QK+VO+FFN --than muon=none')", "Muon seed twice"),
    ("cli('claims --lesson 99')", "lesson 99"),
    ("cli('claims --lesson \"*\"')", "lesson '*'"),
    ("cli('bench --show nowhere.json')", "bench nowhere.json"),
    ("cli('bench --record file/below.json')", "file file/below.json"),
    ("cli('corpus export file')", "file there"),
    ("cli('corpus export file/class.zip')", "file file/class.zip"),
    ("cli('corpus export class.zip --texts dosc')", "docs 'dosc'"),
    ("cli('corpus export class.zip --texts ../docs')", "docs '../docs'"),
    ("cli('corpus import nowhere.zip')", "archive nowhere.zip"),
    ("cli('corpus import file')", "archive"),
    ("cli('corpus import file --texts docs')", "texts import"),
    ("cli('corpus export new.zip --replace')", "replace export"),
    ("cli('bench --record new.json --show parts.json')", "record --show"),
    ("cli('bench --device cuda --show parts.json')", "device --show"),
    ("homed('file')", "MUONLAB_HOME folder file"),
]
TEACH = [
    ("cli('teach export --lessons 99 --to new')", "lesson 99"),
    ("cli('teach export --lessons 02 --to latin')", "folder latin"),
    ("cli('teach export --lessons 02 --to new --seed a/b')", "seed 'a/b'"),
    ("cli('teach export --lessons 02 --to new --seed \"\"')", "seed ''"),
    ("cli('teach export --to new')", ""),
    ("variants.task('02-e99', 'a')", "02-e1 '02-e99'"),
]
TABLE = [
    *(*OPTIMIZER, *MODELS, *THEORY, *STATISTICS, *DATA),
    *(*TRAINING, *RECORDS, *CLASSROOM, *CLI, *TEACH),
]
EXPLORER = "norms"
SLIDER = next((c["name"] for c in explore.controls(EXPLORER) if "min" in c), "")
p3, E3 = torch.ones(3, dtype=torch.float64) / 3, torch.eye(3, dtype=torch.float64)


@pytest.mark.parametrize(("code", "words"), TABLE, ids=itertools.count())
def test_bad_input_gets_a_clear_answer(code, words, here, capsys):
    """The error is ours, of a fitting type, and has the words."""
    with pytest.raises(FITTING) as caught:
        eval(code, globals())
    if caught.type is SystemExit:
        return
    said = f"{caught.typename}: {caught.value}"
    assert traceback.extract_tb(caught.tb)[-1].filename.startswith(OURS), said
    lacking = [word for word in words.replace("SLIDER", SLIDER).split() if word not in said]
    assert not lacking, said
