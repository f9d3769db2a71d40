"""The command `muonlab`: what it prints, and how it ends."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from muonlab import cli, doctor, machine
from muonlab.doctor import Fact, examine
from muonlab.files import course
from muonlab.records import record as records


def test_doctor_names_every_subject_and_this_machine(capsys):
    status = cli.main(["doctor"])
    lines = capsys.readouterr().out.splitlines()
    subjects = [line.split()[0] for line in lines]
    named = "Python libraries folder cores bf16 GPU memory cache text grading"
    assert " ".join(subjects) == named
    assert ".".join(map(str, sys.version_info[:2])) in lines[0]
    assert status == int(any(finding.advice for finding in examine()))


def test_doctor_says_what_to_do(monkeypatch, capsys):
    few = Fact("memory", "0.1 GiB free", "close other programs")
    monkeypatch.setattr(doctor, "CHECKS", (lambda: few,))
    assert cli.main(["doctor"]) == 1
    assert "close other programs" in capsys.readouterr().out


def test_doctor_names_a_file_that_hides_a_library(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "torch.py").touch()
    folder = next(finding for finding in examine() if finding.subject == "folder")
    assert "rename torch.py" in folder.advice


@pytest.mark.parametrize(("quota", "count"), [("50000 100000", 1), ("max 100000", 3), ("", 3)])
def test_cores_are_those_that_this_process_may_use(quota, count, monkeypatch, tmp_path):
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda process: {0, 2, 5}, raising=False)
    monkeypatch.setattr(machine, "QUOTA", tmp_path / "cpu.max")
    (tmp_path / "cpu.max").write_text(quota)
    assert machine.cores() == count


@pytest.mark.skipif(os.name != "posix", reason="pipes")
def test_who_has_read_enough_ends_a_command_quietly(capfd):
    reads, writes = os.pipe()
    os.close(reads)

    def command():
        with open(writes, "w") as sys.stdout:  # which Python, too, flushes at its end
            sys.exit(cli.main(["ablate"]))

    process = multiprocessing.get_context("fork").Process(target=command)
    process.start()
    process.join()
    assert (process.exitcode, capfd.readouterr().err) == (0, "")


def test_who_stops_a_command_reads_one_line(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "main", Mock(side_effect=KeyboardInterrupt))
    assert cli.main(["doctor"]) == 130
    assert capsys.readouterr().err == "muonlab doctor: stopped\n"


def test_a_record_that_has_no_room_is_printed_and_the_file_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(28, "No space left on device")))
    line = ["train", "--corpus", "facts-3", "--steps", "1", "--record", f"{tmp_path}/runs.jsonl"]
    assert cli.main(line) == 2
    printed = capsys.readouterr()
    assert json.loads(printed.out.splitlines()[-1])["config"]["corpus"] == "facts-3"
    assert "make room" in printed.err
    assert "runs.jsonl" in printed.err
    assert not [*tmp_path.glob("runs*")]


def test_doctor_finds_a_cache_that_cannot_be_written(monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("MUONLAB_CACHE", str(blocked / "cache"))
    cache = next(finding for finding in examine() if finding.subject == "cache")
    assert "MUONLAB_CACHE" in cache.advice


@pytest.mark.parametrize(
    ("value", "made", "status", "word"),
    [
        (0.5, ("01-c1",), 0, "holds"),
        (1.5, ("01-c1",), 1, "fails"),
        (0.5, ("01-c1", "01-c2"), 1, "01-c2"),
    ],
)
def test_claims_checks_stored_values_again(
    tmp_path, monkeypatch, capsys, value, made, status, word
):
    words = "\n".join(f'[{id}]\nsentence = "A thing is small."\nat_most = 1' for id in made)
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "01.toml").write_text(words)
    claim = {"id": "01-c1", "value": [value]}
    data = {"application/vnd.muonlab.claim+json": claim, "text/plain": "claim"}
    cell = {"cell_type": "code", "outputs": [{"output_type": "display_data", "data": data}]}
    (tmp_path / "01-test.ipynb").write_text(json.dumps({"cells": [cell]}))
    monkeypatch.setattr(cli, "LESSONS", tmp_path)
    assert cli.main(["claims"]) == status
    assert word in capsys.readouterr().out


TINY = ["--steps", "2", "--batch", "2", "--context", "8", "--eval-tokens", "64"]


def test_train_runs_from_a_terminal_and_records(tmp_path, capsys):
    record, text = tmp_path / "runs.jsonl", tmp_path / "text"
    text.mkdir()
    words = "\n\n".join(f"Paragraph {i} of a small text, number {i * i}. " * 30 for i in range(40))
    (text / "a.txt").write_text(words)
    shape = ["--muon", "VO", "FFN", "--attention", "latent", "--experts", "4"]
    arguments = ["train", "--corpus", str(text), *shape, *TINY, "--record", str(record)]
    assert cli.main(arguments) == 0
    assert "held-out" in capsys.readouterr().out
    [run] = records.read_records(record)
    assert (run.config["muon"], run.config["experts"]) == (["VO", "FFN"], 4)
    assert len(run.train_loss) == 2


def test_train_passes_on_what_it_is_told(monkeypatch):
    asked = []
    monkeypatch.setattr(cli, "train", lambda config, **options: asked.append(options))
    monkeypatch.setattr(cli.parallel, "size", lambda: 4)
    monkeypatch.setattr(cli.parallel, "rank", lambda: 1)
    line = "train --corpus facts-3 --shard --replicas 2 --timeout 3 --checkpoint runs/a"
    assert cli.main(line.split()) == 0
    told = {"shard": True, "replicas": 2, "timeout": 3.0, "checkpoint": Path("runs/a")}
    assert asked == [told]


def test_train_asks_for_memory_and_says_how_often_it_reads_its_text(monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(cli, "train", Mock(side_effect=ValueError("as far as here")))
    monkeypatch.setattr(cli.cost, "check_memory", asked.append)
    assert cli.main(["train", "--corpus", "facts-3"]) == 2
    assert [config.corpus for config in asked] == ["facts-3"]
    assert "passes over facts-3" in capsys.readouterr().out


def test_train_names_the_options_that_change_nothing(monkeypatch, capsys):
    monkeypatch.setattr(cli, "train", Mock(side_effect=ValueError("enough")))
    idle = "--muon --rule normuon --lr 0.02 --matrix-lr-factors 1 2 1 1 --noise 2"
    cli.main(f"train --corpus facts-3 --pretrained-by Muon {idle}".split())
    told = "change nothing: lr, noise, pretrained_by, rule\n"
    assert told in capsys.readouterr().err
    cli.main(["train", "--corpus", "facts-3", "--rule", "normuon", "--lr", "0.02"])
    assert "change nothing" not in capsys.readouterr().err


def test_help_shows_every_option_of_a_run(capsys):
    with pytest.raises(SystemExit):
        cli.main(["train", "--help"])
    text = capsys.readouterr().out
    assert "--adamw-lr" in text
    assert "Newton-Schulz steps" in text


def test_help_names_the_folders_that_hold_answers(capsys):
    with pytest.raises(SystemExit):
        cli.main(["lab", "--help"])
    assert ", ".join(cli.SPOILERS) in " ".join(capsys.readouterr().out.split())


FRESH = """
import os, pwd, sys
import muonlab, muonlab.doctor
heavy = "tokenizers huggingface_hub matplotlib jupytext IPython ipywidgets scipy".split()
assert [name for name in heavy if name in sys.modules] == []

