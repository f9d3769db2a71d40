"""The house: imports go down only, there is no more to read than agreed, and the examples run."""

import ast
import builtins
import doctest
import importlib
import io
import re
import sys
import tokenize
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import muonlab

ROOT = Path(muonlab.__file__).parent
FLOORS = (  # a room may import from itself, and from the rooms on lower floors
    ("checks",),
    ("machine", "files", "statistics"),
    ("models", "archive", "bubblewrap"),
    ("optim", "data"),
    ("records", "theory", "distributed", "doctor", "class_texts"),
    ("training",),
    ("sweeps", "benchmark"),
    ("studies",),
    ("cost",),
    ("drawing",),
    ("classroom", "experiments"),
    ("notebooks",),
    ("cli", "teaching"),
    ("__main__",),
)
FLOOR = {room: number for number, floor in enumerate(FLOORS) for room in floor}
SHOWS = {"ipywidgets", "anywidget", "traitlets", "matplotlib", "seaborn", "IPython", "jupytext"}
SHOWING = {"drawing", "classroom", "notebooks", "cli", "__main__"}
OPTIONAL = {"ray", "submitit"}  # may be missing
# What takes a good part of a second to import, where it is used.
LATE = ("pandas", "scipy", "seaborn", "torch.distributed")
LATE_ROOMS = {
    "muonlab.__main__": {"muonlab.cli"},
    "muonlab.cli": {"muonlab.classroom.claims", "muonlab.classroom.report"},
    "muonlab_teaching.command": {
        f"muonlab_teaching.{n}" for n in ("class_page", "export", "sheet")
    },
}
ROOMS_OF_LESSONS = ("models", "theory", "data", "experiments", "classroom")
DOORS = {"muonlab", *(f"muonlab.{door}" for door in ROOMS_OF_LESSONS)}
MODULES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def name(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name(path): path for path in MODULES}


def room(module):
    return module.split(".")[1]


@cache
def nodes(path):
    return [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]


def imported(nodes):
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inside & BOTH.keys() or {node.module}  # of a room, only what is taken
    return found


@cache
def imports_of():
    return {module: imported(nodes(path)) for module, path in BOTH.items()}


HOUSE = ROOT.parent / "book" / "_ext"  # makes the notebooks and the book
PRINTING = {
    ".".join(path.relative_to(HOUSE).with_suffix("").parts): path
    for path in HOUSE.rglob("*.py")
    if path.name != "__init__.py" and path.relative_to(HOUSE).parts[0] != "stub"  # a new lesson's
}
LESSONS = ROOT.parent / "lessons"
EVIDENCE = {path.stem: path for path in (LESSONS / "evidence").glob("*.py")}  # its small studies
GRADERS = (ROOT.parent / "teaching" / "muonlab_teaching").glob("*.py")  # a package of its own
TEACHING = {f"muonlab_teaching.{path.stem}": path for path in GRADERS if path.stem != "__init__"}
BOTH = NAMES | TEACHING
ALL = BOTH | PRINTING | EVIDENCE
TEXTS = LESSONS / "text"


def imported_in(texts):
    lines = (re.findall(r"^(?:from|import) ([\w.]+)", t.read_text("utf-8"), re.M) for t in texts)
    return set().union(*lines)


def test_imports_go_down_only():
    for module in NAMES:
        own, imports = room(module), imports_of()[module]
        for other in imports:
            parts = other.split(".")
            if parts[0] == "muonlab" and len(parts) > 1 and parts[1] in FLOOR:
                below = FLOOR[room(other)] < FLOOR[own]
                assert below or room(other) == own, f"{module} imports {other}"
            assert own in SHOWING or parts[0] not in SHOWS, f"{module} must not know {parts[0]}"


def test_the_package_and_the_lessons_know_nothing_of_what_prints_them():
    used = set().union(*imports_of().values(), imported_in(TEXTS.rglob("*.md")))
    assert {"muonlab.files", "muonlab.classroom", "torch"} <= used
    assert not {other.split(".")[0] for other in used} & {
        m.split(".")[0] for m in PRINTING | EVIDENCE
    }


def test_the_package_does_without_what_teachers_use():
    knowing = {m for m, path in NAMES.items() if "muonlab_teaching" in path.read_text("utf-8")}
    # what was exported before, the verb `teach`, and which lines are no learner's
    assert knowing == {f"muonlab.{name}" for name in ("teaching", "cli", "classroom.guarded")}


def test_lessons_come_in_by_the_doors():
    used = imported_in(TEXTS.glob("*.md"))
    assert {other for other in used if other.split(".")[0] == "muonlab"} == DOORS


