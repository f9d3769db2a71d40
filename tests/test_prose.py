"""Every measured number in a lesson's prose stands in its outputs, in its code or in the paper."""

import ast
import re
import tomllib
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from test_lessons import TEXTS, sources, stored, text_of

from muonlab.classroom import claims
from muonlab.files import LESSONS
from muonlab.notebooks import texts
from muonlab.studies.table1 import PAPER_ROWS

PAPER = Path(__file__).parents[1] / "book" / "paper.toml"
EVERYWHERE = {"95 %": "the level of every interval, muonlab.statistics"}
CITED: dict[str, dict[str, str]] = {
    "02": {
        **dict.fromkeys(("3.4445", "4.7750", "2.0315"), "Jordan 2024, the three numbers"),
        "0.701": "their sum, with the signs of p",
        **dict.fromkeys(("0.868", "−1.58"), "where p crosses the diagonal, and its slope there"),
        "0.3": "Jordan 2024, how far from 1 was found harmless",
        "1.21": "the rule of exercise e4, lessons/checks/lesson_02.py",
    },
    "03": {"0.2": "a constant of the convention, muonlab.optim.lr_scale"},
    "04": {
        "10 %": "e to the power 0.1, less 1",
        **dict.fromkeys(("1.4", "0.1", "1.1", "1.2"), "arXiv 2509.02046, section 4"),
    },
    "07": {"20 %": "arXiv 2509.26030, section 5, Figure 4"},
    "10": {
        "1,200": "the steps of facts-squares, muonlab.studies.ladder",
        "1.5": "the largest s of the study imbalance, muonlab.studies.facts",
    },
    "11": {"1,200": "the steps of table-1200, muonlab.studies.after_race"},
    "12": {"1,200": "the steps of race-again, muonlab.studies.races"},
    "13": {"1,000": "arXiv 2507.20534, section 2.1"},
    "14": {
        "40 %": "an assumption, muonlab.cost.formulas.SHARE",
        **dict.fromkeys(("1 %", "3 %"), "arXiv 2502.16982"),
        **dict.fromkeys(("1.1", "2.9 %"), "arXiv 2510.05491"),
        **dict.fromkeys(("1.06", "5.5 %", "6.1 %"), "microsoft/dion, pull request 70"),
    },
    "16": {"0.05": "a size that a question asks for", "1.2": "a clock that a question may name"},
    "15": {
        "40 %": "where the explorer's slider stands",
        "3 %": "the same",
        **dict.fromkeys(("16 %", "57 %"), "data/results/gpu-h200.json, shown by book/gpu.md"),
        **dict.fromkeys(("0.1", "1.2", "1.4", "1.1"), "arXiv 2509.02046, section 4"),
    },
}
"""What no run gives: a cited fact, or arithmetic that the reader can do. All other numbers of the
prose are measured: they stand in an output, or they are not typed at all."""

FIRST_TOKEN_ACCURACY = {  # arXiv 2509.26030, Tables 3 and 6: groups 11, 13, 15 at step 2,000,
    "Muon": (0.854, 0.386, 0.140, 0.896, 0.478, 0.178),  # not gated, then gated
    "Muon(VO, FFN)": (0.814, 0.256, 0.114, 0.892, 0.458, 0.166),
    "Adam": (0.312, 0.146, 0.090, 0.214, 0.116, 0.086),
    "Muon(QK)": (0.472, 0.154, 0.086, 0.330, 0.140, 0.090),
    "SGD": (0.156, 0.120, 0.082, 0.146, 0.110, 0.074),
}

