"""Many devices: models that none of them could hold, batches in pieces, shared measurements.

A world of four processes is started once and does all its work; the tests look at the results.
"""

import os
import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist
from profiled import most_bytes
from test_sharded import SMALL, UNEVEN, gap
from test_train import CONFIG, Cycle

from muonlab import checks, sharded_rows
from muonlab.data.facts import load_facts
from muonlab.data.regression import load_regression
from muonlab.distributed import parallel, rehearse, sharded
from muonlab.distributed.processes import together
from muonlab.distributed.traffic import Traffic
from muonlab.models import gpt
from muonlab.models.gpt import GPTConfig
from muonlab.models.regressor import build
from muonlab.optim import fast
from muonlab.training import checkpoints
from muonlab.training import run as runs
from muonlab.training.build import build_model
from muonlab.training.run import Run

NUMBER = 4  # processes
SHAPES = {"even": SMALL, "uneven": UNEVEN, "regressor": replace(SMALL, inputs=7)}
DEEP = GPTConfig(vocab_size=64, context=4, layers=8, width=128, heads=2)
MIXTURE = {"attention": "latent", "experts": 5}
WAYS = {  # name → how it differs from one big batch in one process
    "whole": ({}, {}),
    "pieces": ({"pieces": 2}, {}),
    "sharded": ({}, {"shard": True}),
    "sharded pieces": ({"pieces": 2}, {"shard": True}),
    "copies": ({}, {"shard": True, "replicas": 2}),
    "copies, pieces": ({"pieces": 2}, {"shard": True, "replicas": 2}),
    "a copy each": ({}, {"shard": True, "replicas": NUMBER}),
}
ALONE = ("whole", "pieces")
TIMEOUT, SOON = 120, 2  # seconds that a process waits for a partner; and for one that stands still


def work(folder):
    """What each process does, and one alone."""
    several = parallel.size() > 1
    ways = WAYS if several else {name: WAYS[name] for name in ALONE}
    few = {name: way for name, way in ways.items() if name in (*ALONE, "copies, pieces")}
    results = {"drawn": {name: drawn(shape) for name, shape in SHAPES.items()}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(gpt.SIZES, "tiny", SMALL)
        results["measured"] = [measured(*few[name]) for name in few if name != "pieces"]
        results["bf16"] = coarse()
        options = {"shard": True, "replicas": 2} if several else {}
        record = runs.train(CONFIG, Cycle(), progress=False, **options)
        results["record"] = {k: record.provenance.get(k) for k in ("command", "replicas")}
        patch.setattr(runs, "build_model", lambda *made: build_model(*made).double())
        results["runs"] = {name: three_steps(*way) for name, way in ways.items()}
        results["experts"] = {name: three_steps(*way, **MIXTURE) for name, way in few.items()}
        results["clipped"] = {
            name: three_steps(*ways[name], grad_clip=0.2)
            for name in ("whole", "sharded pieces")
            if name in ways
        }
    results["travelled"] = travelled()
    results["hashed"] = hashed(folder / f"hashed-{parallel.size()}")
    return results | ({"memory": memory()} if several else {})


def three_steps(change, options, **more):
    """Returns losses and weights of a short run, what is kept here, and sent for gradients."""
    run = Run(replace(CONFIG, batch=8, **change, **more), Cycle(), **options)
    losses = [run.train_step() for _ in range(3)]
    weights = {name: whole(t) for name, t in run.model.state_dict().items()}
    head = run.model.head.weight
    run.optimizer.step = lambda: None  # of a copy: `Traffic` counts for all processes
    with Traffic() as traffic:
        run.train_step()
    kept = len(sharded_rows.own(head)) / len(head)
    return {"losses": losses, "weights": weights, "kept": kept, "bytes": dict(traffic.bytes)}


def whole(t):
    return sharded.whole(t.detach()).clone()


def measured(change, options):
    """Returns what three tasks measure, and how many rows at once this process asked about."""
    config, results = replace(CONFIG, batch=8, eval_tokens=16 * 37, eval_batch=3, **change), {}
    for task in (Short(), load_facts("facts-3"), load_regression("regression-4")):
        run, rows = Run(replace(config, corpus=task.name), task, **options), []
        run.model.register_forward_pre_hook(lambda _, given, rows=rows: rows.append(len(given[0])))
        values = {k: v for k, v in run.evaluate().items() if "seconds" not in k}
        results[task.name] = {**values, "rows": rows}
    return results


class Short(Cycle):
    """Its last batch of 5 rows cannot be divided equally."""

    def held_out_batches(self, batch, context, tokens):
        yield from (self.batch(0, batch, context, 999), self.batch(1, 5, context, 999))


def coarse():
    """Returns loss, update and traffic of a step in bf16."""
    config = replace(CONFIG, precision="bf16", batch=8, lr=0.0, adamw_lr=0.0)
    run = Run(config, Cycle(), shard=parallel.size() > 1)
    run.optimizer.zero_grad = lambda: None
    with Traffic() as traffic:
        loss = run.train_step()
    gradients = {name: whole(p.grad) for name, p in run.model.named_parameters()}
    return {"loss": loss, "gradients": gradients, "bytes": dict(traffic.bytes)}


def drawn(shape):
    """Returns parameters and buffers of an untrained model."""

    def make():
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(3)
            return build(shape)

    model = sharded.build_sharded(make)
    return {n: whole(t) for n, t in (*model.named_parameters(), *model.named_buffers())}


def travelled():
    """Returns weights after two steps, an owner with a matrix at a time, and sizes of messages."""
    numbers, exchange_once = [], sharded_rows._exchange
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast, "STACK_ELSE", 1)
        patch.setattr(
            sharded_rows,
            "_exchange",
            lambda sent, *rest, **like: (
                numbers.append(sum(t.numel() for part in sent for t in part))
                or exchange_once(sent, *rest, **like)
            ),
        )
        several = parallel.size() > 1
        made = rehearse.train_small(2, several, "normuon", torch.float64, rehearse.SMALL_GPT)
    return {"weights": made["weights"], "numbers": numbers}