import muonlab.__main__ as command
sys.modules["tokenizers"] = None
asked, muonlab.doctor.main = muonlab.doctor.main, lambda: 7
assert command.main() == 7  # where a library is missing
muonlab.doctor.main = lambda: 0  # it may be one that the doctor does not ask for
assert command.main() == 1
muonlab.doctor.main = asked
del sys.modules["tokenizers"]

def unknown(user):
    raise KeyError(user)

pwd.getpwuid = pwd.getpwnam = unknown  # there is no home folder
from muonlab import cli
assert [name for name in ("matplotlib", "scipy", "IPython") if name in sys.modules] == []
import muonlab.classroom
assert "seaborn" not in sys.modules  # who draws waits for it

for line in ("doctor", "train --corpus docs"):
    assert cli.main(line.split()) == 2

def asks():
    muonlab.classroom.Lesson("02").predict("02-p1", "Which?", ["a", "b"])

try:
    asks()
except ValueError as error:
    print(error, file=sys.stderr)
os.environ |= dict.fromkeys(("MUONLAB_HOME", "MUONLAB_CACHE"), os.getcwd())
asks()
"""


def test_a_fresh_process_loads_nothing_heavy_and_says_what_to_set_without_a_home_folder(tmp_path):
    gone = ("HOME", "MUONLAB_HOME", "MUONLAB_CACHE", "XDG_CACHE_HOME", "XDG_DATA_HOME")
    env = {name: value for name, value in os.environ.items() if name not in gone}
    env |= {"MPLCONFIGDIR": str(tmp_path), "PYTHONPATH": str(course())}
    command = [sys.executable, "-c", FRESH]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "tokenizers" in done.stderr
    assert done.stderr.count("set MUONLAB_HOME and MUONLAB_CACHE") == 3


def test_an_error_is_one_line_or_with_its_traceback_if_asked(monkeypatch, capsys):
    assert cli.main(["ablate", "no-such-study"]) == 2
    assert "Traceback" not in capsys.readouterr().err
    monkeypatch.setenv("MUONLAB_TRACEBACK", "1")
    with pytest.raises(ValueError, match="no-such-study"):
        cli.main(["ablate", "no-such-study"])


def test_a_command_whose_output_is_closed_ends_as_it_should(monkeypatch):
    monkeypatch.setattr(doctor, "main", lambda: 0)
    monkeypatch.setattr(sys, "stdout", None)
    assert cli.main(["doctor"]) == 0


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_jupyter_answers_itself_who_presses_ctrl_c():
    asks = "import os, signal, time; signal.signal(2, signal.SIG_IGN); os.kill(os.getppid(), 2)"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        command = [sys.executable, "-c", f"{asks}; time.sleep(1); exit(7)"]
        assert cli._served(command, os.environ) == 7
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_option_of_several_words_may_be_given_again():
    where = "results race-1200 --where seed=1 --where muon=none"
    asked = cli._parser().parse_args(where.split())
    assert cli._fields(asked.where) == {"seed": 1, "muon": ()}
    export = "teach export --lessons 02 --lessons 03 --to x"
    assert cli._parser().parse_args(export.split()).lessons == ["02", "03"]