NOT_PROSE = re.compile(
    r"\A---\n.*?\n---\n"  # the front matter
    r"|^```.*?^```$"  # code
    r"|<details>.*?</details>"  # hints and solutions: folded
    r"|^>[^\n]*$"  # the box at the top
    r"|`[^`]*`"
    r"|\[[^\]]*\]\(\S+?\)|https?://\S+|arXiv \d{4}\.\d{4,5}"
    r"|\b(?:[Aa]ppendi(?:x|ces)|[Cc]hapter|Proposition|Python|[Ss]ection|Theorem|[Vv]ersion)s?"
    r"\s+[A-Z]?[\d.]*\d(?:\s+(?:and|to)\s+[A-Z]?[\d.]*\d)*",
    re.DOTALL | re.MULTILINE,
)
NUMBER = re.compile(
    r"(?<![\w.])(?P<number>(?P<sign>(?<![\d ] )[-−])?"
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d*\.\d+|\d+)(?:e(?P<power>[-+]?\d+))?)(?!\d|[.,]\d)"
    r"(?P<percent>\s*\\?%|(?=\s(?:to|or)\s[\d.]+\s*\\?%))?(?P<million>\smillion)?(?P<times>\stimes\b)?"
)


@dataclass(frozen=True)
class Number:
    """A number as it was typed: its text, its value, and what one in its last digit is worth."""

    text: str
    value: Decimal
    unit: Decimal
    line: int = 0

    def stands_for(self, value: Decimal) -> bool:
        """Whether the value, rounded to the typed digits, is this number; a typed minus counts."""
        same = value if self.value.is_signed() else abs(value)
        return abs(same - self.value) <= self.unit / 2

    def found(self, pool: set[Decimal]) -> bool:
        return any(map(self.stands_for, pool))


def numbers(text: str) -> list[tuple[re.Match, Number]]:
    """Each number of a text; percent are a fraction."""
    found = []
    for match in NUMBER.finditer(text):
        digits, sign = match["digits"].replace(",", ""), "-" if match["sign"] else ""
        percent, million = match["percent"] is not None, bool(match["million"])
        shift = int(match["power"] or 0) - 2 * percent + 6 * million
        value = Decimal(sign + digits).scaleb(shift)
        unit = Decimal(1).scaleb(shift - len(digits.partition(".")[2]))
        shown = match["number"] + " %" * percent + " million" * million
        found.append((match, Number(shown, value, unit, text.count("\n", 0, match.start()) + 1)))
    return found


def typed(markdown: str) -> list[Number]:
    """The numbers that look measured: decimals, percent, "N times", and counts like 12,345."""
    blank = NOT_PROSE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), markdown)
    return [
        number
        for match, number in numbers(blank)
        if match["percent"] is not None or match["times"] or re.search("[.,]", match["digits"])
    ]


def values(text: str) -> set[Decimal]:
    return {number.value for _, number in numbers(text)}


def strings(code: str) -> str:
    """What the strings of a cell say word for word: a typed number in them is not computed."""
    found, formats = [], set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.FormattedValue) and node.format_spec:
            formats |= set(ast.walk(node.format_spec))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in formats:
            found.append(node.value)
    return "\n".join(found)


def alternatives(code: str) -> list[str]:
    """The words of each text alternative of a figure, without what is computed."""
    calls = (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.keyword))
    return [strings(ast.unparse(node.value)) for node in calls if node.arg == "alt"]


def literals(code: str) -> set[Decimal]:
    """The numbers written in a cell's code."""
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            found.add(Decimal(repr(node.value)))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            found |= {-value for value in literals(ast.unparse(node.operand))}
    return found


def computed(notebook: nbformat.NotebookNode) -> set[Decimal]:
    """What the stored cells computed, except what depends on the machine or only repeats words."""
    pool = set()
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if cell.cell_type != "code" or {"machine", "timing"} & set(tags):
            continue
        shown = set()
        for output in cell.outputs:
            data = output.get("data", {"text/plain": output.get("text", "")})
            if claims.CLAIM in data:
                parts = (v if isinstance(v, list) else [v] for v in data[claims.CLAIM]["value"])
                pool |= {Decimal(repr(value)) for part in parts for value in part}
            elif not any("widget" in mime for mime in data) and "recap()" not in cell.source:
                shown |= values(re.sub(r"What happened: \*\*.*?\*\*", "", data["text/plain"]))
        pool |= shown - values(strings(cell.source))
    return pool


