"""Checks of lesson 16: what is wrong with an answer, said so that it can be mended."""

import math
from collections.abc import Callable

from muonlab.classroom.exercise import Mistakes, compare
from muonlab.classroom.guarded import NotYet, call
from muonlab.classroom.kinds import Wrong, described, one_of, real_number
from muonlab.experiments import HERE, Hypothesis, Search, chance_to_see, estimate, seeds_needed


def e3(answer: Callable) -> None:
    """The whole interval on one side of the predicted size, or no verdict."""
    cases = [
        (0.03, 0.06, 0.02),
        (-0.02, 0.06, 0.01),
        (0.01, 0.03, 0.02),
        (0.0, 0.03, 0.05),
        (-0.04, 0.0, 0.02),
        (-0.05, -0.01, 0.02),
        (0.0, 0.05, 0.03),
        (-0.05, -0.03, 0.02),
        (0.01, 0.03, 0.04),
        (-0.01, 0.03, 0.04),
        (0.02, 0.04, 0.02),
        (0.0, 0.02, 0.02),
        (-0.01, 0.02, 0.0),
        (-0.01, 0.05, -0.02),
        (-0.05, -0.01, -0.02),
        (-0.05, -0.03, -0.01),
        (0.02, 0.02, 0.02),
        (0.0199, 0.04, 0.02),
        (0.0, 0.0199, 0.02),
    ]
    verdicts = one_of("supported", "refuted", "cannot tell")
    otherwise = 'Only two comparisons count: low ≥ by is "supported", high < by is "refuted". '
    compare(answer, cases, _verdicts, returns=verdicts, otherwise=otherwise.strip())


def _verdicts(low: float, high: float, by: float) -> tuple[str, Mistakes]:
    def rule(supported: bool, refuted: bool) -> str:
        return "supported" if supported else "refuted" if refuted else "cannot tell"

    mean, right = (low + high) / 2, rule(low >= by, high < by)
    turned = {"supported": "refuted", "refuted": "supported", "cannot tell": "cannot tell"}
    size, zero = abs(by), "Zero plays no part: compare with `by`."
    equal_low = "A low end that equals the size is enough: the hypothesis says at least."
    equal_high = "Where the high end equals the size, the size itself is not ruled out."
    inside = "Where the size lies inside, a true difference on either side of it is possible."
    return right, [
        (rule(low > by, high < by), equal_low),
        (rule(low >= by, high <= by), equal_high),
        (rule(low > by, high <= by), f"{equal_low} {equal_high}"),
        (rule(low >= 0, high < 0), f"You compared with 0. {zero}"),
        (rule(low > 0, high < 0), f"You compared with 0. {zero}"),
        (rule(low > 0, high <= 0), f"You compared with 0. {zero}"),
        (rule(low >= by, high < 0), f"You refute below 0 only. {zero}"),
        (rule(low >= by, high <= 0), f"You refute below 0 only. {zero}"),
        (rule(low > 0, high < by), f"You support above 0. {zero}"),
        (rule(low >= 0, high < by), f"You support above 0. {zero}"),
        ("cannot tell" if low < 0 < high else right, f"You ask whether 0 lies inside. {zero}"),
        ("cannot tell" if low <= 0 <= high else right, f"You ask whether 0 lies inside. {zero}"),
        (rule(low >= size, high < -size), "You refute below −by only. An interval below `by` refutes it."),
        (rule(low >= by, high < -by), "You refute below −by only. An interval below `by` refutes it."),
        (rule(low >= size, high < size), "You dropped the sign of `by`. It may be negative: no worse than by so much."),
        (rule(mean >= by, mean < by), f"You compared the middle of the interval. {inside}"),
        (rule(mean > by, mean <= by), f"You compared the middle of the interval. {inside}"),
        (rule(low >= by, low < by), f"What is not supported is not refuted. {inside}"),
        (rule(high >= by, high < by), f"The high end alone does not support. {inside}"),
        (rule(high > by, high <= by), f"The high end alone does not support. {inside}"),
        (rule(low >= by, mean < by), f"The middle of the interval does not refute. {inside}"),
        (rule(mean >= by, high < by), f"The middle of the interval does not support. {inside}"),
        (rule(high - low >= by, False), "You compared the width of the interval. Compare its two ends."),
        (turned[right], "Supported and refuted have changed places."),
        (rule(low >= by, low < 0), f"You refute where the low end is below 0. {zero} {inside}"),
        ("supported", "You always say the same."),
        ("refuted", "You always say the same."),
        ("cannot tell", "You always say the same."),
    ]


PIECES = ("hypothesis", "search", "spread", "truth", "pairs", "hours")
SPEED = 1e10  # operations a second
TRIALS = 8  # a side, at least
STARTER = [{"VO", "FFN"}, {"QK", "VO", "FFN"}]  # the groups that one of the lesson's questions compares


def e4(answer: Callable) -> str:
    """A plan whose pieces fit together."""
    plan = call(answer)
    if not isinstance(plan, dict):
        raise Wrong(f"Expected a dictionary of your pieces; your function returned {described(plan)}.")
    if unknown := [name for name in plan if name not in PIECES]:
        raise Wrong(f"There is no piece {unknown[0]!r}; the pieces are {', '.join(PIECES)}.")
    fitting: list[str] = []
    for name in PIECES:
        if plan.get(name) is None:
            so_far = f"Right so far: {', '.join(fitting)}. " if fitting else ""
            raise NotYet(f"{so_far}Next: {name!r}.")
        {"hypothesis": _asked, "search": _tuned, "pairs": _enough, "hours": _priced}.get(name, _guessed(name))(plan)
        fitting.append(name)
    asked, pairs = plan["hypothesis"], plan["pairs"]
    runs = len(_trials(plan)) + len(asked.sides()) * int(pairs)
    return f"{asked}: {int(pairs)} pairs, {runs} runs, {float(plan['hours']):.2g} hours. It can be stated as it is."


