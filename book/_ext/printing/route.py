"""The map of the course: each lesson a link, and a line from each to those that need it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

NUMBERS = re.compile(r"\b(\d\d)(?: to (\d\d))?\b")
ROW, BOX, LANE, BEND = 58, 50, 10, 7  # pixels; lines of different lessons run in lanes of their own


@dataclass(frozen=True)
class Stop:
    """A lesson on the map; `needs` in the lesson's words, `asks` the ids of its predictions."""

    id: str
    title: str
    question: str
    page: str
    minutes: int
    needs: str
    asks: tuple[str, ...] = ()


def numbers_in(needs: str) -> set[str]:
    """Returns the lessons that a lesson's own words say it needs.

    >>> sorted(numbers_in("lessons 01 to 03, 05 and softmax"))
    ['01', '02', '03', '05']
    """
    spans = [(int(first), int(last or first)) for first, last in NUMBERS.findall(needs)]
    return {f"{number:02d}" for first, last in spans for number in range(first, last + 1)}


def direct(needs: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Returns the needs that no other need implies: what these need in turn is left out.

    >>> direct({"01": set(), "02": {"01"}, "03": {"01", "02"}})["03"]
    {'02'}
    """
    above: dict[str, set[str]] = {}
    for id, needed in needs.items():
        if late := sorted(needed - above.keys()):
            raise ValueError(f"lesson {id} needs {', '.join(late)}, which does not come before it")
        above[id] = needed.union(*(above[other] for other in needed))
    return {id: n - set().union(*(above[other] for other in n)) for id, n in needs.items()}


def lanes(needs: Mapping[str, set[str]]) -> dict[str, int]:
    """Returns for each lesson that others need its lane, 0 beside the boxes.

    What ends first stands nearest, so that few lines cross. Lines of one lane follow on one
    another: none begins before the last of another has ended.
    """
    row = {id: place for place, id in enumerate(needs)}
    ends = {n: max(row[id] for id in needs if n in needs[id]) for id in needs for n in needs[id]}
    lane_of: dict[str, int] = {}
    for id in sorted(ends, key=lambda id: (ends[id], -row[id])):
        beside = (lane_of[o] for o in lane_of if row[o] < ends[id] and row[id] < ends[o])
        lane_of[id] = max(beside, default=-1) + 1
    return lane_of


def draw(stops: Sequence[Stop]) -> str:
    """Returns the map as SVG of the size of its page: 1 unit is 1 pixel at every width."""
    needs = direct({stop.id: numbers_in(stop.needs) for stop in stops})
    lane = lanes(needs)
    left = LANE * (max(lane.values(), default=0) + 2)
    middle = {stop.id: ROW * place + ROW // 2 for place, stop in enumerate(stops)}
    drawn = []
    for stop in stops:
        y = middle[stop.id]
        lines = [
            _line(left, left - LANE * (lane[n] + 1), middle[n], y) for n in sorted(needs[stop.id])
        ]
        description = (
            f"{stop.id} {stop.title}. {stop.question} {stop.minutes} min. Needs {stop.needs}."
        )
        drawn.append(
            f'<g role="listitem">{"".join(lines)}'
            f'<a href="{escape(stop.page)}" aria-label="{escape(description)}"'
            f' data-lesson="{stop.id}" data-asks="{" ".join(stop.asks)}">'
            f'<rect x="{left}" y="{y - BOX // 2}" height="{BOX}" rx="5"/>'
            f'<rect class="done" x="{left}" y="{y + BOX // 2 - 5}" height="5" rx="2.5" width="0"/>'
            f'<text class="title" x="{left + 12}" y="{y - 4}">{stop.id} {escape(stop.title)}</text>'
            f'<text class="wide" x="{left + 12}" y="{y + 14}">{escape(stop.question)}</text>'
            f'<text class="narrow" x="{left + 12}" y="{y + 14}">{stop.minutes} min</text>'
            f'<text class="wide end" x="100%" dx="-12" y="{y - 4}">{stop.minutes} min</text>'
            f'<text class="progress end" x="100%" dx="-12" y="{y + 14}"></text></a></g>'
        )
    return (
        f'<svg class="muonlab-map" style="--left: {left + 1}px" width="100%" '
        f'height="{ROW * len(stops)}" role="list" aria-label="The lessons, and which needs which">'
        f'{"".join(drawn)}</svg>\n<script src="../live/map.js"></script>'
    )


def _line(left: int, lane: int, start: int, end: int) -> str:
    """Draws from a lesson's box to its lane, down, and into the box of one that needs it."""
    path = f"M{left} {start + BEND}H{lane + BEND}q-{BEND} 0 -{BEND} {BEND}"
    path += f"V{end - 2 * BEND}q0 {BEND} {BEND} {BEND}H{left}"
    return f'<path d="{path}"/><circle cx="{left - 4}" cy="{end - BEND}" r="4"/>'
