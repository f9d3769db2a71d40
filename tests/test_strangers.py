"""What strangers may put into files, names and folders: nothing of it runs, leads away or shows.

Forged checkpoints are in test_checkpoints, archives in test_class_text, hand-ins in
test_class_page, answers in test_attacks, and the sockets of processes in test_sharded.
"""

import importlib.util
import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
import zipfile
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch

import bundle
import muonlab
from muonlab import cli, files
from muonlab.benchmark.bench import bench_report, read_bench
from muonlab.classroom import claims, exercise, explore, quiz
from muonlab.classroom.predict import Prediction, save_prediction, saved_predictions
from muonlab.data.corpus import Corpus
from muonlab.data.facts import load_facts
from muonlab.distributed.processes import _answer
from muonlab.files import cache_folder, course, home, prepare_file, replace_file
from muonlab.records import provenance
from muonlab.records.provenance import unchanged
from muonlab.records.record import Record
from muonlab.records.table import runs_table
from muonlab.training.config import TrainConfig

MARKUP = '"><img src=x onerror=alert(1)>'
CLEAR = "\x1b[2J\x9b31m"  # clears a terminal, and colours it


def git(folder, *commands):
    for command in commands:
        words = ["git", "-c", "user.name=x", "-c", "user.email=x@x", *command.split()]
        subprocess.run(words, cwd=folder, check=True, capture_output=True)


# what is shown


def test_no_page_takes_a_strangers_text_for_html(own_home):
    claim = claims.Claim(MARKUP, MARKUP, 0.0, 2.0, (1.0,), 0, MARKUP, MARKUP, MARKUP, MARKUP)
    asked = Prediction("02-p1", "Which?", [MARKUP, "two"])
    asked.choice = 0
    pages = {
        "verdict": exercise.Verdict(MARKUP, "not right", MARKUP, f"Try `{MARKUP}`.").html,
        "claim": claim.html,
        "table": claims.as_table([claim]).html(MARKUP),
        "prediction": asked.outcome(1, MARKUP)[1],
        "right prediction": asked.outcome(0, MARKUP)[1],
    }
    assert [name for name, page in pages.items() if "<img" in page] == []
    assert "<code>&quot;&gt;&lt;img" in pages["verdict"]
    assert MARKUP in asked.outcome(1, "So.")[0], "a terminal shows it as it is"


def test_a_stored_claim_holds_numbers_only(tmp_path):
    data = {claims.CLAIM: {"id": "02-c1", "value": [[0.1, 0.0, 0.2, MARKUP]]}}
    path = tmp_path / "02-x.ipynb"
    path.write_text(json.dumps({"cells": [{"outputs": [{"data": data}]}]}))
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "02.toml").write_text(
        '[02-c1]\nsentence = "So."\nverdict = "open"\nsize = 0.1\nunit = "nats"\n'
    )
    with pytest.raises(ValueError, match="invalid literal for int"):
        claims.claims_in(path)


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
    kept = read_bench(course() / "data" / "results" / "bench.json")
    kept["provenance"]["device"] = CLEAR
    assert bench_report(kept).replace("\n", "").isprintable()


# names


@pytest.mark.parametrize("door", [quiz.questions, exercise.checks, claims.defined, explore.source])
def test_a_name_is_no_path(door):
    for name in ("/tmp/x", "../quizzes/02", "..", "02/../02", "٠٢", "02\n"):
        with pytest.raises(ValueError, match=r"called like|must be one of"):
            door(name)


def test_a_text_is_saved_in_its_folder(tmp_path):
    facts = load_facts("facts-2")
    stranger = Corpus("../../x", facts.train, facts.train, 4000, "0", 1, None, None)
    with pytest.raises(ValueError, match="called like"):
        stranger.save(tmp_path / "a" / "b")
    assert not list(tmp_path.rglob("*.bin"))


