"""Every lesson: fresh, whole, short; solved, every verdict is right."""

import ast
import io
import itertools
import re
import tokenize

import nbformat
import pytest
from lesson_texts import check_fresh, solve, stubs

from muonlab.classroom import claims, quiz
from muonlab.classroom import exercise as check
from muonlab.classroom.widget import LESSONS
from muonlab.notebooks import evidence_texts, notebook_path, page_id, read, texts
from release import execute

TEXTS = {path.name[:2]: path for path in texts(LESSONS)}
SECONDS = 60
WIDTH = 84  # characters: what the book's column holds
LIMITS = {  # what a lesson holds, from least to most
    "cells": (10, 35),
    "words": (0, 1200),
    "words of code": (0, 2_400),  # names, numbers and signs: they do not depend on the layout
    "words of the longest cell": (1, 320),
    "predictions": (1, 9),
    "explorers": (1, 3),
    "exercises": (1, 4),
    "quiz": (1, 1),
    "recap": (1, 1),
    "claims": (1, 20),
    "checked cells": (1, 35),
}
lessons = pytest.mark.parametrize("lesson", TEXTS)


def sources(notebook, kind):
    return [cell.source for cell in notebook.cells if cell.cell_type == kind]


def visible(notebook):
    """The Markdown outside of folded hints and solutions."""
    words = "\n\n".join(sources(notebook, "markdown"))
    return re.sub(r"<details>.*?</details>", "", words, flags=re.DOTALL)


def headings(notebook):
    found = re.findall(r"^(#+) (.*)$", visible(notebook), flags=re.MULTILINE)
    return [(len(marks), title.strip()) for marks, title in found]


def code_words(source):
    words = (tokenize.NAME, tokenize.NUMBER, tokenize.OP, tokenize.STRING)
    kinds, inside = [], 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        name = tokenize.tok_name[token.type]
        inside -= name == "FSTRING_END"  # from Python 3.12 on an f-string comes in parts
        if not inside and name not in ("FSTRING_START", "NL"):
            kinds.append(tokenize.STRING if name == "FSTRING_END" else token.type)
        inside += name == "FSTRING_START"
    strings = (tokenize.STRING, tokenize.STRING)  # one that is cut to fit the page counts once
    cut = sum(pair == strings for pair in itertools.pairwise(kinds))
    return sum(kind in words for kind in kinds) - cut


def calls(notebook, name):
    return sum(source.count(f"lesson.{name}(") for source in sources(notebook, "code"))


def measure(notebook):
    code = sources(notebook, "code")
    tags = [tag for cell in notebook.cells for tag in cell.metadata.get("tags", [])]
    return {
        "cells": len(notebook.cells),
        "words": len(re.findall(r"[^\s|]*\w[^\s|]*", visible(notebook))),
        "words of code": sum(map(code_words, code)),
        "words of the longest cell": max(map(code_words, code)),
        "predictions": calls(notebook, "predict"),
        "explorers": calls(notebook, "explore"),
        "exercises": len(stubs(notebook)),
        "quiz": calls(notebook, "quiz"),
        "recap": calls(notebook, "recap"),
        "claims": calls(notebook, "claim"),
        "checked cells": tags.count("nbval-check-output"),
    }


@pytest.mark.parametrize("text", [*TEXTS.values(), *evidence_texts(LESSONS)], ids=page_id)
def test_the_notebook_is_fresh(text):
    assert check_fresh(text) == []


@lessons
def test_the_lesson_has_the_whole_anatomy(lesson):
    found = measure(read(TEXTS[lesson]))
    wrong = {k: (v, LIMITS[k]) for k, v in found.items() if not LIMITS[k][0] <= v <= LIMITS[k][1]}
    assert not wrong, f"found, (least, most): {wrong}"


@lessons
def test_code_is_as_wide_as_the_page_and_no_lambda_holds_another(lesson):
    text = TEXTS[lesson].read_text(encoding="utf-8")
    blocks = re.findall(r"^```(?:\{code-cell\} ipython3|python)\n(.*?)^```$", text, re.M | re.S)
    wide = [line for block in blocks for line in block.splitlines() if len(line) > WIDTH]
    assert wide == [], "run `make format`; strings and comments are broken by hand"
    trees = map(ast.parse, sources(read(TEXTS[lesson]), "code"))
    lambdas = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
    inner = [part for node in lambdas for part in ast.walk(node.body)]
    assert not any(isinstance(part, ast.Lambda) for part in inner)


