"""What a visitor meets first: the map, the README, and the way in without installing."""

import dataclasses
import graphlib
import itertools
import json
import re
import struct
from functools import cache
from operator import itemgetter
from pathlib import Path

import pytest
import torch
import yaml

import pictures
from muonlab.classroom import by_contestant, contestant
from muonlab.models.gpt import GPT, SIZES
from muonlab.statistics import corrected, paired_interval
from muonlab.studies import comparisons
from muonlab.studies.comparisons import GPU, LAPTOP
from muonlab.studies.protocol import MATTERS
from muonlab.sweeps.results import recorded
from printing import book, route
from printing.claims import stored

ROOT = Path(__file__).parents[1]
HEADER = re.compile(r"^> Read \d+ min · do \d+ min · needs (.*?) · no GPU", re.MULTILINE)


def declared():
    """What each lesson's text says that it needs, read once more and in another way."""
    found = {}
    for path in sorted((ROOT / "lessons" / "text").glob("*.md")):
        words = HEADER.search(path.read_text("utf-8"))[1].replace(" to ", "-").replace(",", "")
        needs = set()
        for word in words.split():
            if re.fullmatch(r"\d\d(-\d\d)?", word):
                ends = [int(number) for number in word.split("-")]
                needs |= {f"{n:02d}" for n in range(ends[0], ends[-1] + 1)}
        found[path.name[:2]] = needs
    return found


def reached(lines):
    """All that comes before each lesson, when one walks back along the lines."""
    before = {}
    for id in graphlib.TopologicalSorter(lines).static_order():
        before[id] = set(lines[id]).union(*(before[other] for other in lines[id]))
    return before


def drawn():
    """Each lesson's link, and the lessons that a line comes from, as the map's SVG has them."""
    svg = book.lesson_graph()
    links, lines = {}, {}
    for group in re.findall(r"<g role.*?</g>", svg):
        id = re.search(r'data-lesson="(\d\d)"', group)[1]
        links[id] = re.search(r'<a href="([^"]+)" aria-label="([^"]+)"', group).groups()
        starts = [int(y) for y in re.findall(r'<path d="M\d+ (\d+)H', group)]
        lines[id] = {f"{(y - route.BEND) // route.ROW:02d}" for y in starts}
    return links, lines


def test_the_lines_of_the_map_lead_where_the_lessons_say():
    links, lines = drawn()
    assert list(links) == list(declared())
    assert reached(lines) == reached(declared())
    doubled = [
        (id, one)
        for id, needs in lines.items()
        for one, other in itertools.permutations(needs, 2)
        if one in reached(lines)[other]
    ]
    assert doubled == [], "a line that another path makes needless"
    for id, (page, told) in links.items():
        assert (ROOT / "lessons" / f"{Path(page).stem}.ipynb").is_file()
        assert told.startswith(f"{id} ")
        assert re.search(r" \d\d min\. Needs .*\.$", told)


def test_no_two_lines_share_a_place():
    needs = route.direct(declared())
    lane, row = route.lanes(needs), list(needs).index
    spans = {}
    for id, number in lane.items():
        last = max(row(other) for other in needs if id in needs[other])
        spans.setdefault(number, []).append((row(id), last))
    for each in spans.values():
        each.sort()
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(each))


def test_a_lesson_that_needs_a_later_one_is_refused():
    with pytest.raises(ValueError, match="lesson 01 needs 02, which does not come before it"):
        route.direct({"01": {"02"}, "02": set()})


def test_what_a_lesson_says_is_shown_and_never_run():
    svg = route.draw([route.Stop("01", "<b>", '"><script>', "a.html", 5, "nothing")])
    assert "<b>" not in svg
    assert '"><script>' not in svg


def test_the_predictions_on_the_map_are_those_that_the_pages_ask():
    asked = re.findall(r'data-asks="([^"]*)"', book.lesson_graph())
    for path, ids in zip(book.lessons(), asked, strict=True):
        text = (path.parent / "text" / f"{path.stem}.md").read_text("utf-8")
        assert ids.split() == re.findall(r'lesson\.predict\(\s*"([^"]+)"', text)