def test_a_page_chooses_only_what_is_offered(own_home):
    asked = Prediction("02-p1", "Which?", ["one", "two"])
    for number in (-5, 2, 10**9):
        asked.set_state({"choice": number})
        assert asked.choice == -1


def test_half_a_character_in_an_option_is_kept(own_home):
    save_prediction("02-p1", "half \ud800")
    save_prediction("02-p2", "whole")
    assert saved_predictions() == {"02-p1": "half \ud800", "02-p2": "whole"}


def forked(target, *given):
    """A copy of this process, which has begun to do that."""
    process = multiprocessing.get_context("fork").Process(target=target, args=given)
    process.start()
    return process


def test_what_processes_save_at_once_is_all_kept(tmp_path, own_home):
    def save(number):
        for n in range(15):
            save_prediction(f"02-p{number}{n}", "one")

    (tmp_path / "elsewhere.json").write_text("{}")
    (tmp_path / "predictions.json").symlink_to("elsewhere.json")
    for process in [forked(save, number) for number in range(3)]:
        process.join()
        assert process.exitcode == 0
    assert (tmp_path / "predictions.json").is_symlink()
    assert len(json.loads((tmp_path / "elsewhere.json").read_text())) == 45


# folders


def test_the_archive_takes_no_link_and_no_file_that_git_does_not_know(tmp_path):
    (tmp_path / "secret").write_text("secret")
    for folder in ("lessons", "data", "book/_build/html"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "ours").write_text("ours")
    for name in (*bundle.FILES, "a.whl", "b.whl"):
        (tmp_path / name).write_text("ours")
    (tmp_path / "lessons" / "link").symlink_to(tmp_path / "secret")
    git(tmp_path, "init -q", "add lessons data")
    (tmp_path / "data" / "strange").write_text("secret")
    content = bundle.pack(tmp_path, [tmp_path / "a.whl", tmp_path / "b.whl"])
    archive = zipfile.ZipFile(BytesIO(content))
    assert {"lessons/ours", "data/ours", "book/ours"} <= {*archive.namelist()}
    assert not any(b"secret" in archive.read(name) for name in archive.namelist())


def test_only_notebooks_that_came_with_the_package_are_trusted(tmp_path, monkeypatch):
    lessons = tmp_path / "lessons"
    lessons.mkdir()
    for name in "ab":
        (lessons / f"{name}.ipynb").write_text("{}")
    git(tmp_path, "init -q", "add -A", "commit -qm x")
    (lessons / "b.ipynb").write_text('{"changed": 1}')
    (lessons / "c.ipynb").write_text("{}")
    if sys.platform == "linux":  # where a name is any bytes
        Path(os.fsdecode(bytes(lessons) + b"/\xff.txt")).touch()
    monkeypatch.setattr(muonlab, "__file__", str(tmp_path / "muonlab" / "__init__.py"))
    assert unchanged(lessons, sorted(lessons.iterdir())) == [lessons / "a.ipynb"]
    monkeypatch.setattr(muonlab, "__file__", "/usr/lib/python3/site-packages/muonlab/__init__.py")
    monkeypatch.setattr(subprocess, "run", lambda *given, **named: pytest.fail("git was asked"))
    assert unchanged(lessons, [lessons / "a.ipynb"]) == []


def asked_for(monkeypatch, *words):
    """What `muonlab lab` would start."""
    run, served = Mock(return_value=Mock(returncode=0)), Mock(return_value=0)
    monkeypatch.setattr(cli.subprocess, "run", run)
    monkeypatch.setattr(cli, "_served", served)
    monkeypatch.setattr(cli, "unchanged", lambda folder, notebooks: notebooks[:1])
    assert cli.main(["lab", *words]) == 0
    return [call.args[0] for call in (*run.call_args_list, *served.call_args_list)]


