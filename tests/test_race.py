"""A study that a cell runs and watches: its points appear, it stops with the cell, it says why."""

import shutil
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from muonlab import notebooks
from muonlab.classroom import home, race, report, start
from muonlab.experiments import ALL_GROUPS, RESULTS, Hypothesis, judge, recorded

STUDY, TRIALS, LAST = "lesson-03", "lesson-03-tuning.jsonl", "lesson-03-seeds.jsonl"
RUNS = len(recorded("lesson-03-seeds"))

RECORDS = """
import pathlib, sys, time
first, *others = open(sys.argv[1]).read().splitlines(keepends=True)
pathlib.Path(sys.argv[2]).write_text(first)
while not pathlib.Path(sys.argv[2] + ".shown").exists():
    time.sleep(0.02)
with open(sys.argv[2], "a") as file:
    file.writelines(others)
"""
WAITS = """
import pathlib, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a test begun with & ignores it
try:
    pathlib.Path(sys.argv[2] + ".begun").touch()
    time.sleep(600)
except KeyboardInterrupt:
    pathlib.Path(sys.argv[2] + ".stopped").touch()
"""
FAILS = "print('no memory is left'); raise SystemExit(3)"


@pytest.fixture
def folder(tmp_path):
    shutil.copy(RESULTS / TRIALS, tmp_path)
    return tmp_path


@pytest.fixture
def shown(monkeypatch, folder):
    """What the cell shows, one output after the other."""
    outputs = []

    def update(output):
        outputs.append(output)
        (folder / f"{LAST}.shown").touch()

    def display(output, display_id):
        outputs.append(output)
        return SimpleNamespace(update=update)

    monkeypatch.setattr(race, "display", display)
    monkeypatch.setattr(race, "LOOK_SECONDS", 0.02)
    return outputs


@pytest.fixture
def instead(monkeypatch, folder):
    """Lets a script of the test stand in for `muonlab ablate`."""

    def script(text):
        command = [sys.executable, "-c", text, str(RESULTS / LAST), str(folder / LAST)]
        monkeypatch.setattr(race, "_command", lambda *_: command)

    return script


def test_points_appear_as_runs_end(folder, shown, instead):
    instead(RECORDS)
    runs = race.watch(STUDY, folder, minutes=1)
    assert runs == recorded("lesson-03-seeds")
    counts = [int(output.text.split()[0]) for output in shown]
    assert counts[:2] == [0, 1]
    assert counts[-1] == RUNS > 1
    assert counts == sorted(set(counts))
    assert "The others need about" in shown[1].text
    assert shown[-1].text == f"{RUNS} of {RUNS} runs have ended."
    assert "<svg" not in shown[0].rich["text/html"]
    assert f"Held-out losses of {RUNS} of {RUNS} runs." in shown[-1].rich["text/html"]


def test_who_stops_the_cell_stops_the_processes(folder, shown, instead, monkeypatch):
    instead(WAITS)

    def stop(seconds):
        while not (folder / f"{LAST}.begun").exists():
            time.sleep(0.02)
        raise KeyboardInterrupt

    monkeypatch.setattr(race, "time", SimpleNamespace(sleep=stop, monotonic=time.monotonic))
    with pytest.raises(KeyboardInterrupt):
        race.watch(STUDY, folder, minutes=1)
    deadline = time.monotonic() + 60  # a stopped cell does not wait for what it has told to stop
    while not (stopped := (folder / f"{LAST}.stopped").exists()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert stopped


def test_processes_that_end_badly_say_why(folder, shown, instead):
    instead(FAILS)
    with pytest.raises(RuntimeError, match="lesson-03 has ended badly: no memory is left"):
        race.watch(STUDY, folder, minutes=1)


@pytest.mark.slow
def test_the_command_does_what_is_missing_and_no_more(folder, shown):
    """Nothing is missing here, so it ends at once; with the real command line."""
    shutil.copy(RESULTS / LAST, folder)
    assert race.watch(STUDY, folder, minutes=1) == recorded("lesson-03-seeds")
    assert [output.text for output in shown] == [f"{RUNS} of {RUNS} runs have ended."]


@pytest.mark.parametrize("ended", [10, 3])
def test_the_cell_of_lesson_16_on_a_machine_with_a_card(own_home, monkeypatch, capsys, ended):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    runs, asked = recorded("race-gpu"), []

    def watch(study, folder, minutes):
        asked.append((study, minutes, {path.name for path in Path(folder).iterdir()}))
        return runs[:ended]

    (cell,) = [c for c in cells("16") if c.startswith("# the race on a GPU")]
    both = Hypothesis({"muon": ALL_GROUPS}, {"muon": ()}, by=0.02, shared={"rule": "muon"})
    known = {"torch": torch, "shutil": shutil, "home": home, "RESULTS": RESULTS, "watch": watch}
    known |= {"recorded": recorded, "judge": judge, "report": report, "race": both}
    exec(cell, known | {"lesson": start("16")})
    assert asked == [("race-gpu", 10, {"race-gpu-1.jsonl", "race-gpu-2.jsonl"})]
    says = capsys.readouterr().out
    assert ("Your card: **" if ended == 10 else "Your card has too few runs yet") in says


def cells(lesson):
    text = notebooks.texts(Path("lessons"), [lesson])[0]
    return [cell.source for cell in notebooks.read(text).cells]
