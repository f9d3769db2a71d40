"""The training loop: it learns, it resumes to the bit, and it says what went wrong."""

import dataclasses
import json
import math
import shlex
from contextlib import nullcontext
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from muonlab.data.corpus import Corpus
from muonlab.data.load import load_corpus
from muonlab.models import gpt
from muonlab.optim.rules import RULES
from muonlab.records.record import read_records
from muonlab.studies.races import RACE
from muonlab.sweeps import engines, sweep
from muonlab.sweeps.results import recorded
from muonlab.sweeps.study import HERE, best_trial
from muonlab.training import checkpoints
from muonlab.training import run as train_module
from muonlab.training.build import build_model, picks_bf16
from muonlab.training.config import IDLE, PRETRAININGS, TrainConfig
from muonlab.training.run import Diverged, Run, pretrained, tensors, train

VOCABULARY = 50
CONFIG = TrainConfig(steps=7, batch=4, context=16, eval_every=3, eval_tokens=256, device="cpu")


class NoReads(TorchDispatchMode):
    """Refuses what makes the host wait for the device."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.overloadpacket.__name__
        assert name not in {"_local_scalar_dense", "is_nonzero", "equal", "nonzero"}
        return function(*args, **(kwargs or {}))


class Cycle:
    """A stand-in for a Corpus: token ids that count up, so a model can learn them quickly."""

    name, sha256, vocab_size = "cycle", "c0ffee", VOCABULARY
    shape, measure = Corpus.shape, Corpus.measure
    unseen = torch.arange(10_000) % 3 == 0  # as if the training text held some of the spans

    def __init__(self, fail_at=None):
        self.fail_at = fail_at

    def batch(self, step, batch, context, seed):
        if step == self.fail_at:
            raise KeyboardInterrupt
        generator = torch.Generator().manual_seed(1000 * seed + step)
        start = torch.randint(VOCABULARY, (batch, 1), generator=generator)
        tokens = (start + torch.arange(context + 1)) % VOCABULARY
        return tokens[:, :-1], tokens[:, 1:]

    def held_out_batches(self, batch, context, tokens):
        for number in range(tokens // (batch * context)):
            yield self.batch(number, batch, context, seed=999)

    def frequency_class(self):
        return torch.tensor([0] * 20 + [1] * 20 + [2] * 10, dtype=torch.int8)


def make_small(patch):
    """Makes a model of size tiny one block of width 16: the loop is under test, not the model."""
    shape = gpt.GPTConfig(vocab_size=VOCABULARY, context=64, layers=1, width=16, heads=2)
    patch.setitem(gpt.SIZES, "tiny", shape)


@pytest.fixture(autouse=True)
def small_model(monkeypatch):
    make_small(monkeypatch)


def quiet(config, corpus=None, **options):
    return train(config, corpus or Cycle(), progress=False, **options)


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def without_seconds(held_out):
    return [{k: v for k, v in row.items() if "seconds" not in k} for row in held_out]


@pytest.mark.parametrize(
    ("muon", "gated"), [(("QK", "VO", "FFN"), False), (("VO", "FFN"), True), ((), False)]
)
def test_a_run_learns_and_its_record_is_complete(muon, gated):
    config = replace(CONFIG, steps=60, eval_every=25, muon=muon, gated=gated, adamw_lr=0.01)
    record = quiet(config)
    assert record.train_loss[0] == pytest.approx(math.log(64), abs=0.2)
    assert record.held_out[-1]["overall"] < 0.6 * record.train_loss[0]
    assert [row["step"] for row in record.held_out] == [25, 50, 60]
    assert len(record.train_loss) == len(record.step_seconds) == 60
    assert record.tokens == 60 * 4 * 16
    assert record.provenance["command"] == config.command()
    assert record.provenance["corpus_sha256"] == "c0ffee"
    assert record.provenance["precision"] == "fp32"
    assert TrainConfig(**record.config) == config


def test_a_run_waits_for_others_as_long_as_it_is_told(monkeypatch):
    world = Mock(return_value=nullcontext())
    monkeypatch.setattr(train_module.parallel, "world", world)
    quiet(CONFIG, timeout=3)
    assert world.call_args.args[1] == 180


def test_a_run_takes_the_numbers_of_numpy_and_torch():
    config = replace(CONFIG, steps=np.int64(5), lr=np.float32(0.5), gated=np.bool_(True))
    config = replace(config, adamw_lr=torch.tensor(0.5), betas=np.array([0.5, 0.75]))
    assert config == replace(CONFIG, steps=5, lr=0.5, gated=True, adamw_lr=0.5, betas=(0.5, 0.75))
    json.dumps(vars(config))
    json.dumps(vars(replace(CONFIG, betas=(np.float32(0.5), torch.tensor(0.75)))))


def test_the_held_out_loss_by_class_is_that_of_the_tokens_to_predict():
    run = Run(CONFIG, Cycle())
    measured = run.evaluate()
    inputs, targets = map(torch.cat, zip(*Cycle().held_out_batches(4, 16, 256), strict=True))
    with torch.no_grad():
        losses = run.model(inputs, targets, reduction="none")
    ends = {"overall": (0, 50), "head": (0, 20), "middle": (20, 40), "tail": (40, 50)}
    for part, (low, high) in ends.items():
        mean = losses[(targets >= low) & (targets < high)].mean().item()
        assert measured[part] == pytest.approx(mean, rel=1e-5)


def test_the_spectra_begin_before_the_first_step(tmp_path):
    config = replace(CONFIG, spectra_every=3)
    first = Run(config, Cycle()).measure_spectra()
    with pytest.raises(KeyboardInterrupt):
        quiet(config, Cycle(fail_at=4), checkpoint=tmp_path / "run")
    for record in (quiet(config), quiet(config, checkpoint=tmp_path / "run")):
        assert [row["step"] for row in record.spectra] == [0, 3, 6]
        assert record.spectra[0] == first


def test_a_class_that_the_text_lacks_has_no_loss():
    corpus = Cycle()
    corpus.frequency_class = lambda: torch.zeros(VOCABULARY, dtype=torch.int8)
    measured = Run(CONFIG, corpus).evaluate()
    assert measured["tail"] is None
    assert measured["head"] == measured["overall"]


KEEPING = ("normuon", "sgd", "noisy_adam", "random_spectrum", "neurons")  # a state of their own


@pytest.mark.parametrize(
    ("fail_at", "change"),
    [
        *((step, {}) for step in (1, 3, 4, 6)),
        (4, {"muon": ()}),
        (4, {"attention": "latent", "experts": 5}),
        *((5, {"rule": rule}) for rule in KEEPING),
    ],
)
def test_killed_and_resumed_gives_the_same_bits(tmp_path, fail_at, change):
    config = replace(CONFIG, **change)
    unbroken = quiet(config, checkpoint=tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        quiet(config, Cycle(fail_at), checkpoint=tmp_path / "killed")
    resumed = quiet(config, checkpoint=tmp_path / "killed")
    assert resumed.train_loss == unbroken.train_loss
    assert without_seconds(resumed.held_out) == without_seconds(unbroken.held_out)
    whole, killed = (Run(config, Cycle()) for _ in range(2))
    whole.resume(tmp_path / "whole")
    killed.resume(tmp_path / "killed")
    assert whole.step == killed.step == config.steps
    assert same(*(tensors(run.model, run.optimizer) for run in (whole, killed)))
    done = quiet(config, Cycle(fail_at=0), checkpoint=tmp_path / "killed")  # nothing is left to do
    assert done.train_loss == unbroken.train_loss


def test_a_checkpoint_of_another_run_is_refused_by_the_fields_that_differ(tmp_path):
    path = tmp_path / "run"
    quiet(CONFIG, checkpoint=path)
    before = checkpoints.read_index(path)
    with pytest.raises(ValueError, match=r"lr is 0\.01 there and 0\.5 here; seed is 0 .* 3 here"):
        quiet(replace(CONFIG, lr=0.5, seed=3), checkpoint=path)
    corpus = Cycle()
    corpus.sha256 = "decaf"
    with pytest.raises(ValueError, match="text of the corpus is 'c0ffee' there and 'decaf' here"):
        quiet(CONFIG, corpus, checkpoint=path)
    assert checkpoints.read_index(path) == before


@pytest.mark.parametrize(
    ("muon", "rate"), [(("QK",), "lr"), ((), "adamw_lr"), ((), "adamw_matrix_lr")]
)
def test_divergence_names_the_step_and_the_rate(muon, rate):
    config = replace(CONFIG, muon=muon, steps=50, **{rate: 1e38})
    message = rf"diverged at step \d+: .*lower {rate} \(now 1e\+38\)"
    with pytest.raises(Diverged, match=message) as caught:
        quiet(config)
    record = caught.value.record
    assert f"at step {len(record.train_loss)}:" in record.failure
    assert all(map(math.isfinite, record.train_loss))


def test_a_loss_that_is_not_a_number_is_a_divergence():
    run = Run(CONFIG, Cycle())
    run.model.head.weight.data.fill_(math.nan)
    with pytest.raises(Diverged, match="step 0: the training loss is nan"):
        run.train_step()
    run.model.blocks[0].attention.q.weight.data.fill_(math.inf)
    with pytest.raises(Diverged, match="step 0: of a matrix, expected finite entries"):
        run.measure_spectra()


def test_gradients_that_are_not_finite_are_a_divergence_and_change_nothing():
    run = Run(CONFIG, Cycle())
    run.train_step()
    before = {name: p.clone() for name, p in run.model.state_dict().items()}
    run.model.head.weight.register_hook(lambda gradient: gradient * math.nan)
    with pytest.raises(Diverged, match=r"step 1: the gradient of parameter 'head\.weight'"):
        run.train_step()
    assert same(before, dict(run.model.state_dict()))


def test_the_first_weights_depend_on_the_seed_alone_and_leave_the_callers_chance():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    models = [build_model(replace(CONFIG, seed=seed), Cycle()) for seed in (1, 1, 2)]
    assert torch.equal(torch.rand(3), expected)
    first, again, other = (dict(model.state_dict()) for model in models)
    assert same(first, again)
    assert not same(first, other)


def test_one_optimizer_and_one_schedule_drive_both_rules():
    config = replace(CONFIG, steps=10, warmup=0.2, decay=0.5, lr=0.5, adamw_lr=0.1)
    run, rates = Run(config, Cycle()), []
    for _ in range(10):
        rates.append([group["lr"] for group in run.optimizer.param_groups])
        run.train_step()
    factors = [0.5, 1, 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2]
    assert rates == [[pytest.approx(0.5 * f), pytest.approx(0.1 * f)] for f in factors]
    assert [group["lr"] for group in run.optimizer.param_groups] == [0, 0]


def test_bf16_is_taken_where_asked_or_where_it_pays(monkeypatch):
    cpu = torch.device("cpu")
    for fast in (True, False):
        monkeypatch.setattr("muonlab.machine.fast_bf16", lambda device, fast=fast: fast)
        assert picks_bf16(replace(CONFIG, size="small"), cpu) is fast
        assert not picks_bf16(CONFIG, cpu)  # narrow matrices gain nothing
    assert quiet(replace(CONFIG, precision="bf16")).provenance["precision"] == "bf16"


def test_a_run_that_goes_on_where_another_precision_pays_says_so(tmp_path, monkeypatch):
    for fast, said in ((True, "bf16"), (False, "bf16, then fp32"), (False, "bf16, then fp32")):
        monkeypatch.setattr(train_module, "picks_bf16", lambda *run, fast=fast: fast)
        run = Run(CONFIG, Cycle())
        if checkpoints.exists(tmp_path):
            run.resume(tmp_path)
        run.train_step()
        run.save(tmp_path)
        assert run.record().provenance["precision"] == said


def test_the_command_runs_the_same_configuration_again():
    from muonlab.cli import _parser

    config = replace(CONFIG, muon=(), gated=True, nesterov=False, betas=(0.8, 0.95), lr=3e-4)
    config = replace(config, corpus="my texts")
    options = _parser().parse_args(shlex.split(config.command())[1:])
    values = {f.name: getattr(options, f.name) for f in dataclasses.fields(TrainConfig)}
    assert TrainConfig(**values) == config


CHANGES = {
    "betas": (0.5, 0.6),
    "lr": 0.02,
    "momentum": 0.5,
    "nesterov": False,
    "ns_coefficients": "cubic",
    "ns_steps": 2,
    "ns_norm": "schatten4",
    "adjust_lr_fn": "original",
    "noise": 3.0,
    "adamw_matrix_lr": 0.1,
    "adamw_matrix_beta1": 0.3,
    "matrix_lr_factors": (3.0, 3.0, 3.0, 3.0),
}


@pytest.mark.parametrize("rule", [*RULES, None])
def test_the_options_that_are_said_to_change_nothing_are_those_that_do(rule):
    config = replace(CONFIG, steps=3, eval_every=3, muon=()) if rule is None else CONFIG
    config = replace(config, rule=rule or "muon")

    def losses(**change):
        run = Run(replace(config, **change), Cycle())
        return [run.train_step() for _ in range(3)]

    plain = losses()
    idle = {name for name, value in CHANGES.items() if losses(**{name: value}) == plain}
    assert idle == config.idle() & CHANGES.keys()


def test_what_facts_do_not_read_is_said_to_change_nothing():
    config = replace(CONFIG, corpus="facts-3", eval_tokens=64, eval_batch=1)
    assert config.told_idle() == f"{IDLE}: eval_tokens", "the questions come in batches of one"


def test_a_rate_of_no_matrix_changes_nothing_with_fused_queries_keys_and_values_too():
    config = replace(CONFIG, fused_qkv=True, muon=("QKV", "O", "FFN"), adamw_matrix_lr=0.1)
    assert config.told_idle() == f"{IDLE}: adamw_matrix_lr"
    assert replace(config, muon=("QKV", "O")).told_idle() == ""
    factor = replace(config, adamw_matrix_lr=None, matrix_lr_factors=(2, 1, 1, 1))
    assert factor.told_idle() == f"{IDLE}: matrix_lr_factors"
    assert replace(factor, matrix_lr_factors=(2, 1, 1, 2)).told_idle() == ""


@pytest.fixture
def pretraining(monkeypatch):
    """A config that starts from a pretrained model, and what counts the texts read for it."""
    load = Mock(side_effect=lambda name: Cycle())
    monkeypatch.setattr(train_module, "load_corpus", load)
    pretrained.cache_clear()
    yield replace(CONFIG, pretraining=5, weight_decay=0.1), load
    pretrained.cache_clear()


def test_pretraining_gives_the_weights_of_a_plain_run_of_adamw(pretraining):
    config, _ = pretraining
    rates = {"adamw_lr": 0.04, "adamw_matrix_lr": 0.001}
    plain = Run(replace(CONFIG, muon=(), steps=5, batch=16, **rates), Cycle())
    for _ in range(5):
        plain.train_step()
    run = Run(config, Cycle())
    assert same(run.model.state_dict(), plain.model.state_dict())
    assert run.step == 0
    assert not run.optimizer.state  # the optimizer starts fresh
    run.train_step()
    assert not same(run.model.state_dict(), plain.model.state_dict())
    assert same(Run(config, Cycle()).model.state_dict(), plain.model.state_dict())


def test_a_pretraining_takes_no_more_rows_at_once_than_its_run():
    config = TrainConfig(pretraining=5, batch=12)
    pieces = {n: replace(config, pieces=n).first_run().pieces for n in (1, 2, 3, 12)}
    assert pieces == {1: 1, 2: 4, 3: 4, 12: 16}


def test_the_same_pretraining_is_done_once_by_a_process(pretraining):
    config, load = pretraining
    for change in ({}, {"lr": 0.001}, {"muon": ()}, {"seed": 1}):  # other batches from one model
        Run(replace(config, **change), Cycle())
    load.assert_called_once_with("docs")
    for _ in range(2):  # from both models at each seed
        for by in ("AdamW", "Muon"):
            Run(replace(config, pretrained_by=by), Cycle())
    assert load.call_count == 3
    Run(replace(config, gated=True), Cycle())
    assert pretrained.cache_info().currsize == 2  # weights of two models stay in memory, not of all


@pytest.mark.parametrize("corpus", ["facts-9", "a/folder"])
def test_pretraining_for_a_corpus_with_other_tokens_is_refused(corpus):
    message = f"docs and code have pretraining's tokens, not corpus='{corpus}'"
    with pytest.raises(ValueError, match=message):
        Run(replace(CONFIG, pretraining=5, corpus=corpus), Cycle())


def test_a_pretraining_has_the_shape_of_its_model():
    config = TrainConfig(corpus="code", pretraining=5, attention="latent", qk_norm=False)
    assert not config.first_run().qk_norm
    matrices = "QKV", "O", "FFN"
    fused = replace(config, attention="multi-head", fused_qkv=True, muon=matrices)
    assert replace(fused, pretrained_by="Muon").first_run().muon == matrices


def test_a_pretraining_that_diverges_is_no_record_of_another_run(pretraining, monkeypatch):
    config, _ = pretraining
    monkeypatch.setattr(engines, "load_corpus", lambda name: Cycle())
    monkeypatch.setitem(PRETRAININGS["lesson-04"], "adamw_lr", 1e38)
    record = engines.run_once(config, lambda name: Cycle())
    assert "the pretraining diverged at step" in record.failure
    assert TrainConfig(**record.config) == config


def test_pretraining_has_the_rates_that_lesson_04_found():
    adamw = [run for run in recorded("lesson-04-tuning") if not run.config["muon"]]
    best = TrainConfig(**best_trial(adamw).config)
    first = TrainConfig(corpus="code", pretraining=150).first_run()
    assert replace(first, eval_tokens=best.eval_tokens) == best


@pytest.mark.parametrize("by", ["AdamW", "Muon"])
def test_pretraining_has_the_settings_that_the_race_found(by):
    found = RACE[1200].best(HERE)[0 if by == "AdamW" else 1]
    moved = replace(found, corpus="code-512", steps=300, pretraining=1200, pretrained_by=by, seed=3)
    measured = {"eval_every": found.eval_every, "eval_tokens": found.eval_tokens}
    assert replace(moved.first_run(), **measured) == replace(found, seed=3)


def test_a_sweep_runs_what_is_missing_and_goes_on_after_a_divergence(tmp_path, monkeypatch):
    path, configs = tmp_path / "runs.jsonl", [replace(CONFIG, lr=lr) for lr in (0.01, 1e38, 0.02)]
    monkeypatch.setattr(engines, "load_corpus", lambda name: Cycle())
    started = sweep.sweep(configs, path, progress=False)
    next(started)
    started.close()  # killed after the first
    assert len(read_records(path)) == 1
    records = list(sweep.sweep(2 * configs, path, progress=False))
    assert [TrainConfig(**record.config) for record in records] == 2 * configs
    assert [bool(record.failure) for record in records] == 2 * [False, True, False]
    assert "lower lr" in records[1].failure
    assert len(read_records(path)) == 3, "none is run twice"


@pytest.mark.parametrize(
    ("change", "options", "told"),
    [
        ({"muon": (), "rule": "normuon"}, {}, "these options change nothing: rule"),
        ({}, {"shard": True}, "shard changes nothing in one process"),
    ],
)
def test_a_run_that_does_not_do_what_is_asked_says_so(change, options, told):
    with pytest.warns(UserWarning, match=told):
        train(replace(CONFIG, steps=1, **change), Cycle(), progress=False, **options)


@pytest.mark.parametrize("options", [{}, {"grad_clip": 0.5}, {"pieces": 2}, {"rule": "normuon"}])
def test_where_launches_cost_the_host_waits_for_no_step(as_on_a_gpu, monkeypatch, options):
    monkeypatch.setattr(gpt.GPT, "_check", lambda self, tokens: None)  # on a CPU alone
    run = Run(replace(CONFIG, **options), Cycle())
    run.train_step()
    with NoReads():
        for _ in range(3):
            run.advance()
    assert (run.step, len(run.train_loss)) == (4, 1)
    assert math.isfinite(run.read())
    assert len(run.train_loss) == len(run.step_seconds) == 4


def test_losses_read_late_are_those_read_at_once(monkeypatch):
    at_once = quiet(replace(CONFIG, steps=7))
    monkeypatch.setattr(train_module, "launches_cost", lambda device: True)
    late = quiet(replace(CONFIG, steps=7))
    assert late.train_loss == at_once.train_loss
    assert without_seconds(late.held_out) == without_seconds(at_once.held_out)


def test_a_divergence_that_is_read_late_names_its_step(as_on_a_gpu):
    run = Run(CONFIG, Cycle())
    run.advance()
    with torch.no_grad():
        run.model.head.weight.fill_(math.nan)
    for _ in range(3):
        run.advance()
    with pytest.raises(Diverged, match="diverged at step 1: the training loss is nan") as error:
        run.read()
    assert len(error.value.record.train_loss) == 1


def test_a_text_goes_to_the_device_and_its_windows_stay_the_same():
    text = load_corpus("facts-9")
    there = train_module.on_device(text, torch.device("cpu"))
    torch.testing.assert_close(there.batch(3, 4, 8, 0), text.batch(3, 4, 8, 0), rtol=0, atol=0)
    meta = train_module.on_device(text, torch.device("meta"))
    assert {t.device.type for t in meta.batch(3, 4, 8, 0)} == {"meta"}


@pytest.mark.slow
def test_a_compiled_model_learns_as_the_plain_one_does():
    plain, compiled = (quiet(replace(CONFIG, steps=3, compile=c)) for c in (False, True))
    np.testing.assert_allclose(compiled.train_loss, plain.train_loss, rtol=1e-3)