@cache
def configs():
    """The configurations of all recorded runs."""
    files = (ROOT / "data" / "results").glob("*.jsonl")
    lines = itertools.chain(*(path.read_text("utf-8").splitlines() for path in files))
    return [json.loads(line)["config"] for line in lines]


def numbers_in_matrices(size, **changed):
    shape = dataclasses.replace(SIZES[size], **{n: v for n, v in changed.items() if v})
    with torch.device("meta"):
        model = GPT(shape)
    return sum(p.numel() for name, p in model.named_parameters() if name.startswith("blocks."))


def words(page):
    """What a reader reads of a page: its text without figures, comments and code."""
    text = (ROOT / "book" / f"{page}.md").read_text("utf-8")
    text = book.fill(re.sub("<!-- made: (lead_map|playground|picture .*?) -->", "", text))
    text = re.sub(
        r"<(script|svg|noscript).*?</\1>|<[^>]*>|\]\([^)]*\)|:::.*", " ", text, flags=re.DOTALL
    )
    return re.findall(r"[A-Za-z]{2,}|\d[\d.,]*", text)


@pytest.mark.parametrize(("page", "most"), [("intro", 350), ("answer", 400)])
def test_the_front_is_short(page, most):
    """The answer: 350 words and a table of numbers."""
    assert len(words(page)) <= most


def test_what_the_front_says_of_the_two_races_is_so():
    parts = ("overall", "head", "middle", "tail")
    gpu, laptop = (
        {part: race.interval(itemgetter(part)).mean for part in parts} for race in (GPU, LAPTOP)
    )
    assert 0.3 < gpu["overall"] < 0.37, "a third of a nat"
    assert 0.2 < laptop["overall"] / gpu["overall"] < 0.3, "a quarter of that"
    assert laptop["tail"] < laptop["overall"] + MATTERS, "and no more on rare ones"
    assert gpu["head"] < gpu["middle"] < gpu["tail"]
    shorter = [r for r in recorded("race-shorter") if r.config["steps"] == 900]
    adamw = by_contestant(LAPTOP.runs, contestant)["AdamW"]
    assert abs(paired_interval(adamw, by_contestant(shorter, contestant)["Muon"]).mean) < MATTERS


def test_muon_leads_most_in_large_batches_and_the_larger_model_gains_most_on_rare_tokens():
    points = comparisons.lead_points()
    for large in (True, False):
        of_size = [point for point in points if (point["size"] > 1e7) == large]
        most = max(of_size, key=lambda point: point["lead"]["overall"][0])
        assert most["tokens"] == 8192
    larger = comparisons.GPU, comparisons.RUNGS[1]
    assert {race.config.batch * race.config.context for race in larger} == {1024, 8192}
    for race in larger:
        assert race.interval(lambda at: at["tail"] - at["head"]).low > 0
    rare, frequent = (comparisons.GPU.saved(part) for part in ("tail", "head"))
    assert rare.mean < frequent.mean, "in steps it saves no more on rare tokens"


def test_the_larger_models_lead_grows_with_the_tokens_a_step_and_not_with_the_steps():
    few, as_long, many = *comparisons.RUNGS[1:3], comparisons.GPU
    assert as_long.config.steps == many.config.steps == 4 * few.config.steps
    assert as_long.interval().high < many.interval().low
    assert as_long.interval().mean < few.interval().mean
    assert 0.4 < as_long.interval().mean / many.interval().mean < 0.6, "about half"


def test_no_model_is_larger_and_no_run_longer_than_the_pages_say():
    names = ("size", "gated", "attention", "fused_qkv", "experts")
    shapes = {tuple(config.get(name) for name in names) for config in configs()}
    most = max(numbers_in_matrices(**dict(zip(names, shape, strict=True))) for shape in shapes)
    answer = (ROOT / "book" / "answer.md").read_text("utf-8")
    assert f"{most / 1e6:.1f} million parameters" in answer
    longest = max(config["steps"] for config in configs())
    assert f"{longest:,} steps" in (ROOT / "book" / "about.md").read_text("utf-8")