def hashed(folder):
    """Returns the files whose checksums this process made, in a save and in a load."""
    files, checksum = [], checkpoints._checksum
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints, "_checksum", lambda p: files.append(p.name) or checksum(p))
        model, optimizer = rehearse.start_alike(parallel.size() > 1, "muon", torch.float32, SMALL)
        state = runs.tensors(model, optimizer)
        checkpoints.save(state, {}, folder)
        saved = files.copy()
        checkpoints.load(state, folder)
    damaged = sorted(folder.rglob("*.safetensors"))[-1]
    parallel.gather(None)
    if parallel.rank() == 0:
        damaged.write_bytes(damaged.read_bytes()[:-1])
    parallel.gather(None)
    with pytest.raises(ValueError, match=f"{damaged.name} is changed or missing"):
        checkpoints.load(state, folder)
    return {"saved": saved, "loaded": files[len(saved) :][:1]}


def memory():
    """Returns the most bytes that building a model, and a step with it, have allocated at once."""
    made = []
    built = most_bytes(lambda: made.extend(rehearse.start_alike(True, "muon", torch.float32, DEEP)))
    rows = rehearse.batch(0, DEEP)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast, "STACK_ELSE", 1)
        rehearse.train_step(*made, rows, True)
        # threads that wait for a processor free late what they sent: of some steps, the least
        steps = [most_bytes(lambda: rehearse.train_step(*made, rows, True)) for _ in range(4)]
    return {"built": built, "step": min(steps)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("devices")


@pytest.fixture(scope="module")
def one(folder):
    """Returns the results of one process."""
    return work(folder)


@pytest.fixture(scope="module")
def four(folder):
    """Returns the results of each of four processes."""
    return together(NUMBER, work, folder)


# One model, however many devices


@pytest.mark.parametrize("shape", SHAPES)
def test_a_model_that_is_never_whole_has_the_bits_of_a_whole_one(one, four, shape):
    for results in four:
        assert gap(results["drawn"][shape], one["drawn"][shape]) == 0


def test_no_process_ever_holds_the_model(four):
    numbers = sum(p.numel() for p in gpt.GPT(DEEP).parameters())
    for needed in (results["memory"] for results in four):
        # rows, and the largest matrix while it is drawn and while its rows are taken
        assert needed["built"] < 4 * (numbers / NUMBER + 2.5 * 4 * DEEP.width**2)
        assert needed["built"] > 4 * numbers / NUMBER
        # beside weights and momenta of the rows: their gradients, and the blocks that are gathered
        assert 2 * 4 * numbers / NUMBER + needed["step"] < 0.55 * 3 * 4 * numbers  # one holds 3


def test_a_process_needs_the_memory_for_its_rows_and_not_for_the_model(monkeypatch):
    sizes = [p.nbytes for p in gpt.GPT(DEEP).parameters()]
    enough = sum(sizes) / NUMBER + max(sizes)
    assert enough < sum(sizes) / 2
    monkeypatch.setenv("WORLD_SIZE", str(NUMBER))
    monkeypatch.setattr(checks, "FREE_ANYWAY", 0)
    # no process group is here: a model for which there is room gets as far as to ask for one
    for free, told in ((enough, "process group|RANK"), (enough - 1, "a process's 1/4 of this")):
        memory = SimpleNamespace(available=free)
        monkeypatch.setattr(checks.psutil, "virtual_memory", lambda memory=memory: memory)
        with pytest.raises(ValueError, match=told):
            sharded.build_sharded(lambda: gpt.GPT(DEEP))


def test_copies_must_divide_the_processes(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "3")
    with pytest.raises(ValueError, match="3 processes cannot hold 2 equal copies"):
        sharded.build_sharded(lambda: gpt.GPT(SMALL), replicas=2)


# Pieces, copies, and the big batch


@pytest.mark.parametrize("kind", ["runs", "experts"])
def test_pieces_shards_and_copies_train_as_one_big_batch_does(one, four, kind):
    expected = one[kind]["whole"]
    for results in (one, *four):
        for way in results[kind].values():
            # the loss is computed in float32; the rest in float64
            assert way["losses"] == pytest.approx(expected["losses"], rel=0, abs=2e-6)
            assert gap(way["weights"], expected["weights"]) < 1e-11
    first, *_, last = expected["losses"]
    assert last < first - 0.01


def test_experts_move_their_bias_once_a_step_though_its_batch_comes_in_pieces(one):
    weights = one["experts"]["pieces"]["weights"]
    [bias] = [t for name, t in weights.items() if name.endswith("bias")]
    assert bias.abs().max() > 0
    steps = bias / bias[bias != 0].abs().min()
    assert torch.equal(steps.round(), steps.round().clamp(-3, 3))  # three steps, in six pieces


def test_a_batch_that_pieces_cannot_divide_is_refused(monkeypatch):
    with pytest.raises(ValueError, match="batch must be a multiple of pieces=3"):
        replace(CONFIG, batch=8, pieces=3)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match=r"8 rows .* among 2 processes, in 8 pieces each: .* 16"):
        parallel.share(torch.zeros(8, 2), pieces=8)


