"""The command `muonlab`: it parses and prints; the work is done by the modules it calls."""

import argparse
import dataclasses
import os
import subprocess
import sys
import time
import types
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import muonlab
from muonlab.files import course

LESSONS = course() / "lessons"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one verb and returns the exit status: 0 fine, 1 a failed check, 2 a wrong call."""
    for stream in (sys.stdout, sys.stderr):  # a narrow Windows console knows no ✓
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except (ValueError, OSError, ArithmeticError) as error:  # our own messages need no traceback
        print(f"muonlab {options.verb}: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="muonlab", description="Learn the Muon optimizer by building it and checking it."
    )
    parser.add_argument("--version", action="version", version=f"muonlab {muonlab.__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")

    _verb(verbs, "lab", _lab, "open JupyterLab at lesson 00")
    _verb(verbs, "doctor", _doctor, "say what this machine has, and what to do about the rest")
    claims = _verb(verbs, "claims", _claims, "the claims of the lessons: value, bound, verdict")
    claims.add_argument("--lesson", metavar="NN", help="only this lesson, for example 02")
    train = _verb(verbs, "train", _train, "train one language model and record the run")
    _add_config(train)
    train.add_argument("--record", type=Path, metavar="FILE", help="append the record (JSON lines)")
    train.add_argument("--checkpoint", type=Path, metavar="FILE", help="save and resume here")
    text = "under torchrun, keep a share of the weights in each process; a checkpoint is a folder"
    train.add_argument("--shard", action="store_true", help=text)
    ablate = _verb(verbs, "ablate", _ablate, "run a named grid of configurations, and keep going")
    ablate.add_argument("preset", help="a name in muonlab/studies/presets.py")
    ablate.add_argument("--results", type=Path, help="where to append; default data/results/")
    ablate.add_argument("--corpus", help="another text than the preset's")
    engine = (
        "where the runs go: local, one after the other here; ray, a Ray cluster; slurm, a queue"
    )
    ablate.add_argument("--engine", default="local", help=engine)
    ablate.add_argument("--workers", type=int, metavar="N", help="runs at once on ray or slurm")
    results = _verb(verbs, "results", _results, "print recorded runs, or check that all are whole")
    results.add_argument("preset", nargs="?", help="a name in muonlab/studies/presets.py")
    _add_filter(results, "--where", "only runs with these values")
    _add_filter(results, "--against", "differences to this setting, paired over seeds")
    results.add_argument("--check", action="store_true", help="check the manifest and each record")
    report = _verb(verbs, "report", _report, "judge a hypothesis by recorded runs: one HTML file")
    report.add_argument("runs", help="a preset that has been run, or a file of records (.jsonl)")
    report.add_argument("--lower", nargs="+", required=True, help="groups whose Muon ends lower")
    report.add_argument("--than", nargs="*", default=(), help="than these; none: than AdamW alone")
    report.add_argument("--by", type=float, default=0.0, help="at least so many nats")
    report.add_argument("--metric", default="overall", help="overall, head, middle or tail")
    _add_filter(report, "--where", "only runs with these values")
    report.add_argument("--out", type=Path, default=Path("report.html"), help="the file to write")
    bench = _verb(verbs, "bench", _bench, "time Muon on this machine, against its rivals")
    bench.add_argument("--record", type=Path, metavar="FILE", help="write the figures (JSON)")
    bench.add_argument("--show", type=Path, metavar="FILE", help="print an old record instead")
    return parser


def _verb(verbs: Any, name: str, run: Any, text: str) -> argparse.ArgumentParser:
    parser = verbs.add_parser(
        name,
        help=text,
        description=text,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def _add_config(parser: argparse.ArgumentParser) -> None:
    """Adds one option for each field of TrainConfig."""
    from muonlab.training.run import TrainConfig

    hints = typing.get_type_hints(TrainConfig)
    for field in dataclasses.fields(TrainConfig):
        flag = "--" + field.name.replace("_", "-")
        text = field.metadata.get("help", " ")
        kind = _scalar(hints[field.name])
        if kind is bool:
            action = argparse.BooleanOptionalAction
            parser.add_argument(flag, action=action, default=field.default, help=text)
        elif isinstance(field.default, tuple):
            item = _scalar(typing.get_args(hints[field.name])[0])
            parser.add_argument(flag, nargs="*", type=item, default=field.default, help=text)
        else:
            parser.add_argument(flag, type=kind, default=field.default, help=text)


def _scalar(hint: Any) -> Any:
    """Returns the type that parses a field: float for `float | None`, str for a Literal."""
    if isinstance(hint, types.UnionType):
        hint = next(kind for kind in hint.__args__ if kind is not types.NoneType)
    if typing.get_origin(hint) is typing.Literal:
        return str
    return hint


def _lab(options: argparse.Namespace) -> int:
    notebooks = sorted(LESSONS.glob("*.ipynb"))
    if not notebooks:
        raise FileNotFoundError(
            f"no lessons in {LESSONS}: run `muonlab lab` in the unpacked bundle, or from a clone "
            "of the repository, installed with pip install -e ."
        )
    jupyter = [sys.executable, "-m", "jupyter"]
    # stored figures and widgets show only in trusted notebooks
    trust = [*jupyter, "trust", *map(str, notebooks)]
    if subprocess.run(trust, check=False, stdout=subprocess.DEVNULL).returncode:
        print("stored figures show only after the cells have run: jupyter trust failed")
    root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []  # a container
    return subprocess.run([*jupyter, "lab", *root, str(notebooks[0])], check=False).returncode


def _doctor(options: argparse.Namespace) -> int:
    from muonlab.doctor import examine

    findings = examine()
    print(*findings, sep="\n")
    return int(any(finding.advice for finding in findings))


def _claims(options: argparse.Namespace) -> int:
    from muonlab.classroom import claims

    return claims.print_stored(LESSONS, options.lesson)


def _train(options: argparse.Namespace) -> int:
    from muonlab.distributed import parallel
    from muonlab.records import record as records
    from muonlab.training.run import TrainConfig, train

    values = {field.name: getattr(options, field.name) for field in dataclasses.fields(TrainConfig)}
    values = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
    record = train(TrainConfig(**values), checkpoint=options.checkpoint, shard=options.shard)
    if parallel.rank():  # under torchrun one process speaks for all
        return 0
    print(record.summary())
    if options.record:
        records.append(record, options.record)
    return 0


def _ablate(options: argparse.Namespace) -> int:
    from muonlab.cost import formulas as cost
    from muonlab.records.store import RESULTS, path_of, write_manifest
    from muonlab.studies.presets import preset
    from muonlab.sweeps.engines import run_grid

    configs = preset(options.preset)
    if options.corpus:
        configs = [dataclasses.replace(config, corpus=options.corpus) for config in configs]
    print(cost.summary(configs))
    if options.engine == "local":  # another machine has another memory
        cost.check_memory(max(configs, key=cost.memory))
    path = options.results or path_of(options.preset, options.corpus)
    clock = Clock(len(configs))
    for record in run_grid(configs, path, options.engine, options.workers):
        print(clock.tick(), record.summary(), flush=True)
    if path.parent == RESULTS:
        write_manifest()
    return 0


class Clock:
    """Counts runs and says how long the rest will take; runs found in the file take no time."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.taken = total, 0, []
        self.last = time.monotonic()

    def tick(self) -> str:
        """Returns how many of the runs are done, and the time left at the mean speed so far."""
        now = time.monotonic()
        self.taken += [now - self.last] if now - self.last > 0.5 else []
        self.last, self.done = now, self.done + 1
        left = (self.total - self.done) * sum(self.taken) / max(1, len(self.taken))
        return f"[{self.done}/{self.total}, {left / 60:.0f} min left]"


