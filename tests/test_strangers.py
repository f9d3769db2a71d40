"""What strangers may put into files, names and folders: nothing of it runs, leads away or shows.

Forged checkpoints are in test_checkpoints, archives in test_class_text, hand-ins in test_together,
answers in test_attacks, and the sockets of processes in test_sharded.
"""

import importlib.util
import json
import os
import pickle
import subprocess
import sys
import time
import zipfile
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import bundle
import muonlab
from muonlab import cli, files
from muonlab.benchmark.bench import bench_report, read_bench
from muonlab.classroom import claims, exercise, explore, predict, quiz
from muonlab.classroom.predict import Prediction, save_prediction, saved_predictions
from muonlab.data.facts import load_facts
from muonlab.distributed.processes import _answer
from muonlab.files import cache_folder, course, prepare_file, replace_file
from muonlab.records import provenance
from muonlab.records.provenance import unchanged
from muonlab.records.record import Record
from muonlab.records.table import runs_table
from muonlab.training.config import TrainConfig

MARKUP = '"><img src=x onerror=alert(1)>'
CLEAR = "\x1b[2J\x9b31m"  # clears a terminal, and colours it
LESSON = course() / "lessons" / "02-newton-schulz.ipynb"


def git(folder, *words):
    who = ["-c", "user.name=x", "-c", "user.email=x@x"]
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A clone of the package with three notebooks; one is not as git knows it, and one strange."""
    (tmp_path / "lessons").mkdir()
    for name in "ab":
        (tmp_path / "lessons" / f"{name}.ipynb").write_text("{}")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "x")
    (tmp_path / "lessons" / "b.ipynb").write_text('{"changed": 1}')
    (tmp_path / "lessons" / "c.ipynb").write_text("{}")
    monkeypatch.setattr(muonlab, "__file__", str(tmp_path / "muonlab" / "__init__.py"))
    return tmp_path


# what is shown


def test_ids_are_escaped_in_html():
    assert "<img" not in exercise.Verdict(MARKUP, "right", "").html
    assert "<img" not in claims.Claim(MARKUP, "so", lower=0.0, value=(1.0,)).html


def test_an_option_is_escaped_where_it_was_chosen(tmp_path, monkeypatch):
    monkeypatch.setenv("MUONLAB_HOME", str(tmp_path))
    asked = Prediction("02-p1", "Which?", [MARKUP, "two"])
    asked.choice = 0
    _, markdown = asked.outcome(1, "so")
    assert "<img" not in markdown


def test_a_stored_claim_holds_numbers_only(tmp_path):
    data = {claims.CLAIM: {"id": "02-c1", "value": [[0.1, 0.0, 0.2, MARKUP]]}}
    path = tmp_path / "02-x.ipynb"
    path.write_text(json.dumps({"cells": [{"outputs": [{"data": data}]}]}))
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "02.toml").write_text(
        '[02-c1]\nsentence = "So."\nverdict = "open"\nsize = 0.1\nunit = "nats"\n'
    )
    with pytest.raises(ValueError, match="invalid literal for int"):
        claims.collect(path)


def record(**config):
    defaults = json.loads(json.dumps(vars(TrainConfig())))
    last = {"step": 1, "seconds": 1.0, "overall": 3.0, f"tail{CLEAR}": 3.0}
    return Record({**defaults, **config}, [3.0], [1.0], [last], 64)


def test_a_record_steers_no_terminal(tmp_path, capsys):
    runs = [record(rule=f"muon{CLEAR}", seed=n, muon=[f"QK{CLEAR}"]) for n in (0, 1)]
    told = runs[0].summary() + runs_table([*runs, record(rule=f"x{CLEAR}")])
    assert told.replace("\n", "").isprintable()
    path = tmp_path / "runs.jsonl"
    path.write_text(CLEAR)
    assert cli.main(["report", str(path), "--better", "muon=QK", "--than", "muon=none"]) == 2
    assert capsys.readouterr().err.replace("\n", "").isprintable()


def test_a_record_of_times_steers_no_terminal():
    kept = read_bench(course() / "data" / "results" / "bench.json")
    kept["provenance"]["device"] = CLEAR
    assert bench_report(kept).replace("\n", "").isprintable()


# names


@pytest.mark.parametrize("door", [quiz.questions, exercise.checks, claims.defined, explore.source])
@pytest.mark.parametrize("name", ["/tmp/x", "../quizzes/02", "..", "02/../02", "٠٢", "02\n"])
def test_a_name_is_no_path(door, name):
    with pytest.raises(ValueError, match=r"called like|must be one of"):
        door(name)


def test_a_text_is_saved_in_its_folder(tmp_path):
    facts = load_facts("facts-2")
    from_elsewhere = muonlab.data.corpus.Corpus(
        "../../x", facts.train, facts.train, 4000, "0", 1, None, None
    )
    with pytest.raises(ValueError, match="called like"):
        from_elsewhere.save(tmp_path / "a" / "b")
    assert not list(tmp_path.rglob("*.bin"))


@pytest.mark.parametrize("number", [-5, 2, 10**9])
def test_a_page_chooses_only_what_is_offered(number, tmp_path, monkeypatch):
    monkeypatch.setenv("MUONLAB_HOME", str(tmp_path))
    asked = Prediction("02-p1", "Which?", ["one", "two"])
    asked.set_state({"choice": number})
    assert asked.choice == -1
    assert asked.outcome(1, "so")[0].startswith("You have not predicted.")


def test_half_a_character_in_an_option_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("MUONLAB_HOME", str(tmp_path))
    save_prediction("02-p1", "half \ud800")
    save_prediction("02-p2", "whole")
    assert saved_predictions() == {"02-p1": "half \ud800", "02-p2": "whole"}


def test_what_processes_save_at_once_is_all_kept(tmp_path):
    code = (
        "import sys; from muonlab.classroom import predict\n"
        "for n in range(15): predict.save_prediction(f'02-p{sys.argv[1]}{n}', 'one')"
    )
    (tmp_path / "elsewhere.json").write_text("{}")
    (tmp_path / "predictions.json").symlink_to("elsewhere.json")
    own = {**os.environ, "MUONLAB_HOME": str(tmp_path)}
    run = [subprocess.Popen([sys.executable, "-c", code, str(n)], env=own) for n in range(3)]
    assert [one.wait() for one in run] == [0, 0, 0]
    assert (tmp_path / "predictions.json").is_symlink()
    assert len(json.loads((tmp_path / "elsewhere.json").read_text())) == 45


def test_home_may_be_named_with_a_tilde(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MUONLAB_HOME", "~/mine")
    assert predict.home() == tmp_path / "mine"


# folders


def test_the_archive_takes_no_link_and_no_file_that_git_does_not_know(tmp_path):
    (tmp_path / "secret").write_text("secret")
    for folder in ("lessons", "data", "book/_build/html"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "ours").write_text("ours")
    for name in (*bundle.FILES, "x.whl"):
        (tmp_path / name).write_text("ours")
    (tmp_path / "lessons" / "link").symlink_to(tmp_path / "secret")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "lessons", "data")
    (tmp_path / "data" / "strange").write_text("secret")
    archive = zipfile.ZipFile(BytesIO(bundle.pack(tmp_path, tmp_path / "x.whl")))
    assert {"lessons/ours", "data/ours", "book/ours"} <= {*archive.namelist()}
    assert not any(b"secret" in archive.read(name) for name in archive.namelist())


def test_only_notebooks_that_came_with_the_package_are_trusted(clone):
    notebooks = sorted((clone / "lessons").glob("*.ipynb"))
    assert [path.name for path in unchanged(clone / "lessons", notebooks)] == ["a.ipynb"]


def test_lessons_of_another_folder_are_not_trusted(clone, monkeypatch):
    monkeypatch.setattr(muonlab, "__file__", "/usr/lib/python3/site-packages/muonlab/__init__.py")
    monkeypatch.setattr(subprocess, "run", lambda *given, **named: pytest.fail("git was asked"))
    assert unchanged(clone / "lessons", [clone / "lessons" / "a.ipynb"]) == []


def asked_for(monkeypatch, *words):
    """What `muonlab lab` would start."""
    started = []

    def run(command, **named):
        started.append(command)
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(cli.subprocess, "run", run)
    monkeypatch.setattr(cli, "unchanged", lambda folder, notebooks: notebooks[:1])
    assert cli.main(["lab", *words]) == 0
    return started


def test_the_lab_trusts_ours_alone_unless_told(monkeypatch, capsys):
    trust, _ = asked_for(monkeypatch)
    assert len([word for word in trust if word.endswith(".ipynb")]) == 1
    assert "--trust" in capsys.readouterr().out
    trust, _ = asked_for(monkeypatch, "--trust")
    assert len([word for word in trust if word.endswith(".ipynb")]) >= 17


def test_a_teacher_asks_for_the_folders_that_hold_answers(monkeypatch):
    """`test_lab` asks a learner's server what it lists."""
    hidden = "--ContentsManager.hide_globs=quizzes"
    assert hidden in asked_for(monkeypatch)[-1]
    assert not [word for word in asked_for(monkeypatch, "--answers")[-1] if "hide_globs" in word]


