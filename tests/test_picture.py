"""The README's picture is the one that the records give."""

import pytest

from muonlab.classroom import explorer_data
from muonlab.publishing import picture
from muonlab.records import store
from muonlab.sweeps.results import recorded


def test_the_stored_picture_is_drawn_from_the_records():
    assert picture.PATH.read_bytes() == picture.as_svg(), "run `make lessons`"


def test_each_point_of_the_picture_is_the_mean_of_nine_steps():
    line = picture.draw().axes[0].lines[0]
    runs = [r.train_loss for r in recorded("lesson-04-seeds") if not r.config["muon"]]
    assert line.get_xdata().tolist() == [*range(5, 147)]
    assert line.get_ydata()[0] == pytest.approx(sum(sum(r[:9]) for r in runs) / 90)


def test_without_records_it_says_what_to_run(monkeypatch, tmp_path):
    monkeypatch.setattr(store, "RESULTS", tmp_path)
    with pytest.raises(ValueError, match="muonlab ablate lesson-04-seeds"):
        picture.draw()
    with pytest.raises(ValueError, match="muonlab ablate lesson-04-tuning"):
        explorer_data.runs_data(recorded("lesson-04-tuning"))


def test_the_explorer_gets_every_finished_run_best_first():
    data = explorer_data.runs_data(recorded("lesson-04-tuning"))
    ends = [run["overall"][-1] for run in data["runs"]]
    assert len(ends) == 32
    assert ends == sorted(ends)
    assert {len(run["train"]) for run in data["runs"]} == {150}
    low, high = data["range"]["overall"]
    assert low < min(min(run["train"]) for run in data["runs"])
    assert data["runs"][0]["train"][0] < high
    low, high = data["range"]["tail"]
    assert all(low < loss < high for run in data["runs"] for loss in run["tail"])


def test_the_explorer_of_biographies_gets_every_seed_of_every_way():
    data = explorer_data.facts_data(recorded("facts"))
    assert data["steps"] == [100, 200, 300, 400]
    assert data["asked"][0] == 512
    assert data["asked"][-1] == 1
    for named in data["accuracy"].values():
        assert set(named) == {"AdamW", "Muon", "SGD with momentum", "Muon(VO, FFN)", "Muon(QK)"}
        for seeds in named.values():
            assert [len(seeds), len(seeds[0]), len(seeds[0][0])] == [5, 4, 10]
    with pytest.raises(ValueError, match="muonlab ablate facts"):
        explorer_data.facts_data([])


def test_the_explorer_of_spectra_starts_all_optimizers_at_the_same_weights():
    data = explorer_data.bands_data(recorded("lesson-09-seeds"))
    assert data["steps"] == list(range(0, 151, 10))
    assert {n for seeds in data["seeds"].values() for n in seeds.values()} == {10}
    for groups in data["bands"].values():
        for named in groups.values():
            for metric, band in named["Muon"].items():
                assert band["mean"][0] == named["AdamW"][metric]["mean"][0]
                for low, mean, high in zip(band["low"], band["mean"], band["high"], strict=True):
                    assert low <= mean <= high
