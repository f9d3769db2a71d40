"""How many bytes a call allocates: torch's profiler sees each of them come and go."""

from itertools import accumulate

from torch.profiler import ProfilerActivity, profile


def most_bytes(function):
    """Returns the most bytes that the call has allocated at once, beside what was there."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        function()
    events = seen.profiler.kineto_results.events()
    memory = sorted((e for e in events if e.name() == "[memory]"), key=lambda e: e.start_ns())
    return max(accumulate(e.nbytes() for e in memory))
