"""Claims: their files, what a cell passes, what a reader sees, and what no claim may be."""

import json
import math
import re
from dataclasses import replace
from unittest import mock

import pytest
import torch
from lesson_texts import outputs

from muonlab.classroom import Lesson, claims, output
from muonlab.classroom.claims import Claim, ClaimDoesNotHold
from muonlab.files import LESSONS
from muonlab.statistics import Interval, paired_interval

WIDE, NARROW = Interval(0.01, -0.02, 0.04, 3), Interval(0.01, 0.005, 0.015, 10)
FILE = """
[02-c1]
sentence = "It holds."
within = [0.68, 1.21]

[02-c2]
sentence = "A ends above B."
unit = "nats"
at_least = 0
size = 0.02
source = "a paper"
paper = "0.1"
verdict = "reproduced"

[02-c3]
sentence = "Three seeds cannot tell."
unit = "nats"
size = 0.02
verdict = "open"

[02-c4]
sentence = "A and B end within 0.02 of each other."
unit = "nats"
within = [-0.02, 0.02]
size = 0.02
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "02.toml").write_text(FILE)
    for function in (claims.defined, claims.claim):
        changed = (*function.__defaults__[:-1], tmp_path)
        monkeypatch.setattr(function, "__defaults__", changed)
    return tmp_path


@pytest.fixture
def lesson(folder):
    return Lesson("02")


def write(folder, text):
    (folder / "claims" / "02.toml").write_text(text)


def test_a_claim_that_holds_leaves_text_html_and_data(lesson):
    left = outputs(lesson.claim, "02-c1", (torch.tensor(0.6812), torch.tensor(1.2049)))[0]
    assert left["text/plain"] == "claim 02-c1 holds: It holds. | 0.681 to 1.205 | 0.68 to 1.21"
    assert left[claims.CLAIM] == {"id": "02-c1", "value": pytest.approx([0.6812, 1.2049])}
    assert '<div id="claim-02-c1"' in left["text/html"]
    assert "<b>✓ holds</b> · It holds." in left["text/html"]


def test_a_difference_shows_its_effect_interval_unit_and_seeds(lesson):
    interval = paired_interval([1.0, 1.1, 1.3], [0.8, 0.85, 1.1])
    left = outputs(lesson.claim, "02-c2", interval)[0]
    assert f"{interval} nats, n = 3 | the whole interval at least 0" in left["text/plain"]
    assert "the paper's result <b>reproduced</b>" in left["text/html"]


def test_an_open_claim_states_its_interval_and_is_neither_right_nor_wrong(lesson):
    with pytest.raises(ClaimDoesNotHold):
        lesson.claim("02-c3", Interval(math.nan, math.nan, math.nan, 3))
    assert lesson.claims == {}, "what fails is not kept"
    left = outputs(lesson.claim, "02-c3", WIDE)[0]
    assert left["text/plain"].startswith("claim 02-c3 open: Three seeds cannot tell.")
    assert "<b>open</b> · " in left["text/html"]
    assert not re.search("[✓✗]", left["text/html"])
    assert "#029e73" not in left["text/html"], "no green"
    assert lesson.claims["02-c3"].row[1] == "open"


def test_an_open_claim_that_more_seeds_decide_says_so():
    for interval, sign in ((NARROW, "leads a little"), (WIDE._replace(high=0.01), "level")):
        claim = Claim("02-c3", "Cannot tell.", value=(interval,), size=0.02, verdict="open")
        assert claim.sign == sign


@pytest.mark.parametrize(
    ("values", "lower", "upper"),
    [
        ((0.5,), 0.6, math.inf),
        ((0.7, 1.3), 0.68, 1.21),
        ((0.7, math.nan), 0.0, 1.0),
        ((math.inf,), 1.0, math.inf),
    ],
)
def test_a_false_claim_raises_with_sentence_value_bound_and_advice(values, lower, upper):
    with pytest.raises(ClaimDoesNotHold) as error:
        Claim("02-c1", "The sky is green.", lower, upper, values).demand()
    for words in ("02-c1", "The sky is green.", "Measured", "the bound is", "first cell"):
        assert words in str(error.value)
    assert isinstance(error.value, AssertionError)


def test_a_bound_includes_its_ends():
    for lower, upper in ((-math.inf, 1), (1, math.inf), (1, 1), (0, 1)):
        assert Claim("02-c1", "At the end.", lower, upper, (1.0,)).holds


@pytest.mark.parametrize("id", ["02-c2", "02-c4"])
def test_a_wider_interval_never_helps_a_claim(folder, id):
    """The same mean from fewer seeds: what held may fail, and what failed never holds."""
    for mean in (-0.03, -0.01, 0.0, 0.01, 0.03):
        held = [
            claims.claim(id, Interval(mean, mean - half, mean + half, 5)).holds
            for half in (0.001, 0.01, 0.02, 0.1)
        ]
        assert held == sorted(held, reverse=True)
    assert not claims.claim(id, [NARROW, Interval(0.0, -1.0, 1.0, 2)]).holds, "nor among others"


def test_an_interval_and_a_claim_about_a_difference_need_each_other(folder):
    for value in (0.04, WIDE[1:3], [NARROW, 0.1]):  # one end of an interval is no difference
        with pytest.raises(TypeError, match="takes whole Intervals"):
            claims.claim("02-c2", value)
    with pytest.raises(TypeError, match="takes a number, or several; got"):
        claims.claim("02-c1", NARROW)


def test_a_figure_and_the_claim_that_it_decides_have_one_size_that_matters(lesson):
    told = {"unit": "nats", "alt": "A ends above B in this.", "claims": {"gap": "02-c2"}}
    gap = {"gap": [0.1, 0.12, 0.13]}
    with mock.patch.object(output, "display"):
        assert lesson.compare(gap, matters=0.02, **told)["gap"] == lesson.claims["02-c2"].value[0]
        with pytest.raises(ValueError, match=r"0\.04 matters in the figure, 0\.02 in claim 02-c2"):
            lesson.compare(gap, matters=0.04, **told)


GOOD = 'sentence = "s"\nunit = "nats"\nsize = 0.1\n'


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        ('sentence = "s"\nat_least = 0\nat_most = 2', ValueError, "it needs one bound"),
        ('sentence = "s"\nat_lest = 0', ValueError, "it needs one bound"),
        (
            'sentence = "s"\nverdict = "open"',
            ValueError,
            "one bound of .*, or, if it is open, a si",
        ),
        (f"{GOOD}[02-c1]", ValueError, "Cannot declare"),
        (f"{GOOD}at_lest = 0", TypeError, "unexpected keyword argument 'at_lest'"),
    ],
)
def test_what_a_file_may_not_say(folder, table, error, message):
    write(folder, f"[02-c1]\n{table}\n")
    with pytest.raises(error, match=message):
        claims.defined("02")


@pytest.mark.parametrize("path", sorted((LESSONS / "claims").glob("*.toml")), ids=lambda p: p.stem)
def test_the_course_s_claims_have_ids_of_their_lesson_no_verdict_and_one_size(path):
    for id, claim in claims.defined(path.stem).items():
        assert re.fullmatch(rf"{path.stem}-c\d+", id)
        assert not re.search(r"(?i)\breproduced\b|^partly|^open:", claim.sentence), id
        if claim.size and math.isfinite(claim.upper - claim.lower):
            assert {claim.lower, claim.upper} <= {-claim.size, 0, claim.size}, id


@pytest.mark.parametrize("ends", ["[-0.1, 0.1]", "[-0.1, 0]", "[0, 0.1]"])
def test_an_effect_may_be_small_on_one_side_of_0(folder, ends):
    write(folder, f"[02-c1]\n{GOOD}within = {ends}\n")
    held = [claims.claim("02-c1", Interval(m, m - 0.02, m + 0.02, 5)).holds for m in (-0.05, 0.05)]
    assert held == ["-" in ends, "0.1]" in ends]


def test_a_verdict_is_never_read_out_of_the_sentence():
    said = Claim("02-c1", "It is reproduced partly by chance.", 0.0, 2.0, (1.0,))
    assert (said.judged, said.row[1]) == ("", "✓ holds")
    judging = replace(said, verdict="not")
    assert (judging.judged, judging.row[1]) == ("not", "not reproduced")
    assert "the paper's result <b>not reproduced</b>" in judging.html
    failing = replace(judging, value=(9.0,))
    assert (failing.judged, failing.row[1]) == ("", "✗ fails")


@pytest.mark.parametrize(
    ("value", "upper", "told"),
    [
        (3.1e-13, 1e-9, "less than 1e-12"),
        (0.0003121, 0.005, "0.000312"),
        (256.04, 256.1, "256.0"),
        (0.0, 1.0, "0"),
        (1e-300, 0.0, "1e-300"),
        (2_345_678.0, 1e7, "2.35e+06"),
    ],
)
def test_a_value_is_shown_as_finely_as_its_bound_needs(value, upper, told):
    assert Claim("02-c1", "", upper=upper, value=(value,)).measured == told


def test_several_intervals_are_all_shown_with_their_seeds():
    made = Claim("02-c2", "s", 0.0, value=(NARROW, WIDE), size=0.1, unit="nats")
    assert made.measured == f"{NARROW}; {WIDE} nats, n = 10 and 3"


# --- what notebooks store ----------------------------------------------------------------------


def stored_notebook(folder, *stored):
    outputs = [{"data": {claims.CLAIM: {"id": c.id, "value": c.value}}} for c in stored]
    path = folder / "02-test.ipynb"
    path.write_text(json.dumps({"cells": [{"outputs": outputs}]}))
    return path


def all_four(folder):
    values = {"02-c1": 1.0, "02-c2": NARROW, "02-c3": WIDE, "02-c4": NARROW}
    return [claims.claim(id, value, folder) for id, value in values.items()]


def test_values_come_from_the_notebook_and_words_from_the_file(folder):
    path = stored_notebook(folder, *all_four(folder))
    assert claims.claims_in(path) == all_four(folder)
    write(folder, FILE.replace("It holds.", "So it is.").replace("1.21", "0.9"))
    first = claims.claims_in(path)[0]
    assert first.sentence == "So it is."
    assert not first.holds, "checked against the bound of today"
    assert claims.stored_claims(folder)["02-c1"][1] == "02-test"


def test_stored_claims_are_printed(folder, capsys):
    """`test_cli` asks what is said of one that fails or is missing."""
    stored_notebook(folder, *all_four(folder))
    assert claims.print_stored(folder) == claims.print_stored(folder, "02") == 0
    printed = capsys.readouterr().out
    for words in ("✓ holds", "reproduced", "open", f"{NARROW} nats, n = 10", "0.68 to 1.21"):
        assert words in printed


def test_a_stored_claim_that_no_file_knows_is_named(folder):
    path = stored_notebook(folder, replace(all_four(folder)[0], id="02-c77"))
    with pytest.raises(ValueError, match=r"a claim must be one of .*; got '02-c77'"):
        claims.claims_in(path)


def test_recap_lists_the_claims_of_this_run(lesson):
    outputs(lesson.claim, "02-c1", 1.0)
    recap = outputs(lesson.recap)[0]
    assert "02-c1" in recap["text/plain"]
    assert "✓ holds</td>" in recap["text/html"]
