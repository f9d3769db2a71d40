"""2 and 4 processes train as one does, with whole weights or sharded ones, and go on anywhere.

Each world of processes is started once and does all its work; the tests look at what it returned.
"""

import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from test_train import CONFIG, VOCABULARY, Cycle
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Shard, distribute_tensor

from muonlab import Muon, NorMuon
from muonlab.distributed import parallel
from muonlab.distributed import rehearse as rehearsal
from muonlab.distributed.processes import PRELOADED, _store, together
from muonlab.distributed.rehearse import rehearse, start_alike, train_small, train_step
from muonlab.distributed.sharded import orthogonalize_apart, whole
from muonlab.distributed.traffic import Traffic, sharded_bytes
from muonlab.models import gpt
from muonlab.models.gpt import GPTConfig
from muonlab.optim.orthogonalize import polar
from muonlab.optim.routing import route
from muonlab.optim.rules import RULES, Controlled
from muonlab.sharded_rows import own
from muonlab.training import checkpoints
from muonlab.training.run import load_model, tensors
from muonlab.training.run import train as train_run

EVEN = replace(rehearsal.SMALL_GPT, layers=1)
SMALL = GPTConfig(vocab_size=VOCABULARY, context=64, layers=1, width=16, heads=2)
UNEVEN = GPTConfig(  # 61 words; 3 experts, and 5 rows for those that all tokens share
    **{"vocab_size": 61, "context": 16, "layers": 1, "width": 20, "heads": 2},
    **{"experts": 3, "active_experts": 2, "expert_hidden": 5},
)
PRELOADED.append("tests.test_train")  # or each process would import it
HALF, STEPS, FEW = 3, 6, 2
WORLDS = (4, 2)
WAYS = {  # whether weights are sharded, and who steps them
    "muon": (True, "muon"),
    "normuon": (True, "normuon"),
    "whole": (False, "muon"),
}


def work(folder):
    """What each process of a world does, or one alone."""
    number = parallel.size()
    results = {way: train_and_save(way, folder / f"{way}-{number}") for way in WAYS}
    uneven = train_small(FEW, number > 1, "normuon", torch.float64, UNEVEN)
    results |= {"uneven": uneven["weights"], "bf16": coarse(number > 1)}
    earlier = [(way, f"{way}-{other}") for other in (1, *WORLDS) for way in ("normuon", "whole")]
    results["resumed"] = {
        name: resume(way, folder / name)
        for way, name in earlier
        if checkpoints.exists(folder / name)
    }
    interrupted_run(folder / f"run-{number}")
    if number > 1:
        results["poisoned"] = {way: poisoned(way) for way in ("muon", "whole")}
        results["lacking"] = [lacking(way) for way in ("muon", "whole")]
    return results


def begin(way):
    """Returns model and optimizer, and the model to call."""
    shard, rule = WAYS[way]
    several = shard and parallel.size() > 1
    model, optimizer = start_alike(several, rule, torch.float64, EVEN)
    return model, optimizer, model if shard else parallel.replicate(model)


def train(way, model, optimizer, replica, steps):
    shard, _ = WAYS[way]
    losses = [train_step(replica, optimizer, rehearsal.batch(n, EVEN), shard) for n in steps]
    if not shard:
        parallel.gather_state(optimizer)
    return losses


def train_and_save(way, folder):
    trained = begin(way)
    with pytest.MonkeyPatch.context() as patch:
        stacks = named_updates(patch, trained[0])
        losses = train(way, *trained, range(HALF))
        checkpoints.save(tensors(*trained[:2]), {}, folder)
        losses += train(way, *trained, range(HALF, STEPS))
    return {"losses": losses, "end": complete(*trained[:2]), "stacks": stacks}


def named_updates(patch, model):
    """Returns a list that grows by the names of the matrices that are orthogonalized together."""
    names, rescale = {id(p): name for name, p in model.named_parameters()}, Muon.rescale
    stacks = []

    def counted(self, O, stack, group):  # noqa: E741  the paper's letter
        stacks.append([names.get(id(p), "") for p in stack])
        rescale(self, O, stack, group)

    patch.setattr(Muon, "rescale", counted)
    return stacks


def resume(way, folder):
    trained = begin(way)
    checkpoints.load(tensors(*trained[:2]), folder)
    train(way, *trained, range(HALF, STEPS))
    return complete(*trained[:2])


def complete(model, optimizer):
    return {name: whole(t.detach()).clone() for name, t in tensors(model, optimizer).items()}


