"""Many processes train as one does, with whole weights or rows of them, and go on anywhere.

Each world of processes is started once and does all its work; the tests look at what it returned.
"""

import multiprocessing
import os
import re
import signal
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Shard, distribute_tensor

from muonlab import Muon, NorMuon, checks
from muonlab.data.facts import load_facts
from muonlab.data.regression import load_regression
from muonlab.distributed import parallel, sharded
from muonlab.distributed import rehearse as rehearsal
from muonlab.distributed.processes import PRELOADED, _store, together
from muonlab.distributed.rehearse import SMALL_GPT, rehearse, start_alike, train_small, train_step
from muonlab.distributed.sharded import orthogonalize_apart, whole
from muonlab.distributed.traffic import Traffic, sharded_bytes
from muonlab.models import gpt
from muonlab.models.gpt import GPTConfig
from muonlab.models.regressor import build
from muonlab.optim import sharding
from muonlab.optim import stacks as shapes
from muonlab.optim.dtensors import own
from muonlab.optim.orthogonalize import polar
from muonlab.optim.routing import route
from muonlab.optim.rules import RULES, Controlled
from muonlab.records.record import read_records
from muonlab.training import checkpoints
from muonlab.training import run as runs
from muonlab.training.build import build_model
from muonlab.training.clipping import clip_gradients
from muonlab.training.run import Run, load_model, tensors
from tests.profiled import most_bytes
from tests.test_train import CONFIG, VOCABULARY, Cycle

pytestmark = pytest.mark.processes
EVEN = replace(SMALL_GPT, layers=1)
SMALL = GPTConfig(vocab_size=VOCABULARY, context=64, layers=1, width=16, heads=2)
# 61 words; 3 experts, and 5 rows for those that all tokens share
UNEVEN = replace(EVEN, vocab_size=61, width=20, experts=3, active_experts=2, expert_hidden=5)
DEEP = GPTConfig(vocab_size=64, context=4, layers=8, width=128, heads=2)
SHAPES = {"even": SMALL, "uneven": UNEVEN, "regressor": replace(SMALL, inputs=7)}
MIXTURE = {"attention": "latent", "experts": 5}
PRELOADED.append("tests.test_sharded")  # or each process would import what stands above
HALF, STEPS, FEW = 3, 6, 2
NUMBER = 4  # processes, where one world is enough
WORLDS = (NUMBER, 2)
KINDS = {"sharded": "normuon", "whole": "muon"}  # of weights, and what steps them
WAYS = {  # name → how a run differs from one big batch in one process
    "whole": ({}, {}),
    "pieces": ({"pieces": 2}, {}),
    "sharded": ({}, {"shard": True}),
    "copies": ({}, {"shard": True, "replicas": 2}),
    "copies, pieces": ({"pieces": 2}, {"shard": True, "replicas": 2}),
    "a copy each": ({}, {"shard": True, "replicas": NUMBER}),
}
ALONE = ("whole", "pieces")
FEW_WAYS = (*ALONE, "copies, pieces")
TIMEOUT, SOON = 120, 2  # seconds that a process waits for a partner; and for one that stands still
LOCKED = 5  # seconds that Python's lock stays where it is
PATIENCE = 300  # seconds until a test gives up on its processes: a busy machine starts them slowly


def work(folder):
    """What each process of a world does, or one alone."""
    several = parallel.size() > 1
    results = saved_and_resumed(folder)
    if several:
        results["poisoned"] = {kind: poisoned(kind) for kind in KINDS}
    return results if parallel.size() == 2 else results | many_ways(folder, several)


def saved_and_resumed(folder):
    """Returns what training gives, and what goes on from the checkpoints of all worlds so far."""
    number = parallel.size()
    results = {kind: train_and_save(kind, folder / f"{kind}-{number}") for kind in KINDS}
    uneven = train_small(FEW, number > 1, "normuon", torch.float64, UNEVEN)
    results |= {"uneven": uneven["weights"], "coarse": coarse(number > 1)}
    earlier = [(kind, f"{kind}-{other}") for other in (1, *WORLDS) for kind in KINDS]
    results["resumed"] = {
        name: resume(kind, folder / name)
        for kind, name in earlier
        if checkpoints.exists(folder / name)
    }
    interrupted_run(folder / f"run-{number}")
    return results


