"""What is kept in data/results is whole, and what is printed of it is what it says."""

import dataclasses
import json
from dataclasses import dataclass, replace

import pytest

from muonlab.cli import main
from muonlab.cost import formulas as cost
from muonlab.records import store
from muonlab.records.record import Record, append, run_id
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


def test_whole_records_have_no_problem(folder):
    assert results.problems(grid(0, 1, 2), folder) == []


def test_a_grid_that_is_not_finished_is_a_problem(folder):
    assert results.problems(grid(0, 1, 2, 3), folder) == [
        "some.jsonl: 1 of 4 runs of the grid are missing"
    ]


def test_a_changed_a_lost_and_an_unlisted_file_are_problems(folder):
    path = folder / "some.jsonl"
    path.write_text(path.read_text().replace("1.0", "2.0", 1))
    assert results.problems({}, folder) == ["some.jsonl: its checksum is not that of the manifest"]
    path.rename(folder / "other.jsonl")
    assert results.problems({}, folder) == [
        "some.jsonl: in the manifest, but not there",
        "other.jsonl: its checksum is not that of the manifest",
    ]


def test_broken_doubled_and_foreign_records_are_problems(folder):
    path = folder / "some.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines, lines[0]]))
    store.write_manifest(folder)
    assert results.problems({}, folder) == ["some.jsonl: 1 runs are recorded twice"]
    path.write_text(lines[0].replace('"steps"', '"stairs"'))
    store.write_manifest(folder)
    (problem,) = results.problems({}, folder)
    assert "stairs" in problem
    path.write_text(lines[0][:50])
    (first, second) = results.problems({}, folder)
    assert "checksum" in first
    assert "some.jsonl, line 1: expected one record" in second


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


def test_a_field_that_a_record_lacks_has_its_default(folder):
    path = folder / "some.jsonl"
    fields = json.loads(path.read_text().splitlines()[0])
    del fields["config"]["spectra_every"], fields["config"]["betas"]
    path.write_text(json.dumps(fields))
    (run,) = results.read_runs(path)
    assert TrainConfig(**run.config) == CONFIG
    assert run.config["betas"] == [0.9, 0.95]
    assert run_id(TrainConfig(**run.config)) == run_id(CONFIG)


def test_an_option_that_was_renamed_or_removed_is_named(folder, capsys):
    path = folder / "some.jsonl"
    path.write_text(path.read_text().replace('"steps"', '"stairs"'))
    with pytest.raises(ValueError, match=r"some\.jsonl: a run .* the options stairs, which this"):
        results.read_runs(path)
    assert main(["report", str(path), "--better", "muon=VO"]) == 2
    assert "the options stairs" in capsys.readouterr().err


def test_the_records_of_this_project_are_whole(capsys):
    assert main(["results", "--check"]) == 0
    assert capsys.readouterr().out == "all records are whole\n"


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
    assert "none" not in runs_table(runs, where={"muon": "VO+FFN"})
    assert runs_table(runs, where={"muon": ["FFN", "VO"]}) == runs_table(
        runs, where={"muon": "VO+FFN"}
    )


def test_a_table_counts_failed_runs_and_leaves_them_out():
    runs = [run(CONFIG), run(replace(CONFIG, seed=1), failure="diverged", held_out=[])]
    assert "1 of 2" in runs_table(runs)


def test_a_table_of_nothing_or_against_several_says_so():
    runs = [run(replace(CONFIG, lr=lr)) for lr in (0.1, 0.2)]
    with pytest.raises(ValueError, match=r"no recorded run has lr=0\.3"):
        runs_table(runs, where={"lr": "0.3"})
    with pytest.raises(ValueError, match="2 of 2 settings have steps=2: name exactly one"):
        runs_table(runs, against={"steps": "2"})
    with pytest.raises(ValueError, match=r"one of corpus, .*; got 'learning_rate'"):
        runs_table(runs, where={"learning_rate": "1"})


def test_the_command_prints_a_filtered_table(capsys):
    words = ["results", "lesson-04-seeds", "--against", "muon=none"]
    assert main(words) == 0
    assert "QK+VO+FFN" in capsys.readouterr().out
    assert main(["results", "race-1200", "--where", "muon=FFN+VO", "betas=0.9489+0.9073"]) == 0
    assert main(["results", "lesson-99"]) == 2
    with pytest.raises(SystemExit):
        main(["results", "cpu", "--where", "gated"])
    assert "expected FIELD=VALUE" in capsys.readouterr().err


def test_a_run_that_cannot_fit_is_refused_before_it_starts(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(cost.psutil, "virtual_memory", lambda: type("M", (), {"available": 1e6})())
    assert main(["ablate", "cpu", "--results", str(tmp_path)]) == 2
    assert "take a smaller tier" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_one_pair_gives_no_interval():
    pair = [run(replace(CONFIG, lr=lr), loss) for lr, loss in ((0.1, 1.0), (0.2, 3.0))]
    told = runs_table(pair, {}, {"lr": "0.1"})
    assert "difference" in told
    assert "X" not in told
    assert "[" not in told