def test_the_lab_trusts_ours_alone_and_shows_answers_to_who_asks(monkeypatch, capsys):
    """`test_lab` asks a learner's server what it lists."""
    hidden = "--ContentsManager.hide_globs=quizzes"
    trust, lab = asked_for(monkeypatch)
    assert len([word for word in trust if word.endswith(".ipynb")]) == 1
    assert "--trust" in capsys.readouterr().out
    assert hidden in lab
    trust, lab = asked_for(monkeypatch, "--trust", "--answers")
    assert len([word for word in trust if word.endswith(".ipynb")]) >= 17
    assert hidden not in lab


def test_the_lab_runs_no_code_of_the_working_folder(tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        starts = {tuple(words[: words.index("jupyter") + 1]) for words in asked_for(patched)}
    for name in ("jupyter", "random", "token"):
        (tmp_path / f"{name}.py").write_text("print('stranger')")
    for start in starts:
        command = [*start, "--paths"]
        told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert "stranger" not in told.stdout
        assert "runtime:" in told.stdout


def test_a_private_file_stays_private(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.touch(0o600)
    replace_file(path, b"new")
    assert path.stat().st_mode & 0o777 == 0o600


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


def test_no_device_and_no_pipe_is_replaced(tmp_path):
    pipe, to_pipe, to_device = (tmp_path / name for name in ("pipe", "to-pipe", "to-device"))
    os.mkfifo(pipe)
    to_pipe.symlink_to(pipe)
    to_device.symlink_to("/dev/null")
    for path in (pipe, to_pipe, Path("/dev/null"), to_device):
        before = os.stat(path).st_mode
        for write in (prepare_file, lambda path: replace_file(path, b"new")):
            with pytest.raises(OSError, match=r"a folder, a device or a pipe is there"):
                write(path)
        assert os.stat(path).st_mode == before


@pytest.mark.parametrize(
    ("variable", "folder"), [("MUONLAB_CACHE", cache_folder), ("MUONLAB_HOME", home)]
)
def test_a_folder_of_ones_own_is_a_whole_path(variable, folder, monkeypatch):
    for named in ("here", "./here", "~nobody-here/x", "~nobody-here"):
        monkeypatch.setenv(variable, named)
        with pytest.raises(ValueError, match=f"{variable} must be a whole path.*got '.*here"):
            folder()
    monkeypatch.setenv("HOME", "/tmp/learner")
    monkeypatch.setenv(variable, "~/mine")
    assert folder() == Path("/tmp/learner/mine")


def test_what_a_killed_writer_left_goes_with_the_next(tmp_path):
    def killed():
        files.os.replace = lambda *names: os.kill(os.getpid(), signal.SIGKILL)
        replace_file(tmp_path / "runs.jsonl", b"1")

    forked(killed).join()
    [part] = tmp_path.glob(f"*{files.ENDING}")
    prepare_file(tmp_path / "runs.jsonl")  # as the next run does before it begins
    assert part.exists(), "its writer may still be there"
    os.utime(part, (time.time() - 3600,) * 2)
    (tmp_path / "film.part").touch()
    os.utime(tmp_path / "film.part", (1, 1))
    prepare_file(tmp_path / "runs.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["film.part"], "which is not ours"


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
    pipe = SimpleNamespace(poll=lambda patience: True, recv_bytes=content.getvalue)
    with pytest.raises(pickle.UnpicklingError):
        _answer(None, pipe, 0)
    assert not (tmp_path / "ran").exists()


def test_who_asks_git_leaves_its_index_alone(tmp_path):
    """A `git status` that was killed while it refreshed the index left a lock in the clone."""
    (tmp_path / "a.txt").write_text("a")
    git(tmp_path, "init -q", "add .", "commit -qm a")
    os.utime(tmp_path / "a.txt", (1, 1))  # so that git would note a new time
    before = (tmp_path / ".git" / "index").read_bytes()
    assert provenance._git(tmp_path, "status", "--porcelain") == ""
    assert (tmp_path / ".git" / "index").read_bytes() == before