def begin(kind):
    """Returns model and optimizer, and the model to call."""
    shard = kind == "sharded"
    several = shard and parallel.size() > 1
    model, optimizer = start_alike(several, KINDS[kind], torch.float64, EVEN)
    return model, optimizer, model if shard else parallel.replicate(model)


def train(kind, model, optimizer, replica, steps):
    shard = kind == "sharded"
    for n in steps:
        train_step(replica, optimizer, rehearsal.batch(n, EVEN), shard)
    if not shard:
        parallel.gather_state(optimizer)


def train_and_save(kind, folder):
    trained = begin(kind)
    with pytest.MonkeyPatch.context() as patch:
        stacks = named_updates(patch, trained[0])
        train(kind, *trained, range(HALF))
        checkpoints.save(tensors(*trained[:2]), {}, folder)
        train(kind, *trained, range(HALF, STEPS))
    return {"end": complete(*trained[:2]), "stacks": stacks}


def named_updates(patch, model):
    """Returns a list that grows by the names of the matrices that are orthogonalized together."""
    names, rescale = {id(p): name for name, p in model.named_parameters()}, Muon.rescale
    stacks = []

    def counted(self, O, taken, group):  # noqa: E741  the paper's letter
        stacks.append([names.get(id(p), "") for p in taken.params])
        rescale(self, O, taken, group)

    patch.setattr(Muon, "rescale", counted)
    return stacks


def resume(kind, folder):
    trained = begin(kind)
    checkpoints.load(tensors(*trained[:2]), folder)
    train(kind, *trained, range(HALF, STEPS))
    return complete(*trained[:2])


def gathered(t):
    return whole(t.detach()).clone()


def complete(model, optimizer):
    return {name: gathered(t) for name, t in tensors(model, optimizer).items()}


