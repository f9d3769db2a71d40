"""Count the bytes that processes send each other, and compute how many they should be."""

from collections import defaultdict
from typing import Any

import psutil
import torch.distributed as dist
from torch.utils._python_dispatch import TorchDispatchMode

CALLS = {
    "_allgather_base_": "all-gather",
    "_reduce_scatter_base_": "reduce-scatter",
    "alltoall_base_": "all-to-all",
    "allreduce_": "all-reduce",
    "broadcast_": "broadcast",
}


class Traffic(TorchDispatchMode):
    """Counts, in `bytes`, what this process receives by each kind of collective in the `with`.

    Whatever torch calls is counted, not what we meant to call; of P processes, a message of n bytes

    ============== =================== =============================================
    all-gather     n (P − 1)/P         n gathered; its own part is there already
    reduce-scatter n (P − 1)/P         n before the sum
    all-reduce     2 n (P − 1)/P       one of each, which is the least
    broadcast      n, or 0             0 at the source
    all-to-all     n                   n from others
    ============== =================== =============================================

    In the mean over the processes, that is also what one sends. A backend may move more: gloo's
    reduce-scatter is an all-reduce, twice as much. Another collective is a KeyError.
    """

    def __init__(self) -> None:
        super().__init__()
        self.bytes: dict[str, float] = defaultdict(float)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace == "c10d":
            name = func.name().removeprefix("c10d::")
            self.bytes[CALLS[name]] += _received(CALLS[name], args)
        return func(*args, **(kwargs or {}))


def sharded_bytes(numbers: int, matrices: int, processes: int, size: int) -> dict[str, float]:
    """Returns the bytes that a process sends in one step of sharded weights, by collective.

    FSDP2 gathers each weight twice, forward and backward, and sums its gradient: 3 · size bytes a
    parameter, from everybody to everybody. Muon's momenta go to one process each, and come back:
    2 · size bytes, divided by the number of processes; half of that if the products are in bf16.

    Args:
        numbers: parameters of the model.
        matrices: those of them that Muon steps, stacks of experts excepted: they are not cut.
        size: bytes of a weight.

    >>> {name: round(sent) for name, sent in sharded_bytes(100, 100, 2, size=4).items()}
    {'all-gather': 400, 'reduce-scatter': 200, 'all-to-all': 200}
    """
    others = (processes - 1) / processes
    return {
        "all-gather": 2 * size * numbers * others,
        "reduce-scatter": size * numbers * others,
        "all-to-all": 2 * size * matrices * others / processes,
    }


def replicated_bytes(numbers: int, matrices: int, processes: int, size: int) -> dict[str, float]:
    """Returns the same for `parallel.step_shared`: gradients averaged, new matrices broadcast."""
    others = (processes - 1) / processes
    return {"all-reduce": 2 * size * numbers * others, "broadcast": size * matrices * others}


def wire_bytes() -> int | None:
    """Returns what this process has written since it began, files included; None beside Linux.

    With gloo, messages are written to sockets: an independent count of what `Traffic` counts.
    """
    process = psutil.Process()
    counters = process.io_counters() if hasattr(process, "io_counters") else None
    return getattr(counters, "write_chars", None)


def _received(name: str, args: tuple[Any, ...]) -> float:
    rank, processes = dist.get_rank(), dist.get_world_size()
    if name == "all-to-all":
        received, sizes = args[0], args[3]
        own = sizes[rank] if sizes else len(received) // processes
        return received[own:].nbytes
    if name == "broadcast":
        return 0 if args[2] == rank else sum(t.nbytes for t in args[0])
    others = (processes - 1) / processes
    if name == "all-reduce":
        return 2 * others * sum(t.nbytes for t in args[0])
    return others * args[0 if name == "all-gather" else 1].nbytes
