"""Many devices: models that none of them could hold, batches in pieces, shared measurements.

Each world of 1, 2 or 4 processes is started once and does all its work; the tests look at what it
returned.
"""

import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pytest
import torch
from test_train import CONFIG, VOCABULARY, Cycle
from torch.profiler import ProfilerActivity, profile

from muonlab import checks, exchange
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

WORLDS = (2, 4)
SMALL = GPTConfig(vocab_size=VOCABULARY, context=64, layers=1, width=16, heads=2)
UNEVEN = GPTConfig(  # rows that four processes cannot divide, and experts
    **{"vocab_size": 61, "context": 16, "layers": 1, "width": 20, "heads": 2},
    **{"experts": 3, "active_experts": 2, "expert_hidden": 5},
)
SHAPES = {"even": SMALL, "uneven": UNEVEN, "regressor": replace(SMALL, inputs=7)}
DEEP = GPTConfig(vocab_size=64, context=4, layers=16, width=128, heads=2)
MIXTURE = {"attention": "latent", "experts": 5}
# name → how it differs from one big batch in one process, and the processes it needs at least
WAYS = {
    "whole": ({}, {}, 1),
    "pieces": ({"pieces": 2}, {}, 1),
    "sharded": ({}, {"shard": True}, 2),
    "sharded pieces": ({"pieces": 2}, {"shard": True}, 2),
    "copies": ({"pieces": 2}, {"shard": True, "replicas": 2}, 2),
}
SHARED = ("whole", "copies")
TIMEOUT = 15  # seconds that a process waits for a partner that is lost; or that starts slowly


def work(folder):
    """What each process of a world does."""
    ways = {name: way[:2] for name, way in WAYS.items() if way[2] <= parallel.size()}
    found = {"drawn": {name: drawn(shape) for name, shape in SHAPES.items()}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(gpt.SIZES, "tiny", SMALL)
        found["measured"] = {n: measured(*way) for n, way in ways.items() if n in SHARED}
        found["bf16"] = coarse()
        patch.setattr(runs, "build_model", lambda *made: build_model(*made).double())
        found["runs"] = {name: three_steps(*way) for name, way in ways.items()}
        few = {name: way for name, way in ways.items() if name in ("whole", "pieces", "copies")}
        found["experts"] = {name: three_steps(*way, **MIXTURE) for name, way in few.items()}
        few = {name: way for name, way in ways.items() if name in ("whole", "sharded pieces")}
        found["clipped"] = {name: three_steps(*way, grad_clip=0.2) for name, way in few.items()}
    found["travelled"] = travelled()
    found["hashed"] = hashed(folder / f"hashed-{parallel.size()}")
    return found


def three_steps(change, options, **more):
    """Returns losses and weights of a short run."""
    run = Run(replace(CONFIG, batch=8, **change, **more), Cycle(), **options)
    losses = [run.train_step() for _ in range(3)]
    weights = {name: whole(t) for name, t in run.model.state_dict().items()}
    return {"losses": losses, "weights": weights}


def whole(t):
    return sharded.whole(t.detach()).clone()


def measured(change, options):
    """Returns what three tasks measure, and how many rows at once this process asked about."""
    config, found = replace(CONFIG, batch=8, eval_tokens=16 * 37, eval_batch=3, **change), {}
    for task in (Short(), load_facts("facts-3"), load_regression("regression-4")):
        run, rows = Run(replace(config, corpus=task.name), task, **options), []
        run.model.register_forward_pre_hook(lambda _, given, rows=rows: rows.append(len(given[0])))
        values = {k: v for k, v in run.evaluate().items() if "seconds" not in k}
        found[task.name] = {**values, "rows": rows}
    return found


class Short(Cycle):
    """Its last batch of 5 rows cannot be divided equally."""

    def held_out_batches(self, batch, context, tokens):
        yield from (self.batch(0, batch, context, 999), self.batch(1, 5, context, 999))


def coarse():
    """Returns loss, update and traffic of a step in bf16."""
    config = replace(CONFIG, precision="bf16", batch=8, lr=0.0, adamw_lr=0.0)
    run = Run(config, Cycle(), shard=True)
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
    numbers, exchange_once = [], exchange._exchange
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast, "STACK_ELSE", 1)
        patch.setattr(
            exchange,
            "_exchange",
            lambda sent, *rest, **like: (
                numbers.append(sum(t.numel() for some in sent for t in some))
                or exchange_once(sent, *rest, **like)
            ),
        )
        several = parallel.size() > 1
        made = rehearse.train_small(2, several, "normuon", torch.float64, rehearse.SMALL_GPT)
    return {"weights": dict(enumerate(made["weights"])), "numbers": numbers}


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


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """Returns the folder of all checkpoints, and what one process finds."""
    folder = tmp_path_factory.mktemp("devices")
    return folder, work(folder)


