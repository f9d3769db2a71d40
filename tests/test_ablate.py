"""`muonlab ablate` and `muonlab results`: a study runs whole, on one text, in one folder."""

from collections import Counter

import pytest

from muonlab import cli
from muonlab.records import record as records
from muonlab.records.store import RESULTS
from muonlab.studies import grids
from muonlab.sweeps import engines
from muonlab.sweeps.study import Study, Tuning, cross
from muonlab.training.config import TrainConfig

BASE = TrainConfig(steps=2, batch=2, context=8, eval_every=2, eval_tokens=64, device="cpu")
TUNING = Tuning("small-tuning", cross(BASE, lr=[0.01, 0.02]), contest=("muon",))
SMALL = Study((TUNING,), {"small-seeds": 2})


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """A study that takes seconds."""
    monkeypatch.setitem(grids.STUDIES, "small", SMALL)
    for name, phase in SMALL.phases().items():
        monkeypatch.setitem(grids.PHASES, name, phase)


@pytest.fixture
def text(tmp_path):
    folder = tmp_path / "text"
    folder.mkdir()
    words = "\n\n".join(f"Paragraph {i} of a small text, number {i * i}. " * 30 for i in range(40))
    (folder / "a.txt").write_text(words)
    return folder


@pytest.fixture
def results(tmp_path):
    return tmp_path / "results"


def test_a_study_runs_its_phases_in_order_on_the_text_and_in_the_folder(
    text, results, capsys, monkeypatch
):
    manifest = (RESULTS / "manifest.json").read_bytes()
    call = ["ablate", "small", "--corpus", str(text), "--results", str(results)]
    assert cli.main(call) == 0
    assert capsys.readouterr().out.count("held-out") == 4
    files = sorted(path.name for path in results.glob("*.jsonl"))
    assert files == ["small-seeds-text.jsonl", "small-tuning-text.jsonl"]
    paths = (results / f"small-{n}-text.jsonl" for n in ("tuning", "seeds"))
    tuning, seeds = map(records.read_records, paths)
    best = min(tuning, key=lambda run: run.held_out[-1]["overall"]).config
    assert [run.config for run in seeds] == [best | {"seed": 1}, best | {"seed": 2}]
    assert {run.config["corpus"] for run in [*tuning, *seeds]} == {str(text)}
    assert (RESULTS / "manifest.json").read_bytes() == manifest
    monkeypatch.setattr(engines, "train", lambda *_, **__: pytest.fail("all runs are recorded"))
    assert cli.main(call) == 0


def test_what_a_study_wrote_can_be_printed(text, results, capsys):
    cli.main(["ablate", "small", "--corpus", str(text), "--results", str(results)])
    capsys.readouterr()
    assert cli.main(["results", "small-seeds-text", "--results", str(results)]) == 0
    assert "2 of 2" in capsys.readouterr().out
    assert cli.main(["results", "--results", str(results)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed == ["small-seeds-text: 2 runs", "small-tuning-text: 2 runs"]


def test_an_empty_folder_of_results_is_told_in_a_sentence(results, capsys):
    results.mkdir()
    assert cli.main(["results", "--results", str(results)]) == 0
    assert capsys.readouterr().out.startswith(f"no records in {results}: `muonlab ablate")


def test_names_of_files_cannot_steer_the_terminal(results, capsys):
    results.mkdir()
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


def test_a_plan_lists_what_is_left_and_runs_nothing(text, results, capsys, monkeypatch):
    monkeypatch.setattr(engines, "train", lambda *_, **__: pytest.fail("it trains"))
    call = ["ablate", "small", "--corpus", str(text), "--results", str(results)]
    assert cli.main([*call, "--plan"]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["phase", "runs", "missing", "minutes"],
        ["1", "small-tuning", "2", "2", "not", "timed"],
        ["2", "small-seeds", "after", "its", "trials"],
    ]
    assert not results.exists()


def test_the_list_for_a_card_names_its_phases_the_first_ones_first(capsys):
    assert cli.main(["ablate", "gpu-list", "--plan"]) == 0
    names = [line.split()[1] for line in capsys.readouterr().out.splitlines()[1:-1]]
    assert names == [*grids.STUDIES["gpu-list"].phases()]
    firsts = ["race-gpu-low-1", "table-gpu", "race-gpu-shorter", "normuon-gpu"]
    firsts += ["ladder-gpu-300", "ladder-gpu-tokens", "paper-gpu", "ladder-gpu-4000"]
    assert sorted(firsts, key=names.index) == firsts


def test_a_phase_with_nothing_to_run_is_passed_over(text, results, monkeypatch, capsys):
    study = Study((TUNING,), {"small-none": lambda at: [], "small-seeds": 2})
    monkeypatch.setitem(grids.STUDIES, "small", study)
    assert cli.main(["ablate", "small", "--corpus", str(text), "--results", str(results)]) == 0
    assert capsys.readouterr().out.count("held-out") == 4
    assert not list(results.glob("small-none*"))


def test_one_phase_alone_says_which_must_come_first(text, results, capsys):
    call = ["--corpus", str(text), "--results", str(results)]
    assert cli.main(["ablate", "small-seeds", *call]) == 2
    expected = f"muonlab ablate small-tuning --corpus {text} --results {results}"
    assert f"2 of the trials are not in {results}" in (error := capsys.readouterr().err)
    assert f"run `{expected}` first" in error
    assert cli.main(["ablate", "small-tuning", *call]) == 0
    assert not list(results.glob("small-seeds*"))
    assert cli.main(["ablate", "small-seeds", *call]) == 0


@pytest.mark.parametrize("verb", ["ablate", "results"])
def test_a_file_is_no_folder_of_results(verb, tmp_path, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main([verb, "small", "--results", str(tmp_path / "runs.jsonl")])
    assert stopped.value.code == 2
    assert "expected a folder, in which each phase has a file of its own" in capsys.readouterr().err


def test_without_a_name_the_studies_and_their_phases_are_listed(capsys):
    assert cli.main(["ablate"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert "small: small-tuning, small-seeds" in printed
    assert "gpu: gpu-tuning-adamw, gpu-tuning-muon, gpu" in printed
    counts = Counter(line.split(":")[0] for line in printed)
    assert counts == Counter(list(grids.STUDIES))


def test_a_name_that_nothing_has_is_answered_with_those_that_there_are(results, capsys):
    assert cli.main(["ablate", "lesson-99"]) == 2
    assert "the studies are pilot," in capsys.readouterr().err
    assert cli.main(["results", "lesson-99"]) == 2
    assert "lesson-04-tuning, lesson-04-seeds," in capsys.readouterr().err
    results.mkdir(exist_ok=True)
    assert cli.main(["results", "small-seeds", "--results", str(results)]) == 2
    command = f"`muonlab ablate small-seeds --results {results}` makes them"
    assert f"small-seeds has no runs yet: {command}" in capsys.readouterr().err
    assert cli.main(["results", "small"]) == 2
    assert "small has the phases small-tuning, small-seeds: name one" in capsys.readouterr().err
    assert cli.main(["results", "--check", "--results", str(results)]) == 2
    assert "--check looks at all records of the course" in capsys.readouterr().err
