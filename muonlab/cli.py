"""The command `muonlab`: it parses and prints; the work is done by the modules it calls."""

import argparse
import ast
import dataclasses
import os
import shlex
import subprocess
import sys
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tqdm import tqdm

import muonlab
from muonlab import checks, class_texts, doctor
from muonlab.benchmark.bench import bench, bench_report, read_bench, write_bench
from muonlab.cost import formulas as cost
from muonlab.cost.plans import left
from muonlab.distributed import parallel
from muonlab.files import LESSONS, prepare_file, prepare_page
from muonlab.records.provenance import code_version, unchanged
from muonlab.records.record import Record, append, line_of, prepare_records
from muonlab.records.store import RESULTS, path_of, write_manifest
from muonlab.records.table import runs_table
from muonlab.studies.evidence import SEARCHES
from muonlab.studies.grids import PHASES, PRESETS, STUDIES, phases
from muonlab.studies.hypothesis import Hypothesis
from muonlab.studies.ladder import UNFINISHED
from muonlab.studies.verdicts import judge
from muonlab.sweeps import pool
from muonlab.sweeps.results import known, problems, read_runs, recorded
from muonlab.sweeps.search import outcome
from muonlab.sweeps.study import Place, Unrecorded
from muonlab.sweeps.sweep import sweep
from muonlab.training.config import IDLE, TrainConfig
from muonlab.training.run import train

Verb = Callable[[argparse.Namespace], int]  # what a verb does; it returns the exit status
TEACHERS = "muonlab-teaching has it: pip install its wheel; in a clone, pip install -e . again"
LINE = 10_000  # characters in a line of an error
DEFAULTS = Path(__file__).parent / "jupyter"  # of JupyterLab: its first start asks nothing
SPOILERS = ("checks", "claims", "explorers", "quizzes", "text", "variants")  # beside the lessons
UNLISTED = ("__pycache__", "*.pyc", "*.pyo", ".DS_Store", "*~")  # Jupyter's, which ours replace


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one verb and returns the exit status: 0 fine, 1 a failed check, 2 a wrong call."""
    for stream in (sys.stdout, sys.stderr):  # a narrow Windows console knows no ✓
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    options = _parser().parse_args(arguments)
    try:
        status = options.run(options)
        print(end="", flush=True)  # whose stdout may be closed
        return status
    except BrokenPipeError:  # whoever reads this, such as head, has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print(f"muonlab {options.verb}: stopped", file=sys.stderr)
        return 130
    except (ValueError, OSError, ArithmeticError) as error:  # our own messages need no traceback
        if os.environ.get("MUONLAB_TRACEBACK"):
            raise
        message = "\n".join(checks.printable(line, LINE) for line in str(error).splitlines())
        print(f"muonlab {options.verb}: {message}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="muonlab",
        description="Learn the Muon optimizer by building it and checking it.",
        epilog="With MUONLAB_TRACEBACK=1 an error shows the lines of code that led to it.",
    )
    parser.add_argument("--version", action="version", version=f"muonlab {muonlab.__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    shape = argparse.ArgumentDefaultsHelpFormatter
    _add_verbs(verbs, Path(__file__).parent, VERBS, shape)
    _add_teaching(verbs.choices["teach"])
    return parser


def _add_teaching(verb: argparse.ArgumentParser) -> None:
    """Adds what a package of its own does, where it is; a clone has it."""
    if not find_spec("muonlab_teaching"):
        verb.add_argument("asked", nargs=argparse.REMAINDER, metavar="WHAT", help=TEACHERS)
        return
    command = import_module("muonlab_teaching.command")
    asked = verb.add_subparsers(dest="asked", required=True, metavar="WHAT")
    _add_verbs(asked, Path(str(command.__file__)).parent, command.RUNS, argparse.HelpFormatter)


def _add_verbs(verbs: Any, folder: Path, runs: Mapping[str, Verb], shape: Any) -> None:
    """Adds what verbs.toml of a folder declares; `run` and `usual` come with the options.

    `usual` returns an option's default by its name.
    """
    for name, words in tomllib.loads(checks.text(folder / "verbs.toml", "verbs")).items():
        text = words.pop("help")
        verb = verbs.add_parser(name, help=text, description=text, formatter_class=shape)
        verb.set_defaults(run=runs.get(name), usual=verb.get_default)
        if name == "train":
            _add_config(verb)
        for word, option in words.items():
            verb.add_argument(word, **ARGUMENTS[option.pop("kind", "text")] | option)


def _add_config(parser: argparse.ArgumentParser) -> None:
    """Adds one option for each field of TrainConfig, read as its default is; None is a rate's."""
    for field in dataclasses.fields(TrainConfig):
        default: Any = field.default
        read: dict[str, Any] = {"type": float if default is None else type(default)}
        if isinstance(default, bool):
            read = {"action": argparse.BooleanOptionalAction}
        elif isinstance(default, tuple):
            read = {"nargs": "*", "type": type(default[0])}
        flag = "--" + field.name.replace("_", "-")
        parser.add_argument(flag, default=default, help=field.metadata["help"], **read)