@pytest.fixture(scope="module")
def worlds(one):
    """Returns what each process found, for each number of processes."""
    return {number: together(number, work, one[0]) for number in WORLDS}


def gap(found, wanted):
    assert found.keys() == wanted.keys()
    return max((found[name].double() - t).abs().max().item() for name, t in wanted.items())


# One model, however many devices


@pytest.mark.parametrize("number", WORLDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_model_that_is_never_whole_has_the_bits_of_a_whole_one(one, worlds, number, shape):
    for found in worlds[number]:
        assert gap(found["drawn"][shape], one[1]["drawn"][shape]) == 0


def test_no_process_ever_holds_the_model():
    numbers = sum(p.numel() for p in gpt.GPT(DEEP).parameters())
    for found in together(4, memory):
        # rows, and the largest matrix while it is drawn and while its rows are taken
        assert found["built"] < 4 * (numbers / 4 + 2.5 * 4 * DEEP.width**2)
        assert found["built"] > 4 * numbers / 4
        # beside weights and momenta of the rows: their gradients, and the blocks that are gathered
        assert 2 * numbers / 4 * 4 + found["step"] < 0.55 * 3 * 4 * numbers  # one process holds 3


def test_a_process_needs_the_memory_for_its_rows_and_not_for_the_model():
    for found in together(4, scarce):
        assert found["rows"] == "built"
        assert "a process's 1/4 of this model would need about" in found["less"]
        assert "GiB free are here" in found["less"]


def scarce():
    """Returns how it goes where one process could not hold the model, and where not even rows."""
    sizes, found = [p.nbytes for p in gpt.GPT(DEEP).parameters()], {}
    enough = sum(sizes) / 4 + max(sizes)
    assert enough < sum(sizes) / 2
    for name, free in (("rows", enough), ("less", enough - 1)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(checks, "FREE_ANYWAY", 0)
            given = SimpleNamespace(available=free)
            patch.setattr(checks.psutil, "virtual_memory", lambda given=given: given)
            try:
                sharded.build_sharded(lambda: gpt.GPT(DEEP))
                found[name] = "built"
            except ValueError as error:
                found[name] = str(error)
    return found


def memory():
    """Returns the most bytes that building a model, and a step with it, have allocated at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast, "STACK_ELSE", 1)
        made, found = [], {}
        found["built"] = most_bytes(
            lambda: made.extend(rehearse.start_alike(True, "muon", torch.float32, DEEP))
        )
        rows = rehearse.batch(0, DEEP)
        rehearse.train_step(*made, rows, True)
        # threads that wait for a processor free late what they sent: of six steps, the least
        steps = [most_bytes(lambda: rehearse.train_step(*made, rows, True)) for _ in range(6)]
        return found | {"step": min(steps)}


def most_bytes(function):
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        function()
    with TemporaryDirectory() as folder:
        seen.export_chrome_trace(f"{folder}/trace.json")
        events = json.loads(Path(folder, "trace.json").read_text())["traceEvents"]
    memory = sorted((e for e in events if e["name"] == "[memory]"), key=lambda e: e["ts"])
    return max(accumulate(e["args"]["Bytes"] for e in memory))


@pytest.mark.parametrize("copies", [2, 4])
def test_copies_must_divide_the_processes(monkeypatch, copies):
    monkeypatch.setenv("WORLD_SIZE", "3")
    with pytest.raises(ValueError, match=f"3 processes cannot hold {copies} equal copies"):
        sharded.build_sharded(lambda: gpt.GPT(SMALL), replicas=copies)


# Pieces, copies, and the big batch


@pytest.mark.parametrize("number", [1, *WORLDS])
@pytest.mark.parametrize("kind", ["runs", "experts"])
def test_pieces_shards_and_copies_train_as_one_big_batch_does(one, worlds, number, kind):
    wanted = one[1][kind]["whole"]
    for found in worlds.get(number, [one[1]]):
        assert len(found["runs"]) == (2 if number == 1 else len(WAYS))
        assert len(found["experts"]) == (2 if number == 1 else 3)
        for way in found[kind].values():
            # the loss is computed in float32; the rest in float64
            assert way["losses"] == pytest.approx(wanted["losses"], rel=0, abs=2e-6)
            assert gap(way["weights"], wanted["weights"]) < 1e-11
    first, *_, last = wanted["losses"]
    assert last < first - 0.01


def test_experts_move_their_bias_once_a_step_though_its_batch_comes_in_pieces(one):
    weights = one[1]["experts"]["pieces"]["weights"]
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


@pytest.fixture(scope="module")
def divided():
    """Returns what each of four processes with two copies of the weights found."""
    return together(4, two_copies)


def two_copies():
    """Returns where the weights of a run lie, its record, and what is summed in a step."""
    made, found = [], {}

    class Seen(Run):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            made.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(gpt.SIZES, "tiny", SMALL)
        patch.setattr(runs, "Run", Seen)
        record = runs.train(CONFIG, Cycle(), shard=True, replicas=2, progress=False)
        for name, options in (("whole", {}), ("copies", {"shard": True, "replicas": 2})):
            for pieces in (1, 2):
                run = Run(replace(CONFIG, batch=8, pieces=pieces), Cycle(), **options)
                run.train_step()  # DDP tells once in which order gradients become ready
                run.optimizer.step = lambda: None  # of a copy: `Traffic` counts for all processes
                with Traffic() as traffic:
                    run.train_step()
                found[f"{name} {pieces}"] = dict(traffic.bytes)
    p = made[0].model.head.weight
    places = {"mesh": [*p.device_mesh.shape], "names": [*p.device_mesh.mesh_dim_names]}
    places |= {"rows": len(p.to_local()), "of": len(p)}
    told = {key: record.provenance.get(key) for key in ("command", "sharded", "replicas")}
    return {"summed": found, **places, **told}


def test_two_copies_are_each_divided_between_two_and_the_record_says_so(divided):
    for found in divided:
        assert (found["mesh"], found["names"]) == ([2, 2], ["copies", "rows"])
        assert found["rows"] == found["of"] / 2
        assert (found["sharded"], found["replicas"]) == (True, 2)
        assert found["command"].endswith(" --shard --replicas 2")


def test_gradients_are_summed_over_all_processes_once_a_batch_however_many_pieces(divided):
    for found in divided:
        summed = found["summed"]
        for way in ("whole", "copies"):
            one, two = (summed[f"{way} {pieces}"] for pieces in (1, 2))
            assert two["all-reduce"] == one["all-reduce"] > 1000
        assert "reduce-scatter" not in summed["whole 2"]
        rows = [summed[f"copies {pieces}"]["reduce-scatter"] for pieces in (1, 2)]
        assert rows[1] == 2 * rows[0] > 0  # of rows it is done with every piece


# Clipping


@pytest.mark.parametrize("number", [1, *WORLDS])
def test_gradients_are_clipped_to_one_norm_over_all_devices(one, worlds, number):
    wanted, free = one[1]["clipped"]["whole"], one[1]["runs"]["whole"]
    assert gap(wanted["weights"], free["weights"]) > 1e-4
    for found in worlds.get(number, [one[1]]):
        for way in found["clipped"].values():
            assert gap(way["weights"], wanted["weights"]) < 1e-11


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


@pytest.mark.parametrize("number", WORLDS)
@pytest.mark.parametrize("task", ["cycle", "facts-3", "regression-4"])
def test_processes_share_a_measurement_and_find_what_one_finds(one, worlds, number, task):
    wanted = one[1]["measured"]["whole"][task].copy()
    alone = sum(wanted.pop("rows"))
    for found in worlds[number]:
        for way in found["measured"].values():
            values = way[task].copy()
            rows = values.pop("rows")
            assert values.keys() == wanted.keys()
            for name, value in values.items():
                assert value == pytest.approx(wanted[name], rel=1e-5)
            assert max(rows) <= 3
            assert sum(rows) < alone / number + 8  # rows that fill up a last batch


# bf16, and what travels


@pytest.mark.parametrize("number", WORLDS)
def test_weights_travel_in_bf16_and_gradients_in_float32(one, worlds, number):
    wanted, others = one[1]["bf16"], (number - 1) / number
    numbers = sum(p.numel() for p in wanted["gradients"].values())
    table = wanted["gradients"]["embedding.weight"].numel()  # it alone is gathered as it is
    for found in (process["bf16"] for process in worlds[number]):
        assert found["bytes"]["all-gather"] == 2 * others * (2 * (numbers - table) + 4 * table)
        assert found["bytes"]["reduce-scatter"] == others * 4 * numbers
        assert found["loss"] == pytest.approx(wanted["loss"], abs=2e-3)
        for name, gradient in wanted["gradients"].items():
            same = torch.cosine_similarity(found["gradients"][name].view(-1), gradient.view(-1), 0)
            assert same > 0.999, name


@pytest.mark.parametrize("number", WORLDS)
def test_momenta_travel_in_pieces_of_a_matrix_for_each_owner(one, worlds, number):
    largest = 4 * rehearse.SMALL_GPT.width**2
    for found in (process["travelled"] for process in worlds[number]):
        assert gap(found["weights"], one[1]["travelled"]["weights"]) < 1e-13
        assert max(found["numbers"]) <= largest  # out: rows of `number` matrices; back: of one
        assert len(found["numbers"]) == 2 * 2 * 12 / number  # there and back, two steps


@pytest.mark.parametrize("number", WORLDS)
def test_each_process_makes_the_checksums_of_its_own_files(worlds, number):
    saved = [process["hashed"]["saved"] for process in worlds[number]]
    assert [len(names) for names in saved] == [1] * number
    assert [names[0][:11] for names in saved] == [f"shard-{n + 1:05d}" for n in range(number)]
    loaded = [process["hashed"]["loaded"] for process in worlds[number]]
    assert sorted(loaded) == sorted(saved)


# A process is lost


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_a_process_lost_in_any_part_of_a_run_is_an_error_and_no_hang(tmp_path):
    with ThreadPoolExecutor() as pool:
        lost = {part: pool.submit(lose, part, tmp_path) for part in PARTS}
    for part, (how, *_) in PARTS.items():
        assert "process 1 of 2 ended with exit code -9" in lost[part].result()
        assert "in process 0 of 2; has another one ended?" in lost[part].result()
        waited = float((tmp_path / part).read_text())
        if how == "SIGSTOP":  # only the clock tells
            assert TIMEOUT - 1 < waited < TIMEOUT + 10
        else:  # the closed connection tells
            assert waited < TIMEOUT - 1


def lose(part, folder):
    with pytest.raises(RuntimeError) as failure:
        together(2, lose_process_1, part, str(folder), timeout=TIMEOUT)
    return str(failure.value)


PARTS = {  # how process 1 is lost, and as it begins what
    "evaluate": ("SIGSTOP", parallel.Shared, "__call__"),
    "exchange": ("SIGKILL", exchange, "_scatter"),
    "save": ("SIGKILL", checkpoints, "_checksum"),
}


def lose_process_1(part, folder):
    """Process 1 is lost within a part of a run; process 0 says how long it waited."""
    how, *place = PARTS[part]
    other = parallel.gather(os.getpid())[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(gpt.SIZES, "tiny", SMALL)
        run = Run(replace(CONFIG, batch=8), Cycle(), shard=True)
        run.train_step()
        if parallel.rank() == 1:
            patch.setattr(*place, lambda *_, **__: os.kill(other, getattr(signal, how)))
        began = time.monotonic()
        try:
            run.train_step()
            run.evaluate()
            run.save(f"{folder}/run-{part}")
        finally:
            Path(f"{folder}/{part}").write_text(str(time.monotonic() - began))
            with suppress(ProcessLookupError):
                os.kill(other, signal.SIGKILL)  # a stopped process would keep the test waiting