def test_what_is_not_shown_once_corrected_is_open_among_so_many():
    words = {"seven": 7, "twelve": 12}
    said = {k: c for k, (c, _) in stored().items() if "once corrected" in c.sentence}
    assert {"10-c30", "10-c32", "11-c24", "11-c37"} <= said.keys()
    for claim in said.values():
        among = next(n for word, n in words.items() if word in claim.sentence)
        for interval in claim.value:
            wider = corrected(interval, among)
            assert interval.low > 0 > wider.low, claim.id


def test_what_joining_changes_of_normuons_lead_is_a_difference_of_leads():
    means = {id: stored()[f"12-{id}"][0].value[0].mean for id in ("c31", "c32", "c33")}
    assert means["c31"] == pytest.approx(means["c33"] - means["c32"], abs=1e-9)


def test_of_several_effects_a_page_names_the_one_that_it_shows():
    first, second = (book.measured(f"04-c15 {place}") for place in (1, 2))
    assert first != second
    with pytest.raises(ValueError, match="04-c15 has 2 effects: name one, such as `04-c15 1`"):
        book.measured("04-c15")
    assert ">2</a>" in book.measured("04-c11"), "equal values are told once"


def test_the_page_on_gpus_says_what_the_small_table_took():
    runs = [recorded(name) for name in ("cpu", "cpu-tuning-adamw", "cpu-tuning-muon")]
    page = (ROOT / "book" / "gpu.md").read_text("utf-8")
    took = int(re.search(r"took (\d+) minutes, tuning included", page)[1])
    assert took == pytest.approx(sum(run.seconds for each in runs for run in each) / 60, rel=0.05)
    seeds = {run.config["seed"] for run in runs[0]}
    assert f"| {len(runs[0]) // len(seeds)} rows, {len(seeds)} seeds |" in page


PAGE = "Home\n====\n\nWhat a visitor reads about this page, in one sentence or two.\n"


def test_a_book_with_an_address_has_whole_links_in_its_previews(tmp_path, monkeypatch):
    app = pytest.importorskip("sphinx.application")
    monkeypatch.setenv("MUONLAB_SITE", "https://example.org/lab/")
    (tmp_path / "index.rst").write_text(PAGE, encoding="utf-8")
    config = yaml.safe_load((ROOT / "book" / "_config.yml").read_text("utf-8"))["sphinx"]["config"]
    (tmp_path / "conf.py").write_text("", encoding="utf-8")
    settings = {name: value for name, value in config.items() if name.startswith("ogp_")}
    settings["extensions"] = ["sphinxext.opengraph", "printing.book"]
    where = [str(tmp_path)] * 2 + [str(tmp_path / "html"), str(tmp_path / "trees")]
    app.Sphinx(*where, "html", confoverrides=settings, status=None).build()
    page = (tmp_path / "html" / "index.html").read_text("utf-8")
    preview = dict(re.findall(r'<meta (?:property|name)="(?:og:)?(\S+)" content="([^"]*)"', page))
    assert preview["image"] == "https://example.org/lab/og.png"
    assert preview["url"] == "https://example.org/lab/index.html"
    size = pictures.SOCIAL.read_bytes()[16:24]
    assert (int(preview["image:width"]), int(preview["image:height"])) == struct.unpack(">II", size)
    assert preview["description"].startswith("What a visitor reads")


@pytest.mark.parametrize(
    ("repository", "told"),
    [
        ("https://github.com/a/b", '<a href="https://codespaces.new/a/b?quickstart=1">'),
        ("https://example.org/a/b", "*Create codespace*"),
        ('https://github.com/a/b"><script>', "*Create codespace*"),
    ],
)
def test_a_codespace_is_offered_where_one_can_be_opened(monkeypatch, repository, told):
    monkeypatch.setenv("MUONLAB_REPOSITORY", repository)
    assert told in book.codespace()
    assert "script" not in book.codespace()
