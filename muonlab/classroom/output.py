"""What a cell leaves behind: text for every reader, HTML where it helps, data for the tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from IPython.display import display

from muonlab.records.table import table

WORD, SENTENCE = 16, 40  # characters: a name, a number or a verdict; a sentence


@dataclass(frozen=True)
class Output:
    """A finished output; `text` alone must carry the meaning, for a terminal or a screen reader."""

    text: str
    rich: dict[str, Any]

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"text/plain": self.text, **self.rich}


def show(text: str, data: Mapping[str, Any] = {}, **rich: str) -> None:
    """Displays `text`; html= and markdown= say it richer, `data` is kept by MIME type."""
    display(Output(text, {**{f"text/{kind}": content for kind, content in rich.items()}, **data}))


@dataclass(frozen=True)
class Table:
    """One table, to be written as text, as HTML or as Markdown."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    name: str = ""  # the class of the HTML, for a style sheet

    @property
    def text(self) -> str:
        """The cells in aligned columns, two spaces apart."""
        return table(self.heads, self.rows)

    def html(self, caption: str = "") -> str:
        """Returns the table as HTML; cells hold plain text, and ids and signs stay on one line."""
        named = f"<caption>{escape(caption)}</caption>" if caption else ""
        heads = (f'<th scope="col" style="text-align:left">{escape(h)}</th>' for h in self.heads)
        cells = ([f"<td {self._look(c)}>{escape(c)}</td>" for c in row] for row in self.rows)
        body = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
        head = "".join(heads)
        start = f'<table class="{self.name}">' if self.name else "<table>"
        return f"{start}{named}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _look(self, cell: str) -> str:
        """What is short stays on one line; a sentence keeps a width that can be read on a phone."""
        wide = ";min-width:12em" if len(cell) >= SENTENCE and not self.name else ""  # its class has
        return f'style="text-align:left{";white-space:nowrap" if len(cell) <= WORD else wide}"'