@lessons
def test_the_first_line_of_folded_code_says_what_the_fold_holds(lesson):
    """JupyterLab shows this line in place of the code."""
    firsts = [
        cell.source.splitlines()[0]
        for cell in read(TEXTS[lesson]).cells
        if cell.metadata.get("jupyter", {}).get("source_hidden")
    ]
    assert firsts
    odd = [line for line in firsts if not (line[:2] == "# " and 2 <= len(line.split()) <= 9)]
    assert odd == [], "a comment of at most 8 words"


@lessons
def test_headings_are_in_order(lesson):
    levels = [level for level, _ in headings(read(TEXTS[lesson]))]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


@lessons
def test_every_prediction_is_revealed_after_it_was_asked(lesson):
    code = "\n".join(sources(read(TEXTS[lesson]), "code"))
    calls = re.findall(r'lesson\.(predict|reveal)\(\s*"([^"]+)"', code)
    asked = [id for name, id in calls if name == "predict"]
    assert sorted(asked) == sorted(id for name, id in calls if name == "reveal")
    assert all(calls.index(("predict", id)) < calls.index(("reveal", id)) for id in asked)


@lessons
def test_a_quiz_of_four_points_to_sections_that_exist(lesson):
    titles = {title for _, title in headings(read(TEXTS[lesson]))}
    questions = quiz.questions(lesson)
    options = [option for question in questions for option in question["options"]]
    assert len(questions) == 4
    assert {o["section"] for o in options if "section" in o} <= titles
    assert all(len(question["options"]) >= 3 for question in questions)


def test_the_right_option_is_seldom_the_longest():
    asked = [question for lesson in TEXTS for question in quiz.questions(lesson)]
    longest = 0
    for question in asked:
        sizes = [len(option["option"]) for option in question["options"]]
        longest += sizes[question["right"]] == max(sizes)
    assert longest <= len(asked) / 3  # as by chance


@lessons
def test_every_figure_has_a_text_alternative_and_nothing_is_installed(lesson):
    code = "\n".join(sources(read(TEXTS[lesson]), "code"))
    assert not re.search(r"plt\.show|matplotlib|display\(|\.savefig", code), "use lesson.show"
    assert not re.search(r"^\s*[%!]|pip install|urlopen|urlretrieve|requests", code, re.MULTILINE)
    figures = re.findall(r"lesson\.(?:show|compare)\(", code)
    assert len(figures) == len(re.findall(r"\balt=", code))


@lessons
def test_every_claim_of_the_stored_notebook_holds(lesson):
    path = notebook_path(TEXTS[lesson])
    stored = claims.collect(path)
    assert claims.missing(path) == []
    assert [c.id for c in stored if not c.holds] == []
    assert len({c.id for c in stored}) == len(stored)
    data = [
        o.data for c in nbformat.read(path, 4).cells for o in c.get("outputs", []) if "data" in o
    ]
    shown = [d["text/plain"] for d in data if claims.CLAIM in d]
    assert shown == [repr(c) for c in stored], "the words have changed: run `make lessons`"


@lessons
def test_every_claim_of_the_file_is_filled_by_a_cell_and_every_id_of_a_cell_is_in_the_file(lesson):
    ids = r'"(\d\d-c\d+)"'
    own, moved = (
        {
            id
            for text in some
            for code in sources(read(text), "code")
            for id in re.findall(ids, code)
        }
        for some in ([TEXTS[lesson]], evidence_texts(LESSONS))
    )
    assert own <= claims.defined(lesson).keys()
    assert own | {id for id in moved if id[:2] == lesson} == claims.defined(lesson).keys()


@lessons
def test_a_claim_that_is_open_is_open(lesson):
    """With more seeds it may say something: then it needs another sentence, and a bound."""
    stored = claims.collect(notebook_path(TEXTS[lesson]))
    assert {c.id: c.sign for c in stored if c.open and c.sign != "open"} == {}


@lessons
def test_no_sentence_of_a_claim_holds_its_verdict(lesson):
    said = {c.id: c.sentence for c in claims.defined(lesson).values()}
    assert [
        id for id, s in said.items() if re.search(r"(?i)\breproduced\b|^partly|^open:", s)
    ] == []


