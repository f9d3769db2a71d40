"""What strangers may put into files, names and folders: nothing of it runs, leads away or shows.

Forged checkpoints are in test_checkpoints, archives in test_class_text, hand-ins in test_together,
answers in test_attacks, and the sockets of processes in test_sharded.
"""

import json
import os
import pickle
import subprocess
import sys
import time
import zipfile
from io import BytesIO
from types import SimpleNamespace

import pytest
import torch

import muonlab
from muonlab import cli
from muonlab.benchmark.bench import bench_report, read_bench
from muonlab.classroom import claims, exercise, explore, predict, quiz
from muonlab.classroom.predict import Prediction
from muonlab.data.facts import load_facts
from muonlab.distributed.processes import _answer
from muonlab.files import course, replace_file
from muonlab.publishing import bundle
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
    data = {claims.MIME: {"id": "02-c1", "value": [[0.1, 0.0, 0.2, MARKUP]]}}
    path = tmp_path / "02-x.ipynb"
    path.write_text(json.dumps({"cells": [{"outputs": [{"data": data}]}]}))
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "02.toml").write_text(
        '[02-c1]\nsentence = "So."\nverdict = "open"\nsize = 0.1\nunit = "nats"\n'
    )
    with pytest.raises(TypeError, match="an interval of numbers"):
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


def test_predictions_of_any_form_stop_no_lesson(tmp_path, monkeypatch):
    monkeypatch.setenv("MUONLAB_HOME", str(tmp_path))
    (tmp_path / "predictions.json").write_text("[" * 100_000)
    with pytest.warns(UserWarning, match="cannot be read"):
        assert predict.load() == {}


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


@pytest.mark.skipif(os.name != "posix", reason="kill -9")
def test_what_a_killed_writer_left_goes_with_the_next(tmp_path):
    code = (
        "import os, sys; from pathlib import Path; from muonlab import files\n"
        "files.os.replace = lambda *names: os.kill(os.getpid(), 9)\n"
        "files.replace_file(Path(sys.argv[1]) / 'runs.jsonl', b'1')"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    (left,) = tmp_path.glob("*.part")
    os.utime(left, (time.time() - 3600,) * 2)
    replace_file(tmp_path / "report.html", b"2")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


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
