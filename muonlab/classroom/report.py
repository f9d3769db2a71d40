"""The report of an experiment: one HTML file that asks no other host for anything."""

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

import muonlab
from muonlab.classroom import figures
from muonlab.classroom.output import Table
from muonlab.classroom.widget import script
from muonlab.files import replace_file
from muonlab.records import table as tables
from muonlab.records.record import Record
from muonlab.studies.hypothesis import METRICS, Finding, Hypothesis, by_seed, judge, shown

WHERE = (
    *("code", "muonlab", "torch", "python", "device", "threads", "precision", "processes"),
    *("system", "corpus", "corpus_sha256"),
)
POINTS = 100  # of a curve: more cannot be told apart


def page(
    hypothesis: Hypothesis, runs: Iterable[Record], *, stated: str = "", conclusion: str = ""
) -> str:
    """Returns the page: verdict, figures with their words, losses by seed, settings, provenance.

    Args:
        runs: those of other contestants are left out.
        stated: when, as in `hypothesis.Statement.utc`; "" when nobody wrote it down.
        conclusion: the experimenter's own words.

    Raises:
        ValueError: the runs cannot answer (see `hypothesis.judge`).
    """
    runs = list(runs)
    finding = judge(hypothesis, runs)
    figures.style()
    sides = [by_seed(runs, groups) for groups in (hypothesis.than, hypothesis.lower)]
    used = [run for seed in finding.seeds for run in (side[seed] for side in sides)]
    names = [shown(hypothesis.than), shown(hypothesis.lower)]
    curves = {name: list(side.values()) for name, side in zip(names, sides, strict=True)}
    parts = [
        f"<h1>{escape(str(hypothesis))}</h1>",
        f'<p class="verdict"><strong>{finding.verdict.capitalize()}.</strong> {told(finding)}</p>',
        f"<p>{escape(_order(stated, used))}</p>",
        "<h2>Seed by seed</h2>",
        figures.as_html(differences(finding), alternative(finding)),
        _losses(finding, names),
        "<h2>Training</h2>",
        figures.as_html(_training(curves), _training_told(curves)),
        "<h2>All measures</h2>",
        _measures(hypothesis, runs),
        "<p>Only the measure of the hypothesis was predicted. The others can raise a question, "
        "not settle one.</p>",
        "<h2>Settings and provenance</h2>",
        _settings(names, sides),
        _provenance(used),
        "<h2>Conclusion</h2>",
        f"<p>{escape(conclusion) or 'None was written.'}</p>",
        "<h2>To run it again</h2>",
        *(f"<p><code>{escape(run.provenance['command'])}</code></p>" for run in used),
    ]
    title = escape(f"{hypothesis}: {finding.verdict}")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width"><title>{title}</title><style>\n{script("report.css")}</style></head>\n'
        f"<body><main>\n{chr(10).join(parts)}\n<p>Made by muonlab {muonlab.__version__}.</p>\n"
        "</main></body></html>\n"
    )