def _field(text: str) -> tuple[str, Any]:
    """Returns a field and its value as TrainConfig holds it; `table.shown` writes it so."""
    name, sign, value = text.partition("=")
    if not sign:
        raise argparse.ArgumentTypeError(f"expected FIELD=VALUE, such as gated=True; got {text!r}")
    if isinstance(vars(TrainConfig()).get(name), tuple):
        parts = [] if value in ("none", "None") else value.split("+")
        return name, tuple(map(_value, parts))
    return name, _value(value)


def _value(text: str) -> Any:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):  # a word, such as normuon
        return text
    return value if isinstance(value, int | float | str | None) else text


def _fields(values: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Returns values by field; ValueError where a field has two."""
    for name, count in Counter(name for name, _ in values).items():
        if count > 1:
            raise ValueError(f"{name} is given {count} values: name one")
    return dict(values)


def _lab(options: argparse.Namespace) -> int:
    notebooks = sorted(LESSONS.glob("*.ipynb"))
    if not notebooks:
        place = "the folder of the course, an unpacked bundle or a clone of the repository"
        raise FileNotFoundError(f"no lessons in {LESSONS}: set MUONLAB_COURSE to {place}")
    jupyter = [sys.executable, "-P", "-m", "jupyter"]  # -P: no code of the working folder
    # stored figures and widgets show only in trusted notebooks
    ours = notebooks if options.trust else unchanged(LESSONS, notebooks)
    trust = [*jupyter, "trust", *map(str, ours)]
    if ours and subprocess.run(trust, check=False, stdout=subprocess.DEVNULL).returncode:
        print("stored figures show only after the cells have run: jupyter trust failed")
    elif len(ours) < len(notebooks):
        print(f"{len(notebooks) - len(ours)} notebooks are not as this package came with them:")
        print("their stored figures show after you run the cells. --trust shows all, at your risk")
    root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []  # a container
    hidden = () if options.answers else (*UNLISTED, *SPOILERS)
    listing = [f"--ContentsManager.hide_globs={name}" for name in hidden]
    first = f"--LabApp.default_url=/lab/tree/{notebooks[0].name}"  # of the address that it prints
    lab = [*jupyter, "lab", *root, *listing, first, str(notebooks[0])]
    # our defaults, after those of the learner's own JUPYTER_CONFIG_PATH
    paths = filter(None, (os.environ.get("JUPYTER_CONFIG_PATH"), str(DEFAULTS)))
    # threads that wait give the core to others: three notebooks on two cores are 7 times faster
    environment = {"GOMP_SPINCOUNT": "10000", **os.environ}
    environment["JUPYTER_CONFIG_PATH"] = os.pathsep.join(paths)
    return _served(lab, environment)


def _served(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Returns the exit status of a server once it has ended; to Ctrl-C it answers itself."""
    with subprocess.Popen(command, env=environment) as server:
        while server.poll() is None:
            with suppress(KeyboardInterrupt):  # Jupyter asks whether it is to end
                server.wait()
    return server.returncode


def _claims(options: argparse.Namespace) -> int:
    from muonlab.classroom import claims  # what shows lessons takes a second to import

    return claims.print_stored(LESSONS, options.lesson)


def _train(options: argparse.Namespace) -> int:
    values = {field.name: getattr(options, field.name) for field in dataclasses.fields(TrainConfig)}
    config = TrainConfig(**values)
    if parallel.size() == 1 and (options.shard or options.timeout != options.usual("timeout")):
        raise ValueError("--shard and --timeout are for more than one process: start with torchrun")
    if not options.shard:
        _refuse(options, "replicas", since="only --shard divides the weights")
    if (idle := config.told_idle()) and not parallel.rank():
        print(idle, file=sys.stderr)
        warnings.filterwarnings("ignore", IDLE)  # it is said
    if options.record:
        if options.checkpoint and options.checkpoint.resolve() == options.record.resolve():
            raise ValueError(f"--record needs a file beside the checkpoint, got {options.record}")
        prepare_records(options.record)  # rather now than after the work
    if parallel.size() == 1:
        cost.check_memory(config)
    if not parallel.rank():
        print(cost.passes(config), end="", flush=True)
    processes = {"shard": options.shard, "replicas": options.replicas, "timeout": options.timeout}
    record = train(config, checkpoint=options.checkpoint, **processes)
    if parallel.rank():  # under torchrun one process speaks for all
        return 0
    print(record.summary())
    if options.record:
        try:
            append(record, options.record)
        except OSError:
            print(line_of(record))  # the run is done: this line is all that is left of it
            raise
    return 0


def _ablate(options: argparse.Namespace) -> int:
    if options.name is None:
        chosen = "corpus", "pieces", "workers", "minutes", "engine", "results", "plan"
        _refuse(options, *chosen, since="without a name it lists the studies: name one")
        print(*(f"{name}: {', '.join(s.phases())}" for name, s in STUDIES.items()), sep="\n")
        return 0
    at = Place(options.results, options.corpus, options.pieces)
    if pool.PARENT not in os.environ:  # a worker's parent has said it
        print(left(phases(options.name), at), flush=True)
    if options.plan:
        return 0
    if code_version().endswith("-dirty") and pool.PARENT not in os.environ:
        uncommitted = "the code differs from its commit, so no record can name it: commit first"
        print(f"note: {uncommitted}", file=sys.stderr)
    own = options.engine == "local" and options.workers is not None
    run = _ablate_together if own or options.minutes is not None else _ablate_in_turn
    try:
        return run(options, at)
    finally:  # also where it is stopped
        if at.folder.resolve() == RESULTS.resolve():
            write_manifest()


def _ablate_in_turn(options: argparse.Namespace, at: Place) -> int:
    """Runs one phase after the other, here or on an engine."""
    for phase, grid in phases(options.name).items():
        configs, path = grid(at), prepare_file(at.path(phase))
        # refuses wrong options before time is spent on an estimate; nothing runs yet
        runs = sweep(configs, path, engine=options.engine, workers=options.workers)
        if missing := [config for config in configs if config not in known(path).read()]:
            hours = f"{cost.on_one_card(missing)}, {cost.hours_here(missing)}"
            print(f"{path.name}, what is left: {hours}", flush=True)
            if options.engine == "local":  # another machine has another memory
                cost.check_memory(max(missing, key=cost.bytes_needed))
            longest = max(missing, key=lambda config: config.steps * config.batch * config.context)
            print(cost.passes(longest), end="", flush=True)
        for record in tqdm(runs, phase, len(configs), unit="run"):
            tqdm.write(record.summary())
            if pool.orphaned():
                return 1
    return 0


def _ablate_together(options: argparse.Namespace, at: Place) -> int:
    """Shares the phases among processes of this machine, or does what ends in the minutes."""
    if options.engine != "local":
        raise ValueError(f"--minutes is for this machine: a run on {options.engine} may still wait")
    chosen, status = phases(options.name), 0
    if options.workers is None:
        for record in pool.work(chosen, at, options.minutes):
            tqdm.write(record.summary())
    else:
        line = [sys.executable, "-m", *shlex.split(at.command(options.name))]
        line += [] if options.minutes is None else ["--minutes", str(options.minutes)]
        progress = partial(pool.count, chosen, at)
        status = pool.run_workers(line, options.workers, progress, options.minutes)
    print(f"{options.name}: {pool.count(chosen, at)} runs are recorded")
    return status


def _results(options: argparse.Namespace) -> int:
    folder = options.results
    if not folder.is_dir():
        raise FileNotFoundError(f"expected a folder of records, got {folder}, which is not there")
    if options.check:
        others = "name", "where", "against", "search", "results"
        _refuse(options, *others, since="--check looks at all records of the course")
        messages = problems(PRESETS, unfinished=UNFINISHED)
        print(*(messages or ["all records are whole"]), sep="\n")
        return int(bool(messages))
    if options.name is None:
        _refuse(options, "search", "where", "against", since="it is about one phase: name it")
        lines = [_counted(n, folder) for n in _names(folder)]
        none = f"no records in {folder}: `muonlab ablate NAME --results FOLDER` writes them"
        print(*(checks.printable(line, LINE) for line in lines or [none]), sep="\n")
        return 0
    if options.search:
        checks.choice("--search", options.name, SEARCHES)
        _refuse(options, "where", "against", since="--search tells of all trials")
        print(outcome(SEARCHES[options.name], Place(folder)))
        return 0
    runs = _runs(options.name, folder)
    if options.name in UNFINISHED:
        print(_counted(options.name, folder))
    print(runs_table(runs, _fields(options.where), _fields(options.against)))
    return 0


def _counted(name: str, folder: Path) -> str:
    """Returns how many runs of a phase a folder has: of how many, where some may be missing."""
    runs, of_all = len(recorded(name, folder)), ""
    with suppress(Unrecorded):  # a folder without its trials, where nobody can say
        if name in UNFINISHED and runs < (expected := len(PHASES[name](Place(folder)))):
            of_all = f" of {expected}"
    return f"{name}: {runs}{of_all} runs{', unfinished' if of_all else ''}"


def _names(folder: Path) -> list[str]:
    """Returns what is recorded in a folder: the phases in the order of the lessons, then others."""
    names = {path.stem for path in folder.glob("*.jsonl")}
    return [name for name in PHASES if name in names] + sorted(names - PHASES.keys())


def _runs(name: str, folder: Path = RESULTS) -> list[Record]:
    """Returns the runs of a phase, or of a file of records; ValueError where there are none."""
    path = Path(name) if name.endswith(".jsonl") else path_of(name, folder=folder)
    if runs := read_runs(path):
        return runs
    if name in PHASES:
        raise ValueError(f"{name} has no runs yet: `{Place(folder).command(name)}` makes them")
    if name in STUDIES:
        raise ValueError(f"{name} has the phases {', '.join(STUDIES[name].phases())}: name one")
    raise ValueError(f"no runs in {path}; recorded: {', '.join(_names(folder)) or 'nothing'}")


def _report(options: argparse.Namespace) -> int:
    from muonlab.classroom import report  # as above

    better, than = _fields(options.better), _fields(options.than)
    where, change = _fields(options.where), _fields(options.change)
    hypothesis = Hypothesis(better, than, options.by, options.metric, where, change, options.longer)
    prepare_page(options.out, report.REPORT_STARTS)  # rather now than after the work
    runs = _runs(options.runs)
    tuned = (SEARCHES[options.search], Place()) if options.search else None
    report.write(report.page(hypothesis, runs, tuned=tuned), options.out)
    finding = judge(hypothesis, runs)
    print(f"{options.out}: {finding.verdict}. {report.told(finding)}")
    return 0


def _corpus(options: argparse.Namespace) -> int:
    if options.what == "export":
        _refuse(options, "replace", since="export never overwrites: name a new FILE")
        texts = class_texts.export_texts(options.file, options.texts)
    else:
        _refuse(options, "texts", since="import takes all that FILE holds")
        texts = class_texts.import_texts(options.file, options.replace)
    print(*(f"{name} {digest[:12]}" for name, digest in texts.items()), sep="\n")
    return 0


def _teach(options: argparse.Namespace) -> int:
    raise ValueError(TEACHERS)


def _bench(options: argparse.Namespace) -> int:
    if options.show:
        _refuse(options, "record", "device", since="--show prints an old record")
        record = read_bench(options.show)
    else:
        path = prepare_file(options.record) if options.record else None  # before it measures
        record = bench(options.device)
        if path:
            write_bench(record, path)
    print(bench_report(record), end="")
    return 0


def _refuse(options: argparse.Namespace, *names: str, since: str) -> None:
    """Raises ValueError where one of these options is given, for it would change nothing."""
    for name in names:
        if getattr(options, name) != options.usual(name):
            raise ValueError(f"{name} changes nothing here, since {since}")


ADDS_UP = {"action": "extend"}  # what is given twice adds up
ARGUMENTS: dict[str, dict[str, Any]] = {  # how argparse takes a word of verbs.toml
    "text": {},
    "switch": {"action": "store_true"},
    "count": {"type": int},
    "number": {"type": float},
    "path": {"type": Path},
    "file": {"type": Path, "metavar": "FILE"},
    "folder": {"type": Path, "metavar": "FOLDER"},
    "results": {"type": Path, "metavar": "FOLDER", "default": RESULTS},
    "values": {"nargs": "+", "type": _field, "metavar": "FIELD=VALUE", "default": [], **ADDS_UP},
    "search": {"choices": SEARCHES},
    "texts": {"nargs": "+", "default": class_texts.TEXTS},
}
VERBS: dict[str, Verb] = {
    "lab": _lab,
    "doctor": lambda options: doctor.main(),
    "claims": _claims,
    "train": _train,
    "ablate": _ablate,
    "results": _results,
    "report": _report,
    "teach": _teach,
    "corpus": _corpus,
    "bench": _bench,
}
