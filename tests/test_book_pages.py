"""The book's pages beside the lessons: what they name exists, and says what they say it does."""

import re
import tomllib
from datetime import datetime
from functools import cache
from pathlib import Path
from statistics import mean

import pytest

from muonlab import cli
from muonlab.sweeps.results import recorded
from printing import book

ROOT = Path(__file__).parents[1]
BOOK = ROOT / "book"
TEXTS = {path.name[:2]: path for path in sorted((ROOT / "lessons" / "text").glob("*.md"))}
EVIDENCE = sorted((ROOT / "lessons" / "text" / "evidence").glob("*.md"))
HEADER = re.compile(r"^> Read (\d+ min) · do (\d+ min) · needs (.*?) · no GPU", re.MULTILINE)
MONTH = r"(?:0[7-9]|[1-9]\d)(?:0[1-9]|1[0-2])"  # arXiv counts so since April 2007
ARXIV = re.compile(rf"(?<![\d.]){MONTH}\.\d{{4,5}}(?!\d|\.\d)|\b[a-z]+-[a-z]+/\d{{7}}\b")
CITE = re.compile(r"\{cite(?::\w+)?\}`([^`]+)`")
LESSON_LINK = re.compile(r"\.\./lessons/(\d\d)-[\w-]+\.ipynb")
BY_NAME = {  # works without an arXiv id: how the lessons and the package name them
    "jordan2024muon": r"Keller Jordan|Jordan 2024",
    "zhang2026gram": r"Dao-AILab, Gram Newton-Schulz",
    "higham2008functions": r"Higham",
    "bjorck1971orthogonal": r"Björck and Bowie 1971",
    "piantadosi2014zipf": r"Piantadosi",
    "zipf1949human": r"Zipf proposed",
    "simon1955skew": r"Simon that\s",
    "miller1957silence": r"Miller that\s",
    "karpathy2022nanogpt": r"nanoGPT",
    "karpathy2024llmc": r"karpathy/llm\.c",
    "penedo2024fineweb": r"FineWeb",  # it has an id, but the course names the data
    "kjj0fineweb": r"kjj0/fineweb10B-gpt2",
}


@cache
def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def page(name: str) -> str:
    return read(BOOK / f"{name}.md")


def sources() -> list[Path]:
    """Where the course cites: lessons, book, package, cards and the front page."""
    patterns = ("lessons/text/**/*.md", "book/*.md", "book/*.toml", "data/*.md", "README.md")
    found = [path for pattern in patterns for path in ROOT.glob(pattern)]
    package = [*(ROOT / "muonlab").rglob("*.*"), *(ROOT / "teaching").rglob("*.*")]
    return found + [path for path in package if path.suffix in (".py", ".toml")]


def elsewhere() -> str:
    """All of it but the bibliography's own page, which must not vouch for itself."""
    return "\n".join(read(path) for path in sources() if path.name != "bibliography.md")


def entries() -> dict[str, str]:
    """The entries of references.bib by key, each as its text."""
    found = re.findall(r"^@\w+\{(\w+),\n(.*?)^\}", read(BOOK / "references.bib"), re.M | re.S)
    assert len(found) == len({key for key, _ in found}), "a key stands twice"
    return dict(found)


def field(entry: str, name: str) -> str:
    found = re.search(rf"^\s*{name}\s*= \{{(.*)\}},?$", entry, re.MULTILINE)
    return found[1] if found else ""


def cited_keys(text: str) -> set[str]:
    return {key.strip() for keys in CITE.findall(text) for key in keys.split(",")}


def names_of(key: str) -> str:
    """A pattern for how the text of a lesson names a work: its arXiv id, or its author."""
    return BY_NAME.get(key) or re.escape(field(entries()[key], "eprint") or "no name")


