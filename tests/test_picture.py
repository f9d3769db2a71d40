"""The stored pictures are those that the records give."""

import io

import numpy as np
import pytest
from matplotlib import image

import pictures
from muonlab.classroom import explorer_data
from muonlab.data.facts import selections
from muonlab.data.load import load_corpus
from muonlab.records import store
from muonlab.records.record import contestant
from muonlab.studies import comparisons
from muonlab.studies.races import RACE
from muonlab.sweeps.results import recorded
from muonlab.sweeps.study import HERE, Place
from printing import picture


@pytest.mark.parametrize("name", picture.PICTURES)
def test_a_stored_picture_is_drawn_from_the_records(name):
    assert (pictures.ASSETS / f"{name}.svg").read_bytes() == picture.as_svg(name), (
        "run `make lessons`"
    )


def test_the_social_picture_is_drawn_from_the_records():
    stored = image.imread(pictures.SOCIAL)
    assert stored.shape == (630, 1200, 4)
    drawn = image.imread(io.BytesIO(pictures.as_png()))
    assert np.abs(stored - drawn).max() < 0.01, "run `make lessons`"


def test_the_mark_is_stored_as_it_is_drawn():
    assert pictures.MARK.read_bytes() == pictures.mark(), "run `make lessons`"


def test_its_curves_are_the_means_of_the_measurements_and_its_bars_the_leads():
    left, right = picture.first_result().axes
    ends = {"AdamW": [], "Muon": []}
    for line, name in zip(left.lines, ends, strict=True):
        runs = [r for r in recorded("race-gpu") if contestant(r.config) == name]
        ends[name] = {r.config["seed"]: r.held_out[-1]["tail"] for r in runs}
        assert line.get_label() == name
        assert line.get_xdata().tolist() == [*range(125, 1001, 125)]
        for n, mean in enumerate(line.get_ydata()):
            assert mean == pytest.approx(sum(r.held_out[n]["overall"] for r in runs) / 5)
    lead = sum(ends["AdamW"][seed] - ends["Muon"][seed] for seed in range(1, 6)) / 5
    heights = [bar.get_height() for bar in right.patches]
    assert len(heights) == 6
    assert heights[2] == pytest.approx(lead), "the third bar is rare tokens on a GPU"


def test_the_map_has_two_marks_a_race_at_its_leads():
    points = comparisons.lead_points()
    left, right = picture.leads_mapped().axes
    for panel in (left, right):
        marks = {y for line in panel.lines[1:] for y in line.get_ydata()}
        wanted = {race["lead"][part][0] for race in points for part in ("overall", "tail")}
        assert sorted(marks) == pytest.approx(sorted(wanted))


def test_without_records_it_says_what_to_run(monkeypatch, tmp_path):
    monkeypatch.setattr(store, "RESULTS", tmp_path)
    with pytest.raises(ValueError, match="muonlab ablate race-150-1"):
        explorer_data.trials_data(RACE[150], Place(tmp_path))


def test_the_explorer_gets_every_trial_of_both_in_the_order_of_the_search():
    race = RACE[1200]
    data = explorer_data.trials_data(race)
    assert list(data) == ["AdamW", "Muon"]
    for name, (key, budget) in zip(data, race.budget(HERE).items(), strict=False):
        assert bool(key[0]) is (name == "Muon")
        tried = data[name]
        lengths = {len(column) for column in (*tried["knobs"], tried["tail"])}
        assert lengths == {sum(race.rounds)}
        assert min(tried["overall"]) == budget[-1]
        assert budget[0] == pytest.approx(sum(tried["overall"][:16]) / 16)


def test_the_explorer_of_biographies_gets_every_seed_of_every_way():
    text = load_corpus("facts-9")
    data = explorer_data.facts_data(recorded("facts-400"), text)
    assert data["steps"] == list(range(50, 401, 50))
    passes = 400 * 16 * 64 / len(text.train)
    assert data["seen"][-1] == pytest.approx([2**n * passes for n in range(9, -1, -1)], rel=1e-3)
    assert len(data["accuracy"]) == 8
    for seeds in data["accuracy"].values():
        assert [len(seeds), len(seeds[0]), len(seeds[0][0])] == [5, 8, 10]
    with pytest.raises(ValueError, match="muonlab ablate facts-400"):
        explorer_data.facts_data([], text)


def test_how_often_facts_were_seen_follows_the_texts_own_exponent():
    text = load_corpus("facts-9-zipf0.5")
    runs = [r for r in recorded("imbalance") if r.config["corpus"] == text.name]
    seen = explorer_data.facts_data(runs, text)["seen"][-1]
    passes = 400 * 16 * 64 / len(text.train)
    assert seen == pytest.approx([n * passes for n in selections(9, 0.5)], rel=1e-3)


def test_the_explorer_of_spectra_starts_all_optimizers_at_the_same_weights():
    data = explorer_data.bands_data({"1,200": recorded("race-1200")})["1,200"]
    assert data["steps"] == list(range(0, 1201, 150))
    assert data["seeds"] == 10
    for named in data["bands"].values():
        for metric, band in named["Muon"].items():
            assert band["mean"][0] == named["AdamW"][metric]["mean"][0]
            for low, mean, high in zip(band["low"], band["mean"], band["high"], strict=True):
                assert low <= mean <= high