def interrupted_run(folder):
    """Does what `muonlab train --shard` calls, and stops after step 4 of 7."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(gpt.SIZES, "tiny", SMALL)
        with suppress(KeyboardInterrupt):
            run(Cycle(fail_at=4), checkpoint=folder, shard=True)


def run(corpus, **options):
    return runs.train(CONFIG, corpus, progress=False, **options)


def coarse(several):
    """Returns the weights after a step whose products, and messages, are in bf16."""
    model, optimizer = start_alike(several, "muon", torch.float32, EVEN)
    for group in optimizer.param_groups:
        group["ns_dtype"] = torch.bfloat16
    with Traffic() as traffic:
        train_step(model, optimizer, rehearsal.batch(0, EVEN), several)
    weights = [gathered(p) for p in model.parameters()]
    return {"weights": weights, "bytes": dict(traffic.bytes)}


def poisoned(kind):
    """Returns the errors when the last process alone has a NaN, and whether nothing has changed.

    And when it lacks a gradient.
    """
    model, optimizer, replica = begin(kind)
    train(kind, model, optimizer, replica, range(1))
    before, errors = complete(model, optimizer), {}
    last = parallel.rank() == parallel.size() - 1
    for name, p in model.named_parameters():
        spoil = p.register_hook(lambda gradient: gradient * torch.nan) if last else None
        replica(*map(parallel.share, rehearsal.batch(1, EVEN))).backward()
        if last:
            spoil.remove()
            own(p).grad[0, 0] = torch.nan
        errors[name] = error_of(kind, optimizer)
        optimizer.zero_grad()
    replica(*map(parallel.share, rehearsal.batch(1, EVEN))).backward()
    if last:
        model.head.weight.grad = None
    errors["none there"] = error_of(kind, optimizer)
    after = complete(model, optimizer)
    return {"errors": errors, "unchanged": all(torch.equal(before[k], after[k]) for k in before)}


def error_of(kind, optimizer):
    try:
        optimizer.step() if kind == "sharded" else parallel.step_shared(optimizer)
    except ValueError as error:
        return str(error)
    return "none"


def many_ways(folder, several):
    """Returns what runs are with whole or sharded weights, in pieces, and in copies."""
    ways = WAYS if several else {name: WAYS[name] for name in ALONE}
    few = {name: way for name, way in ways.items() if name in FEW_WAYS}
    results = {"drawn": {name: drawn(shape) for name, shape in SHAPES.items()}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(gpt.SIZES, "tiny", SMALL)
        results["measured"] = [measured(*few[name]) for name in few if name != "pieces"]
        results["bf16"] = in_bf16()
        options = {"shard": True, "replicas": 2} if several else {}
        record = runs.train(replace(CONFIG, steps=1), Cycle(), progress=False, **options)
        results["record"] = {k: record.provenance.get(k) for k in ("command", "replicas")}
        patch.setattr(runs, "build_model", lambda *made: build_model(*made).double())
        results["runs"] = {name: three_steps(*way) for name, way in ways.items()}
        results["experts"] = {name: three_steps(*way, **MIXTURE) for name, way in few.items()}
        results["clipped"] = {name: three_steps(*way, grad_clip=0.2) for name, way in few.items()}
    results["travelled"] = travelled()
    results["hashed"] = hashed(folder / f"hashed-{parallel.size()}")
    return results | ({"memory": memory()} if several else {})


def three_steps(change, options, **more):
    """Returns losses and weights of a short run, what is kept here, and sent for gradients."""
    run = Run(replace(CONFIG, batch=8, **change, **more), Cycle(), **options)
    losses = [run.train_step() for _ in range(3)]
    weights = {name: gathered(t) for name, t in run.model.state_dict().items()}
    head = run.model.head.weight
    run.optimizer.step = lambda: None  # of a copy: `Traffic` counts for all processes
    with Traffic() as traffic:
        run.train_step()
    kept = len(own(head)) / len(head)
    return {"losses": losses, "weights": weights, "kept": kept, "bytes": dict(traffic.bytes)}


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


def in_bf16():
    """Returns loss, update and traffic of a step in bf16."""
    config = replace(CONFIG, precision="bf16", batch=8, lr=0.0, adamw_lr=0.0)
    run = Run(config, Cycle(), shard=parallel.size() > 1)
    run.model.zero_grad = lambda: None
    with Traffic() as traffic:
        loss = run.train_step()
    gradients = {name: gathered(p.grad) for name, p in run.model.named_parameters()}
    return {"loss": loss, "gradients": gradients, "bytes": dict(traffic.bytes)}


def drawn(shape):
    """Returns parameters and buffers of an untrained model."""

    def make():
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(3)
            return build(shape)

    model = sharded.build_sharded(make)
    return {n: gathered(t) for n, t in (*model.named_parameters(), *model.named_buffers())}


def travelled():
    """Returns weights after two steps, an owner with a matrix at a time, and sizes of messages."""
    numbers, exchange_once = [], sharding._exchange

    def counted(sent, *rest, **like):
        numbers.append(sum(t.numel() for part in sent for t in part))
        return exchange_once(sent, *rest, **like)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shapes, "STACK_ELSE", 1)
        patch.setattr(sharding, "_exchange", counted)
        made = train_small(2, parallel.size() > 1, "normuon", torch.float64, SMALL_GPT)
    return {"weights": made["weights"], "numbers": numbers}


def hashed(folder):
    """Returns the files whose checksums this process made, in a save and in a load."""
    files, checksum = [], checkpoints.checksum
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints, "checksum", lambda p: files.append(p.name) or checksum(p))
        model, optimizer = start_alike(parallel.size() > 1, "muon", torch.float32, SMALL)
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
    """Returns the most bytes that building a model, and a step with it, have allocated at once.

    The first process tells for all: a profiler takes seconds to start.
    """
    made, first = [], parallel.rank() == 0
    most = most_bytes if first else lambda function: function() or 0
    built = most(lambda: made.extend(start_alike(True, "muon", torch.float32, DEEP)))
    rows = rehearsal.batch(0, DEEP)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("STACK", "STACK_ELSE"):  # in bf16, or in float32: as this machine has it
            patch.setattr(shapes, name, 1)
        train_step(*made, rows, True)
        # threads that wait for a processor free late what they sent: of some steps, the least
        steps = [most(lambda: train_step(*made, rows, True)) for _ in range(4)]
    return {"built": built, "step": min(steps)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where all checkpoints lie."""
    return tmp_path_factory.mktemp("parts")