def tables(text: str) -> list[list[dict[str, str]]]:
    """The tables of a page, each a list of rows by the names of their columns."""
    found = []
    for block in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE):
        heads, rule, *rows = [[c.strip() for c in row.split(" | ")] for row in lines(block)]
        assert all(re.fullmatch(r"[-|: ]+", cell) for cell in rule), f"no header row above {rule}"
        assert all(len(row) == len(heads) for row in rows), f"a row of {heads} has other columns"
        found.append([dict(zip(heads, row, strict=True)) for row in rows])
    return found


def lines(block: str) -> list[str]:
    return [line.strip().strip("|").strip() for line in block.strip().splitlines()]


def test_every_arxiv_id_that_is_cited_has_an_entry():
    known = {field(entry, "eprint") for entry in entries().values()}
    found = {id: path for path in sources() for id in ARXIV.findall(read(path))}
    assert "2509.26030" in found
    assert {id: str(path) for id, path in found.items() if id not in known} == {}


def test_every_entry_is_cited_outside_of_the_bibliography():
    text = elsewhere()
    keys = cited_keys(text)
    unused = [key for key in entries() if key not in keys and not re.search(names_of(key), text)]
    assert unused == []
    assert BY_NAME.keys() <= entries().keys()


def test_every_entry_is_whole():
    for key, entry in entries().items():
        assert all(field(entry, name) for name in ("author", "title", "year")), key
        place = ("eprint", "url", "publisher", "journal", "booktitle", "note")
        assert any(field(entry, name) for name in place), key
        assert bool(field(entry, "eprint")) == bool(field(entry, "archiveprefix")), key


def test_the_bibliography_names_each_entry_once_with_the_lessons_that_cite_it():
    rows = [row for table in tables(page("bibliography")) for row in table]
    keys = [key for row in rows for key in cited_keys(row["work"])]
    assert sorted(keys) == sorted(entries())
    for key, row in zip(keys, rows, strict=True):
        citing = [id for id, path in TEXTS.items() if re.search(names_of(key), read(path))]
        assert LESSON_LINK.findall(row["cited in"]) == citing, key
        for module in re.findall(r"`(muonlab[\w.]*)`", row["cited in"]):
            source = read(ROOT / (module.replace(".", "/") + ".py"))
            assert re.search(names_of(key), source), f"{key} is not cited in {module}"
        assert citing or "`" in row["cited in"] or "](" in row["cited in"], key


def glossary() -> dict[str, str]:
    body = re.search(r"```\{glossary\}\n(.*?)^```", page("glossary"), re.M | re.S)[1]
    return dict(re.findall(r"^(\S.*)\n((?:  .*\n|\n)+)", body, re.MULTILINE))


def test_the_glossary_is_in_order_and_each_term_is_short_and_leads_to_a_lesson():
    terms = list(glossary())
    assert len(terms) >= 45
    assert terms == sorted(terms, key=str.casefold)
    for term, words in glossary().items():
        assert LESSON_LINK.search(words), term
        assert len(re.sub(r"\]\(\S+\)|\{\w+(:p)?\}", "", words).split()) <= 60, term


def test_every_lesson_of_the_teachers_tables_has_its_minutes_and_its_needs():
    rows = [row for table in tables(page("how-to")) for row in table if "lesson" in row]
    assert len(rows) >= 12
    for row in rows:
        lesson = LESSON_LINK.search(row["lesson"])[1]
        assert HEADER.search(read(TEXTS[lesson])).groups() == (
            row["read"],
            row["do"],
            row["needs"],
        ), lesson


def test_a_session_comes_after_the_lessons_that_it_needs():
    given = [table for table in tables(page("how-to")) if "lesson" in table[0]]
    assert len(given) == 5  # one, three, six sessions; another end for six; what follows the six
    for table in (*given[:3], given[2] + given[4]):
        seen = []
        for row in table:
            assert set(re.findall(r"\d\d", row["needs"])) <= set(seen), row["lesson"]
            seen.append(LESSON_LINK.search(row["lesson"])[1])
    sessions = [[row["when"] for row in table if "session" in row["when"]] for table in given]
    assert [len(names) for names in sessions] == [1, 3, 6, 2, 5]


