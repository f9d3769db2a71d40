"""Write what `budget` computes as the tables of the book's page on GPUs.

`python -m muonlab.cost.table > book/tables/cost.md`
"""

from collections.abc import Callable, Iterable

from muonlab.cost.plans import Row, cost_table

Columns = dict[str, Callable[[Row], str]]

WHOLE: Columns = {
    "plan": lambda row: row.name,
    "FLOP": lambda row: f"{row.flop:.1e}".replace("+", ""),
    "hours at least": lambda row: f"{row.hours:,.3g}",
    "GPU-hours": lambda row: f"{row.gpu_hours:,.0f}",
    "longer by its links": lambda row: f"{row.slowdown:.2g}×",
    "Muon of the FLOP": lambda row: f"{row.muon_flop:.1%}".replace("%", " %"),
    "Muon of a step": lambda row: f"{row.muon_time:.1%}".replace("%", " %"),
}
STEP: Columns = {
    "one GPU, one step": lambda row: row.name,
    "computes, s": lambda row: f"{row.seconds:.2g}",
    "sends under AdamW, GB": lambda row: _gb(row.sent.adamw),
    "under Muon": lambda row: _gb(row.sent.owners),
    "at most": lambda row: _gb(row.sent.at_most),
    "sends for, s": lambda row: f"{row.link_seconds:.2g}",
    "keeps, GB": lambda row: _gb(row.states),
    "and for the backward pass": lambda row: _gb(row.activations),
}


def markdown(rows: Iterable[Row], columns: Columns) -> str:
    """Returns the rows as a table in Markdown, a line each."""
    lines = [list(columns), ["---"] * len(columns)]
    lines += [[show(row) for show in columns.values()] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def report() -> str:
    """Returns both tables of the book's page: what the plans cost, and one GPU in one step."""
    return "\n".join(markdown(cost_table(), columns) for columns in (WHOLE, STEP))


def _gb(count: float) -> str:
    digits = max(0, 3 - len(f"{count / 1e9:.0f}"))  # three in all
    return f"{count / 1e9:,.{digits}f}"


if __name__ == "__main__":
    print(report(), end="")