@lessons
def test_no_claim_is_given_one_end_of_an_interval(lesson):
    """One end can be the kind one: "high >= 0" is easier to reach with fewer seeds."""
    for source in sources(read(TEXTS[lesson]), "code"):
        tree = ast.parse(source)
        given = [node for node in ast.walk(tree) if called(node) == "lesson.claim"]
        names = {n.id for call in given for n in ast.walk(call) if isinstance(n, ast.Name)}
        made = [a.value for a in ast.walk(tree) if isinstance(a, ast.Assign) and names & set_by(a)]
        assert not any(map(one_end, (*given, *made))), source


def called(node):
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def set_by(assignment):
    return {n.id for t in assignment.targets for n in ast.walk(t) if isinstance(n, ast.Name)}


def one_end(tree):
    """Whether an end is taken; to count intervals on one side of 0 takes none."""
    inside = {n for c in ast.walk(tree) if isinstance(c, ast.Compare) for n in ast.walk(c)}
    ends = (n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr in ("low", "high"))
    return any(end not in inside for end in ends)


@pytest.mark.parametrize(
    ("code", "taken"),
    [
        ("x.high", True),
        ("[-i.low for i in x]", True),
        ("x", False),
        ("sum(i.low > 0 for i in x)", False),
    ],
)
def test_one_end_is_found(code, taken):
    assert one_end(ast.parse(code)) is taken


def test_every_notebook_has_a_text():
    notebooks = {path.stem for path in LESSONS.glob("*.ipynb")}
    assert notebooks <= {path.stem for path in TEXTS.values()}


def test_solved_every_verdict_is_right():
    cells, wanted = [], {}
    for text in TEXTS.values():
        notebook = solve(read(text))
        cells += [first_code(notebook), *stubs(notebook).values()]  # an exercise needs no more
        wanted |= dict.fromkeys(stubs(notebook), "right")
    notebook.cells = cells  # in one kernel: to start one for each lesson takes a minute
    execute(notebook, LESSONS, threads=1)
    assert statuses(notebook) == wanted
    outputs = [o.data["text/plain"] for c in cells for o in c.outputs if "data" in o]
    kept = {name for text in outputs for name in re.findall(r"`(my_\w+)` is kept", text)}
    names = set().union(*map(defined, cells[1:]))
    assert kept == {name for name in names if name.startswith("my_")}


@lessons
def test_no_cell_needs_the_answer_of_an_exercise(lesson):
    notebook = read(TEXTS[lesson])
    exercises = list(stubs(notebook).values())
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    rest = set().union(*(used(cell.source) for cell in code if cell not in exercises))
    assert not rest & {name for cell in exercises for name in defined(cell)}


def test_what_a_lesson_asks_back_is_built_in_an_exercise_of_a_lesson_before():
    built, asked = {}, []
    for lesson, text in TEXTS.items():
        notebook = read(text)
        for name in set().union(*map(defined, stubs(notebook).values()), set()):
            built[name] = lesson
        code = "\n".join(sources(notebook, "code"))
        asked += [(lesson, n) for n in re.findall(r'lesson\.mine\(\s*"(\w+)"', code)]
    late = [(lesson, n) for lesson, n in asked if built.get(f"my_{n}", "99") > lesson]
    assert not late


def first_code(notebook):
    return next(cell for cell in notebook.cells if cell.cell_type == "code")


def defined(cell):
    return {node.name for node in ast.parse(cell.source).body if isinstance(node, ast.FunctionDef)}


def used(source):
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}


@lessons
def test_its_last_release_took_at_most_a_minute_on_two_threads(lesson):
    notebook = nbformat.read(notebook_path(TEXTS[lesson]), as_version=4)
    assert 0 < notebook.metadata.muonlab.seconds <= SECONDS


@lessons
def test_unsolved_every_verdict_is_a_polite_not_yet(lesson):
    notebook = nbformat.read(notebook_path(TEXTS[lesson]), as_version=4)
    assert statuses(notebook) == dict.fromkeys(stubs(notebook), "not yet")


def statuses(notebook):
    outputs = [o for c in notebook.cells for o in c.get("outputs", []) if "data" in o]
    verdicts = [o.data[check.VERDICT] for o in outputs if check.VERDICT in o.data]
    return {verdict["exercise"]: verdict["status"] for verdict in verdicts}