def write(html: str, path: Path) -> None:
    """Puts a page at `path`, whole or not at all; FileNotFoundError names a missing folder."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent}: make it, or name another file")
    replace_file(path, html.encode())


def told(finding: Finding) -> str:
    """Returns the result in a sentence or two."""
    mean, low, high = finding.interval
    by, seeds = finding.hypothesis.by, len(finding.seeds)
    both = _sides(finding.hypothesis)
    first = (
        f"Over {seeds} seeds, {both} is {mean:+.3f} nats, with a 95 % interval from {low:+.3f} to "
        f"{high:+.3f}; predicted was at least {by:g}."
    )
    if not by or low >= by:
        return first
    direction = "is shown" if low >= 0 else "is refuted" if high < 0 else "is open"
    return f"{first} The direction alone {direction}."


def alternative(finding: Finding) -> str:
    """Returns what the figure of the differences shows, for those who do not see it."""
    by_hand = ", ".join(f"{d:+.3f}" for d in np.subtract(finding.than, finding.lower))
    return f"Differences of {len(finding.seeds)} seeds: {by_hand}. {told(finding)}"


def differences(finding: Finding) -> Figure:
    """Returns the differences by seed, their interval, and lines at 0 and at what was predicted."""
    figure, axes = plt.subplots(figsize=(6.6, 2.2))
    mean, low, high = finding.interval
    apart = np.subtract(finding.than, finding.lower)
    axes.plot(apart, np.ones(len(apart)), "o", color="C0", alpha=0.6)
    axes.errorbar(mean, 0, xerr=[[mean - low], [high - mean]], fmt="D", color="C3", capsize=5)
    axes.axvline(0, color="black", linewidth=1)
    axes.axvline(finding.hypothesis.by, color="black", linewidth=1, linestyle=(0, (4, 3)))
    axes.set_yticks([1, 0], labels=["seeds", "95 % interval"])
    axes.set(
        xlabel=f"{_sides(finding.hypothesis)}, nats (dashed: predicted, at least)", ylim=(-0.6, 1.6)
    )
    return figure


def _sides(hypothesis: Hypothesis) -> str:
    return f"{shown(hypothesis.than)} minus {shown(hypothesis.lower)}"


def _order(stated: str, used: Sequence[Record]) -> str:
    first = min(run.provenance["utc"] for run in used)
    if not stated:
        return (
            f"The first run ended at {first}. When the hypothesis was stated is not on record, so "
            "a reader cannot know which came first."
        )
    when = "before" if stated <= first else "AFTER"
    return f"Stated at {stated}, {when} the first run ended at {first}."


def _losses(finding: Finding, names: Sequence[str]) -> str:
    rows = [
        [str(seed), f"{than:.4f}", f"{lower:.4f}", f"{than - lower:+.4f}"]
        for seed, than, lower in zip(finding.seeds, finding.than, finding.lower, strict=True)
    ]
    means = [np.mean(side) for side in (finding.than, finding.lower)]
    rows.append(["mean", *(f"{m:.4f}" for m in means), f"{finding.interval.mean:+.4f}"])
    heads = ["seed", *names, "difference"]
    return _table("Held-out loss in nats, " + finding.hypothesis.metric, heads, rows)


def _training(curves: dict[str, list[Record]]) -> Figure:
    steps = min(len(run.train_loss) for side in curves.values() for run in side)
    at = np.unique(np.linspace(0, steps - 1, POINTS).astype(int))
    means = {
        name: np.mean([[run.train_loss[i] for i in at] for run in side], axis=0)
        for name, side in curves.items()
    }
    return figures.lines(at + 1, means, xlabel="step", ylabel="training loss, mean over seeds")


def _training_told(curves: dict[str, list[Record]]) -> str:
    ends = {name: np.mean([run.train_loss[-1] for run in side]) for name, side in curves.items()}
    words = ", ".join(f"{name} at {end:.2f}" for name, end in ends.items())
    return f"The training loss by step, a mean over the seeds, ends for {words}."


def _measures(hypothesis: Hypothesis, runs: Sequence[Record]) -> str:
    rows = []
    for metric in METRICS:
        if all(run.held_out and run.held_out[-1].get(metric) is not None for run in runs):
            of = Hypothesis(hypothesis.lower, hypothesis.than, hypothesis.by, metric)
            mark = "yes" if metric == hypothesis.metric else "no"
            rows.append([metric, str(judge(of, runs).interval), mark])
    heads = ["held-out loss", "difference, 95 % interval", "predicted?"]
    return _table("Nats below, by class of token", heads, rows)


def _settings(names: Sequence[str], sides: Sequence[dict[int, Record]]) -> str:
    one, two = (next(iter(side.values())).config for side in sides)
    fields = [field for field in one if field != "seed"]
    rows = [[f, tables.shown(one[f]), tables.shown(two[f])] for f in fields if one[f] != two[f]]
    same = ", ".join(f"{f}={tables.shown(one[f])}" for f in fields if one[f] == two[f])
    caption = "What differs between the two sides (lr is Muon's rate, adamw_lr that of AdamW)"
    return _table(caption, ["setting", *names], rows) + f"<p>The same for both: {escape(same)}.</p>"


def _provenance(used: Sequence[Record]) -> str:
    rows = [
        [name, ", ".join(dict.fromkeys(str(run.provenance.get(name, "?")) for run in used))]
        for name in WHERE
    ]
    rows += [
        ["runs", str(len(used))],
        ["tokens", f"{sum(run.tokens for run in used):,}"],
        ["seconds of training", f"{sum(run.seconds for run in used):.0f}"],
    ]
    return _table("What it was run on", ["provenance", "value"], rows)


def _table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    html = Table(heads, rows).html(caption)
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption)}">{html}</div>'
    )