def _results(options: argparse.Namespace) -> int:
    from muonlab.records.table import runs_table
    from muonlab.studies.ablation import uncovered
    from muonlab.studies.presets import PRESETS, preset
    from muonlab.sweeps.results import problems, recorded

    if options.check:
        found = problems(PRESETS) + uncovered()
        print(*(found or ["all records are whole"]), sep="\n")
        return int(bool(found))
    if options.preset is None:
        for name in PRESETS:
            print(f"{name}: {len(recorded(name))} runs")
        return 0
    preset(options.preset)  # a wrong name is answered with the known ones
    print(runs_table(recorded(options.preset), dict(options.where), dict(options.against)))
    return 0


def _report(options: argparse.Namespace) -> int:
    from muonlab.classroom import report
    from muonlab.records.table import fits
    from muonlab.studies.hypothesis import Hypothesis, judge
    from muonlab.studies.presets import preset
    from muonlab.sweeps.results import read_runs, recorded

    hypothesis = Hypothesis(options.lower, options.than, options.by, options.metric)
    if options.runs.endswith(".jsonl"):
        if not Path(options.runs).exists():
            raise FileNotFoundError(f"there is no file {options.runs}")
        runs = read_runs(options.runs)
    else:
        preset(options.runs)  # a wrong name is answered with the known ones
        runs = recorded(options.runs)
    runs = [run for run in runs if fits(run.config, dict(options.where))]
    report.write(report.page(hypothesis, runs), options.out)
    finding = judge(hypothesis, runs)
    print(f"{options.out}: {finding.verdict}. {report.told(finding)}")
    return 0


def _add_filter(parser: argparse.ArgumentParser, flag: str, text: str) -> None:
    parser.add_argument(flag, nargs="+", type=_pair, default=[], metavar="FIELD=VALUE", help=text)


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise argparse.ArgumentTypeError(f"expected FIELD=VALUE, such as gated=True; got {text!r}")
    return name, value


def _bench(options: argparse.Namespace) -> int:
    from muonlab.benchmark.bench import bench, read_bench, write_bench
    from muonlab.benchmark.report import report

    record = read_bench(options.show) if options.show else bench()
    if options.record:
        write_bench(record, options.record)
    print(report(record), end="")
    return 0