def test_two_copies_are_each_divided_between_two_and_the_record_says_so(four):
    for results in four:
        kept = {name: way["kept"] for name, way in results["runs"].items()}
        assert (kept["whole"], kept["copies"], kept["a copy each"]) == (1, 0.5, 1)
        assert kept["sharded"] < 0.3
        assert results["record"]["replicas"] == 2
        assert results["record"]["command"].endswith(" --shard --replicas 2")


def test_gradients_are_summed_over_all_processes_once_a_batch_however_many_pieces(four):
    for results in four:
        sent = {name: way["bytes"] for name, way in results["runs"].items()}
        assert sent["pieces"]["all-reduce"] == sent["whole"]["all-reduce"] > 1000
        assert sent["copies, pieces"]["all-reduce"] == sent["copies"]["all-reduce"] > 1000
        assert "reduce-scatter" not in sent["pieces"]
        once = sent["copies"]["reduce-scatter"]  # of rows it is done with every piece
        assert sent["copies, pieces"]["reduce-scatter"] == 2 * once > 0


# Clipping


def test_gradients_are_clipped_to_one_norm_over_all_devices(one, four):
    expected, free = one["clipped"]["whole"], one["runs"]["whole"]
    assert gap(expected["weights"], free["weights"]) > 1e-4
    for results in four:
        for way in results["clipped"].values():
            assert gap(way["weights"], expected["weights"]) < 1e-11


def test_clipping_is_that_of_torch_and_leaves_what_is_not_finite():
    ours, theirs = (gpt.GPT(SMALL) for _ in range(2))
    for model in (ours, theirs):
        generator = torch.Generator().manual_seed(0)
        for p in model.parameters():
            p.grad = torch.randn(p.shape, generator=generator)
    norm = torch.nn.utils.clip_grad_norm_(theirs.parameters(), 0.5)
    sharded.clip(ours, 2 * norm.item())
    assert not torch.allclose(ours.head.weight.grad, theirs.head.weight.grad)
    sharded.clip(ours, 0.5)
    torch.testing.assert_close(ours.head.weight.grad, theirs.head.weight.grad)
    ours.head.weight.grad[0, 0] = torch.inf
    before = ours.embedding.weight.grad.clone()
    sharded.clip(ours, 0.1)
    assert torch.equal(ours.embedding.weight.grad, before)


# Measurements


