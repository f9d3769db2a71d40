"""Two processes train as one does: the same weights, half the work, and no hanging."""

import socket
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace

import pytest
import torch
import torch.distributed as dist

from muonlab.distributed import parallel
from muonlab.distributed.processes import together
from muonlab.distributed.rehearse import train_step
from muonlab.models.gpt import GPT, GPTConfig
from muonlab.optim import muon as optim
from muonlab.optim.routing import route
from muonlab.records import record as records
from muonlab.training import checkpoints
from muonlab.training.run import tensors

SHAPE = GPTConfig(vocab_size=64, context=16, layers=2, width=32, heads=2)
EXPERTS = replace(SHAPE, attention="latent", experts=6)
ROWS, HALF, STEPS = 8, 3, 6
LOCKED = 5  # seconds that Python's lock stays where it is
PATIENCE = 300  # seconds until a test gives up on its processes: a busy machine starts them slowly


def start(shape=SHAPE):
    """Returns a model in float64, so that what differs is the order of sums and little else."""
    torch.manual_seed(0)
    model = GPT(shape).double()
    return model, optim.Muon(route(model).groups(0.01, 3e-3, adjust_lr_fn="match_rms_adamw"))


def batch(step):
    generator = torch.Generator().manual_seed(step)
    first = torch.randint(64, (ROWS, 1), generator=generator)
    stride = torch.randint(1, 4, (ROWS, 1), generator=generator)
    tokens = (first + stride * torch.arange(SHAPE.context + 1)) % 64
    return tokens[:, :-1], tokens[:, 1:]


def train(model, optimizer, steps):
    replica = parallel.replicate(model)
    return [train_step(replica, optimizer, batch(step), sharded=False) for step in steps]


def complete(model, optimizer):
    """Returns copies of all weights and states."""
    parallel.gather_state(optimizer)
    return {name: t.detach().clone() for name, t in tensors(model, optimizer).items()}


def restart(folder):
    model, optimizer = start()
    checkpoints.load(tensors(model, optimizer), folder)
    train(model, optimizer, range(HALF, STEPS))
    return complete(model, optimizer)


def named_updates(model):
    """Returns a list that grows by the names of the matrices that are orthogonalized together."""
    names, rescale = {id(p): name for name, p in model.named_parameters()}, optim.Muon.rescale
    seen = []

    def counted(self, O, stack, group):  # noqa: E741  the paper's letter
        seen.append([names.get(id(p)) for p in stack])
        rescale(self, O, stack, group)

    optim.Muon.rescale = counted
    return seen


def work(folder):
    """What each of two processes does, and one alone."""
    model, optimizer = start()
    updates = named_updates(model) if parallel.size() > 1 else []
    losses = train(model, optimizer, range(HALF))
    parallel.gather_state(optimizer)
    checkpoints.save(tensors(model, optimizer), {}, folder / f"half-{parallel.size()}")
    losses += train(model, optimizer, range(HALF, STEPS))
    results = {"losses": losses, "updates": [*updates], "end": complete(model, optimizer)}
    mixture = start(EXPERTS)
    train(*mixture, range(HALF))
    results["experts"] = complete(*mixture)
    if parallel.size() > 1:
        results["resumed"] = restart(folder / "half-2")
        results["poisoned"] = poisoned(model, optimizer)
    return results


def poisoned(model, optimizer):
    """Returns the errors when process 1 alone has a NaN: in a matrix of either, in an embedding."""
    owners, errors = parallel.owners(optimizer), []
    before = {name: p.clone() for name, p in model.state_dict().items()}
    theirs = [next(p for p in owners if owners[p] == rank) for rank in range(2)]
    replica = parallel.replicate(model)
    for p in (*theirs, model.embedding.weight):
        if parallel.rank() == 1:
            spoiled = p.register_hook(lambda gradient: gradient * torch.nan)
        replica(*map(parallel.share, batch(0))).backward()
        if parallel.rank() == 1:
            spoiled.remove()
        try:
            parallel.step_shared(optimizer)
        except ValueError as error:
            errors.append(str(error))
        optimizer.zero_grad()
    unchanged = all(torch.equal(before[name], p) for name, p in model.state_dict().items())
    return {"errors": errors, "unchanged": unchanged}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("two")


@pytest.fixture(scope="module")
def one(folder):
    """Returns the results of one process."""
    return work(folder)


@pytest.fixture(scope="module")
def two(folder):
    """Returns the results of each of two processes."""
    return together(2, work, folder)


def gap(actual, expected):
    """Returns the largest difference between tensors of the same names; none may be missing."""
    assert actual.keys() == expected.keys()
    return max((actual[name] - t).abs().max().item() for name, t in expected.items())


def test_two_processes_give_the_losses_weights_and_states_of_one(one, two):
    losses = one["losses"]
    for results in two:
        # the loss is computed in float32, whose step at 4 is 5e-7
        assert results["losses"] == pytest.approx(losses, rel=0, abs=2e-6)
        # the rest is float64: sums of halves differ by about 1e-16
        assert gap(results["end"], one["end"]) < 1e-13
    assert losses[-1] < losses[0] - 0.1  # they have gone somewhere


