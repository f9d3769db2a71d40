"""The bench: fair turns, whole records, and a book page that shows what was measured."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import torch

from muonlab import machine as allocator
from muonlab.benchmark import bench, on_gpu, timed_optimizers, timing
from muonlab.benchmark.launches import launches
from muonlab.cli import main
from muonlab.models import gpt

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "data" / "results" / "bench.json"


def clock(monkeypatch, others):
    """Replaces both clocks: a second passes at each look, others' time comes from a list."""
    ticks, foreign = iter(range(10_000)), iter(others)
    monkeypatch.setattr(timing.time, "perf_counter", lambda: float(next(ticks)))
    monkeypatch.setattr(timing, "_others", lambda: next(foreign))


def test_a_sample_beside_a_busy_process_does_not_count(monkeypatch):
    # pairs, before and after each sample: the second of "a" is spoiled
    clock(monkeypatch, [0, 0, 0, 0, 0, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9])
    order = []
    a, b = timing.in_turn(
        {"a": lambda: order.append("a"), "b": lambda: order.append("b")}, samples=2
    )
    assert order[4:] == ["a", "b"] * 3
    assert (a["rejected"], a["samples"]) == (1, 2)
    assert (b["rejected"], b["samples"]) == (0, 3)
    assert a["milliseconds"] == 1000


def test_a_machine_that_is_never_quiet_is_named(monkeypatch):
    clock(monkeypatch, range(1000))
    with pytest.raises(TimeoutError, match="busy in 6 of 6 samples: close them"):
        timing.in_turn({"a": lambda: None, "b": lambda: None}, rounds=3)


def test_rows_hold_medians_and_ratios_to_the_first(monkeypatch):
    taken = {"a": iter([[0.2], [0.4], [0.3]]), "b": iter([[0.1], [], [0.1]])}
    monkeypatch.setattr(timing, "_calls", lambda run: 1)
    monkeypatch.setattr(timing, "_sample", lambda run, calls: next(taken[run()]))
    runs = {name: lambda name=name: name for name in taken}
    first, second = timing.in_turn(runs, 2, floor=0.03, count=3, shape="2 × 2")
    assert first["milliseconds"] == pytest.approx(100)
    assert (second["name"], second["shape"], second["rejected"]) == ("b", "2 × 2", 1)
    assert second["ratio"] == pytest.approx(1 / 3)
    assert second["floor"] == pytest.approx(0.1)


def test_a_new_record_has_every_part_and_rival_and_is_shown_as_it_was_printed(
    monkeypatch, tmp_path, capsys
):
    """Of toys, each contestant is called once, without clocks."""

    def once(run, calls):
        run()
        return [1.0]

    toys, race, path = [(48, 16), (16, 16), (64, 16), (16, 64)], timing.in_turn, tmp_path / "a.json"
    monkeypatch.setattr(timing, "_calls", lambda run: 1)
    monkeypatch.setattr(timing, "_sample", once)
    monkeypatch.setattr(bench, "in_turn", lambda runs, samples=7, **more: race(runs, 1, **more))
    monkeypatch.setattr(bench, "SHAPES", [(16, 16), (8, 40)])
    monkeypatch.setattr(bench, "SEQUENCES", 1)
    monkeypatch.setattr(bench, "GPT_SHAPES", toys)
    monkeypatch.setattr(timed_optimizers, "GPT_SHAPES", toys)
    monkeypatch.setitem(gpt.SIZES, "small", replace(gpt.SIZES["small"], layers=1, width=48))
    peak = cache(bench.peak.__wrapped__)  # what it finds here is not for others
    monkeypatch.setattr(bench, "peak", peak)
    monkeypatch.setitem(bench.MEASURES, "peak", peak)
    assert main(["bench", "--record", str(path)]) == 0
    printed = capsys.readouterr().out
    assert main(["bench", "--show", str(path)]) == 0
    assert capsys.readouterr().out == printed
    record = bench.read_bench(path)
    assert set(record) == {"provenance", *bench.MEASURES}
    steps = [row["name"] for row in record["optimizer_step"]]
    assert steps[:3] == ["torch.optim.Muon", "AdamW, fused", "muonlab"]
    routines = {row["name"] for row in record["newton_schulz_steps"]}
    assert routines >= {"torch.optim.Muon", "muonlab"}
    assert printed.count("| muonlab |") == len(bench.SHAPES) + 1
    assert f"{len(bench.SHAPES) * 5 + len(steps) + 3} samples count" in printed


# On a GPU


GPU_RECORD = RECORD.with_name("gpu-h200.json")
MORE = ("peak MB", "kernels")  # what the first record of a GPU had not