@pytest.mark.parametrize("task", ["cycle", "facts-3", "regression-4"])
def test_processes_share_a_measurement_and_find_what_one_finds(one, four, task):
    expected = one["measured"][0][task]
    for results in four:
        for way in results["measured"]:
            values = way[task]
            assert values.keys() == expected.keys()
            for name in values.keys() - {"rows"}:
                assert values[name] == pytest.approx(expected[name], rel=1e-5)
            assert max(values["rows"]) <= 3
            # and rows that fill up a last batch
            assert sum(values["rows"]) < sum(expected["rows"]) / NUMBER + 8


# bf16, and what travels


def test_weights_travel_in_bf16_and_gradients_in_float32(one, four):
    expected, others = one["bf16"], (NUMBER - 1) / NUMBER
    numbers = sum(p.numel() for p in expected["gradients"].values())
    table = expected["gradients"]["embedding.weight"].numel()  # it alone is gathered as it is
    for step in (results["bf16"] for results in four):
        assert step["bytes"]["all-gather"] == 2 * others * (2 * (numbers - table) + 4 * table)
        assert step["bytes"]["reduce-scatter"] == others * 4 * numbers
        assert step["loss"] == pytest.approx(expected["loss"], abs=2e-3)
        for name, gradient in expected["gradients"].items():
            same = torch.cosine_similarity(step["gradients"][name].view(-1), gradient.view(-1), 0)
            assert same > 0.999, name


def test_momenta_travel_in_pieces_of_a_matrix_for_each_owner(one, four):
    for step in (results["travelled"] for results in four):
        assert gap(step["weights"], one["travelled"]["weights"]) < 1e-13
        # out: rows of as many matrices as processes; back: of one
        assert max(step["numbers"]) <= 4 * rehearse.SMALL_GPT.width**2
        assert len(step["numbers"]) == 2 * 2 * 12 / NUMBER  # there and back, two steps


def test_each_process_makes_the_checksums_of_its_own_files(four):
    saved = [results["hashed"]["saved"] for results in four]
    assert [names[0][:11] for names in saved] == [f"shard-{n + 1:05d}" for n in range(NUMBER)]
    assert [len(names) for names in saved] == [1] * NUMBER
    assert sorted(results["hashed"]["loaded"] for results in four) == sorted(saved)


# A process is lost

PARTS = {  # of a run: how process 1 is lost, and as it begins what
    "train": ("SIGSTOP", parallel, "share"),
    "evaluate": ("error", parallel.Shared, "__call__"),
    "exchange": ("SIGKILL", sharded_rows, "_scatter"),
    "save": ("SIGKILL", checkpoints, "_checksum"),
}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_a_process_lost_in_any_part_of_a_run_is_an_error_and_no_hang(tmp_path):
    with ThreadPoolExecutor() as pool:
        lost = {part: pool.submit(lose, part, tmp_path) for part in PARTS}
    for part, (how, *_) in PARTS.items():
        failed = (
            "failed:(?s:.*)ValueError: no more" if how == "error" else "ended with exit code -9"
        )
        message = lost[part].result()
        assert re.search(f"process 1 of 2 {failed}", message)
        assert "in process 0 of 2; has another one ended?" in message
        waited = float((tmp_path / part).read_text())
        if how == "SIGSTOP":  # only the clock tells
            assert waited > SOON - 1
        assert waited < TIMEOUT / 2  # the closed connection tells


def lose(part, folder):
    with pytest.raises(RuntimeError) as failure:
        together(2, lose_process_1, part, str(folder), timeout=TIMEOUT)
    return str(failure.value)


def lose_process_1(part, folder):
    """Process 1 is lost within a part of a run; process 0 says how long it waited."""
    how, *place = PARTS[part]
    other = parallel.gather(os.getpid())[1]

    def end(*_, **__):
        if how == "error":
            raise ValueError("no more")
        os.kill(other, getattr(signal, how))

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(gpt.SIZES, "tiny", SMALL)
        run = Run(replace(CONFIG, batch=8), Cycle(), shard=part != "train")
        run.train_step()
        if parallel.rank() == 1:
            patch.setattr(*place, end)
        elif how == "SIGSTOP":  # it waits as long as it was told to: less, from now on
            backend = dist.group.WORLD._get_backend(torch.device("cpu"))
            assert backend.options._timeout == timedelta(seconds=TIMEOUT)
            dist.distributed_c10d._set_pg_timeout(timedelta(seconds=SOON))
        began = time.monotonic()
        try:
            run.train_step()
            run.evaluate()
            run.save(f"{folder}/run-{part}")
        finally:
            if parallel.rank() == 0:
                Path(f"{folder}/{part}").write_text(str(time.monotonic() - began))
            if how == "SIGSTOP":  # a stopped process would keep the test waiting
                with suppress(ProcessLookupError):
                    os.kill(other, signal.SIGKILL)
