"""What a cell leaves behind: text for every reader, HTML where it helps, data for the tests."""

from dataclasses import dataclass, field
from html import escape
from typing import Any

from IPython.display import display


@dataclass(frozen=True)
class Output:
    """A finished output; `text` alone must carry the meaning, for a terminal or a screen reader."""

    text: str
    rich: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"text/plain": self.text, **self.rich}


def show(text: str, **rich: Any) -> None:
    """Displays `text`; html= and markdown= are richer forms of the same."""
    display(Output(text, {f"text/{kind}": value for kind, value in rich.items()}))


def table(headings: list[str], rows: list[list[str]]) -> tuple[str, str]:
    """Returns one table twice: as aligned text and as HTML."""
    columns = list(zip(headings, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    padded = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [headings, *rows]
    ]
    head = "".join(f'<th scope="col" style="text-align:left">{escape(h)}</th>' for h in headings)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    html = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return "\n".join(padded), html


def _cell(text: str) -> str:
    return f'<td style="text-align:left">{escape(text)}</td>'
