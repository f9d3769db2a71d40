"""Write what plans cost as the tables of the book's page on GPUs.

`python -m muonlab.cost.table > book/tables/cost.md`
"""

from muonlab.cost.plans import Row, cost_table
from muonlab.records.table import markdown

WHOLE = ("plan", "FLOP", "hours at least", "GPU-hours", "Muon of the FLOP", "Muon of a step")
STEP = (
    *("one GPU, one step", "computes, s", "sends under AdamW, GB", "under Muon", "sends for, s"),
    *("keeps, GB", "and for the backward pass"),
)


def report() -> str:
    """Returns both tables of the book's page: what the plans cost, and one GPU in one step."""
    rows = cost_table()
    return f"{markdown(WHOLE, map(_whole, rows))}\n\n{markdown(STEP, map(_step, rows))}\n"


def _whole(row: Row) -> list[str]:
    hours = [f"{row.hours:,.3g}", f"{row.gpu_hours:,.0f}"]
    shares = [f"{100 * share:.1f} %" for share in (row.muon_flop, row.muon_time)]
    return [row.name, f"{row.flop:.1e}".replace("+", ""), *hours, *shares]


def _step(row: Row) -> list[str]:
    sent, kept = map(_gb, row.sent), map(_gb, (row.states, row.activations))
    return [row.name, f"{row.seconds:.2g}", *sent, f"{row.link_seconds:.2g}", *kept]


def _gb(count: float) -> str:
    digits = max(0, 3 - len(f"{count / 1e9:.0f}"))  # three in all
    return f"{count / 1e9:,.{digits}f}"


if __name__ == "__main__":
    print(report(), end="")