def test_every_minute_of_the_plans_is_that_of_the_lesson_or_of_the_exercise():
    for name in ("teach-day", "teach-seminar"):
        rows = [row for table in tables(page(name)) for row in table if "minutes" in row]
        words = [(" ".join(row.values()), row["minutes"]) for row in rows]
        lessons = [(LESSON_LINK.search(text), m) for text, m in words if "Debate" not in text]
        timed = [(found[1], minutes) for found, minutes in lessons if found]
        assert len(timed) >= 6
        for lesson, minutes in timed:
            read_and_do = HEADER.search(read(TEXTS[lesson])).groups()[:2]
            assert int(minutes) == sum(int(words.split()[0]) for words in read_and_do), lesson
    at = 0
    for row in tables(page("teach-class"))[0]:
        start, end = map(int, row["minutes"].split(" to "))
        assert start == at, "the minutes have a gap"
        at = end
        if found := re.search(r"exercise ((\d\d)-e\d+)", row["from"]):
            planned = rf"^\*\*Exercise {found[1]}\*\* · {end - start} minutes"
            assert re.search(planned, read(TEXTS[found[2]]), re.MULTILINE), found[1]
        if found := re.search(r"slides of lesson (\d\d)", row["from"]):
            reading = HEADER.search(read(TEXTS[found[1]]))[1]
            assert end - start <= int(reading.split()[0]), found[1]
    assert at == 90


def test_the_day_has_no_hole():
    rows = [row for row in tables(page("teach-day"))[0] if ":" in row["when"]]
    clock = [int(hour) * 60 + int(minute) for hour, minute in (r["when"].split(":") for r in rows)]
    ends = [start + int(row["minutes"]) for start, row in zip(clock, rows, strict=True)]
    assert ends[:-1] == clock[1:]


def test_the_wrong_answers_of_the_class_are_options_of_its_predictions():
    for row in tables(page("teach-class"))[-1]:
        lesson, told = read(TEXTS[row["question"][:2]]), row["wrong answer"]
        assert f'"{row["question"]}"' in lesson
        assert f'"{told}"' in lesson, row["question"]
        notebook = read(next((ROOT / "lessons").glob(f"{row['question'][:2]}-*.ipynb")))
        assert f"What happened: **{told}**" not in notebook, "that is the right answer"