def bounds(lesson: str) -> set[Decimal]:
    """What the lesson's claims are measured against: their bounds, sizes and the papers' values."""
    pool = set()
    for claim in claims.defined(lesson).values():
        pool |= {Decimal(repr(x)) for x in (claim.lower, claim.upper, claim.size)}
        pool |= values(claim.paper)
    return {value for value in pool if value.is_finite()}


def reported(lesson: str) -> set[Decimal]:
    """What the paper reports about the things that a lesson's claims reproduce."""
    items = tomllib.loads(PAPER.read_text(encoding="utf-8"))["items"]
    ours = [i for i in items if any(id.startswith(lesson) for id in i.get("claims", []))]
    pool = set().union(*(values(item["reports"]) for item in ours))
    if any("Table 1" in item["item"] for item in ours):
        pool |= {Decimal(repr(loss)) for row in PAPER_ROWS.values() for loss in row if loss}
    return pool


@cache
def pools(lesson: str) -> dict[str, set[Decimal]]:
    return {
        "output": computed(stored(TEXTS[lesson])),
        "code": set().union(*map(literals, sources(text_of(lesson), "code"))),
        "paper": reported(lesson) | bounds(lesson),
    }


def lost(lesson: str, markdown: str, found: dict[str, set[Decimal]]) -> list[Number]:
    """What has no source. A table of Markdown is typed, so no output can vouch for it."""
    known = EVERYWHERE | CITED.get(lesson, {})
    rest = found["code"] | found["paper"]
    lines = markdown.splitlines()
    return [
        number
        for number in typed(markdown)
        if number.text not in known
        and not number.found(rest)
        and (lines[number.line - 1].startswith("|") or not number.found(found["output"]))
    ]


@pytest.mark.parametrize("lesson", TEXTS)
def test_every_measured_number_in_the_prose_has_a_source(lesson):
    """A failure names the line: print the number with lesson.say, leave it out, or cite it."""
    path = TEXTS[lesson]
    wrong = lost(lesson, path.read_text(encoding="utf-8"), pools(lesson))
    assert [f"{path.name}:{number.line}: {number.text}" for number in wrong] == []


@pytest.mark.parametrize("lesson", TEXTS)
def test_every_number_typed_in_a_text_alternative_has_a_source(lesson):
    """Readers who do not see a figure read this; write alt=f"…" with the number in it."""
    pool = set().union(*pools(lesson).values())
    alts = (alt for code in sources(text_of(lesson), "code") for alt in alternatives(code))
    typed_in = [number for alt in alts for number in typed(alt)]
    assert [number.text for number in typed_in if not number.found(pool)] == []


def test_what_is_cited_is_typed():
    for lesson, cited in CITED.items():
        written = {number.text for number in typed(TEXTS[lesson].read_text(encoding="utf-8"))}
        assert cited.keys() <= written, lesson


