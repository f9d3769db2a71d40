"""The training loop: it learns, it resumes to the bit, and it says what went wrong."""

import dataclasses
import math
from dataclasses import replace

import pytest
import torch

from muonlab.models import gpt
from muonlab.records import store as results
from muonlab.records.record import Record, append, read
from muonlab.studies.presets import best_trial, preset, recorded
from muonlab.sweeps import sweep
from muonlab.training import checkpoints
from muonlab.training import run as train_module
from muonlab.training.build import build_model, build_optimizer, picks_bf16
from muonlab.training.config import TrainConfig
from muonlab.training.pretraining import first_run
from muonlab.training.run import Diverged, Run, load_model, pretrained, train

VOCABULARY = 50
CONFIG = TrainConfig(steps=7, batch=4, context=16, eval_every=3, eval_tokens=256, device="cpu")


class Cycle:
    """A stand-in for a Corpus: token ids that count up, so a model can learn them quickly."""

    name, sha256, vocab_size = "cycle", "c0ffee", VOCABULARY

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


@pytest.fixture(autouse=True)
def small_model(monkeypatch):
    """Every size here is one block of width 16: the loop is under test, not the model."""
    shape = gpt.GPTConfig(vocab_size=VOCABULARY, context=64, layers=1, width=16, heads=2)
    monkeypatch.setitem(gpt.SIZES, "tiny", shape)


def quiet(config, corpus=None, **options):
    return train(config, corpus or Cycle(), progress=False, **options)


def same(a, b):
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def without_seconds(held_out):
    return [{k: v for k, v in row.items() if k != "seconds"} for row in held_out]


@pytest.mark.parametrize("muon", [("QK", "VO", "FFN"), ("VO", "FFN"), ()])
@pytest.mark.parametrize("gated", [False, True])
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


def test_the_held_out_loss_by_class_is_that_of_the_tokens_to_predict():
    run = Run(CONFIG, Cycle())
    measured = run.evaluate()
    inputs, targets = map(torch.cat, zip(*Cycle().held_out_batches(4, 16, 256), strict=True))
    with torch.no_grad():
        losses = run.model(inputs, targets, reduction="none")
    assert measured["overall"] == pytest.approx(losses.mean().item(), rel=1e-5)
    assert measured["tail"] == pytest.approx(losses[targets >= 40].mean().item(), rel=1e-5)
    assert measured["head"] == pytest.approx(losses[targets < 20].mean().item(), rel=1e-5)
    middle = losses[(targets >= 20) & (targets < 40)].mean().item()
    assert measured["middle"] == pytest.approx(middle, rel=1e-5)


def test_a_class_that_the_text_lacks_has_no_loss():
    corpus = Cycle()
    corpus.frequency_class = lambda: torch.zeros(VOCABULARY, dtype=torch.int8)
    measured = Run(CONFIG, corpus).evaluate()
    assert measured["tail"] is None
    assert measured["head"] == measured["overall"]


@pytest.mark.parametrize("fail_at", [1, 3, 4, 6])
@pytest.mark.parametrize("change", [{}, {"muon": ()}, {"attention": "latent", "experts": 5}])
def test_killed_and_resumed_gives_the_same_bits(tmp_path, fail_at, change):
    config = replace(CONFIG, **change)
    unbroken = quiet(config, checkpoint=tmp_path / "whole.pt")
    with pytest.raises(KeyboardInterrupt):
        quiet(config, Cycle(fail_at), checkpoint=tmp_path / "killed.pt")
    resumed = quiet(config, checkpoint=tmp_path / "killed.pt")
    assert resumed.train_loss == unbroken.train_loss
    assert without_seconds(resumed.held_out) == without_seconds(unbroken.held_out)
    whole, killed = (checkpoints.load(tmp_path / f"{name}.pt") for name in ("whole", "killed"))
    for part in ("model", "optimizer", "scheduler", "step"):
        assert same(whole[part], killed[part])
    assert sorted(f.name for f in tmp_path.iterdir()) == ["killed.pt", "whole.pt"]


def test_a_resumed_run_goes_on_and_does_not_start_again(tmp_path):
    path, seen = tmp_path / "run.pt", []
    with pytest.raises(KeyboardInterrupt):
        quiet(CONFIG, Cycle(fail_at=5), checkpoint=path)
    corpus = Cycle()
    corpus.batch = lambda step, *rest: seen.append(step) or Cycle().batch(step, *rest)
    corpus.held_out_batches = Cycle().held_out_batches
    quiet(CONFIG, corpus, checkpoint=path)
    assert seen == [3, 4, 5, 6]
    assert quiet(CONFIG, Cycle(fail_at=0), checkpoint=path).train_loss  # finished: nothing to do