class Event:
    """A torch.cuda.Event that looks at the clock."""

    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        self.at = time.perf_counter()

    def elapsed_time(self, end):
        return 1000 * (end.at - self.at)


def on_cpu(monkeypatch):
    """Makes a GPU of the CPU; returns a list of when it was waited for."""
    waited = []
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "synchronize", waited.append)
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda device: waited.clear())
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda device: 5 * 10**6)
    return waited


@pytest.fixture(scope="module")
def record():
    """What the tables of a GPU hold of toys, measured once, on the CPU."""
    toys = {
        "TIMED_FOR": 1e-3,
        "PRODUCT": 32,
        "COPY": 2**12,
        "COMPARED": 32,
        "STACKS": {(16, 16): 2, (8, 40): 3},
        "GPTS": {"toy, 1 x 16": (1, 16), "toy, 2 x 8": (2, 8)},
        "TRAINED": {"tiny": (2, 8, 65)},
    }
    with pytest.MonkeyPatch.context() as patch:
        on_cpu(patch)
        patch.setattr(on_gpu.gc, "collect", lambda: None)  # it looks at all that the tests hold
        for name, toy in toys.items():
            patch.setattr(on_gpu, name, toy)
        return on_gpu.bench_card(torch.device("cpu"))


def test_a_record_of_a_gpu_has_the_shape_of_the_first_one(record):
    first = bench.read_bench(GPU_RECORD)
    assert list(record) == list(first)
    assert record["peak"].keys() == first["peak"].keys()
    assert record["provenance"].keys() == first["provenance"].keys()
    for table in on_gpu.TABLES:
        for row in record[table]:
            own = {key for key in row if not key.endswith(MORE)}
            assert own == first[table][0].keys()
    assert 0 < record[on_gpu.PARITY] < 1e-3
    assert [row["numbers"] for row in record["optimizer_step"]] == [12 * 16**2, 2 * 12 * 8**2]


def test_each_gpu_row_is_consistent_with_itself(record):
    for row in record["optimizer_step"]:
        assert row["ratio to torch"] == row["muonlab Muon"] / row["torch.optim.Muon"]
        assert row["torch.optim.Muon kernels"] > row["AdamW fused kernels"] > 0
    one, two = (row["torch.optim.Muon kernels"] for row in record["optimizer_step"])
    assert two == 2 * one  # one matrix after the other
    (row,), speed = record["training, eager"], 1e9 * record["peak"]["bf16 TFLOP/s"]
    assert row["Muon tokens/s"] == pytest.approx(1000 * 16 / row["Muon ms"])
    weights = 3 * 12 * 128**2 + 128 * 65
    flop = 6 * 16 * (weights + 3 * 8 * 128)
    assert row["Muon share of peak"] * row["Muon ms"] * speed == pytest.approx(flop)


def test_the_floors_of_the_first_gpu_record_come_out_again():
    first = bench.read_bench(GPU_RECORD)
    speed = 1e9 * first["peak"]["bf16 TFLOP/s"]
    for row in first["newton_schulz"]:
        shape = tuple(row["shape"])
        assert on_gpu.STACKS[shape] == row["stack"]
        assert row["stack"] * on_gpu._flop(shape) == row["flop, as torch multiplies"]
    for row in first["optimizer_step"]:
        layers, width = on_gpu.GPTS[row["set"]]
        shapes = [(m * width, n * width) for m, n in on_gpu.LAYER] * layers
        assert sum(map(on_gpu._flop, shapes)) / speed == pytest.approx(row["floor at peak"])


def test_a_gpu_is_timed_by_its_own_events_and_by_the_clock_and_waited_for(monkeypatch):
    waits = on_cpu(monkeypatch)
    ticks, calls, gpu = iter(range(10_000)), [], torch.device("cuda")
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)))
    by_events, wall, megabytes = on_gpu.timed(lambda: calls.append(1), gpu)
    # a second passes at each look: one between the events of a call, and two looks a call
    assert by_events == 1000
    assert wall == 1000 * (2 * on_gpu.FEWEST + 1) / on_gpu.FEWEST
    assert megabytes == pytest.approx(5)
    assert len(calls) == on_gpu.WARM + 1 + on_gpu.FEWEST
    assert waits == [gpu] * 3  # after the warm-up, the one call that is counted by, and all


def test_launches_are_what_computes():
    X = torch.ones(4, 4)
    counted = launches(lambda: (X @ X.T).view(2, 8).add_(1)[0])
    assert (counted.kernels, counted.calls["mm"], counted.calls["add_"]) == (2, 1, 1)
    assert counted.calls.total() > 2