def test_the_paper_beside_our_facts_stands_in_its_row_and_its_column():
    [page] = texts(LESSONS, ["facts"])
    rows = re.findall(r"^\| (\S.*?) \|(.* / .*)\|$", page.read_text("utf-8"), re.MULTILINE)
    rows = {name: re.findall(r"\.\d\d", cells) for name, cells in rows if name[0] != "n"}
    assert rows.keys() == FIRST_TOKEN_ACCURACY.keys()
    for name, cells in rows.items():
        expected = FIRST_TOKEN_ACCURACY[name]
        by_column = [expected[i] for pair in zip(range(3), range(3, 6), strict=True) for i in pair]
        assert [Decimal(cell) for cell in cells] == [round(Decimal(str(x)), 2) for x in by_column]


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("It ends 0.36 nats lower, at .94.", ["0.36", ".94"]),
        ("It keeps 9 % of it, 60 to 85\n% at most, 1.5 % here.", ["9 %", "60 %", "85 %", "1.5 %"]),
        ("It is 16 times as fast, in 1,000 steps; 12,345.6.", ["16", "1,000", "12,345.6"]),
        ("It falls to −0.3, by -.08, at 1.5e-3.", ["−0.3", "-.08", "1.5e-3"]),
        ("It lies at 0.7-1.2, not more.", ["0.7", "1.2"]),
        ("A model of 1.6 million, or 160 million, and 0.1B.", ["1.6 million", "0.1"]),
        ("Of $O(K^{-0.3})$, $[0.98, 1.02]$ and $1/K^2$.", ["-0.3", "0.98", "1.02"]),
        ("Three of 150 steps, 24 × 48, in 2025: lesson 04, step 5.", []),
        ("Theorem 5.3, section 4.2, Appendix C.2 and C.3, Python 3.12, 2.13.0.", []),
        ("[0.5](https://x.org/0.5), https://x.org/1.5, arXiv 2509.26030.", []),
        ("> Read 0.5 min\n\n`lr=0.5`\n\n```python\nx = 0.5\n```\n", []),
        ("<details><summary>Hint</summary>\n\n0.5\n\n</details>", []),
    ],
)
def test_which_numbers_are_taken_from_prose(markdown, expected):
    assert [number.text for number in typed(markdown)] == expected


def a_cell(source, text="", tags=(), **data):
    outputs = [new_output("display_data", {"text/plain": text, **data})]
    return new_code_cell(source, outputs=outputs, metadata={"tags": list(tags)})


def test_what_a_cell_computed_counts_and_what_it_says_word_for_word_does_not():
    claim = {"value": [0.3588, [0.1, -0.2, 0.4, 5]]}
    notebook = new_notebook(
        cells=[
            a_cell('lesson.say(f"{x:.2f} of 0.11")', "0.77 of 0.11"),
            a_cell("show(lr=0.55)", "94%, 1,536 and -2e-05"),
            a_cell('lesson.claim("99-c1", x)', "It is 0.44.", **{claims.CLAIM: claim}),
            a_cell("print(seconds)", "0.88", tags=["timing"]),
            a_cell("lesson.recap()", "0.66"),
            a_cell("lesson.reveal()", "What happened: **0.33**. It is 0.22."),
            a_cell("lesson.quiz()", "0.99", **{"application/vnd.jupyter.widget-view+json": {}}),
        ]
    )
    expected = {"0.77", "0.94", "1536", "-0.00002", "0.3588", "0.1", "-0.2", "0.4", "5", "0.22"}
    assert computed(notebook) == set(map(Decimal, expected))


def test_numbers_in_code_count_with_their_sign_and_those_in_strings_do_not():
    code = 'f(lr=0.95, within=(-0.02, 1e-3))  # 0.5\nprint(f"0.4 {x:.3f}", "0.6")'
    assert literals(code) == set(map(Decimal, ("0.95", "0.02", "-0.02", "0.001")))
    assert sorted(values(strings(code))) == [Decimal("0.4"), Decimal("0.6")]
    alt = 'lesson.show(f, alt=f"It falls from 0.24 to {x:.2f}, " "then to 0.7.")'
    assert sorted(n.text for text in alternatives(alt) for n in typed(text)) == ["0.24", "0.7"]


def test_a_wrong_number_is_found_with_its_line_and_a_typed_table_is_not_believed():
    pool = {"output": {Decimal("0.36")}, "code": {Decimal("0.95")}, "paper": {Decimal("3.7644")}}
    right = "It ends 0.36 lower, at 95 %, with 0.95, where 3.76 was.\n"
    assert lost("99", right, pool) == []
    assert lost("99", "It falls to −0.36.\n", pool), "a typed minus counts"
    wrong = lost("99", right + "\n\nIt ends 0.37 lower.\n\n| Muon | 0.36 | 0.95 |\n", pool)
    assert [(number.line, number.text) for number in wrong] == [(4, "0.37"), (6, "0.36")]
