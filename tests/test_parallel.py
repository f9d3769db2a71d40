"""Processes share a batch and its matrices: by rules that one can check alone, and by torchrun."""

import socket
import subprocess
import sys
from contextlib import suppress

import pytest
import torch
import torch.distributed as dist

from muonlab.distributed import parallel
from muonlab.distributed.rehearse import SMALL_GPT, batch, start_alike, train_step
from muonlab.records import record as records

LOCKED = 5  # seconds that Python's lock stays where it is
PATIENCE = 300  # seconds until a test gives up on its processes: a busy machine starts them slowly


def start():
    return start_alike(False, "muon", torch.float64, SMALL_GPT)


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
    (model, optimizer), (reference, plain) = start(), start()
    replica = parallel.replicate(model)
    with parallel.world():
        for step in range(2):
            train_step(replica, optimizer, batch(step, SMALL_GPT), sharded=False)
        parallel.gather_state(optimizer)
    for step in range(2):
        reference(*batch(step, SMALL_GPT)).backward()
        plain.step()
        plain.zero_grad()
    torch.testing.assert_close(model.state_dict(), reference.state_dict(), rtol=0, atol=0)


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
