"""Two processes train as one does: the same weights, half the work, and no hanging."""

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from muonlab.distributed import parallel
from muonlab.distributed.rehearse import train_step
from muonlab.models.gpt import GPT, GPTConfig
from muonlab.optim import muon as optim
from muonlab.optim.routing import route
from muonlab.records import record as records
from muonlab.training import checkpoints
from muonlab.training.run import tensors

SHAPE = GPTConfig(vocab_size=64, context=16, layers=2, width=32, heads=2)
EXPERTS = replace(SHAPE, attention="latent", experts=6)
ROWS, HALF, STEPS = 8, 10, 20
TIMEOUT = 5  # seconds that a process waits for a partner here
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


def state(model, optimizer):
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict()}


def restart(folder):
    model, optimizer = start()
    checkpoints.load(tensors(model, optimizer), folder)
    return model, optimizer


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
    """What each of two processes does; the tests look at the files that it leaves."""
    model, optimizer = start()
    seen = named_updates(model)
    losses = train(model, optimizer, range(HALF))
    parallel.gather_state(optimizer)
    checkpoints.save(tensors(model, optimizer), {}, folder / "half")
    losses += train(model, optimizer, range(HALF, STEPS))
    parallel.gather_state(optimizer)
    found = {"losses": losses, "updates": list(seen), **state(model, optimizer)}
    torch.save(found, folder / f"{parallel.rank()}.pt")
    resumed = restart(folder / "half")
    train(*resumed, range(HALF, STEPS))
    parallel.gather_state(resumed[1])
    torch.save(state(*resumed), folder / f"resumed-{parallel.rank()}.pt")
    torch.save(poisoned(model, optimizer), folder / f"poisoned-{parallel.rank()}.pt")
    mixture = start(EXPERTS)
    train(*mixture, range(HALF))
    parallel.gather_state(mixture[1])
    torch.save(state(*mixture), folder / f"experts-{parallel.rank()}.pt")


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


def lose(folder, how, rank, port):
    """Process 1 is killed, stands still, or fails, after two steps; 0 says when it noticed."""
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2", "RANK": str(rank)}
    os.environ.update(place)
    with parallel.world(timeout=TIMEOUT):
        model, optimizer = start()
        train(model, optimizer, range(2))
        if rank == 1 and how == "error":
            raise ValueError("no batch 2")
        if rank == 1:
            os.kill(os.getpid(), getattr(signal, how))
        began = time.monotonic()
        try:
            train(model, optimizer, range(2, STEPS))
        except RuntimeError:
            (folder / how).write_text(str(time.monotonic() - began))


def lose_all_ways(folder):
    """Three pairs of processes at once, forked because to import torch six times takes long."""
    fork, processes = multiprocessing.get_context("fork"), []
    for how in ("SIGKILL", "SIGSTOP", "error"):
        port = free_port()
        for rank in range(2):
            processes.append(fork.Process(target=lose, args=(folder, how, rank, port)))
            processes[-1].start()
    for survivor in processes[::2]:
        survivor.join(PATIENCE / 2)
    for process in processes:
        process.kill()


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


def leave_both_ways():
    sys.setswitchinterval(TIMEOUT)  # the lock stays where it is
    leave(fails=False)
    with suppress(AssertionError):
        leave(fails=True)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Runs `work` under torchrun and returns the folder with what it left."""
    folder = tmp_path_factory.mktemp("two")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2"]
    torchrun += ["--master-addr=127.0.0.1", "--master-port", free_port()]
    command = [*torchrun, __file__, "work", str(folder)]
    subprocess.run(command, check=True, timeout=PATIENCE)
    return folder


@pytest.fixture(scope="module")
def one():
    """Returns model, optimizer and losses of the same steps in this process alone."""
    model, optimizer = start()
    return model, optimizer, train(model, optimizer, range(STEPS))


def gap(found, wanted):
    assert found.keys() == wanted.keys()
    return max((found[name] - p).abs().max().item() for name, p in wanted.items())


def state_gap(found, wanted):
    """Returns the largest difference between two optimizers' states; no part may be missing."""
    assert found["param_groups"] == wanted["param_groups"]
    assert found["state"].keys() == wanted["state"].keys()
    return max(gap(found["state"][key], part) for key, part in wanted["state"].items())


def test_two_processes_give_the_losses_and_weights_of_one(one, two):
    model, _, losses = one
    for rank in range(2):
        found = torch.load(two / f"{rank}.pt")
        # the loss is computed in float32, whose step at 4 is 5e-7
        assert found["losses"] == pytest.approx(losses, rel=0, abs=2e-6)
        # weights are float64: sums of halves differ by about 1e-16, here by 6e-16 after 20 steps
        assert gap(found["model"], dict(model.state_dict())) < 1e-13
    assert losses[-1] < losses[0] - 0.5  # they have gone somewhere


def test_both_processes_hold_the_same_bits(two):
    first, second = (torch.load(two / f"{rank}.pt") for rank in range(2))
    assert first["losses"] == second["losses"]
    assert gap(first["model"], second["model"]) == 0
    assert state_gap(first["optimizer"], second["optimizer"]) == 0


