"""What a visitor meets first: the map, the README, and the way in without installing."""

import dataclasses
import graphlib
import itertools
import json
import math
import re
import subprocess
from collections import Counter
from importlib import metadata
from operator import itemgetter
from pathlib import Path

import pytest
import torch
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from muonlab.classroom import contestant, leads_in_time, learner, step_ratio
from muonlab.data import load_corpus
from muonlab.models.gpt import GPT, SIZES
from muonlab.publishing import book, readme, route
from muonlab.publishing.claims import stored
from muonlab.statistics import corrected
from muonlab.studies.protocol import MATTERS
from muonlab.sweeps.results import recorded

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


def test_the_words_about_the_map_are_true():
    page = (ROOT / "book" / "map.md").read_text("utf-8")
    words = re.search(r"from lesson (\d\d), (\w+) lines lead on", page)
    leaving = sum(words[1] in needs for needs in drawn()[1].values())
    assert ["one", "two", "three", "four", "five", "six", "seven"][leaving - 1] == words[2]


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
    for path, ids in zip(
        book.lessons(), re.findall(r'data-asks="([^"]*)"', book.lesson_graph()), strict=True
    ):
        text = (path.parent / "text" / f"{path.stem}.md").read_text("utf-8")
        assert ids.split() == re.findall(r'lesson\.predict\(\s*"([^"]+)"', text)


def test_the_readme_begins_as_the_home_page_does():
    text = readme.PATH.read_text("utf-8")
    assert readme.filled(text) == text, "run `make lessons`"
    home = (ROOT / "book" / "intro.md").read_text("utf-8")
    first = text[: text.index("<!-- end -->")]
    for id in re.findall(r"<!-- made: measured ([\w -]+) -->", home.split("\n## ")[0]):
        told = re.sub("<.*?>", "", book.measured(id))
        assert told.replace("[", r"\[").replace("]", r"\]") in first
        kinds = r"[+-]\d\.\d+ \[[+-]|\d to \d|^\d+$"  # an effect, what clocks say, a count
        assert re.search(kinds, told)
    assert text.index("<!-- end -->") < text.index("![") < text.index("\n## ")
    with pytest.raises(ValueError, match="one place"):
        readme.filled("# muonlab")


def numbers_in_matrices(config):
    names = ("gated", "attention", "fused_qkv", "experts")
    shape = dataclasses.replace(SIZES[config["size"]], **{n: config[n] for n in names if config[n]})
    with torch.device("meta"):
        model = GPT(shape)
    return sum(p.numel() for name, p in model.named_parameters() if name.startswith("blocks."))