def test_both_processes_hold_the_same_bits(two):
    first, second = two
    assert first["losses"] == second["losses"]
    assert gap(first["end"], second["end"]) == 0


def test_each_matrix_is_orthogonalized_once_a_step_in_stacks(two):
    matrices = {r.name for r in route(GPT(SHAPE)).routes if r.rule == "muon"}
    shares = [results["updates"] for results in two]
    for share in shares:  # a step is two stacks for each: of 4 square matrices, and of 2 others
        assert [len(stack) for stack in share] == [4, 2] * STEPS
    for step in range(STEPS):
        taken = [name for share in shares for stack in share[2 * step :][:2] for name in stack]
        assert sorted(taken) == sorted(matrices)


def test_a_checkpoint_of_two_processes_goes_on_in_one_and_in_two(two, folder):
    for results in two:
        assert gap(results["resumed"], results["end"]) == 0
    assert gap(restart(folder / "half-2"), two[0]["end"]) < 1e-13


def test_a_nan_in_one_process_is_the_same_error_in_both_and_changes_nothing(two):
    first, second = (results["poisoned"] for results in two)
    assert first == second
    assert first["unchanged"]
    names = ("w_in.weight", "w_out.weight", "embedding.weight")  # owned by 0, by 1, by both
    for name, error in zip(names, first["errors"], strict=True):
        assert f"{name}' holds NaN or Inf: nothing was updated" in error


def test_experts_are_balanced_by_the_tokens_of_all_processes(one, two):
    biases = [t for name, t in one["experts"].items() if name.endswith("bias")]
    assert biases
    assert all(bias.unique().numel() > 2 for bias in biases)  # they differ by expert and by step
    for results in two:
        assert gap(results["experts"], one["experts"]) < 1e-13


def leave(fails):
    """Leaves a world of one process while gloo's thread waits for Python's lock, or hangs."""
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
    subprocess.run([sys.executable, __file__], check=True, timeout=PATIENCE / 2)


def test_the_command_ends_in_two_processes_and_records_once(tmp_path):
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2"]
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = str(s.getsockname()[1])
    torchrun += ["--master-addr=127.0.0.1", "--master-port", port, "-m", "muonlab", "train"]
    options = "--corpus facts-3 --steps 3 --eval-every 3 --eval-tokens 64 --device cpu --record"
    command = [*torchrun, *options.split(), str(tmp_path / "runs.jsonl")]
    told = subprocess.run(
        command, check=True, timeout=PATIENCE, capture_output=True, text=True
    ).stdout
    assert told.count("after 3 steps") == 1
    [run] = records.read_records(tmp_path / "runs.jsonl")
    assert run.provenance["processes"] == 2


def test_a_batch_that_cannot_be_divided_is_refused(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "3")
    with pytest.raises(ValueError, match=r"a batch of 8 rows .* among 3 processes"):
        parallel.share(torch.zeros(8, 2))


def test_shares_make_up_the_batch(monkeypatch):
    rows, shares = torch.arange(24).view(12, 2), []
    monkeypatch.setenv("WORLD_SIZE", "3")
    for rank in "012":
        monkeypatch.setenv("RANK", rank)
        shares.append(parallel.share(rows))
    assert [len(share) for share in shares] == [4, 4, 4]
    assert torch.equal(torch.cat(shares), rows)


@pytest.mark.parametrize("processes", [2, 5, 40])
def test_matrices_are_divided_evenly(monkeypatch, processes):
    monkeypatch.setenv("WORLD_SIZE", str(processes))
    owners = parallel.owners(start()[1])
    costs = {p: p.numel() * min(p.shape) for p in owners}
    loads = [sum(costs[p] for p in owners if owners[p] == rank) for rank in range(processes)]
    assert len(owners) == 12
    assert max(loads) <= sum(loads) / processes + max(costs.values())
    assert min(loads) >= max(loads) - max(costs.values())


@pytest.mark.parametrize("device", ["cuda:0", "mps"])
def test_one_gpu_for_all_is_refused(monkeypatch, device):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match=f"2 processes cannot share device {device}"):
        parallel.world(device).__enter__()


def test_without_torchrun_nothing_is_distributed(monkeypatch):
    monkeypatch.delattr(torch.distributed, "init_process_group")
    model, optimizer = start()
    reference, plain = start()
    with parallel.world():
        train(model, optimizer, range(2))
        parallel.gather_state(optimizer)
    for step in range(2):
        reference(*batch(step)).backward()
        plain.step()
        plain.zero_grad()
    assert gap(dict(model.state_dict()), dict(reference.state_dict())) == 0


def test_one_process_is_the_first_whatever_an_old_shell_says(monkeypatch):
    monkeypatch.setenv("RANK", "3")
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert (parallel.rank(), parallel.size()) == (0, 1)
    assert torch.equal(parallel.share(torch.ones(2, 2)), torch.ones(2, 2))


if __name__ == "__main__":
    sys.setswitchinterval(LOCKED)
    leave(fails=False)
    with suppress(AssertionError):
        leave(fails=True)