def test_each_matrix_is_orthogonalized_once_a_step_in_stacks(two):
    matrices = {r.name for r in route(GPT(SHAPE)).routes if r.rule == "muon"}
    shares = [torch.load(two / f"{rank}.pt")["updates"] for rank in range(2)]
    for share in shares:  # a step is two stacks for each: of 4 square matrices, and of 2 others
        assert [len(stack) for stack in share] == [4, 2] * STEPS
    for step in range(STEPS):
        taken = [name for share in shares for stack in share[2 * step :][:2] for name in stack]
        assert sorted(taken) == sorted(matrices)


def test_the_gathered_state_is_that_of_one_process(one, two):
    found = torch.load(two / "1.pt")
    assert state_gap(found["optimizer"], one[1].state_dict()) < 1e-13


def test_a_checkpoint_of_two_processes_goes_on_in_one_and_in_two(two):
    unbroken, resumed = (torch.load(two / f"{name}.pt") for name in ("0", "resumed-0"))
    assert gap(resumed["model"], unbroken["model"]) == 0
    assert state_gap(resumed["optimizer"], unbroken["optimizer"]) == 0
    model, optimizer = restart(two / "half")
    train(model, optimizer, range(HALF, STEPS))
    assert gap(dict(model.state_dict()), unbroken["model"]) < 1e-13
    assert state_gap(optimizer.state_dict(), unbroken["optimizer"]) < 1e-13


def test_a_nan_in_one_process_is_the_same_error_in_both_and_changes_nothing(two):
    first, second = (torch.load(two / f"poisoned-{rank}.pt") for rank in range(2))
    assert first == second
    assert first["unchanged"]
    names = ("w_in.weight", "w_out.weight", "embedding.weight")  # owned by 0, by 1, by both
    assert len(first["errors"]) == 3
    for name, error in zip(names, first["errors"], strict=True):
        assert f"{name}' holds NaN or Inf: nothing was updated" in error


def test_experts_are_balanced_by_the_tokens_of_all_processes(two):
    model, optimizer = start(EXPERTS)
    train(model, optimizer, range(HALF))
    wanted = state(model, optimizer)
    biases = [p for name, p in wanted["model"].items() if name.endswith("bias")]
    assert all(bias.unique().numel() > 2 for bias in biases)  # they differ by expert and by step
    for rank in range(2):
        found = torch.load(two / f"experts-{rank}.pt")
        assert gap(found["model"], wanted["model"]) < 1e-13
        assert state_gap(found["optimizer"], wanted["optimizer"]) < 1e-13


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_a_lost_partner_is_an_error_and_no_hang(tmp_path):
    command = [sys.executable, __file__, "lose", str(tmp_path)]
    subprocess.run(command, check=True, timeout=PATIENCE, capture_output=True)
    waited = {path.name: float(path.read_text()) for path in tmp_path.iterdir()}
    for how in ("SIGKILL", "error"):
        assert waited[how] < TIMEOUT + 3  # the closed connection tells
    assert TIMEOUT - 1 < waited["SIGSTOP"] < TIMEOUT + 3  # nothing tells but the clock


def test_processes_end_although_a_thread_waits_for_python():
    subprocess.run([sys.executable, __file__, "leave", ""], check=True, timeout=PATIENCE / 5)


def test_the_command_ends_in_two_processes_and_records_once(tmp_path):
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2"]
    torchrun += ["--master-addr=127.0.0.1", "--master-port", free_port(), "-m", "muonlab", "train"]
    options = "--corpus facts-3 --steps 3 --eval-every 3 --eval-tokens 64 --device cpu --record"
    command = [*torchrun, *options.split(), str(tmp_path / "runs.jsonl")]
    told = subprocess.run(command, check=True, timeout=120, capture_output=True, text=True).stdout
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


@pytest.mark.parametrize("processes", [2, 3, 5, 40])
def test_matrices_are_divided_evenly(monkeypatch, processes):
    monkeypatch.setenv("WORLD_SIZE", str(processes))
    owners = parallel.owners(start()[1])
    costs = {p: p.numel() * min(p.shape) for p in owners}
    loads = [sum(costs[p] for p in owners if owners[p] == rank) for rank in range(processes)]
    assert len(owners) == 12
    assert max(loads) <= sum(loads) / processes + max(costs.values())
    assert min(loads) >= max(loads) - max(costs.values())


def test_one_gpu_for_all_is_refused(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match="2 processes cannot share device cuda:0"):
        parallel.world("cuda:0").__enter__()


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


if __name__ == "__main__":
    folder = Path(sys.argv[2])
    if sys.argv[1] == "lose":
        lose_all_ways(folder)
    elif sys.argv[1] == "leave":
        leave_both_ways()
    else:
        with parallel.world():
            work(folder)


def test_one_process_is_the_first_whatever_an_old_shell_says(monkeypatch):
    monkeypatch.setenv("RANK", "3")
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert (parallel.rank(), parallel.size()) == (0, 1)
    assert torch.equal(parallel.share(torch.ones(2, 2)), torch.ones(2, 2))
