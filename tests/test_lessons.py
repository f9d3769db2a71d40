"""Every lesson: fresh, whole, short; solved, every verdict is right."""

import ast
import io
import itertools
import re
import tokenize
from functools import cache

import nbformat
import pytest
from lesson_texts import compiled, imports, solve, stubs

from muonlab.classroom import Lesson, claims, explore, output, quiz
from muonlab.classroom.predict import Prediction
from muonlab.classroom.quiz import Quiz
from muonlab.classroom.widget import LESSONS, Widget
from muonlab.notebooks import STATE, evidence_texts, notebook_path, page_id, read, texts

TEXTS = {path.name[:2]: path for path in texts(LESSONS)}
EVIDENCE = evidence_texts(LESSONS)
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


@cache
def text_of(lesson):
    return read(TEXTS[lesson])


@cache
def stored(text):
    return nbformat.read(notebook_path(text), as_version=4)


@cache
def stored_claims(text):
    return claims.claims_in(notebook_path(text))


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


@pytest.mark.parametrize("text", [*TEXTS.values(), *EVIDENCE], ids=page_id)
def test_the_notebook_is_fresh_and_was_run_from_top_to_bottom(text):
    notebook = stored(text)
    fresh = {cell.id: (cell.cell_type, cell.source, cell.metadata) for cell in read(text).cells}
    kept = {cell.id: (cell.cell_type, cell.source, cell.metadata) for cell in notebook.cells}
    assert [*kept] == [*fresh], "run `make lessons`"
    assert [id for id in kept if kept[id] != fresh[id]] == [], "run `make lessons`"
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert not any(output.output_type == "error" for cell in code for output in cell.outputs)
    widgets = notebook.metadata.get("widgets", {}).get(STATE, {}).get("state", {}).values()
    shown = [model["state"] for model in widgets if "_esm" in model["state"]]
    modules = {Prediction._esm, Quiz._esm, *map(explore.module, explore.names())}
    assert {state["_esm"] for state in shown} <= modules, "older code: run `make lessons`"
    assert {state["_css"] for state in shown} <= {Widget._css}, "older looks: run `make lessons`"


@lessons
def test_the_lesson_has_the_whole_anatomy(lesson):
    found = measure(text_of(lesson))
    wrong = {k: (v, LIMITS[k]) for k, v in found.items() if not LIMITS[k][0] <= v <= LIMITS[k][1]}
    assert not wrong, f"found, (least, most): {wrong}"


@lessons
def test_code_is_as_wide_as_the_page_and_no_lambda_holds_another(lesson):
    text = TEXTS[lesson].read_text(encoding="utf-8")
    blocks = re.findall(r"^```(?:\{code-cell\} ipython3|python)\n(.*?)^```$", text, re.M | re.S)
    wide = [line for block in blocks for line in block.splitlines() if len(line) > WIDTH]
    assert wide == [], "run `make format`; strings and comments are broken by hand"
    trees = map(ast.parse, sources(text_of(lesson), "code"))
    lambdas = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
    inner = [part for node in lambdas for part in ast.walk(node.body)]
    assert not any(isinstance(part, ast.Lambda) for part in inner)


@lessons
def test_the_first_line_of_folded_code_says_what_the_fold_holds(lesson):
    """JupyterLab shows this line in place of the code."""
    firsts = [
        cell.source.splitlines()[0]
        for cell in text_of(lesson).cells
        if cell.metadata.get("jupyter", {}).get("source_hidden")
    ]
    assert firsts
    odd = [line for line in firsts if not (line[:2] == "# " and 2 <= len(line.split()) <= 9)]
    assert odd == [], "a comment of at most 8 words"


@lessons
def test_headings_are_in_order(lesson):
    levels = [level for level, _ in headings(text_of(lesson))]
    assert levels[0] == levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


@lessons
def test_every_prediction_is_revealed_after_it_was_asked(lesson):
    code = "\n".join(sources(text_of(lesson), "code"))
    calls = re.findall(r'lesson\.(predict|reveal)\(\s*"([^"]+)"', code)
    asked = [id for name, id in calls if name == "predict"]
    assert sorted(asked) == sorted(id for name, id in calls if name == "reveal")
    assert all(calls.index(("predict", id)) < calls.index(("reveal", id)) for id in asked)