def test_a_checkpoint_gives_its_model_back(tmp_path):
    run = Run(CONFIG, Cycle())
    run.train_step()
    run.save(tmp_path / "run.pt")
    assert same(dict(load_model(tmp_path / "run.pt").state_dict()), dict(run.model.state_dict()))


def test_a_checkpoint_of_another_run_is_refused_by_the_fields_that_differ(tmp_path):
    path = tmp_path / "run.pt"
    quiet(CONFIG, checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"lr is 0\.01 there and 0\.5 here; seed is 0 .* 3 here\."):
        quiet(replace(CONFIG, lr=0.5, seed=3), checkpoint=path)
    corpus = Cycle()
    corpus.sha256 = "decaf"
    with pytest.raises(ValueError, match="text of the corpus is 'c0ffee' there and 'decaf' here"):
        quiet(CONFIG, corpus, checkpoint=path)
    assert path.read_bytes() == before


def test_a_damaged_checkpoint_is_named_and_kept(tmp_path):
    good, path = tmp_path / "good.pt", tmp_path / "run.pt"
    Run(CONFIG, Cycle()).save(good)
    content = good.read_bytes()
    largest = content.index(torch.load(good)["model"]["head.weight"].numpy().tobytes())
    flipped = bytearray(content)
    flipped[largest] ^= 1
    for damaged in (content[: len(content) // 2], content[:-1], b"", b"text", bytes(flipped)):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"run\.pt is (no whole checkpoint|damaged)"):
            quiet(CONFIG, checkpoint=path)
        assert path.read_bytes() == damaged


def test_a_file_of_torch_that_is_no_checkpoint_is_refused(tmp_path):
    torch.save({"weights": torch.zeros(3)}, tmp_path / "other.pt")
    with pytest.raises(ValueError, match=r"other\.pt was not written by muonlab"):
        quiet(CONFIG, checkpoint=tmp_path / "other.pt")


def test_a_full_disk_leaves_the_last_good_checkpoint(tmp_path, monkeypatch):
    path, run = tmp_path / "run.pt", Run(CONFIG, Cycle())
    run.save(path)
    before = path.read_bytes()

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    run.train_step()
    with pytest.raises(OSError, match="No space left"):
        run.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("config", "rate"),
    [
        (replace(CONFIG, lr=1e38, steps=50), r"lower lr \(now 1e\+38\)"),
        (replace(CONFIG, muon=(), adamw_lr=1e38, steps=50), r"lower adamw_lr \(now 1e\+38\)"),
        (
            replace(CONFIG, muon=(), adamw_matrix_lr=1e38, steps=50),
            r"lower adamw_matrix_lr \(now 1e\+38\)",
        ),
    ],
)
def test_divergence_names_the_step_and_the_rate(config, rate):
    with pytest.raises(Diverged, match=rf"diverged at step \d+: .*{rate}") as caught:
        quiet(config)
    record = caught.value.record
    assert f"at step {len(record.train_loss)}:" in record.failure
    assert all(map(math.isfinite, record.train_loss))


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
    models = [build_model(replace(CONFIG, seed=seed), VOCABULARY) for seed in (1, 1, 2)]
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


@pytest.mark.parametrize("muon", [("QK",), ()])
def test_the_config_reaches_the_optimizer(muon):
    config = replace(CONFIG, muon=muon, momentum=0.9, nesterov=False, ns_steps=3, betas=(0.5, 0.6))
    groups = build_optimizer(config, build_model(config, VOCABULARY)).param_groups
    assert [group["rule"] for group in groups] == (["muon", "adamw"] if muon else ["adamw"])
    assert groups[-1]["betas"] == (0.5, 0.6)
    assert groups[-1]["eps"] == 1e-8
    assert (groups[0]["momentum"], groups[0]["nesterov"], groups[0]["ns_steps"]) == (0.9, False, 3)


@pytest.mark.parametrize(
    ("muon", "rates"),
    [
        ((), {"adamw_lr": 2, "adamw_matrix_lr": 6}),
        (("VO",), {"lr": 2, "adamw_lr": 2, "adamw_matrix_lr": 4}),
        (("QK", "VO", "FFN"), {"lr": 6, "adamw_lr": 2}),
    ],
)
def test_matrices_under_adamw_may_have_a_rate_of_their_own(muon, rates):
    config = replace(CONFIG, muon=muon, lr=1.0, adamw_lr=0.5, adamw_matrix_lr=0.25)
    model = build_model(config, VOCABULARY)
    groups = build_optimizer(config, model).param_groups
    assert {group["rate"]: len(group["params"]) for group in groups} == rates
    assert all(group["lr"] == getattr(config, group["rate"]) for group in groups)
    outer = next(group["params"] for group in groups if group["rate"] == "adamw_lr")
    assert {id(p) for p in outer} == {id(model.embedding.weight), id(model.head.weight)}
    assert quiet(replace(config, lr=0.01, adamw_lr=0.01, adamw_matrix_lr=0.01)).held_out


def test_the_same_rate_apart_or_together_gives_the_same_bits():
    together = replace(CONFIG, muon=(), adamw_lr=0.01)
    apart = replace(together, adamw_matrix_lr=0.01)
    assert quiet(together).train_loss == quiet(apart).train_loss


def test_bf16_is_taken_where_asked_or_where_it_pays(monkeypatch):
    cpu = torch.device("cpu")
    for fast in (True, False):
        monkeypatch.setattr("muonlab.machine.fast_bf16", lambda device, fast=fast: fast)
        assert picks_bf16(replace(CONFIG, size="small"), cpu) is fast
        assert not picks_bf16(CONFIG, cpu)  # narrow matrices gain nothing
        assert picks_bf16(replace(CONFIG, precision="bf16"), cpu)
    assert quiet(replace(CONFIG, precision="bf16")).provenance["precision"] == "bf16"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": "huge"}, "size must be one of tiny, small, paper; got 'huge'"),
        ({"muon": ("QK", "MLP")}, "muon must be one of QK, VO, FFN, .*; got 'MLP'"),
        ({"muon": "QK"}, r"write \('QK',\)"),
        ({"steps": -1}, "steps must be a whole number >= 1 and finite, got -1"),
        ({"steps": 1.5}, "steps must be a whole number, got 1.5"),
        ({"context": 65}, "context must be at most 64 for size='tiny', got 65"),
        ({"eval_tokens": 15}, "at least one context of 16, got 15"),
        ({"lr": math.nan}, "lr must be a number >= 0"),
        ({"adamw_lr": -0.1}, "adamw_lr must be a number >= 0"),
        ({"adamw_matrix_lr": -1}, "adamw_matrix_lr must be a number >= 0"),
        ({"lr": "fast"}, "lr must be a number, got 'fast'"),
        ({"momentum": 1.0}, r"momentum must be a number in \[0, 1\), got 1.0"),
        ({"betas": (0.9,)}, "betas must be two numbers"),
        ({"betas": (0.9, 1.2)}, r"betas must be a number in \[0, 1\)"),
        ({"warmup": 0.6, "decay": 0.6}, "sum of at most 1"),
        ({"precision": "fp8"}, "precision must be one of auto, fp32, bf16"),
        ({"ns_coefficients": "magic"}, "ns_coefficients must be one of cubic"),
        ({"adjust_lr_fn": "rms"}, "match_rms_adamw"),
        ({"device": "abacus"}, "device must be auto, cpu"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_a_config_that_makes_no_sense_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        replace(CONFIG, **change)


def test_a_missing_gpu_is_named(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="'cuda' needs a GPU that torch can use"):
        Run(replace(CONFIG, device="cuda"), Cycle())


def test_the_command_runs_the_same_configuration_again():
    from muonlab.cli import _parser

    config = replace(CONFIG, muon=(), gated=True, nesterov=False, betas=(0.8, 0.95), lr=3e-4)
    words = config.command().split()
    options = _parser().parse_args(words[1:])
    values = {f.name: getattr(options, f.name) for f in dataclasses.fields(TrainConfig)}
    assert TrainConfig(**values) == config


def test_every_option_has_a_help_text():
    assert all(field.metadata["help"] for field in dataclasses.fields(TrainConfig))


@pytest.fixture
def pretraining(monkeypatch):
    """A config that starts from a pretrained model, and the list of what was trained for it."""
    trained = []

    def docs(name):
        trained.append(name)
        return Cycle()

    monkeypatch.setattr(train_module, "load_corpus", docs)
    pretrained.cache_clear()
    yield replace(CONFIG, pretraining=5, weight_decay=0.1), trained
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


def test_the_same_pretraining_is_done_once_by_a_process(pretraining):
    config, trained = pretraining
    for changed in (config, replace(config, lr=0.001), replace(config, muon=())):
        Run(changed, Cycle())
    assert trained == ["docs"]
    Run(replace(config, seed=1), Cycle())  # other batches from the same model
    assert trained == ["docs"]
    Run(replace(config, gated=True), Cycle())
    assert trained == ["docs", "docs"]


def test_a_pretrained_run_resumes_to_the_bit(pretraining, tmp_path):
    config, _ = pretraining
    whole = quiet(config)
    with pytest.raises(KeyboardInterrupt):
        quiet(config, Cycle(4), checkpoint=tmp_path / "killed.pt")
    resumed = quiet(config, checkpoint=tmp_path / "killed.pt")
    assert resumed.train_loss == whole.train_loss
    assert without_seconds(resumed.held_out) == without_seconds(whole.held_out)


@pytest.mark.parametrize("corpus", ["facts-9", "regression-4", "fineweb", "a/folder"])
def test_pretraining_for_a_corpus_with_other_tokens_is_refused(corpus):
    message = rf"pretraining=5 is done on docs, so corpus must be docs or code.*; got '{corpus}'"
    with pytest.raises(ValueError, match=message):
        Run(replace(CONFIG, pretraining=5, corpus=corpus), Cycle())


def test_pretraining_has_the_rates_that_lesson_04_found():
    adamw = [run for run in recorded("lesson-04-tuning") if not run.config["muon"]]
    best = TrainConfig(**best_trial(adamw).config)
    first = first_run(TrainConfig(corpus="code", pretraining=150))
    assert replace(first, eval_tokens=best.eval_tokens) == best


@pytest.fixture
def cycle_for_sweeps(monkeypatch):
    monkeypatch.setattr(sweep, "load_corpus", lambda name: Cycle())


def test_a_sweep_runs_what_is_missing_and_goes_on_after_a_divergence(
    tmp_path, monkeypatch, cycle_for_sweeps
):
    path, ran = tmp_path / "runs.jsonl", []

    def counted(config, corpus, **options):
        ran.append(config)
        return train(config, corpus, **options)

    monkeypatch.setattr(sweep, "train", counted)
    configs = [replace(CONFIG, lr=lr) for lr in (0.01, 1e38, 0.02)]
    started = sweep.sweep(configs, path, progress=False)
    next(started)
    started.close()  # killed after the first
    assert len(read(path)) == 1
    found = list(sweep.sweep([*configs, configs[0]], path, progress=False))
    assert ran == configs
    assert [bool(record.failure) for record in found] == [False, True, False, False]
    assert "lower lr" in read(path)[1].failure
    assert found[0].run_id == found[3].run_id == read(path)[0].run_id
    assert len(list(sweep.sweep(configs, path, progress=False))) == 3
    assert ran == configs


def test_the_tuning_of_lesson_04_gives_both_optimizers_as_many_trials():
    configs = preset("lesson-04-tuning")
    adamw = [c for c in configs if not c.muon]
    muon = [c for c in configs if c.muon]
    assert len(set(configs)) == len(configs) == 2 * len(adamw) == 2 * len(muon)
    assert {c.adamw_lr for c in adamw} == {c.adamw_lr for c in muon}
    assert len({c.adamw_matrix_lr for c in adamw}) == len({c.lr for c in muon})
    same = {"lr": 0, "adamw_lr": 0, "adamw_matrix_lr": None, "muon": ()}
    assert len({replace(c, **same) for c in configs}) == 1  # nothing but the rates differs


def test_the_seeds_of_lesson_04_follow_the_best_recorded_trials(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    trials = preset("lesson-04-tuning")
    half = len(trials) // 2
    best = {trials[2], trials[half + 4]}
    path = tmp_path / "lesson-04-tuning.jsonl"
    for number, config in enumerate(trials):
        if number == 1:
            with pytest.raises(ValueError, match=f"{len(trials) - 1} of the trials"):
                preset("lesson-04-seeds")
        loss = {"step": 200, "seconds": 1.0, "overall": 4.0 if config in best else 5.0 + number}
        append(Record(dataclasses.asdict(config), [5.0], [1.0], [loss], 1024), path)
    chosen = preset("lesson-04-seeds")
    assert {replace(c, seed=0) for c in chosen} == best
    assert sorted(c.seed for c in chosen) == sorted([*range(1, 11)] * 2)  # never 0, the tuning's


def test_a_diverged_trial_is_never_the_best():
    rows = [{"step": 1, "seconds": 1.0, "overall": 1.0}]
    broken = Record(dataclasses.asdict(CONFIG), [1.0], [1.0], rows, 64, failure="at step 1")
    fine = replace(broken, failure="", held_out=[rows[0] | {"overall": 2.0}])
    assert best_trial([broken, fine]) is fine
    with pytest.raises(ValueError, match="every trial diverged"):
        best_trial([broken])


def test_an_unknown_preset_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match=r"lesson-04-tuning, lesson-04-seeds, .*; got 'lesson-99'"):
        preset("lesson-99")