def test_the_readme_says_what_was_never_run():
    shapes, raced = {}, set()
    for path in sorted((ROOT / "data" / "results").glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            run = json.loads(line)
            config, device = run["config"], run["provenance"]["device"]
            assert config["device"] in ("auto", "cpu")
            assert re.match("Intel|AMD EPYC", device), f"{path.name}: a run on {device}"
            names = ("size", "gated", "attention", "fused_qkv", "experts")
            key = tuple(config.get(name) for name in names)
            shapes[key] = dict(zip(names, key, strict=True))
            raced |= {key} if path.stem.startswith("race-") else set()
    sizes = {key: numbers_in_matrices(config) for key, config in shapes.items()}
    text = readme.PATH.read_text("utf-8")
    assert "nothing here was run on a GPU" in text
    most, race = max(sizes.values()) / 1e6, {round(sizes[key] / 1e6, 1) for key in raced}
    told = f"from a model with more than {most:.1f} million numbers in its hidden matrices"
    assert told in text
    assert f"those of the races above held {race.pop()} million" in text
    assert not race
    answer = (ROOT / "book" / "answer.md").read_text("utf-8")
    assert told in answer


def test_the_front_says_how_many_trials_and_seeds_the_races_had():
    sides = {}
    for name in ("race-1200", "vocabulary-1200", "race-150", "race-4800"):
        files = (ROOT / "data" / "results").glob(f"{name}-[0-9].jsonl")
        runs = [run for path in files for run in recorded(path.stem)]
        counts = Counter(bool(r.config["muon"]) for r in runs if r.config["rule"] == "muon")
        assert counts[True] == counts[False]
        sides[name] = counts[True]
    one, other, short, long = sides.values()
    told = f"{one} trials at 1,200 steps, {other} with 4,096 tokens, {short} at 150, and {long}"
    assert told in (ROOT / "book" / "conditions.md").read_text("utf-8")
    readme_text = readme.PATH.read_text("utf-8")
    assert f"with {one} trials each" in readme_text
    seeds = {run.config["seed"] for run in recorded("race-1200")}
    assert len(seeds) == 10
    assert "ten seeds each" in readme_text


def test_in_the_longest_race_muon_is_behind_until_the_rates_fall():
    told = (
        "Up to step 4,200 of these runs Muon is behind on rare tokens in the mean, and from 1,800"
    )
    assert told in (ROOT / "book" / "conditions.md").read_text("utf-8")
    ends = {"overall": Counter(), "tail": Counter()}
    for run in recorded("race-4800"):
        for at in run.held_out:
            for part, leads in ends.items():
                leads[at["step"]] += at[part] * (-1 if run.config["muon"] else 1)
    assert {step for step, lead in ends["tail"].items() if lead < 0} == {*range(600, 4201, 600)}
    assert {step for step, lead in ends["overall"].items() if lead < 0} == {1800, 2400, 3000}


def test_by_its_own_clock_no_study_shows_muon_ahead_on_rare_tokens():
    answer = (ROOT / "book" / "answer.md").read_text("utf-8")
    assert "By these clocks Muon leads on all tokens in the three studies of 1,200 steps" in answer
    assert "On rare tokens none of the four shows Muon ahead, and AdamW leads in two" in answer
    found = {}
    for name in ("race-1200", "rates-1200", "vocabulary-1200", "race-4800"):
        judged = recorded(name)
        every = judged + recorded(f"{name.removesuffix('-1200')}-shorter")
        for part in ("overall", "tail"):
            [found[name, part]] = leads_in_time(every, [step_ratio(judged)], itemgetter(part))
    *short, long = (i for (_, part), i in found.items() if part == "overall")
    assert all(i.low > 0 for i in short)
    assert [i.mean < MATTERS for i in short] == [False, False, True]
    assert -MATTERS < long.low < 0 < long.high < MATTERS
    rare = [i for (_, part), i in found.items() if part == "tail"]
    assert [i.high < 0 for i in rare] == [False, False, True, True]
    assert not any(i.low > 0 for i in rare)


def test_the_dashes_of_the_table_of_facts_are_told_in_words():
    told = (
        "Muon on all stays far ahead of AdamW with one rate; of AdamW slower on all it is ahead at"
    )
    assert told in (ROOT / "book" / "conditions.md").read_text("utf-8")
    every = recorded("facts-1200") + recorded("facts-1200-shorter")

    def wrong(at):  # in the two rarest groups
        return -sum(at["accuracy"][8:]) / 2

    one, slower = (
        leads_in_time(every, [1.1, 20 / 17], wrong, (who, "Muon"), learner)
        for who in ("AdamW", "AdamW, all slower")
    )
    assert all(i.low > 0.15 for i in one)
    assert slower[0].low > 0 > slower[1].low
    memories = ("AdamW, VO and FFN slower", "Muon")
    [fewer] = leads_in_time(every, [1.1], wrong, memories, learner)
    assert fewer.low < 0 < fewer.high


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


def typed(page):
    text = (ROOT / "book" / f"{page}.md").read_text("utf-8")
    text = re.sub(r"<!--.*?-->|arxiv\.org/abs/[\d.]+|arXiv [\d.]+", "", text)
    return set(re.findall(r"\d*\.\d+", text))


def test_of_regression_the_front_tells_the_lead_as_a_share_of_the_error():
    told = "Muon's error is lower by a fourteenth at ten new seeds"
    assert told in (ROOT / "book" / "conditions.md").read_text("utf-8")
    errors = {"AdamW": [], "Muon": []}
    for run in recorded("regression-600"):
        if (name := contestant(run.config)) in errors:
            errors[name].append(run.held_out[-1]["overall"])
    assert list(map(len, errors.values())) == [10, 10]
    assert round(sum(errors["AdamW"]) / (sum(errors["AdamW"]) - sum(errors["Muon"]))) == 14


def test_no_measured_number_is_typed_into_the_answer():
    others = {"0.359", "1.4", "0.1", "1.1", "1.2"}  # what other studies report
    for name in ("cpu", "cpu-retuned"):
        averages = {(run.config["betas"][0], run.config["momentum"]) for run in recorded(name)}
        assert averages == {(0.8, 0.95)}
    others |= {"0.8", "0.95"}
    few, many = (load_corpus(name) for name in ("docs-512", "docs"))
    longer = len(few.held_out) / len(many.held_out)  # a token of the larger vocabulary
    others |= {f"{longer:.1f}"}
    # a bound, and a clock of tests/test_in_time.py
    assert typed("conditions") == others | {"0.9", "1.8", str(MATTERS)}
    sizes, clocks = {"0.1", "0.6", "1.9", f"{longer:.1f}"}, {"1.1", "1.2", "1.4", "1.8"}
    assert typed("answer") == sizes | clocks | {str(MATTERS)}


def test_of_several_effects_a_page_names_the_one_that_it_shows():
    first, second = (book.measured(f"04-c15 {place}") for place in (1, 2))
    assert first != second
    with pytest.raises(ValueError, match="04-c15 has 2 effects: name one, such as `04-c15 1`"):
        book.measured("04-c15")
    assert ">2</a>" in book.measured("04-c11"), "equal values are told once"


def test_no_run_is_longer_than_the_page_about_the_course_says():
    files = (ROOT / "data" / "results").glob("*.jsonl")
    lines = itertools.chain(*(path.read_text("utf-8").splitlines() for path in files))
    most = max(json.loads(line)["config"]["steps"] for line in lines)
    about = (ROOT / "book" / "about.md").read_text("utf-8")
    assert f"for at most {most:,} steps" in about


def test_the_page_on_gpus_says_what_the_small_table_took():
    runs = [recorded(name) for name in ("cpu", "cpu-tuning-adamw", "cpu-tuning-muon")]
    page = (ROOT / "book" / "gpu.md").read_text("utf-8")
    took = int(re.search(r"took (\d+) minutes, tuning included", page)[1])
    assert took == pytest.approx(sum(run.seconds for each in runs for run in each) / 60, rel=0.05)
    seeds = {run.config["seed"] for run in runs[0]}
    assert f"| {len(runs[0]) // len(seeds)} rows, {len(seeds)} seeds |" in page


def installed(*extras):
    """The packages that the course installs, with those that they need."""
    found, left = set(), [("muonlab", frozenset(extras))]
    while left:
        name, wanted = left.pop()
        key = canonicalize_name(name), wanted
        if key not in found:
            found.add(key)
            for line in metadata.distribution(name).requires or []:
                need = Requirement(line)
                if need.marker is None or any(
                    need.marker.evaluate({"extra": e}) for e in wanted | {""}
                ):
                    left.append((need.name, frozenset(need.extras)))
    return {name for name, _ in found}


def test_the_readme_says_how_much_disk_the_setup_takes():
    if torch.version.cuda:
        pytest.skip("the figures are those of PyTorch's CPU build")

    def size(names):
        files = (f.locate() for name in names for f in metadata.files(name) or [])
        return sum(4096 * math.ceil(f.stat().st_size / 4096) for f in files if f.is_file()) / 2**30

    text = " ".join(readme.PATH.read_text("utf-8").split())
    needed, rest = installed(), installed("test", "book", "grading")
    plain = size(needed)
    for told, found in (
        (re.search(r"takes (\d\.\d) GiB of disk", text)[1], plain),
        (re.search(r"tests and book it takes (\d\.\d) GiB", text)[1], plain + size(rest - needed)),
    ):
        assert float(told) == pytest.approx(found, rel=0.1)
        assert f"{told} GiB with" in (ROOT / "book" / "how-to.md").read_text("utf-8")
    assert size({"torch"}) == pytest.approx(plain / 2, rel=0.1), "half of it PyTorch"
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, check=True, text=True
    )
    tracked = sum(path.stat().st_size for path in map(ROOT.joinpath, listed.stdout.splitlines()))
    told = re.search(r"(\d+) MB for the course without", text)[1]
    assert float(told) == pytest.approx(tracked / 1e6, rel=0.1)