def interrupted_run(folder):
    """Does what `muonlab train --shard` calls, and stops after step 4 of 7."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(gpt.SIZES, "tiny", SMALL)
        with suppress(KeyboardInterrupt):
            run(Cycle(fail_at=4), checkpoint=folder, shard=True)


def run(corpus, **options):
    return train_run(CONFIG, corpus, progress=False, **options)


def coarse(several):
    """Returns the weights after a step whose products, and messages, are in bf16."""
    model, optimizer = start_alike(several, "muon", torch.float32, EVEN)
    for group in optimizer.param_groups:
        group["ns_dtype"] = torch.bfloat16
    with Traffic() as traffic:
        train_step(model, optimizer, rehearsal.batch(0, EVEN), several)
    weights = [whole(p.detach()).clone() for p in model.parameters()]
    return {"weights": weights, "bytes": dict(traffic.bytes)}


def poisoned(way):
    """Returns the errors when the last process alone has a NaN, and whether nothing has changed."""
    model, optimizer, replica = begin(way)
    train(way, model, optimizer, replica, range(1))
    before, errors = complete(model, optimizer), {}
    last = parallel.rank() == parallel.size() - 1
    for name, p in model.named_parameters():
        spoil = p.register_hook(lambda gradient: gradient * torch.nan) if last else None
        replica(*map(parallel.share, rehearsal.batch(1, EVEN))).backward()
        if last:
            spoil.remove()
            own(p).grad[0, 0] = torch.nan
        errors[name] = error_of(way, optimizer)
        optimizer.zero_grad()
    after = complete(model, optimizer)
    return {"errors": errors, "unchanged": all(torch.equal(before[k], after[k]) for k in before)}


def lacking(way):
    """Returns the error when one process lacks a gradient."""
    model, optimizer = start_alike(WAYS[way][0], "muon", torch.float64, EVEN)
    model(*map(parallel.share, rehearsal.batch(1, EVEN))).backward()
    if parallel.rank() == 1:
        model.head.weight.grad = None
    return error_of(way, optimizer)


def error_of(way, optimizer):
    shard, _ = WAYS[way]
    try:
        optimizer.step() if shard else parallel.step_shared(optimizer)
    except ValueError as error:
        return str(error)
    return "none"


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """Returns the folder of all checkpoints, and the results of one process."""
    folder = tmp_path_factory.mktemp("parts")
    return folder, work(folder)


@pytest.fixture(scope="module")
def worlds(one):
    """Returns the results of each process, for each number of processes."""
    return {number: together(number, work, one[0]) for number in WORLDS}


def gap(actual, expected):
    """Returns the largest difference between tensors of the same names, or places."""
    if isinstance(expected, list):
        actual, expected = dict(enumerate(actual)), dict(enumerate(expected))
    assert actual.keys() == expected.keys()
    return max((actual[name].double() - t).abs().max().item() for name, t in expected.items())


@pytest.mark.parametrize("number", WORLDS)
@pytest.mark.parametrize("way", WAYS)
def test_several_processes_give_the_weights_and_states_of_one(one, worlds, number, way):
    expected, (first, *_) = one[1][way], worlds[number]
    losses = expected["losses"]
    assert losses[-1] < losses[0] - 0.1  # they have gone somewhere
    for results in worlds[number]:
        # the loss is computed in float32, whose step at 4 is 5e-7
        assert results[way]["losses"] == pytest.approx(losses, rel=0, abs=2e-6)
        # the rest in float64: sums of halves differ by about 1e-16
        assert gap(results[way]["end"], expected["end"]) < 1e-13
        assert gap(results[way]["end"], first[way]["end"]) == 0  # the same bits in all


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
    assert gap(worlds[number][0]["uneven"], one[1]["uneven"]) < 1e-13


@pytest.mark.parametrize("number", WORLDS)
def test_products_in_bf16_make_messages_of_half_the_size(one, worlds, number):
    weights = worlds[number][0]["bf16"]["weights"]
    numbers = sum(p.numel() for p in weights)
    matrices = numbers - 2 * EVEN.vocab_size * EVEN.width
    expected = sharded_bytes(numbers, matrices, number, size=4)
    expected["all-to-all"] /= 2
    for name, sent in expected.items():
        assert sum(part["bf16"]["bytes"][name] for part in worlds[number]) / number == sent
    begun = [p.detach() for p in start_alike(False, "muon", torch.float32, EVEN)[0].parameters()]
    triples = zip(begun, weights, one[1]["bf16"]["weights"], strict=True)
    cosines = [
        torch.cosine_similarity((a - p).view(-1), (b - p).view(-1), 0) for p, a, b in triples
    ]
    assert min(cosines) > 0.99  # rounded to 8 bits once more


@pytest.mark.parametrize("way", ["normuon", "whole"])
@pytest.mark.parametrize(("saved", "loaded"), [(4, 1), (4, 2), (1, 4), (4, 4)])
def test_a_checkpoint_goes_on_in_any_number_of_processes(one, worlds, way, saved, loaded):
    folder, alone = one
    name = f"{way}-{saved}"
    resumed = resume(way, folder / name) if loaded == 1 else worlds[loaded][0]["resumed"][name]
    assert gap(resumed, alone[way]["end"]) < 1e-13


def test_a_run_of_many_processes_goes_on_in_one(one, worlds, monkeypatch):
    monkeypatch.setitem(gpt.SIZES, "tiny", SMALL)
    unbroken = run(Cycle())
    for number in (1, *WORLDS):
        folder, corpus, steps = one[0] / f"run-{number}", Cycle(), []
        assert checkpoints.read_index(folder)["step"] == 3
        corpus.batch = lambda step, *rest, steps=steps: (
            steps.append(step) or Cycle().batch(step, *rest)
        )
        corpus.held_out_batches = Cycle().held_out_batches
        resumed = run(corpus, checkpoint=folder, shard=True)
        assert steps == [3, 4, 5, 6]
        assert resumed.train_loss == pytest.approx(unbroken.train_loss, abs=1e-4)  # float32
        assert resumed.provenance["sharded"]
        losses = [row["overall"] for row in resumed.held_out]
        assert losses == pytest.approx([row["overall"] for row in unbroken.held_out], abs=1e-4)
        sizes = CONFIG.batch, CONFIG.context, CONFIG.eval_tokens
        with torch.no_grad():
            measured = Cycle().measure(load_model(folder), *sizes)["overall"]
        assert measured == pytest.approx(losses[-1], abs=1e-6)


@pytest.mark.parametrize("number", WORLDS)
def test_what_is_wrong_in_one_process_is_the_same_error_in_all_and_changes_nothing(worlds, number):
    first, *others = worlds[number]
    for spoiled in first["poisoned"].values():
        assert spoiled["unchanged"]
        assert len(spoiled["errors"]) == 8  # 6 matrices, and AdamW's two
        for name, error in spoiled["errors"].items():
            assert f"gradient of parameter {name!r} holds NaN or Inf: nothing was updated" in error
    for error in first["lacking"]:
        assert f"'head.weight' is there in {number - 1} of {number} processes" in error
    for results in others:
        assert results["poisoned"] == first["poisoned"]
        assert results["lacking"] == first["lacking"]


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="read where Linux lists sockets")
def test_no_other_machine_can_reach_where_processes_meet():
    store = _store()
    sockets = [
        line.split()[1]
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{name}").read_text().splitlines()
        if line.split()[3] == "0A" and line.split()[1].endswith(f":{store.port:04X}")
    ]
    assert sockets == [f"0100007F:{store.port:04X}"]  # 127.0.0.1, and no 0.0.0.0 or ::


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


@pytest.mark.parametrize("make", [Muon, NorMuon])
@pytest.mark.parametrize("options", [{}, {"adjust_lr_fn": "update_rms"}])
def test_the_optimizer_steps_a_sharded_matrix_as_a_whole_one(make, options):
    """It asks the parameter who has the other rows: no variable of torchrun is set here."""

    def step():
        p = sharded_linear()[0].weight
        q = torch.nn.Parameter(p.full_tensor().detach().clone())
        q.grad = p.grad.full_tensor().clone()
        for each in (p, q):
            make([each], ns_dtype=torch.float32, **options).step()
        torch.testing.assert_close(p.full_tensor(), q)

    one_process(step)


def test_a_schedule_follows_the_steps_of_sharded_matrices():
    def step():
        optimizer = Muon(sharded_linear().parameters(), lr=1.0)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            optimizer.step()
            scheduler.step()
        assert optimizer.param_groups[0]["lr"] == pytest.approx(0.1)

    one_process(step)


def test_what_is_not_sharded_by_rows_is_refused_by_name():
    def build():
        mesh = init_device_mesh("cpu", (1,))
        p = torch.nn.Parameter(distribute_tensor(torch.ones(4, 6), mesh, [Shard(1)]))
        with pytest.raises(ValueError, match=r"sharded by rows .* 'w' has placements .*dim=1"):
            Muon([("w", p)])

    one_process(build)


def test_a_rule_for_whole_matrices_refuses_a_shard_by_name():
    def build():
        with pytest.raises(ValueError, match=r"Controlled steps whole .* '0.weight' is sharded"):
            Controlled(sharded_linear().named_parameters(), RULES["sgd"])

    one_process(build)


def test_rows_orthogonalized_apart_are_another_direction():
    # a gradient with a heavy spectrum, as real ones have: the parts see the same few directions
    generator, parts = torch.Generator().manual_seed(0), 4
    left, right = (torch.randn(64, 64, generator=generator).double() for _ in range(2))
    G = left @ torch.logspace(0, -3, 64).double().diag() @ right
    wrong, right = orthogonalize_apart(G, parts), polar(G)
    values = torch.linalg.svdvals(wrong)
    torch.testing.assert_close(torch.linalg.svdvals(right), torch.ones(64).double())
    assert 1.1 < values.max() <= parts**0.5 + 1e-5
    assert values.min() < 0.5
    assert torch.cosine_similarity(wrong.view(-1), right.view(-1), dim=0) < 0.95
    for rows in wrong.chunk(parts):  # each part alone looks orthogonal
        torch.testing.assert_close(torch.linalg.svdvals(rows), torch.ones(64 // parts).double())