def installed_with(requirements, known):
    """Adds the distributions that come with these requirements, without what is optional."""
    for requirement in map(Requirement, requirements):
        name = canonicalize_name(requirement.name)
        if name not in known and (not (m := requirement.marker) or m.evaluate({"extra": ""})):
            known.add(name)
            installed_with(metadata.requires(name) or [], known)
    return known


@pytest.mark.parametrize(("folder", "modules"), [(".", NAMES), ("teaching", TEACHING)])
def test_what_a_package_imports_is_installed_with_it(folder, modules):
    text = (ROOT.parent / folder / "pyproject.toml").read_text(encoding="utf-8")
    known = installed_with(tomllib.loads(text)["project"]["dependencies"], set())
    owners = metadata.packages_distributions()
    used = {other.split(".")[0] for m in modules for other in imports_of()[m]}
    used -= {"muonlab", "muonlab_teaching", *sys.stdlib_module_names} | OPTIONAL
    assert "torch" in used
    assert [n for n in used if not known & {*map(canonicalize_name, owners[n])}] == []


def test_no_room_holds_a_circle():
    inside = {
        module: {o for o in imports_of()[module] if o in BOTH and o != module} for module in BOTH
    }
    while inside:
        free = [m for m, others in inside.items() if not others & inside.keys()]
        assert free, f"these import each other: {sorted(inside)}"
        for module in free:
            del inside[module]


def test_imports_stand_at_the_top():
    for module, path in ALL.items():
        functions = [n for n in nodes(path) if isinstance(n, ast.FunctionDef)]
        hidden = set().union(*(imported(ast.walk(function)) for function in functions))
        late = {other for other in hidden if other.startswith(LATE)} | LATE_ROOMS.get(module, set())
        early = {other for other in hidden - late if other.split(".")[0] not in OPTIONAL}
        assert not early, module


def code_lines(path):
    """The numbers of lines that hold code: no comment, no docstring, no blank line."""
    text = path.read_text(encoding="utf-8")
    beside = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    found = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (*beside, tokenize.ENDMARKER):
            found |= set(range(token.start[0], token.end[0] + 1))
    for node in nodes(path):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found -= lines_of(node)
    return found


def lines_of(node):
    return set(range(node.lineno, node.end_lineno + 1))


PACKAGE = {  # lines of code, a room each; what grows by more than a tenth asks whether it must
    "optim": 1_095,
    "theory": 280,
    "models": 450,
    "data": 660,
    "training": 610,
    "records": 290,
    "sweeps": 615,
    "studies": 1_080,
    "distributed": 365,
    "cost": 250,
    "benchmark": 405,
    "drawing": 500,
    "classroom": 1_395,
    "notebooks": 100,
    "cli": 325,
    "the rest": 580,
}
SIZES = PACKAGE | {"teaching": 850, "book/_ext": 1_580, "lessons/evidence": 310, "tests": 18_000}
LEARNED = ("optim", "theory", "models", "data"), 2_400  # what a learner reads, together


def size(place):
    own = [p for m, p in NAMES.items() if (room(m) if room(m) in PACKAGE else "the rest") == place]
    tests = {path: path for path in Path(__file__).parent.rglob("*.py")}
    beside = {"book/_ext": PRINTING, "lessons/evidence": EVIDENCE, "tests": tests}
    own += (beside | {"teaching": TEACHING}).get(place, {}).values()
    assert own
    return sum(len(code_lines(path)) for path in own)


@pytest.mark.parametrize("place", SIZES)
def test_a_room_is_no_larger_than_agreed(place):
    assert size(place) <= 1.1 * SIZES[place]


def test_the_rooms_of_the_package_are_no_more_than_agreed():
    assert sum(PACKAGE.values()) == 9_000
    assert sum(map(size, PACKAGE)) <= 1.1 * 9_000


def test_a_learner_reads_no_more_than_agreed():
    rooms, agreed = LEARNED
    assert sum(map(size, rooms)) <= 1.1 * agreed


REFUSALS = 600  # lines of code, of all rooms


def refuses(node):
    """Whether it refuses what came in: a check, or an `if` that ends in an error of Python's."""
    match node:
        case ast.FunctionDef(name=name):
            return re.match(r"_?check_|_check$", name) is not None
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="checks")))):
            return True
        case ast.If(body=[*_, ast.Raise(exc=ast.Call(func=ast.Name(id=error)))], orelse=[]):
            return hasattr(builtins, error)
    return False


def test_no_more_lines_refuse_than_agreed():
    """`checks` refuses for all; what judges an answer, or a claim, has errors of its own."""
    count = 0
    for module, path in BOTH.items():
        refusing = [lines_of(node) for node in nodes(path) if refuses(node)]
        lines = code_lines(path)
        count += len(lines if module == "muonlab.checks" else lines & set().union(*refusing))
    assert REFUSALS / 1.1 <= count <= 1.1 * REFUSALS