def test_the_lab_runs_no_code_of_the_working_folder(tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        commands = asked_for(patched)
    for name in ("jupyter", "random", "token"):
        (tmp_path / f"{name}.py").write_text("print('stranger')")
    for command in commands:
        start = command[: command.index("jupyter") + 1]
        told = subprocess.run(
            [*start, "--version"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert "stranger" not in told.stdout
        assert "jupyter" in told.stdout


@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_a_private_file_stays_private(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.touch(0o600)
    replace_file(path, b"new")
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.name != "posix", reason="links")
@pytest.mark.parametrize("target", ["there", "not-yet"])
def test_a_link_stays_and_what_it_points_to_is_written(target, tmp_path):
    elsewhere, link = tmp_path / "elsewhere", tmp_path / "link"
    elsewhere.mkdir()
    (elsewhere / "there").write_text("old")
    link.symlink_to(os.path.join("elsewhere", target))
    assert prepare_file(link) == elsewhere.resolve() / target
    replace_file(link, b"new")
    assert link.is_symlink()
    assert (elsewhere / target).read_text() == "new"
    assert [path.name for path in tmp_path.iterdir() if path.suffix] == []


@pytest.mark.skipif(os.name != "posix", reason="devices and pipes")
@pytest.mark.parametrize("kind", ["pipe", "link to a pipe", "device", "link to a device"])
def test_no_device_and_no_pipe_is_replaced(kind, tmp_path):
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe if kind.endswith("pipe") else "/dev/null")
    path = link if "link" in kind else pipe if kind == "pipe" else Path("/dev/null")
    before = os.stat(path).st_mode
    for write in (prepare_file, lambda path: replace_file(path, b"new")):
        with pytest.raises(OSError, match=r"a folder, a device or a pipe is there"):
            write(path)
    assert os.stat(path).st_mode == before


VARIABLES = {"MUONLAB_CACHE": cache_folder, "MUONLAB_HOME": predict.home}


@pytest.mark.parametrize("variable", VARIABLES)
@pytest.mark.parametrize("named", ["here", "./here", "~nobody-here/x", "~nobody-here"])
def test_a_folder_of_ones_own_is_a_whole_path(variable, named, monkeypatch):
    monkeypatch.setenv(variable, named)
    with pytest.raises(ValueError, match=f"{variable} must be a whole path.*got '.*here"):
        VARIABLES[variable]()


@pytest.mark.skipif(os.name != "posix", reason="accounts")
def test_without_a_home_folder_one_line_says_what_to_set(tmp_path):
    code = (
        "import os, pwd, sys\n"
        "def unknown(user): raise KeyError(user)\n"
        "pwd.getpwuid = pwd.getpwnam = unknown\n"
        "from muonlab import cli\n"
        "from muonlab.classroom.lesson import Lesson\n"
        "for line in sys.argv[1:]: assert cli.main(line.split())\n"
        "try: Lesson('02').predict('02-p1', 'Which?', ['a', 'b'])\n"
        "except ValueError as error: sys.exit(str(error))\n"
    )
    gone = ("HOME", "MUONLAB_HOME", "MUONLAB_CACHE", "XDG_CACHE_HOME", "XDG_DATA_HOME")
    left = {name: value for name, value in os.environ.items() if name not in gone}
    left |= {"MPLCONFIGDIR": str(tmp_path)}

    def run(*lines, **own):
        command = [sys.executable, "-c", code, *lines]
        named = {"cwd": tmp_path, "env": left | own, "capture_output": True, "text": True}
        return subprocess.run(command, check=False, **named).stderr

    told = run("doctor", "train --corpus docs")
    assert "Traceback" not in told
    assert told.count("set MUONLAB_HOME and MUONLAB_CACHE") == 3
    assert not run(MUONLAB_HOME=str(tmp_path), MUONLAB_CACHE=str(tmp_path))


@pytest.mark.skipif(os.name != "posix", reason="kill -9")
def test_what_a_killed_writer_left_goes_with_the_next(tmp_path):
    code = (
        "import os, sys; from pathlib import Path; from muonlab import files\n"
        "files.os.replace = lambda *names: os.kill(os.getpid(), 9)\n"
        "files.replace_file(Path(sys.argv[1]) / 'runs.jsonl', b'1')"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert len(list(tmp_path.glob("*.part"))) == 1
    prepare_file(tmp_path / "runs.jsonl")  # as the next run does before it begins
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("host", "process", "old", "stays"),
    [
        (files.MACHINE, os.getpid(), True, True),
        (files.MACHINE, 2**22 + 1, False, False),  # more than Linux counts to
        ("0" * 8, 2**22 + 1, False, True),
        ("0" * 8, os.getpid(), True, False),
    ],
    ids=["of a running process", "of none", "of another machine", "of one long ago"],
)
def test_what_a_running_writer_has_begun_stays(host, process, old, stays, tmp_path):
    begun = tmp_path / f"runs.jsonl-{host}-{process}-0123abcd.part"
    begun.write_text("1")
    if old:
        os.utime(begun, (time.time() - 3600,) * 2)
    replace_file(tmp_path / "runs.jsonl", b"2")
    assert begun.exists() == stays


def test_a_strangers_folder_is_no_course_only_because_one_works_there(tmp_path, monkeypatch):
    package, stranger = tmp_path / "own" / ".venv" / "lib" / "muonlab", tmp_path / "strange"
    for folder in (package, stranger / "data" / "results", tmp_path / "own" / "data" / "results"):
        folder.mkdir(parents=True)
    (stranger / files.RECORDS).write_text("{}")
    (package / "files.py").write_text(Path(files.__file__).read_text("utf-8"), "utf-8")
    spec = importlib.util.spec_from_file_location("elsewhere", package / "files.py")
    spec.loader.exec_module(elsewhere := importlib.util.module_from_spec(spec))
    monkeypatch.chdir(stranger)
    assert elsewhere.course() == package.parent
    (tmp_path / "own" / files.RECORDS).write_text("{}")  # the bundle that its .venv lies in
    assert elsewhere.course() == tmp_path / "own"
    monkeypatch.setenv("MUONLAB_COURSE", str(stranger))
    assert elsewhere.course() == stranger


class Opens:
    """What runs when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_what_a_process_answers_is_not_unpickled(tmp_path):
    content = BytesIO()
    torch.save({"found": Opens(str(tmp_path / "ran"))}, content)
    pipe = SimpleNamespace(recv_bytes=content.getvalue)
    with pytest.raises(pickle.UnpicklingError):
        _answer(None, pipe)
    assert not (tmp_path / "ran").exists()


def test_who_asks_git_leaves_its_index_alone(tmp_path):
    """A `git status` that was killed while it refreshed the index left a lock in the clone."""
    (tmp_path / "a.txt").write_text("a")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "a"]):
        git(tmp_path, *words)
    os.utime(tmp_path / "a.txt", (1, 1))  # so that git would note a new time
    before = (tmp_path / ".git" / "index").read_bytes()
    assert provenance._git(tmp_path, "status", "--porcelain") == ""
    assert (tmp_path / ".git" / "index").read_bytes() == before