def _asked(plan: dict) -> None:
    asked = plan["hypothesis"]
    if not isinstance(asked, Hypothesis):
        raise Wrong(f"'hypothesis' must be a Hypothesis; it is {described(asked)}.")
    if not asked.by:
        raise Wrong("Your hypothesis has no size. Which difference would make you change your setting? Write by=…")
    if {*asked.better} == {"muon"} and [{*side.muon} for side in asked.sides()] in (STARTER, STARTER[::-1]):
        raise Wrong("These are the lesson's own sides. Ask something that you want to know.")


def _tuned(plan: dict) -> None:
    asked, search = plan["hypothesis"], plan["search"]
    if not isinstance(search, Search):
        raise Wrong(f"'search' must be a Search, such as hypothesis.search(trials=16); it is {described(search)}.")
    trials, named = _trials(plan), {*asked.better, *asked.shared}
    sides = {tuple(side.values()) for side in asked.settings}
    sides_of_trials = [tuple(getattr(c, f) for f in asked.settings[0]) for c in trials]
    if {*sides_of_trials} != sides:
        raise Wrong("The search is of other settings than the hypothesis. Make it by hypothesis.search(…).")
    if any(named & knob.options for side in asked.sides() for knob in search.knobs(side)):
        raise Wrong("A knob turns what the hypothesis names, so the sides would no longer be what they are called.")
    counts = [sides_of_trials.count(side) for side in sides]
    if min(counts) != max(counts):
        raise Wrong(f"One side has {min(counts)} trials, the other {max(counts)}. Give both as many.")
    few, *_, many = sorted(len(search.knobs(side)) for side in asked.sides())
    if few < min(many, 2) or not few:
        raise Wrong(f"One side turns {few} knobs, the other {many}. Each tunes what the other does: knobs=knobs_of.")
    if min(counts) < TRIALS:
        raise Wrong(f"Each side has {min(counts)} trials. Take {TRIALS} or more: few trials flatter one side.")


def _trials(plan: dict) -> list:
    search = plan["search"]
    first = search.tunings[0].grid(HERE)
    return [*first, *[c for n in search.rounds[1:] for side in plan["hypothesis"].sides() for c in [side] * n]]


def _guessed(name: str) -> Callable[[dict], None]:
    def look(plan: dict) -> None:
        value = real_number(plan[name])
        if not math.isfinite(value) or (name == "spread" and value <= 0):
            raise Wrong(f"'{name}' must be a finite number{' above 0' if name == 'spread' else ''}; it is {value:g}.")
        if name == "truth" and value == plan["hypothesis"].by:
            raise Wrong("The truth is the size: then no number of seeds gives a verdict. Move one of them.")

    return look


def _enough(plan: dict) -> None:
    pairs, by = real_number(plan["pairs"]), plan["hypothesis"].by
    truth, spread = float(real_number(plan["truth"])), float(real_number(plan["spread"]))
    distance = abs(truth - by)
    needed = seeds_needed(distance, spread)
    if pairs == needed:
        return
    if pairs != int(pairs) or pairs < 2:
        raise Wrong(f"'pairs' must be a whole number, at least 2; it is {pairs:g}.")
    if truth > 0 and pairs == seeds_needed(truth, spread):
        raise Wrong("So many pairs show that the difference is not 0. The verdict compares with the size: by=….")
    chance = chance_to_see(distance, spread, int(pairs))
    word = "supported" if truth > by else "refuted"
    if pairs < needed:
        raise Wrong(f"With {pairs:g} pairs the verdict is {word!r} in {chance:.0%} of the cases. Plan for 80 %.")
    raise Wrong(f"With {pairs:g} pairs it is {word!r} in {chance:.0%}. The least number for 80 % costs less.")


def _priced(plan: dict) -> None:
    hours, sides = float(real_number(plan["hours"])), plan["hypothesis"].sides()
    finals = [*sides] * int(plan["pairs"])
    trials = estimate(_trials(plan), SPEED).hours
    final = estimate(finals, SPEED).hours
    mistakes = [
        (final, "You left the trials out: tuning is part of the price."),
        (trials, "You left the final runs out: two for each pair."),
        (trials + final / 2, "You counted one run for each pair. There are two."),
        ((trials + final) / 2, "That is one side. Both are tuned and run."),
        (trials / 2 + final, "You counted the trials of one side. Both are tuned."),
        ((trials + final) * 3600, "These are seconds: an hour has 3600."),
        ((trials + final) * 60, "These are minutes: an hour has 60."),
        ((trials + final) / 24, "These are days. Return hours."),
    ]
    if abs(hours / (trials + final) - 1) <= 0.02:
        return
    for value, message in mistakes:
        if abs(hours / value - 1) <= 0.02:
            raise Wrong(message)
    raise Wrong("Add up all trials of both sides and two runs a pair, at 1e10 operations a second: `estimate` does.")