def unread(path):
    """Arguments that a function accepts and never reads; private names, and what is inherited.

    A function whose body is a docstring alone belongs to a protocol.
    """
    for node in nodes(path):
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
            continue
        if all(isinstance(n, ast.Expr | ast.Raise) for n in node.body):
            continue
        names = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)} - {"self", "cls"}
        names -= {n.id for part in node.body for n in ast.walk(part) if isinstance(n, ast.Name)}
        yield from (f"{path.stem}.{node.name} {name}" for name in names)


UNREAD = {"facts.measure batch", "facts.measure context", "facts.measure tokens"}  # of a Task
UNREAD |= {"axes.minus place", "axes.tick place"}  # of matplotlib's formatters
UNREAD |= {"cells.getoutput line", "cells.run_cell_magic line"}  # of IPython's shell


def test_no_function_takes_what_it_never_reads():
    """An option that is accepted and has no effect is the worst kind of bad input."""
    assert {entry for path in BOTH.values() for entry in unread(path)} == UNREAD


@pytest.mark.parametrize("file", [ROOT / "cli.py", TEACHING["muonlab_teaching.command"]])
def test_each_option_of_a_command_is_read(file):
    verbs = tomllib.loads(file.with_name("verbs.toml").read_text(encoding="utf-8"))
    declared = {word for words in verbs.values() for word in words.keys() - {"help"}}
    read = {*re.findall(r"\boptions\.(\w+)", file.read_text(encoding="utf-8"))}
    assert declared
    assert {word.removeprefix("--") for word in declared} <= read


RIDDLES = {"found", "told", "each", "there", "wanted", "held", "mine", "some"}


def test_a_name_says_what_a_thing_is():
    """Of variables and arguments; a function may be called so."""
    trees = {module: nodes(path) for module, path in ALL.items()}
    trees |= {path.stem: nodes(path) for path in (LESSONS / "checks").glob("*.py")}
    trees |= {path.stem: [*ast.walk(ast.parse(code_of(path)))] for path in TEXTS.rglob("*.md")}
    assert len(trees) > len(ALL) + 35
    for module, tree in trees.items():
        names = [n for n in tree if isinstance(n, ast.Name)]
        bound = {n.id for n in names if isinstance(n.ctx, ast.Store)}
        bound |= {n.arg for n in tree if isinstance(n, ast.arg)}
        assert RIDDLES.isdisjoint(bound), module


def test_no_text_is_multiplied_by_a_truth_value():
    for module, path in ALL.items():
        products = (
            n for n in nodes(path) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult)
        )
        sides = [side for product in products for side in (product.left, product.right)]
        assert not any(isinstance(s, ast.JoinedStr) or is_text(s) for s in sides), module


def is_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_a_name_at_the_top_of_a_module_means_one_thing():
    """Of both packages; what begins with an underscore is the module's own."""
    owners = {}
    for module, path in BOTH.items():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            targets = getattr(node, "targets", [getattr(node, "target", ast.Pass())])
            inside = [n for target in targets for n in ast.walk(target)]
            bound = {
                n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            }
            for name in bound | {getattr(node, "name", "_")}:
                owners.setdefault(name, set()).add(module)
    doubled = {name for name, modules in owners.items() if len(modules) > 1}
    allowed = {"main", "lead_map"}  # where a command begins; a name that older copies call
    assert {name for name in doubled if not name.startswith("_")} == allowed


def code_of(text):
    """The code of a lesson's cells, without tags and magics."""
    cells = re.findall(r"^```\{code-cell\}.*\n((?:.*\n)*?)```", text.read_text("utf-8"), re.M)
    return re.sub(r"^[:%!].*$", "", "\n".join(cells), flags=re.M)


PICKLERS = {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}


def test_nothing_from_elsewhere_is_unpickled():
    """The processes of one run exchange objects by torch.distributed, which is not elsewhere."""
    for module, path in BOTH.items():
        assert imports_of()[module].isdisjoint(PICKLERS), module
        for call in (node for node in nodes(path) if isinstance(node, ast.Call)):
            keywords = {word.arg: ast.unparse(word.value) for word in call.keywords}
            assert "allow_pickle" not in keywords, module
            if ast.unparse(call.func) == "torch.load":
                assert keywords["weights_only"] == "True", module


SLOW = {"muonlab.data.load"}  # its example builds the corpus


@pytest.mark.parametrize("module", ALL)
def test_examples_in_docstrings_run(module):
    if module in SLOW or module == "muonlab.__main__":
        pytest.skip("its example needs the corpus; lesson 04 runs the same lines")
    result = doctest.testmod(importlib.import_module(module))
    assert result.failed == 0