PAGE = "Home\n====\n\nWhat a visitor reads about this page, in one sentence or two.\n"


def test_a_book_with_an_address_has_whole_links_in_its_previews(tmp_path, monkeypatch):
    app = pytest.importorskip("sphinx.application")
    monkeypatch.setenv("MUONLAB_SITE", "https://example.org/lab/")
    monkeypatch.setattr(book.picture, "as_png", lambda: b"a picture")
    (tmp_path / "index.rst").write_text(PAGE, encoding="utf-8")
    config = yaml.safe_load((ROOT / "book" / "_config.yml").read_text("utf-8"))["sphinx"]["config"]
    (tmp_path / "conf.py").write_text("", encoding="utf-8")
    settings = {name: value for name, value in config.items() if name.startswith("ogp_")}
    settings["extensions"] = ["sphinxext.opengraph", "muonlab.publishing.book"]
    where = [str(tmp_path)] * 2 + [str(tmp_path / "html"), str(tmp_path / "trees")]
    app.Sphinx(*where, "html", confoverrides=settings, status=None).build()
    page = (tmp_path / "html" / "index.html").read_text("utf-8")
    told = dict(re.findall(r'<meta property="og:(\S+)" content="([^"]*)"', page))
    assert told["image"] == "https://example.org/lab/og.png"
    assert told["url"] == "https://example.org/lab/index.html"
    assert told["description"].startswith("What a visitor reads")
    assert (tmp_path / "html" / "og.png").read_bytes() == b"a picture"


@pytest.mark.parametrize(
    ("repository", "told"),
    [
        ("https://github.com/a/b", '<a href="https://codespaces.new/a/b?quickstart=1">'),
        ("https://example.org/a/b", "*Create codespace*"),
        ('https://github.com/a/b"><script>', "*Create codespace*"),
        ("", "*Create codespace*"),
    ],
)
def test_a_codespace_is_offered_where_one_can_be_opened(monkeypatch, repository, told):
    monkeypatch.setenv("MUONLAB_REPOSITORY", repository)
    assert told in book.codespace()
    assert "script" not in book.codespace()