@pytest.fixture(scope="module")
def one(folder):
    """Returns the results of one process."""
    return work(folder)


@pytest.fixture(scope="module")
def worlds(folder, one):
    """Returns the results of each process, for each number of processes."""
    return {number: together(number, work, folder) for number in WORLDS}


@pytest.fixture(scope="module")
def four(worlds):
    return worlds[NUMBER]


def gap(actual, expected):
    """Returns the largest difference between tensors of the same names, or places."""
    if isinstance(expected, list):
        actual, expected = dict(enumerate(actual)), dict(enumerate(expected))
    assert actual.keys() == expected.keys()
    return max((actual[name].double() - t).abs().max().item() for name, t in expected.items())


@pytest.mark.parametrize("number", WORLDS)
@pytest.mark.parametrize("kind", KINDS)
def test_several_processes_give_the_weights_and_states_of_one(one, worlds, number, kind):
    first = worlds[number][0]
    for results in worlds[number]:
        # in float64, sums of halves differ by about 1e-16
        assert gap(results[kind]["end"], one[kind]["end"]) < 1e-13
        assert gap(results[kind]["end"], first[kind]["end"]) == 0  # the same bits in all


def test_each_whole_matrix_is_orthogonalized_once_a_step_in_stacks(worlds):
    matrices = {r.name for r in route(gpt.GPT(EVEN)).routes if r.rule == "muon"}
    shares = [results["whole"]["stacks"] for results in worlds[2]]
    for share in shares:  # a step is two stacks for each: of 2 square matrices, and another
        assert [len(stack) for stack in share] == [2, 1] * STEPS
    for step in range(STEPS):
        taken = [name for share in shares for stack in share[2 * step :][:2] for name in stack]
        assert sorted(taken) == sorted(matrices)


@pytest.mark.parametrize("number", WORLDS)
def test_rows_and_experts_that_cannot_be_divided_evenly(one, worlds, number):
    assert gap(worlds[number][0]["uneven"], one["uneven"]) < 1e-13


@pytest.mark.parametrize("number", WORLDS)
def test_products_in_bf16_make_messages_of_half_the_size(one, worlds, number):
    weights = worlds[number][0]["coarse"]["weights"]
    numbers = sum(p.numel() for p in weights)
    matrices = numbers - 2 * EVEN.vocab_size * EVEN.width
    expected = sharded_bytes(numbers, matrices, number, size=4)
    expected["all-to-all"] /= 2
    for name, sent in expected.items():
        assert sum(part["coarse"]["bytes"][name] for part in worlds[number]) / number == sent
    begun = [p.detach() for p in start_alike(False, "muon", torch.float32, EVEN)[0].parameters()]
    for p, a, b in zip(begun, weights, one["coarse"]["weights"], strict=True):
        cosine = torch.cosine_similarity((a - p).view(-1), (b - p).view(-1), 0)
        assert cosine > 0.99  # rounded to 8 bits once more


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("saved", "loaded"), [(4, 1), (4, 2), (1, 4), (4, 4)])
def test_a_checkpoint_goes_on_in_any_number_of_processes(folder, one, worlds, kind, saved, loaded):
    name = f"{kind}-{saved}"
    resumed = resume(kind, folder / name) if loaded == 1 else worlds[loaded][0]["resumed"][name]
    assert gap(resumed, one[kind]["end"]) < 1e-13


