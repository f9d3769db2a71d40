"""What is kept in data/results is whole, and what is printed of it is what it says."""

import dataclasses
from dataclasses import dataclass, replace

import pytest

from muonlab import cli
from muonlab.cli import main
from muonlab.cost import formulas as cost
from muonlab.records import store
from muonlab.records.record import Record, append
from muonlab.records.table import runs_table
from muonlab.sweeps import results
from muonlab.training.config import TrainConfig

CONFIG = TrainConfig(steps=2)


def run(config, loss=1.0, **changes):
    held_out = [
        {"step": 2, "seconds": 1.0, "overall": loss, "head": 0.5, "middle": 1.5, "tail": None}
    ]
    values = {"train_loss": [1.0], "step_seconds": [1.0], "held_out": held_out, "tokens": 2}
    return Record(config=dataclasses.asdict(config), **values | changes)


@pytest.fixture
def folder(tmp_path):
    for seed in range(3):
        append(run(replace(CONFIG, seed=seed)), tmp_path / "some.jsonl")
    store.write_manifest(tmp_path)
    return tmp_path


def grid(*seeds):
    return {"some": lambda: [replace(CONFIG, seed=seed) for seed in seeds]}


def test_only_a_grid_that_is_finished_has_no_problem_or_one_that_is_known_not_to_be(folder):
    assert results.problems(grid(0, 1, 2), folder) == []
    missing = ["some.jsonl: 1 of 4 runs of the grid are missing"]
    assert results.problems(grid(0, 1, 2, 3), folder, ["other"]) == missing
    assert results.problems(grid(0, 1, 2, 3), folder, ["some"]) == []


def test_a_changed_a_lost_and_an_unlisted_file_are_problems(folder):
    path = folder / "some.jsonl"
    path.write_text(path.read_text().replace("1.0", "2.0", 1))
    changed = "its checksum is not that of the manifest: run its phase to the end, or restore it"
    changed += " from git"
    assert results.problems({}, folder) == [f"some.jsonl: {changed}"]
    path.rename(folder / "other.jsonl")
    lost = "some.jsonl: in the manifest, not there"
    assert results.problems({}, folder) == [lost, f"other.jsonl: {changed}"]


def test_doubled_foreign_and_broken_records_are_problems_even_of_an_unfinished_grid(folder):
    path = folder / "some.jsonl"
    lines = path.read_text().splitlines()
    for text, problem in (
        ("\n".join([*lines, lines[0]]), "some.jsonl: 1 runs are recorded twice"),
        (lines[0].replace('"steps"', '"stairs"'), "stairs"),
        (lines[0][:50], "some.jsonl, line 1: expected one record"),
    ):
        path.write_text(text)
        _, message = results.problems({}, folder, ["some"])  # the first is of the checksum
        assert problem in message


@dataclass(frozen=True)
class Later(TrainConfig):
    """The options of a later version of the code."""

    dropout: float = 0.0
    layers: tuple[int, ...] = (1, 2)


def test_an_option_that_comes_later_is_completed_and_changes_no_file(folder, monkeypatch):
    path = folder / "some.jsonl"
    before = path.read_bytes()
    monkeypatch.setattr(results, "TrainConfig", Later)
    runs = results.read_runs(path)
    assert [(run.config["dropout"], run.config["layers"]) for run in runs] == [(0.0, [1, 2])] * 3
    known = results.Known(path)
    assert [known.read().get(Later(steps=2, seed=s)).config["seed"] for s in range(3)] == [0, 1, 2]
    assert known.read().get(Later(steps=2, dropout=0.1)) is None
    assert path.read_bytes() == before
    later = {"some": lambda: [Later(steps=2, seed=seed) for seed in range(3)]}
    assert results.problems(later, folder) == []


def test_a_text_of_an_earlier_spelling_is_recorded_under_the_one_of_now(folder):
    path = folder / "some.jsonl"
    path.write_text(path.read_text().replace('"docs"', '"my/texts/"'))
    assert {run.config["corpus"] for run in results.read_runs(path)} == {"my/texts"}


def test_an_option_that_was_renamed_or_removed_is_named(folder, capsys):
    path = folder / "some.jsonl"
    path.write_text(path.read_text().replace('"steps"', '"stairs"'))
    assert main(["report", str(path), "--better", "muon=VO"]) == 2
    assert "some.jsonl: a run" in (error := capsys.readouterr().err)
    assert "argument 'stairs'" in error


def test_the_files_of_this_project_are_as_their_manifest_says():
    assert store.changed() == []  # tests/test_pins.py looks at each record, and at all grids


@pytest.mark.parametrize("messages", [[], ["race.jsonl: 1 runs are recorded twice"]])
def test_the_command_says_what_is_wrong_with_the_records(messages, capsys, monkeypatch):
    monkeypatch.setattr(cli, "problems", lambda *_, **__: messages)
    assert main(["results", "--check"]) == len(messages)
    assert capsys.readouterr().out == "".join(messages or ["all records are whole"]) + "\n"


def test_a_table_shows_what_differs_and_by_how_much():
    runs = [
        run(replace(CONFIG, muon=m, seed=s), loss=2.0 + s / 10 + bool(m))
        for m in ((), ("VO", "FFN"))
        for s in range(3)
    ]
    assert runs_table(runs, against={"muon": []}) == runs_table(runs, against={"muon": "none"})
    lines = runs_table(runs, against={"muon": "none"}).splitlines()
    assert lines[0].split() == ["muon", "runs", "overall", "head", "middle", "tail", "difference"]
    assert lines[1].split() == ["none", "3", "of", "3", "2.100", "0.500", "1.500"]
    assert lines[2].endswith("3.100    0.500  1.500         +1.000 [+1.000, +1.000]")
    one = runs_table(runs, where={"muon": "VO+FFN"})
    assert "none" not in one
    assert runs_table(runs, where={"muon": ["FFN", "VO"]}) == one


def test_a_table_counts_failed_runs_and_gives_one_pair_no_interval():
    runs = [run(CONFIG), run(replace(CONFIG, seed=1), failure="diverged", held_out=[])]
    assert "1 of 2" in runs_table(runs)
    pair = [run(replace(CONFIG, lr=lr), loss) for lr, loss in ((0.1, 1.0), (0.2, 3.0))]
    table = runs_table(pair, {}, {"lr": "0.1"})
    assert "difference" in table
    assert "[" not in table


def test_a_difference_needs_one_setting_to_begin_from():
    runs = [run(replace(CONFIG, lr=lr)) for lr in (0.1, 0.2)]
    with pytest.raises(ValueError, match="2 of 2 settings have steps=2: name exactly one"):
        runs_table(runs, against={"steps": "2"})


def test_the_command_prints_a_filtered_table(capsys):
    assert main(["results", "lesson-04-seeds", "--against", "muon=none"]) == 0
    assert "QK+VO+FFN" in capsys.readouterr().out
    assert main(["results", "race-1200", "--where", "muon=FFN+VO", "betas=0.9489+0.9073"]) == 0
    with pytest.raises(SystemExit):
        main(["results", "cpu", "--where", "gated"])
    assert "expected FIELD=VALUE" in capsys.readouterr().err


def test_a_run_that_cannot_fit_is_refused_before_it_starts(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(cost.psutil, "virtual_memory", lambda: type("M", (), {"available": 1e6})())
    assert main(["ablate", "cpu", "--results", str(tmp_path)]) == 2
    assert "take a smaller model" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
