"""Several processes on this machine, connected by gloo, started from a notebook or a test.

A server process imports torch once and is forked for each process, so a second call takes a
fraction of a second. Runs of any length are started by torchrun instead.
"""

import io
import multiprocessing
import os
import socket
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

import torch
import torch.distributed as dist

from muonlab.distributed import parallel

PATIENCE = 300  # seconds
PRELOADED = ["muonlab.distributed.rehearse", "torch._dynamo"]
PRELOADED += ["torch.distributed.checkpoint.state_dict", "torch.distributed.fsdp"]


def together(
    processes: int, function: Callable[..., Any], *arguments: Any, timeout: float = 60
) -> list[Any]:
    """Returns what `function(*arguments)` gives in each of several processes.

    A script must call it under `if __name__ == "__main__"`; a notebook need not.

    Args:
        processes: how many; `parallel.rank()` tells each its number.
        function: of a module that can be imported. It returns what `torch.save` can write: tensors,
            numbers, strings, and dicts and lists of them.
        timeout: seconds that they wait for each other; and the caller, once one has failed. Else
            the caller waits PATIENCE seconds for each.

    RuntimeError: some failed, ended or gave no answer in time; the message says which and why.
    """
    store = _store()
    place = {"WORLD_SIZE": processes, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": store.port}
    place |= {"TORCHELASTIC_USE_AGENT_STORE": True}
    started = [_start(place | {"RANK": r}, timeout, function, arguments) for r in range(processes)]
    answers: list[Any] = []
    failures: list[str] = []
    try:
        for rank, (process, connection) in enumerate(started):
            answer = _answer(process, connection, timeout if failures else PATIENCE)
            if "failure" in answer:
                failures.append(f"process {rank} of {processes} {answer['failure']}")
            else:
                answers.append(answer["found"])
    finally:
        for process, _ in started:
            process.kill()
            process.join()
    if failures:
        raise RuntimeError("\n".join(failures))
    return answers


def _store() -> dist.TCPStore:
    """Returns where the processes find each other; no other machine can reach it."""
    here = socket.create_server(("127.0.0.1", 0))  # the system chooses a free port
    host, port = here.getsockname()
    fd = here.detach()
    return dist.TCPStore(host, port, is_master=True, wait_for_workers=False, master_listen_fd=fd)


def _start(place: dict[str, Any], timeout: float, *call: Any) -> tuple[BaseProcess, Connection]:
    fork = "forkserver" in multiprocessing.get_all_start_methods()
    context: Any = multiprocessing.get_context("forkserver" if fork else "spawn")
    if fork:
        context.set_forkserver_preload(PRELOADED)
    here, sending_end = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(sending_end, place, timeout, *call), daemon=True)
    process.start()
    sending_end.close()  # or the end of the process would not show here
    return process, here


def _work(
    connection: Connection, place: dict[str, Any], timeout: float, function: Any, arguments: Any
) -> None:
    os.environ |= {name: str(value) for name, value in place.items()}
    torch.set_num_threads(1)
    try:
        with parallel.world(timeout=timeout):
            result = {"found": function(*arguments)}
    except Exception:
        result = {"failure": "failed:\n" + traceback.format_exc()}
    torch.save(result, content := io.BytesIO())
    connection.send_bytes(content.getvalue())


def _answer(process: BaseProcess, connection: Connection, patience: float) -> dict[str, Any]:
    """Returns {"found": what a process returned} or {"failure": what happened instead}."""
    if not connection.poll(patience):
        return {"failure": "gave no answer in time"}
    try:
        return torch.load(io.BytesIO(connection.recv_bytes()), weights_only=True)
    except EOFError:
        process.join(1)
        return {"failure": f"ended with exit code {process.exitcode}"}