def test_a_run_of_many_processes_goes_on_in_one(folder, worlds, monkeypatch):
    monkeypatch.setitem(gpt.SIZES, "tiny", SMALL)
    unbroken = run(Cycle())
    for number in (1, *WORLDS):
        checkpoint = folder / f"run-{number}"
        assert checkpoints.read_index(checkpoint)["step"] == 3
        ahead = Cycle(fail_at=0)  # of the steps done it has no batch
        ahead.held_out_batches = Cycle().held_out_batches
        resumed = run(ahead, checkpoint=checkpoint, shard=True)
        assert resumed.train_loss == pytest.approx(unbroken.train_loss, abs=1e-4)  # float32
        assert resumed.provenance["sharded"]
        losses = [row["overall"] for row in resumed.held_out]
        assert losses == pytest.approx([row["overall"] for row in unbroken.held_out], abs=1e-4)
        sizes = CONFIG.batch, CONFIG.context, CONFIG.eval_tokens
        with torch.no_grad():
            measured = Cycle().measure(load_model(checkpoint), *sizes)["overall"]
        assert measured == pytest.approx(losses[-1], abs=1e-6)


@pytest.mark.parametrize("number", WORLDS)
def test_what_is_wrong_in_one_process_is_the_same_error_in_all_and_changes_nothing(worlds, number):
    first, *others = (results["poisoned"] for results in worlds[number])
    assert all(spoiled == first for spoiled in others)
    for spoiled in first.values():
        assert spoiled["unchanged"]
        lacks = spoiled["errors"].pop("none there")
        assert f"{number - 1} of {number} processes have a gradient of 'head.weight'" in lacks
        assert len(spoiled["errors"]) == 8  # 6 matrices, and AdamW's two
        for name, error in spoiled["errors"].items():
            assert f"gradient of parameter {name!r} holds NaN or Inf: nothing was updated" in error


def test_no_other_machine_can_reach_where_processes_meet():
    store = _store()
    sockets = [s for s in psutil.Process().net_connections() if s.laddr.port == store.port]
    listening = [s.laddr.ip for s in sockets if s.status == psutil.CONN_LISTEN]
    assert listening == ["127.0.0.1"]  # and no 0.0.0.0 or ::


def test_the_rehearsal_counts_what_the_formula_says():
    rehearsed = rehearse(2, dtype=torch.float32)
    sent, expected = rehearsed["bytes"], rehearsed["expected"]
    assert rehearsed["difference"] < 1e-5
    assert rehearsed["losses"] == pytest.approx(rehearsed["losses_of_one"], abs=1e-5)
    assert expected == {name: sent[name] for name in expected}
    assert sent.keys() - expected.keys() == {"all-reduce"}
    assert sent["all-reduce"] < 100  # the loss, and whether gradients are finite
    if rehearsed["wire"] is not None:  # gloo reduces and scatters by an all-reduce
        assert 1 <= rehearsed["wire"] / (sum(sent.values()) + sent["reduce-scatter"]) < 1.1
    # 12 bytes a parameter from everybody to everybody, 8 a matrix entry to one and back
    numbers, matrices = rehearsed["numbers"], rehearsed["matrices"]
    assert sum(expected.values()) == 12 * numbers / 2 + 8 * matrices / 2 / 2


def test_whole_weights_everywhere_send_what_the_formula_says():
    rehearsed = rehearse(2, sharded=False)
    sent, expected = rehearsed["bytes"], rehearsed["expected"]
    assert rehearsed["difference"] < 1e-13
    parameters = len(list(gpt.GPT(rehearsal.SMALL_GPT).parameters()))
    assert sent["all-reduce"] - expected["all-reduce"] == 4 + 4 * parameters  # loss, who has what
    # DDP tells once in which order gradients become ready
    assert 0 <= sent["broadcast"] - expected["broadcast"] < 100


def test_an_unknown_collective_is_not_counted_as_nothing():
    with pytest.raises(KeyError, match="gather_"):
        Traffic().__torch_dispatch__(torch.ops.c10d.gather_.default, ())


def one_process(make):
    """Calls `make` in a world of this process alone, in which FSDP2 works too."""
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        make()
    finally:
        torch.distributed.destroy_process_group()