def test_the_commands_of_the_how_to_exist(capsys):
    text, makefile = page("how-to"), read(ROOT / "Makefile")
    for target in re.findall(r"`make (\w+)`", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    commands = re.findall(r"^muonlab .*$", text, re.MULTILINE)
    commands += re.findall(r"`(muonlab [a-z][^`]*)`", text)
    assert len(commands) >= 6
    for command in commands:
        cli._parser().parse_args(command.split()[1:])  # a wrong one exits


def test_each_symbol_names_a_lesson_that_exists():
    rows = [row for table in tables(page("notation")) for row in table]
    symbols = [row for row in rows if "first in" in row]
    assert len(symbols) >= 60
    for row in symbols:
        (lesson,) = LESSON_LINK.findall(row["first in"])
        assert lesson in TEXTS, row
        assert all(row.values()), row
    letters = [row for row in rows if "letter" in row]  # with two meanings
    assert len(letters) >= 10
    for row in letters:
        assert {*re.findall(r"\b\d\d\b", " ".join(row.values()))} <= TEXTS.keys(), row


def test_a_name_in_code_first_appears_in_the_lesson_that_is_named():
    code = {
        id: "\n".join(re.findall(r"^```.*?^```", read(path), re.M | re.S))
        for id, path in TEXTS.items()
    }
    rows = [row for table in tables(page("notation")) for row in table if "name" in row]
    assert len(rows) >= 20
    for row in rows:
        for name in re.findall(r"`([^`]+)`", row["name"]):
            pattern = rf"(?<![\w-]){re.escape(name)}(?!\w)"
            using = [id for id, text in code.items() if re.search(pattern, text)]
            assert using[:1] == LESSON_LINK.findall(row["first in"]), name


def test_the_errata_name_claims_that_exist():
    rows = [row for table in tables(page("errata"))[1:] for row in table]
    assert len(rows) >= 100
    for row in rows:
        assert all(row.values()), row
        for lesson in LESSON_LINK.findall(row["where"]):
            assert lesson in TEXTS
        for id in re.findall(r"\b\d\d-[cp]\d+(?! of then)\b", row["where"]):
            pages = (TEXTS[id[:2]], *EVIDENCE)
            assert any(f'"{id}"' in read(text) for text in pages), f"{id} is on no page"


def test_each_correction_stands_once_under_its_day_and_the_latest_day_is_the_last():
    text = page("errata").split("## What was wrong")[1]
    _, *parts = re.split(r"^### (.*)$", text, flags=re.MULTILINE)
    days = [datetime.strptime(day, "%d %B %Y") for day in parts[::2]]
    assert days == sorted(set(days))
    assert all(table.count("| where |") == 1 for table in parts[1::2])
    rows = re.findall(r"^\| (?!where).*$", text, re.MULTILINE)
    assert len(set(rows)) == len(rows)


def test_the_page_about_cites_as_the_citation_file_does():
    text, citation = page("about"), read(ROOT / "CITATION.cff")
    for name in ("title", "version", "date-released"):
        value = re.search(rf"^{name}: \"?(.*?)\"?$", citation, re.MULTILINE)[1]
        assert (value[:4] if name == "date-released" else value) in text, name


def test_the_page_about_thanks_every_library_that_the_course_installs():
    project = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["book"]]
    names = {re.match(r"[\w-]+", name)[0].replace("-", " ").casefold() for name in wanted}
    thanked = tables(page("about"))[-1]
    known = " ".join(row["software"] for row in thanked).replace("-", " ").casefold()
    known = known.replace("pytorch", "torch")
    missing = {name for name in names if name not in known and not name.startswith("sphinx math")}
    assert missing == set()
    assert "MathJax" in {row["software"] for row in thanked}


def test_every_module_stands_once_in_the_reference_and_none_that_is_gone():
    pages = sorted((BOOK / "reference").glob("*.md"))
    listed = [m for page in pages for m in re.findall(r"automodule:: (\S+)", read(page))]
    files = [p.relative_to(ROOT) for p in (ROOT / "muonlab").rglob("*.py")]
    files += [p.relative_to(ROOT / "teaching") for p in (ROOT / "teaching").rglob("*.py")]
    there = {".".join(p.with_suffix("").parts) for p in files if not p.name.startswith("__")}
    unlisted = {"muonlab.cli", "muonlab.experiments", "muonlab.teaching"}
    assert sorted(listed) == sorted(there - unlisted)
    index = read(BOOK / "reference.md")
    assert [p.name for p in pages if f"reference/{p.name}" not in index] == []


def test_a_comma_and_a_bracket_stay_on_the_line_of_their_formula():
    formula = r'<span class="math notranslate nohighlight">\(x &lt; 1\)</span>'
    joined = book.JOINED.findall(f"{formula} and ({formula}, {formula}-th <b>{formula}</b>")
    assert joined == [f"({formula},", f"{formula}-th"]


def test_a_number_in_a_page_is_what_the_runs_give_and_leads_to_its_box():
    ends = {}
    for run in recorded("race-1200"):
        if run.config["rule"] == "muon" and len(run.config["muon"]) in (0, 3):
            who = "Muon" if run.config["muon"] else "AdamW"
            ends[who, run.config["seed"]] = run.held_out[-1]["overall"]
    gaps = [ends["AdamW", seed] - ends["Muon", seed] for seed in range(1, 11)]
    told = book.measured("16-c13")
    assert f">{mean(gaps):+.3f} [" in told
    assert "n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}10<" in told
    assert told.startswith('<a href="../lessons/16-capstone.html#claim-16-c13">')
    with pytest.raises(KeyError):
        book.measured("16-c99")
