"""`muonlab ablate` and `muonlab results`: a study runs whole, on one text, in one folder."""

from collections import Counter
from unittest.mock import Mock

import pytest

from muonlab import cli
from muonlab.records import record as records
from muonlab.records import store
from muonlab.records.store import RESULTS
from muonlab.studies import grids
from muonlab.sweeps import engines, pool
from muonlab.sweeps.study import Study, Tuning, cross
from muonlab.training.config import TrainConfig

BASE = TrainConfig(steps=2, batch=2, context=8, eval_every=2, eval_tokens=64, device="cpu")
TUNING = Tuning("small-tuning", cross(BASE, lr=[0.01, 0.02]), contest=("muon",))
SMALL = Study((TUNING,), {"small-none": lambda at: [], "small-seeds": TUNING.at_new_seeds(2)})


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """A study that takes seconds."""
    monkeypatch.setitem(grids.STUDIES, "small", SMALL)
    for name, phase in SMALL.phases().items():
        monkeypatch.setitem(grids.PHASES, name, phase)


@pytest.fixture
def results(tmp_path):
    return tmp_path / "results"


@pytest.fixture
def there(tmp_path, results):
    """The options that name a text and a folder for the results."""
    folder = tmp_path / "text"
    folder.mkdir()
    words = "\n\n".join(f"Paragraph {i} of a small text, number {i * i}. " * 30 for i in range(40))
    (folder / "a.txt").write_text(words)
    return ["--corpus", str(folder), "--results", str(results)]


def test_a_study_runs_its_phases_in_order_on_the_text_and_in_the_folder(
    there, results, capsys, monkeypatch
):
    manifest = (RESULTS / "manifest.json").read_bytes()
    assert cli.main(["ablate", "small-seeds", *there]) == 2
    assert f"2 of the trials are not in {results}" in (error := capsys.readouterr().err)
    assert f"run `muonlab ablate small-tuning {' '.join(there)}` first" in error
    monkeypatch.setattr(cli, "code_version", lambda: "0123456789ab-dirty")
    assert cli.main(["ablate", "small", *there]) == 0
    said, noted = capsys.readouterr()
    assert said.count("held-out") == 4
    assert "commit first" in noted
    files = sorted(path.name for path in results.glob("*.jsonl"))
    assert files == ["small-seeds-text.jsonl", "small-tuning-text.jsonl"]
    seeds, tuning = (records.read_records(results / name) for name in files)
    best = min(tuning, key=lambda run: run.held_out[-1]["overall"]).config
    assert [run.config for run in seeds] == [best | {"seed": 1}, best | {"seed": 2}]
    assert {run.config["corpus"] for run in [*tuning, *seeds]} == {there[1]}
    assert (RESULTS / "manifest.json").read_bytes() == manifest
    monkeypatch.setattr(engines, "train", lambda *_, **__: pytest.fail("all runs are recorded"))
    assert cli.main(["ablate", "small", *there]) == 0
    capsys.readouterr()
    assert cli.main(["results", "small-seeds-text", *there[2:]]) == 0
    assert "2 of 2" in capsys.readouterr().out
    assert cli.main(["results", *there[2:]]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert listed == ["small-seeds-text: 2 runs", "small-tuning-text: 2 runs"]


def test_an_empty_folder_is_told_in_a_sentence_and_no_name_of_a_file_steers_the_terminal(
    results, capsys
):
    results.mkdir()
    assert cli.main(["results", "--results", str(results)]) == 0
    assert capsys.readouterr().out.startswith(f"no records in {results}: `muonlab ablate")
    (results / "a\x1b[2Jb.jsonl").write_text("")
    assert cli.main(["results", "--results", str(results)]) == 0
    assert capsys.readouterr().out == "a\ufffd[2Jb: 0 runs\n"


@pytest.mark.parametrize("engine", ["local", "ray", "slurm"])
def test_a_phase_says_how_often_its_runs_read_the_text(engine, results, capsys, monkeypatch):
    monkeypatch.setattr(cli, "sweep", lambda *_, **__: [])
    monkeypatch.setattr(cli.cost, "hours_here", lambda configs: "no time")
    monkeypatch.setattr(cli.cost, "passes", lambda config: f"{config.steps} passes\n")
    call = ["ablate", "small-tuning", "--engine", engine, "--results", str(results)]
    assert cli.main(call) == 0
    assert "2 passes\n" in capsys.readouterr().out


def test_a_plan_lists_what_is_left_and_runs_nothing(there, results, capsys, monkeypatch):
    monkeypatch.setattr(engines, "train", lambda *_, **__: pytest.fail("it trains"))
    assert cli.main(["ablate", "small", *there, "--plan"]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["phase", "runs", "missing"],  # no minutes: nobody has timed such steps on a card
        ["1", "small-tuning", "2", "2"],
        ["2", "small-none", "0", "0"],
        ["3", "small-seeds", "after", "its", "trials"],
    ]
    assert not results.exists()


def test_a_study_that_is_stopped_is_in_the_manifest_and_the_next_call_tells_what_is_left(
    there, results, capsys, monkeypatch
):
    monkeypatch.setattr(cli, "RESULTS", results)
    monkeypatch.setattr(cli, "write_manifest", lambda: store.write_manifest(results))
    call = ["ablate", "small-tuning", *there]
    monkeypatch.setenv(pool.PARENT, "1")  # a worker whose driver is gone ends after its run
    assert cli.main(call) == 1
    assert store.changed(results) == []
    monkeypatch.delenv(pool.PARENT)
    (results / "manifest.json").unlink()
    monkeypatch.setattr(engines, "train", Mock(side_effect=KeyboardInterrupt))
    assert cli.main(call) == 130
    assert store.changed(results) == []
    assert "what is left: 1 runs of" in capsys.readouterr().out
    (results / "race-gpu-normuon-1.jsonl").write_bytes(
        (RESULTS / "race-gpu-normuon-1.jsonl").read_bytes()
    )
    assert cli.main(["results", *there[2:]]) == 0  # nobody knows of how many, without the trials
    assert "race-gpu-normuon-1: " in capsys.readouterr().out


def test_without_a_name_the_studies_and_their_phases_are_listed(capsys):
    assert cli.main(["ablate"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert "small: small-tuning, small-none, small-seeds" in printed
    assert "gpu: gpu-tuning-adamw, gpu-tuning-muon, gpu" in printed
    counts = Counter(line.split(":")[0] for line in printed)
    assert counts == Counter(list(grids.STUDIES))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("ablate lesson-99", "the studies are pilot,"),
        ("results lesson-99", "lesson-04-tuning, lesson-04-seeds,"),
        ("results small", "small has the phases small-tuning, small-none, small-seeds: name one"),
        ("results small-seeds", "no runs yet: `muonlab ablate small-seeds` makes them"),
        ("results --check --results .", "--check looks at all records of the course"),
    ],
)
def test_a_name_that_nothing_has_is_answered_with_those_that_there_are(call, says, capsys):
    assert cli.main(call.split()) == 2
    assert says in capsys.readouterr().err