def sharded_linear():
    """Returns a matrix 6×4 that FSDP2 has sharded, with a gradient."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 6, bias=False))
    fully_shard(model)
    model(torch.ones(2, 4)).square().sum().backward()
    return model


@pytest.mark.filterwarnings("error")  # torch's, of a schedule that did not see the step
@pytest.mark.parametrize("make", [Muon, NorMuon])
@pytest.mark.parametrize("options", [{}, {"adjust_lr_fn": "update_rms"}])
def test_the_optimizer_steps_a_sharded_matrix_as_a_whole_one(make, options):
    """It asks the parameter who has the other rows: no variable of torchrun is set here."""

    def step():
        p = sharded_linear()[0].weight
        q = torch.nn.Parameter(p.full_tensor().detach().clone())
        q.grad = p.grad.full_tensor().clone()
        for each in (p, q):
            optimizer = make([each], lr=1.0, ns_dtype=torch.float32, **options)
            scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
            optimizer.step()
            scheduler.step()
            assert optimizer.param_groups[0]["lr"] == pytest.approx(0.1)
        torch.testing.assert_close(p.full_tensor(), q)

    one_process(step)


def test_other_shards_and_rules_for_whole_matrices_are_refused_by_name():
    def build():
        mesh = init_device_mesh("cpu", (1,))
        p = torch.nn.Parameter(distribute_tensor(torch.ones(4, 6), mesh, [Shard(1)]))
        with pytest.raises(ValueError, match=r"rows of 'w', .*dim=1"):
            Muon([("w", p)])
        with pytest.raises(ValueError, match=r"Controlled steps whole .*, no parts: '0.weight'"):
            Controlled(sharded_linear().named_parameters(), RULES["sgd"])

    one_process(build)


def test_rows_orthogonalized_apart_are_another_direction():
    # a gradient with a heavy spectrum, as real ones have: the parts see the same few directions
    generator, parts = torch.Generator().manual_seed(0), 4
    left, right = (torch.randn(64, 64, generator=generator).double() for _ in range(2))
    G = left @ torch.logspace(0, -3, 64).double().diag() @ right
    wrong, right = orthogonalize_apart(G, parts), polar(G)
    values = torch.linalg.svdvals(wrong)
    assert 1.1 < values.max() <= parts**0.5 + 1e-5
    assert values.min() < 0.5
    assert torch.cosine_similarity(wrong.view(-1), right.view(-1), dim=0) < 0.95
    for rows in wrong.chunk(parts):  # each part alone looks orthogonal
        torch.testing.assert_close(torch.linalg.svdvals(rows), torch.ones(64 // parts).double())


# Without a world, and from a terminal


def test_shares_make_up_the_batch(monkeypatch):
    rows, shares = torch.arange(24).view(12, 2), []
    monkeypatch.setenv("WORLD_SIZE", "3")
    for rank in "012":
        monkeypatch.setenv("RANK", rank)
        shares.append(parallel.share(rows))
    assert [len(share) for share in shares] == [4, 4, 4]
    assert torch.equal(torch.cat(shares), rows)
    with pytest.raises(ValueError, match=r"12 rows: no multiple of 3 processes × 5 pieces"):
        parallel.share(rows, pieces=5)


@pytest.mark.parametrize("processes", [2, 5, 40])
def test_matrices_are_divided_evenly(monkeypatch, processes):
    monkeypatch.setenv("WORLD_SIZE", str(processes))
    owners = parallel.owners(start_alike(False, "muon", torch.float64, SMALL_GPT)[1])
    costs = [[p.numel() * min(p.shape) for p in owned] for owned in owners]
    loads, largest = [*map(sum, costs)], max(map(max, filter(None, costs)))
    assert (len(owners), sum(map(len, owners))) == (processes, 12)
    assert max(loads) <= sum(loads) / processes + largest
    assert min(loads) >= max(loads) - largest


@pytest.mark.parametrize("device", ["cuda:0", "mps"])
def test_one_gpu_for_all_is_refused(monkeypatch, device):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match=f"2 processes cannot share device {device}"):
        parallel.world(device).__enter__()


def test_without_torchrun_nothing_is_distributed(monkeypatch):
    """And one process is the first, whatever an old shell says."""
    monkeypatch.setattr(dist, "init_process_group", lambda *_, **__: pytest.fail("it connects"))
    monkeypatch.setenv("RANK", "3")
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert (parallel.rank(), parallel.size()) == (0, 1)
    with parallel.world():
        weights = train_small(2, False, "muon", torch.float64, SMALL_GPT)["weights"]
    model, optimizer = start_alike(False, "muon", torch.float64, SMALL_GPT)
    for step in range(2):
        model(*rehearsal.batch(step, SMALL_GPT)).backward()
        optimizer.step()
        optimizer.zero_grad()
    assert all(map(torch.equal, weights, model.parameters()))


def in_a_process(function, *arguments):
    """Returns how a process ends that does this, and has imported torch before."""
    clean = multiprocessing.get_context("forkserver")
    clean.set_forkserver_preload(PRELOADED)
    process = clean.Process(target=function, args=arguments)
    process.start()
    process.join(PATIENCE)
    process.kill()
    return process.exitcode


def leave_twice():
    """Leaves a world of one process while gloo's thread waits for Python's lock, or hangs."""
    sys.setswitchinterval(LOCKED)
    for fails in (False, True):
        with suppress(AssertionError):
            leave(fails)


def leave(fails):
    store, parallel.size = dist.HashStore(), lambda: 2
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    replica = parallel.replicate(torch.nn.Linear(2, 2))
    replica(torch.ones(2, 2)).sum().backward()
    answers = torch.ones(10**6)
    for _ in range(3):  # each is freed by the thread that filled it, which needs the lock
        dist.all_gather([torch.empty_like(answers)], answers)
    try:
        assert not fails
    finally:
        dist.destroy_process_group()


def test_processes_end_although_a_thread_waits_for_python():
    assert in_a_process(leave_twice) == 0


def launch(*command):
    from torch.distributed.run import main as torchrun  # its import takes a second

    torchrun([*command])


def test_the_command_ends_in_two_processes_and_records_once(tmp_path):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = str(s.getsockname()[1])
    command = ["--nproc-per-node=2", "--master-addr=127.0.0.1", "--master-port", port]
    command += ["--redirects=1", f"--log-dir={tmp_path / 'log'}", "-m", "muonlab", "train"]
    options = "--corpus facts-3 --steps 3 --eval-every 3 --eval-tokens 64 --device cpu --record"
    assert in_a_process(launch, *command, *options.split(), str(tmp_path / "runs.jsonl")) == 0
    printed = [log.read_text() for log in (tmp_path / "log").rglob("stdout.log")]
    assert (len(printed), "".join(printed).count("after 3 steps")) == (2, 1)
    [run] = read_records(tmp_path / "runs.jsonl")
    assert run.provenance["processes"] == 2


# One model, however many devices


@pytest.mark.parametrize("shape", SHAPES)
def test_a_model_that_is_never_whole_has_the_bits_of_a_whole_one(one, four, shape):
    for results in four:
        assert gap(results["drawn"][shape], one["drawn"][shape]) == 0


def test_no_process_ever_holds_the_model(four):
    numbers = sum(p.numel() for p in gpt.GPT(DEEP).parameters())
    needed = four[0]["memory"]
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
    clip_gradients(ours, 2 * norm.item())
    assert not torch.allclose(ours.head.weight.grad, theirs.head.weight.grad)
    clip_gradients(ours, 0.5)
    torch.testing.assert_close(ours.head.weight.grad, theirs.head.weight.grad)
    ours.head.weight.grad[0, 0] = torch.inf
    before = ours.embedding.weight.grad.clone()
    clip_gradients(ours, 0.1)
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
        assert max(step["numbers"]) <= 4 * SMALL_GPT.width**2
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
    "exchange": ("SIGKILL", sharding, "_scatter"),
    "save": ("SIGKILL", checkpoints, "checksum"),
}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_a_process_lost_in_any_part_of_a_run_is_an_error_and_no_hang(tmp_path):
    with ThreadPoolExecutor() as pool:
        lost = {part: pool.submit(lose, part, tmp_path) for part in PARTS}
    for part, (how, *_) in PARTS.items():
        raised = "failed:(?s:.*)ValueError: no more"
        failed = raised if how == "error" else "ended with exit code -9"
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