@lessons
def test_each_wrong_option_of_a_quiz_names_a_misconception_and_a_section(lesson):
    titles = {title for _, title in headings(text_of(lesson))}
    questions = quiz.questions(lesson)
    assert len(questions) == 4
    for question in questions:
        assert len(question["options"]) >= 3
        for place, option in enumerate(question["options"]):
            if place != question["right"]:
                assert option.keys() == {"option", "because", "misconception", "section"}
                assert option["section"] in titles


def test_the_right_option_is_seldom_the_longest():
    asked = [question for lesson in TEXTS for question in quiz.questions(lesson)]
    longest = 0
    for question in asked:
        sizes = [len(option["option"]) for option in question["options"]]
        longest += sizes[question["right"]] == max(sizes)
    assert longest <= len(asked) / 3  # as by chance


@lessons
def test_every_figure_has_a_text_alternative_and_nothing_is_installed(lesson):
    code = "\n".join(sources(text_of(lesson), "code"))
    assert not re.search(r"plt\.show|matplotlib|display\(|\.savefig", code), "use lesson.show"
    assert not re.search(r"^\s*[%!]|pip install|urlopen|urlretrieve|requests", code, re.MULTILINE)
    figures = re.findall(r"lesson\.(?:show|compare)\(", code)
    assert len(figures) == len(re.findall(r"\balt=", code))


@lessons
def test_every_claim_of_the_stored_notebook_holds_and_an_open_one_is_open(lesson):
    """With more seeds an open one may say something: then it needs a sentence, and a bound."""
    kept = stored_claims(TEXTS[lesson])
    everywhere = {c.id for text in (TEXTS[lesson], *EVIDENCE) for c in stored_claims(text)}
    assert claims.defined(lesson).keys() <= everywhere
    assert [c.id for c in kept if not c.holds or (c.open and c.sign != "open")] == []
    assert len({c.id for c in kept}) == len(kept)
    outputs = [o for c in stored(TEXTS[lesson]).cells for o in c.get("outputs", [])]
    shown = [o.data["text/plain"] for o in outputs if claims.CLAIM in o.get("data", {})]
    assert shown == [repr(c) for c in kept], "the words have changed: run `make lessons`"


@lessons
def test_no_claim_is_given_one_end_of_an_interval(lesson):
    """One end can be the kind one: "high >= 0" is easier to reach with fewer seeds."""
    for source in sources(text_of(lesson), "code"):
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


def test_every_notebook_has_a_text():
    notebooks = {path.stem for path in LESSONS.glob("*.ipynb")}
    assert notebooks <= {path.stem for path in TEXTS.values()}


def test_a_stub_is_not_yet_and_a_solution_is_right_and_what_it_builds_is_kept(
    tmp_path, own_home, monkeypatch
):
    """An exercise needs the imports of its lesson, and no other cell."""
    monkeypatch.setattr(output, "display", lambda shown: None)
    built = set()
    for id in TEXTS:
        for notebook, status in ((text_of(id), "not yet"), (solve(text_of(id)), "right")):
            exercises = stubs(notebook)
            lesson = Lesson(id)
            exec(imports(notebook), names := {"lesson": lesson})
            for cell in exercises.values():
                exec(compiled(cell.source), names)
            assert lesson.checks == dict.fromkeys(exercises, status)
        built |= {n for c in exercises.values() for n in defined(c) if n.startswith("my_")}
    assert {f"my_{path.stem}" for path in (tmp_path / "built").glob("*.py")} == built


@lessons
def test_no_cell_needs_the_answer_of_an_exercise(lesson):
    notebook = text_of(lesson)
    exercises = list(stubs(notebook).values())
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    rest = set().union(*(used(cell.source) for cell in code if cell not in exercises))
    assert not rest & {name for cell in exercises for name in defined(cell)}


def test_what_a_lesson_asks_back_is_built_in_an_exercise_of_a_lesson_before():
    built = set()
    for lesson in TEXTS:
        built |= {name for cell in stubs(text_of(lesson)).values() for name in defined(cell)}
        code = "\n".join(sources(text_of(lesson), "code"))
        assert {f"my_{name}" for name in re.findall(r'lesson\.mine\(\s*"(\w+)"', code)} <= built


def defined(cell):
    return {node.name for node in ast.parse(cell.source).body if isinstance(node, ast.FunctionDef)}


def used(source):
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}


@lessons
def test_its_last_release_took_at_most_a_minute_on_two_threads(lesson):
    assert 0 < stored(TEXTS[lesson]).metadata.muonlab.seconds <= SECONDS