def test_a_gpu_that_is_not_there_is_refused_before_anything_is_measured(
    monkeypatch, tmp_path, capsys
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for measure in ("bench_card", "peak"):
        monkeypatch.setattr(bench, measure, lambda *_: pytest.fail("it measures"))
    path = tmp_path / "gpu.json"
    assert main(["bench", "--device", "cuda", "--record", str(path)]) == 2
    told = "device 'cuda' is none that torch can use here; take device='cpu'"
    assert told in capsys.readouterr().err
    assert not path.exists()


def test_on_a_gpu_its_own_tables_are_measured_written_and_shown(
    record, monkeypatch, tmp_path, capsys
):
    monkeypatch.setattr(bench, "pick_device", torch.device)
    monkeypatch.setattr(bench, "bench_card", lambda device: {"cuda": record}[device.type])
    path = tmp_path / "gpu.json"
    assert main(["bench", "--device", "cuda", "--record", str(path)]) == 0
    assert "**training, eager**" in capsys.readouterr().out
    assert main(["bench", "--show", str(path)]) == 0
    assert "toy, 2 x 8" in capsys.readouterr().out
    assert bench.read_bench(path).keys() == record.keys()


def test_the_floor_counts_the_products_of_the_fast_path(monkeypatch):
    monkeypatch.setattr(bench, "peak", lambda: {"bf16": 1.0, "float32": 1.0, "copy": 1.0})
    k = 64
    seconds = bench._product_seconds
    assert seconds(k, 4 * k, dtype=torch.bfloat16) == pytest.approx(70 * k**3 * 1e-9)
    assert seconds(k, k, dtype=torch.bfloat16) == pytest.approx(30 * k**3 * 1e-9)
    assert seconds(4 * k, k, dtype=torch.float32) == pytest.approx(50 * k**3 * 1e-9)


@pytest.mark.parametrize("record", sorted(RECORD.parent.glob("bench*.json")), ids=lambda p: p.stem)
def test_the_book_shows_the_record_of_committed_code(record):
    """After a new record: `muonlab bench --show data/results/bench.json > book/tables/bench.md`."""
    shown = (ROOT / "book" / "tables" / f"{record.stem}.md").read_text(encoding="utf-8")
    assert shown == bench.bench_report(bench.read_bench(record))
    assert "dirty" not in json.loads(record.read_text(encoding="utf-8"))["provenance"]["code"]


def test_what_was_timed_once_stands_in_the_book_as_it_was_recorded():
    page = (ROOT / "book" / "speed.md").read_text(encoding="utf-8")
    pair = [bench.read_bench(path) for path in (RECORD, RECORD.with_name("bench-avx512.json"))]
    for made in (record["provenance"] for record in pair):
        assert f"measured on {made['utc'][:10]} by code {made['code']}" in page
    for each in zip(*(record["gains"][1:] for record in pair), strict=True):
        ratios = " | ".join(f"{row['ratio']:.2f}" for row in each)
        assert f"| {each[0]['name']} | {ratios} |" in page
    for part in ("step_without_bf16", "memory"):
        for each in zip(*(record[part] for record in pair), strict=True):
            times = " | ".join(f"{row['milliseconds']:,.0f} ms" for row in each)
            assert f"{each[0]['name']} | {times} |" in page
    for row in pair[0]["quality"]:
        assert f"| {row['name']} | {row['matrix']} | {row['mean']:.3f} |" in page


def test_a_new_process_loads_no_compiler_and_keeps_freed_memory_without_page_faults():
    """torch._dynamo alone takes a second to import: a learner would wait for it in every lesson."""
    code = """
import json, sys
from muonlab.data import load_corpus
from muonlab.experiments import Run, TrainConfig
answers = {"faults": []}
if sys.platform == "linux":  # which counts them so
    import resource, torch
    from muonlab.machine import keep_freed_memory
    count = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for keep in (False, True):
        if keep:
            assert keep_freed_memory()
        for block in range(30):
            if block == 24:  # by then it has a place that was used before
                before = count()
            torch.ones(2**23)
        answers["faults"].append(count() - before)
Run(TrainConfig(corpus="regression-4"), load_corpus("regression-4")).train_step()
print(json.dumps(answers | {"compiler": "torch._dynamo" in sys.modules}))
"""
    own = os.environ | {"MALLOC_ARENA_MAX": "1"}
    answer = subprocess.run([sys.executable, "-c", code], env=own, capture_output=True, check=True)
    answers = json.loads(answer.stdout)
    assert not answers["compiler"]
    returned, kept = answers["faults"] or (1, 0)
    assert kept < min(100, returned)


def test_elsewhere_memory_is_left_alone(monkeypatch):
    monkeypatch.setattr(allocator.platform, "libc_ver", lambda: ("musl", "1.2"))
    assert allocator.keep_freed_memory() is False
