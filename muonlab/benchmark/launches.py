"""How many kernels a call launches: on a GPU each costs some microseconds, however little it does.

Counted are the operations that reach a device and compute; those that only describe memory (`FREE`)
launch nothing. An operation on a long list may launch several kernels, and counts once. A count on
a CPU is that of a GPU, where both take the same way.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

FREE = {  # a view, or memory without content
    *("_reshape_alias", "_unsafe_view", "alias", "as_strided", "detach", "expand", "permute"),
    *("select", "slice", "split", "split_with_sizes", "squeeze", "t", "transpose", "unbind"),
    *("unsqueeze", "view", "diagonal", "empty", "empty_like", "empty_strided", "new_empty"),
    *("promote_types", "_record_function_enter_new", "_record_function_exit"),
}


class Launches(TorchDispatchMode):
    """Counts what is dispatched while it is entered, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls[func.overloadpacket.__name__] += 1
        return func(*args, **(kwargs or {}))

    @property
    def kernels(self) -> int:
        """How many of them compute."""
        return sum(count for name, count in self.calls.items() if name not in FREE)


def launches(run: Callable[[], object]) -> Launches:
    """Returns what one call dispatches; call it before, where the first one does more."""
    with Launches() as counted:
        run()
    return counted
