"""How many kernels a call launches: on a GPU each costs some microseconds, however little it does.

Counted are the operations that reach a device and compute: a view, or memory without content
(`FREE`), launches nothing. An operation on a long list may launch several kernels, and counts once.
A count on a CPU is that of a GPU, where both take the same way.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

FREE = {"_unsafe_view", "empty", "empty_like", "empty_strided", "new_empty", "promote_types"}
FREE |= {"_record_function_enter_new", "_record_function_exit"}


class Launches(TorchDispatchMode):
    """Counts what is dispatched while it is entered, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()
        self.kernels = 0  # how many of them compute

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        self.calls[name] += 1
        self.kernels += not (func.is_view or name in FREE)
        return func(*args, **(kwargs or {}))


def launches(run: Callable[[], object]) -> Launches:
    """Returns what one call dispatches; call it before, where the first one does more."""
    with Launches() as counted:
        run()
    return counted
