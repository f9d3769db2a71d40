"""The home page's playground: its numbers are the package's, its five sentences are true."""

import colorsys
import json
import math
import re
from functools import cache

import pytest
import scipy
import torch
from test_browser import browser, open_page
from test_figures import SEEN, least_distance

from muonlab import polar
from muonlab.optim.normuon import NorMuon
from muonlab.theory import answers, coupled, direction, memorize, power_law
from printing import book

browser = browser  # the fixture of test_browser
RULES = {"gd": "gd", "sign": "sign", "muon": "muon", "ns": "newton_schulz", "adam": "adam"}
SETTINGS = json.loads((book.PLAYGROUND / "settings.json").read_text(encoding="utf-8"))
BASE = next(setting["state"] for setting in SETTINGS if "opens" in setting)
STEPS = 60


# --- the same runs by the package ----------------------------------------------------------------


def numbers(draw, stream):
    """The playground's random numbers."""
    x = 7919 * (4 * draw + stream)
    for _ in range(10):
        x = 48271 * x % (2**31 - 1)
    while True:
        x = 48271 * x % (2**31 - 1)
        yield x / (2**31 - 1)


def gaussian(d, K, source):
    def one():
        return math.sqrt(-2 * math.log(next(source))) * math.cos(2 * math.pi * next(source))

    return torch.tensor([[one() for _ in range(K)] for _ in range(d)]).double() / math.sqrt(d)


def embeddings(state):
    K, d, turn = state["facts"], state["dimension"], state["axes"]
    for stream, Q in enumerate(coupled(d, min(turn, 1))):
        source = numbers(state["draw"], stream)
        own = torch.eye(d).double()[:, :K] if d >= K else gaussian(d, K, source)
        if turn > 1:
            at_random = polar(gaussian(d, d, source))
            at_random[0] *= at_random.det().sign()
            Q = polar((2 - turn) * Q + (turn - 1) * at_random)
        yield Q @ own


def batches(state, p):
    source = numbers(state["draw"], 2)
    while True:
        drawn = torch.tensor([next(source) for _ in range(state["batch"])]).double()
        facts = torch.searchsorted(p.cumsum(0), drawn, right=True).clamp(max=len(p) - 1)
        yield torch.bincount(facts, minlength=len(p)) / len(drawn) if len(drawn) else p


def run(state, side, steps=100):
    """Probabilities (steps + 1, K), losses, the last W, and its −∇L, of one row."""
    own = {name: state[side + name] for name in ("", "-rate", "-momentum")}
    shared = {name: state[name] for name in ("facts", "dimension", "tail", "axes", "batch", "draw")}
    return run_cached(tuple(shared.items()), *own.values(), steps)


@cache
def run_cached(key, rule, rate, momentum, steps):
    state = dict(key)
    E, values = embeddings(state)
    p, d = power_law(state["facts"], state["tail"]), state["dimension"]
    W, M = torch.nn.Parameter(torch.zeros(d, d).double()), torch.zeros(d, d).double()
    optimizer = None
    if rule == "adam":
        optimizer = torch.optim.Adam([W], rate, (float(momentum), 0.95), eps=1e-12)
    if rule == "normuon":
        options = {"weight_decay": 0, "momentum": momentum, "nesterov": False}
        optimizer = NorMuon([W], rate, scale="released", ns_dtype=torch.float64, **options)
    rows, seen = [], batches(state, p)
    with torch.no_grad():
        for step in range(steps + 1):
            P = answers(W, E, values)
            rows.append(P.diagonal())
            G = values @ ((torch.eye(len(p)) - P) * next(seen)) @ E.mT
            if step == steps:
                return torch.stack(rows), -(torch.stack(rows).log() * p).sum(1), W, G
            W.grad = -G
            if optimizer:
                optimizer.step()
            else:
                M = momentum * M + (1 - momentum) * G
                W += rate * direction(M, RULES[rule])


def correct(state, side, steps=100, **changed):
    return run({**state, **changed}, side, steps)[0]


def rate_of_pace(state, side):
    """The step size with which the best fact reaches 0.9 at the state's pace."""

    def above(rate):
        return correct(state, side, state["pace"], **{f"{side}-rate": rate}).max().item() - 0.9

    high = 0.01
    while above(high) < 0:
        high *= 2
    low = high / 2 if high > 0.01 else 0
    return 1.00001 * scipy.optimize.brentq(above, low, high, rtol=1e-6)  # so that it is reached


def paced(state, *sides, **changed):
    """The state with the step sizes of its pace, of both sides or of these."""
    state = {**state, **changed}
    if not state["pace"]:
        return state
    return state | {
        f"{side}-rate": rate_of_pace(state, side) for side in sides or ("left", "right")
    }


def first(p, share=0.9):
    """The first step at which some fact has this probability."""
    return int((p.amax(1) >= share).float().argmax())


def gap(p):
    return (p.amax(1) - p.amin(1)).max()


def known(p):
    return int((p > 0.5).sum())


@pytest.mark.parametrize(("rule", "rate"), [("gd", 5), *((r, 0.1) for r in list(RULES)[1:])])
def test_the_runs_of_this_file_are_those_of_theory(rule, rate):
    state = {**BASE, "axes": 1.5, "left": rule, "left-rate": rate, "left-momentum": 0.8}
    p = power_law(state["facts"], state["tail"])
    options = {"momentum": 0.8, "beta2": 0.95 if RULES[rule] == "adam" else 0.0}
    expected = memorize(p, *embeddings(state), RULES[rule], rate, STEPS, **options)
    found = run(state, "left", STEPS)
    torch.testing.assert_close(found[0], expected.correct)
    torch.testing.assert_close(found[1], expected.loss)


# --- five settings worth seeing ------------------------------------------------------------------


def adam_and_muon(state):
    adam, muon = (correct(state, side) for side in ("left", "right"))
    now = state["step"]
    assert now == first(adam) == first(muon), "what the sentence says of the best"
    for axes in (0, 0.3, 1.6):
        torch.testing.assert_close(correct(state, "right", axes=axes), muon)
    for change in ({"draw": 2}, {"draw": 3}, {"pace": 5}, {"pace": 60}):  # not these alone
        other = paced(state, **change)
        adams, muons = (known(correct(other, side)[other["pace"]]) for side in ("left", "right"))
        assert adams < 5 < 24 == muons
    own = correct(paced(state, "left", axes=0), "left")
    assert gap(own) < 1e-9
    assert gap(own) < gap(muon), "in their own axes Adam is the more level of the two"
    long = correct(state, "left", **{"left-rate": 10 * state["left-rate"]})
    last = int((long.amin(1) > 0.5).float().argmax())
    assert last > 3 * first(long) > 0
    return (
        f"In axes turned at random Adam's rare facts wait: at step {now}, where both rows know "
        f"their best fact with {adam[now].max():.2f}, Adam knows {known(adam[now])} of 24 and Muon "
        f"{known(muon[now])}. Larger steps shorten the wait and keep the order: with ten times as "
        f"large ones Adam's best fact is there at step {first(long)}, and the last is known at "
        f"{last}. Move “where a fact lies”: Muon's run stays the same, and in the facts' own axes "
        f"Adam's gap is {gap(own):.2f}."
    )


def gradient_descent_and_muon(state):
    gd, muon = (correct(state, side)[state["step"]] for side in ("left", "right"))
    assert (gd.diff() < 0).all()
    slow = state["left-rate"]
    for times in (2, 4, 8):  # as far along, and later
        faster = correct(state, "left", **{"left-rate": times * slow})
        assert (faster[40 // times].diff() < 0).all()
        assert (faster[40] > gd).all()
    assert (muon[0] - muon[-1]).abs() < 0.1 < 0.5 < gd[0] - gd[-1]
    return (
        "Gradient descent learns facts in the order of how often they are asked: at step 40 the "
        f"most frequent has probability {gd[0]:.2f} and the rarest {gd[-1]:.2f}. Muon gives them "
        f"{muon[0]:.2f} and {muon[-1]:.2f}. Larger steps shorten the wait and keep the order."
    )


def too_many_facts(state):
    adam, muon = (correct(state, side)[40] for side in ("left", "right"))
    assert gap(correct(state, "right")) > 0.9
    few = paced(state, facts=12)
    for side in ("left", "right"):
        assert known(correct(few, side)[100]) == 12
    return (
        f"{len(adam)} facts share {state['dimension']} dimensions and disturb each other: Muon "
        f"does not keep them level either. At step 40 it knows {known(muon)}, its least with "
        f"{muon.min():.2f}; Adam knows {known(adam)}. With 12 facts both learn all."
    )


def the_axes_turn(state):
    own, turned = (gap(correct(paced(state, "left", axes=axes), "left")) for axes in (0, 2))
    assert own < 1e-9
    for draw in (2, 3):
        assert gap(correct(paced(state, "left", draw=draw), "left")) > 0.7
    return (
        "Sign descent, which is Adam without its memory, keeps all facts level in their own axes: "
        f"the largest gap is {own:.2f}. Where the axes are turned at random it is {turned:.2f}. "
        "Move “where a fact lies” to its left end."
    )


def batch_and_momentum(state):
    bare, mended = (correct(state, side)[60] for side in ("left", "right"))
    full = correct(state, "left", batch=0)
    assert gap(full) < 0.1
    for draw in (2, 3):  # not this draw alone
        pair = (correct(state, side, draw=draw)[60] for side in ("left", "right"))
        assert known(next(pair)) < 20 < known(next(pair))
    assert known(mended) == state["facts"]
    return (
        f"A batch of {state['batch']} draws misses rare facts: at step 60 Muon without momentum "
        f"knows {known(bare)} of {len(bare)}. Momentum {state['right-momentum']} remembers earlier "
        "batches, and Muon knows all."
    )


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting["title"])
def test_a_setting_worth_seeing_says_what_happens(setting):
    """The function above that has its title finds the words."""
    find = globals()[setting["title"].replace(" ", "_").lower()]
    assert setting["sentence"] == find(paced(setting["state"]))


def test_both_rows_know_their_best_fact_at_the_same_step():
    for setting in (setting for setting in SETTINGS if setting["state"]["pace"]):
        state = setting["state"]
        used = dict(zip(("left-rate", "right-rate"), setting["rates"], strict=True))
        for side in ("left", "right"):
            assert abs(first(correct(state | used, side)) - state["pace"]) <= 1
            assert paced(state)[f"{side}-rate"] == pytest.approx(used[f"{side}-rate"], rel=1e-3)


def test_adam_meets_muon_at_one_pace_one_setting_opens_and_the_page_is_light():
    for setting in SETTINGS:
        sides = {setting["state"][side] for side in ("left", "right")}
        assert setting["state"]["pace"] or sides == {"muon"}
    assert len(SETTINGS) == 5
    assert sum("opens" in setting for setting in SETTINGS) == 1
    assert sum("front" in setting for setting in SETTINGS) == 3
    assert len(book.playground_module().encode()) <= 43_000


# --- in a browser --------------------------------------------------------------------------------


def state(rule, rate, momentum, facts, dimension, tail, axes, batch, draw):
    data = dict(facts=facts, dimension=dimension, tail=tail, axes=axes, batch=batch, draw=draw)
    return {**BASE, **data, "left": rule, "left-rate": rate, "left-momentum": momentum}


SETTINGS_OF_ALL = [
    state("gd", 20, 0.9, 36, 12, 0.5, 1.3, 16, 2),
    state("gd", 50, 0.5, 3, 3, 2, 1, 4, 20),
    state("sign", 0.05, 0, 24, 24, 1, 2, 0, 1),
    state("sign", 0.01, 0.95, 36, 24, 0, 0.7, 64, 4),
    state("adam", 0.1, 0, 12, 12, 1.5, 0.2, 0, 5),
    state("adam", 0.02, 0.95, 36, 15, 0.8, 1.7, 8, 6),
    state("muon", 0.5, 0, 36, 12, 1, 2, 0, 1),
    state("muon", 0.2, 0.95, 7, 9, 0, 0.5, 4, 8),
    state("ns", 0.1, 0, 24, 24, 1, 0, 0, 9),
    state("ns", 0.2, 0.9, 12, 24, 1.9, 1.4, 16, 10),
    state("normuon", 0.1, 0, 24, 24, 1, 2, 0, 12),
    state("normuon", 0.2, 0.95, 15, 15, 0.6, 0.9, 8, 13),
]
RUN = """async ([source, states, steps]) => {
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const { run, RULES } = (await import(url)).default;
  return [Object.keys(RULES), states.map((state) => {
    const { points, next } = run(state, state.left, state["left-rate"], state["left-momentum"]);
    while (points.length <= steps) next();
    const { W, G, spectra } = points.at(-1), list = (A) => [...A.at];
    const all = (name) => points.map((point) => point[name]);
    const [one, two] = [all("correct"), all("loss")];
    return { correct: one, loss: two, W: list(W), G: list(G), spectra: spectra() };
  })];
}"""


@pytest.fixture(scope="module")
def window(browser, tmp_path_factory):
    """A page with the playground as the book has it; `visit(fragment)` opens it."""
    loader = (book.PLAYGROUND.parent / "assets" / "live" / "widgets.js").read_text("utf-8")
    folder = tmp_path_factory.mktemp("page")
    body = book.playground().replace(
        '<script src="../live/widgets.js"></script>', f"<script>{loader}</script>"
    )
    for name, around in (("page.html", ""), ("amid.html", '<p style="height: 3000px">words</p>')):
        text = f"<!doctype html><meta charset=utf-8><body>{around}{body}{around}"
        (folder / name).write_text(text, encoding="utf-8")
    page = open_page(browser, 375)
    page.set_default_timeout(20_000)

    def visit(fragment="", name="page.html"):
        page.goto("about:blank")
        page.goto((folder / name).as_uri() + fragment)
        page.locator(".muonlab-playground .muonlab-sentence:not(:empty)").wait_for()
        return page

    page.visit = visit
    yield page
    page.context.close()


@pytest.fixture
def page(window):
    window.faults.clear()
    window.emulate_media(reduced_motion="null")
    yield window
    assert window.faults == []


@pytest.mark.browser
def test_the_numbers_are_those_of_the_package(page):
    rules, runs = page.evaluate(RUN, [book.playground_module(), SETTINGS_OF_ALL, STEPS])
    assert set(rules) == {setting["left"] for setting in SETTINGS_OF_ALL}
    for setting, drawn in zip(SETTINGS_OF_ALL, runs, strict=True):
        correct, loss, W, G = run(setting, "left", STEPS)
        E, values = embeddings(setting)
        shown = {name: torch.tensor(drawn[name]).double() for name in ("correct", "loss", "W", "G")}
        matrices = {name: shown[name].view(W.shape) for name in "WG"}
        check(shown["correct"], correct, setting)
        check(shown["loss"], loss, setting)
        check(matrices["G"], G, setting)
        if setting["left"] == "muon":  # late in a run, rounding in Python's gradient has a
            # direction, which moves all answers alike
            pairs = (values.mT @ A @ E for A in (matrices["W"], W))
            check(*(logits - logits.mean(0) for logits in pairs), setting)
        else:
            check(matrices["W"], W, setting)
        for name, matrix in matrices.items():
            check(torch.tensor(drawn["spectra"][name]), torch.linalg.svdvals(matrix), setting)


def check(drawn, expected, setting):
    torch.testing.assert_close(
        drawn.float(), expected.detach().float(), msg=lambda m: f"{setting}: {m}"
    )


OLD_STATE = {"right": "ns", "step": 20, "pace": 0, "right-rate": 0.2, "right-momentum": 0.5}
READ = """async ([source, fragments]) => {
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const { read, written, SETTINGS } = (await import(url)).default;
  return [fragments.map(read), SETTINGS.map(({ state }) => [state, read(written(state))])];
}"""


@pytest.mark.browser
def test_a_link_is_read_strictly_and_holds_every_setting(page):
    cases = {
        "#play&facts=999999&dimension=25&tail=0.14": {"facts": 36, "dimension": 24, "tail": 0.1},
        "#play&facts=-5&step=1e9&tail=Infinity&axes=0x1&batch=": {},
        "#play&left=<img src=x onerror=alert(1)>&right=constructor&__proto__=1&toString=2": {},
        "#play&left=gd&left-rate=7": {"left": "gd", "left-rate": 5, "left-momentum": 0, "pace": 0},
        "#play&pace=21&left-rate=1": {"pace": 20, "left-rate": 1},
        # as all links were before step sizes had a pace
        "#play&left=adam&right=ns&facts=24&dimension=24&tail=1&axes=2&batch=0&draw=1&step=20"
        "&left-rate=0.05&left-momentum=0.9&right-rate=0.2&right-momentum=0.5": OLD_STATE,
        "#play&right=ns": {"right": "ns", "right-rate": 0.1, "right-momentum": 0},
        "#play&step=3&step=4&&=&=5": {"step": 4},
    }
    others = ["", "#results", "#play&" + "a" * 999]
    found, settings = page.evaluate(READ, [book.playground_module(), [*cases, *others]])
    for (fragment, changed), state in zip(cases.items(), found, strict=False):
        assert state == {**BASE, **changed}, fragment
    assert found[len(cases) :] == [None, None, None]
    assert all(before == after for before, after in settings)


def sentence(page):
    return page.locator(".muonlab-sentence").inner_text()


def reaches(page, step):
    page.locator(".muonlab-sentence", has_text=re.compile(f"Step {step}:")).wait_for()


@pytest.mark.browser
def test_a_link_to_the_playground_amid_a_page_shows_it(page):
    page.visit("#playground", "amid.html")
    top = "document.querySelector('.muonlab-playground').getBoundingClientRect().top"
    page.wait_for_function(f"Math.abs({top}) < 100")


@pytest.mark.browser
def test_a_hostile_link_opens_the_page_as_it_is(page):
    page.emulate_media(reduced_motion="reduce")  # or it plays on past step 40
    for fragment in ("#play&left=<b>x</b>&facts=%", "#%", "#play&step=<script>"):
        page.visit(fragment)
        reaches(page, 40)
        assert page.locator(".muonlab-playground :is(b, script)").count() == 0


BARS = """row => {
  const canvas = document.querySelectorAll(".muonlab-facts")[row], { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  const mine = getComputedStyle(canvas.parentNode).getPropertyValue("--muonlab-mine");
  const want = [1, 3, 5].map((at) => parseInt(mine.slice(at, at + 2), 16));
  const tops = Array(24).fill(0);
  for (let x = 0; x < width; x++) for (let y = 0; y < height; y++) {
    const fact = Math.floor((24 * x) / width), share = (height - 1 - y) / (height - 3);
    const near = want.every((c, i) => Math.abs(data[4 * (y * width + x) + i] - c) < 40);
    if (near) tops[fact] = Math.max(tops[fact], share);
  }
  return tops;
}"""  # how high each fact's bar is, in the row's colour


def coloured(page):
    return [page.evaluate(BARS, row) for row in (0, 1)]


@pytest.mark.browser
def test_it_plays_once_by_itself_and_leaves_the_page_alone(page):
    page.visit()
    before = page.evaluate("[document.activeElement.tagName, scrollY, location.href]")
    reaches(page, "[2-9][0-9]?")
    assert page.evaluate("performance.now()") < 5000, "a second, and a busy machine"
    assert page.get_by_role("button", name="Pause").is_visible()
    reaches(page, 100)
    page.get_by_role("button", name="Play").wait_for()
    page.wait_for_timeout(1000)
    reaches(page, 100)
    after = page.evaluate("[document.activeElement.tagName, scrollY, location.href]")
    assert after == before
    assert page.locator(".muonlab-spoken").inner_text() == ""


@pytest.mark.browser
def test_the_numbers_of_the_sentence_are_those_of_the_picture(page):
    page.visit()
    reaches(page, "[45][0-9]")  # before step 40 most of Adam's bars end near the line
    page.get_by_role("button", name="Pause").click()
    page.wait_for_timeout(700)
    words = r"knows (\d+)(?: of 24 facts)?, the best with (0\.\d\d), the least with (0\.\d\d)"
    said = re.findall(words, sentence(page))
    beside = page.locator(".muonlab-row span").all_inner_texts()
    assert beside == [f"knows {count} of 24 facts" for count, *_ in said]
    step = int(re.match(r"Step (\d+)", sentence(page))[1])
    state = paced(SETTINGS[0]["state"])
    often = power_law(24, 1) * (1 / power_law(24, 1)[0])
    for side, told, tops in zip(("left", "right"), said, coloured(page), strict=True):
        now = correct(state, side)[step]
        assert told == (f"{known(now)}", f"{now.max():.2f}", f"{now.min():.2f}")
        clear = (now - often).abs() > 0.08  # of the line that says how often
        assert clear.sum() > 5
        torch.testing.assert_close(
            torch.tensor(tops)[clear].double(), now[clear], atol=0.03, rtol=0
        )


HUES = """() => {
  const canvas = document.querySelector(".muonlab-pixels"), { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height), found = [];
  for (let k = 0; k < data.length; k += 4) {
    if (data[k + 3] > 120) found.push([...data.slice(k, k + 3)]);
  }
  const looks = (name) => getComputedStyle(document.querySelector(".muonlab-signs ." + name));
  const swatches = ["above", "below"].map((sign) => looks("muonlab-" + sign).backgroundColor);
  return [found, swatches, document.querySelector(".muonlab-signs").textContent];
}"""
WORDS = {"green": (90, 170), "purple": (265, 320)}  # degrees of hue


def word(colour):
    hue = 360 * colorsys.rgb_to_hsv(*(c / 255 for c in colour))[0]
    return next((name for name, (low, high) in WORDS.items() if low <= hue <= high), hue)


@pytest.mark.browser
def test_the_colours_drawn_are_those_that_the_legend_names(page):
    page.emulate_media(reduced_motion="reduce")
    page.visit("#play&step=40&facts=12&dimension=12")
    for theme in ("light", "dark"):
        page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        reaches(page, 40)
        page.wait_for_timeout(500)
        drawn, swatches, legend = page.evaluate(HUES)
        assert {*map(word, drawn)} == {"green", "purple"}
        names = re.findall(r"(\w+) is (?:above|below) 0", legend)
        assert names == ["green", "purple"]
        colours = [tuple(map(int, re.findall(r"\d+", swatch)[:3])) for swatch in swatches]
        assert [word(colour) for colour in colours] == names
        labels = page.locator(".muonlab-pixels").evaluate_all("all => all.map(c => c.ariaLabel)")
        assert all(f"{names[0]} above 0, {names[1]} below" in label for label in labels)
        codes = ["#{:02x}{:02x}{:02x}".format(*colour) for colour in colours]
        for eye in SEEN:  # also one without red or without green cones
            assert least_distance(codes, eye) > 0.11


TURNS = """async ([source, state]) => {
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const { embeddings, rates, run, STOPS } = (await import(url)).default, sides = ["left", "right"];
  let skew = 0;
  for (const draw of STOPS.draw) for (const axes of STOPS.axes) {
    for (const { rows: d, columns: K, at } of embeddings({ ...state, draw, axes })) {
      for (let i = 0; i < K; i++) for (let j = 0; j < K; j++) {
        let sum = 0;
        for (let k = 0; k < d; k++) sum += at[k * K + i] * at[k * K + j];
        skew = Math.max(skew, Math.abs(sum - (i === j)));
      }
    }
  }
  const turned = [1, 7].flatMap((draw) => STOPS.axes.map((axes) => ({ ...state, draw, axes })));
  return [skew, turned.map((one) => {
    const used = rates(one);
    return [one, used, sides.map((side, i) => {
      const { points, next } = run(one, one[side], used.rates[i], one[`${side}-momentum`]);
      while (points.length <= 60) next();
      const reached = (point) => point.best >= 0.9;
      return [points.findIndex(reached), points.map((point) => point.correct)];
    })];
  })];
}"""


@pytest.mark.browser
def test_at_every_stop_of_every_draw_axes_are_at_right_angles_and_the_rows_at_one_pace(page):
    page.set_default_timeout(0)
    skew, stops = page.evaluate(TURNS, [book.playground_module(), BASE])
    page.set_default_timeout(20_000)
    assert skew < 1e-9
    assert len(stops) == 2 * 21
    muon_first = None
    for state, used, (left, right) in stops:
        assert used["found"]
        for at, _ in (left, right):
            assert abs(at - state["pace"]) <= 1, state
        muon = torch.tensor(right[1]).double()
        muon_first = muon if muon_first is None else muon_first
        torch.testing.assert_close(muon, muon_first, atol=1e-6, rtol=0)  # wherever the axes lie
    for state, used, sides in stops[5::8]:  # and so says Python
        for side, rate, (at, _) in zip(("left", "right"), used["rates"], sides, strict=True):
            assert first(correct(state, side, steps=60, **{f"{side}-rate": rate})) == at


@pytest.mark.browser
def test_a_setting_plays_stops_and_is_said_once(page):
    page.visit()
    page.evaluate(
        """() => {
          window.said = [];
          const node = document.querySelector(".muonlab-spoken");
          const keep = () => said.push(node.textContent);
          new MutationObserver(keep).observe(node, { childList: true });
        }"""
    )
    page.get_by_role("button", name="Gradient descent and Muon").click()
    assert page.locator(".muonlab-lesson").text_content() == SETTINGS[1]["sentence"]
    page.wait_for_function("+document.querySelector('.muonlab-scrub input').value >= 9")
    assert page.evaluate("said.length") == 0, "nothing is said while it plays"
    page.get_by_role("button", name="Pause").press("Space")
    page.wait_for_function("said.length === 1")
    page.locator(".muonlab-more > summary").click()
    step = page.get_by_role("slider", name="step", exact=True)
    assert page.evaluate("said[0]") == sentence(page)
    assert f"step={step.input_value()}&" in page.url


@pytest.mark.browser
def test_keys_step_scrub_and_choose(page):
    page.visit("#play&step=5&facts=6&dimension=6")
    step = page.get_by_role("slider", name="step", exact=True)
    page.get_by_role("button", name="Step", exact=True).press("Enter")
    reaches(page, 6)
    step.press("ArrowRight")
    reaches(page, 7)
    forward = sentence(page)
    step.press("End")
    reaches(page, 100)
    for _ in range(3):
        step.press("Home")
        step.press("PageUp")  # Chromium's tenth of the range
        for _ in range(3):
            step.press("ArrowLeft")
    reaches(page, 7)
    assert sentence(page) == forward, "the past is kept"
    assert all(map(any, coloured(page)))
    page.get_by_role("button", name="Restart").press("Enter")
    page.locator(".muonlab-sentence", has_text="Nothing learned yet.").wait_for()
    assert not any(map(any, coloured(page)))
    choice = page.get_by_role("combobox", name="optimizer, upper row")
    choice.select_option("gradient descent")
    few = paced(SETTINGS[1]["state"], facts=6, dimension=6)
    size = page.get_by_role("slider", name="step size, upper")
    assert size.get_attribute("aria-valuetext") == f"{few['left-rate']:.3g}"
    names = (
        "facts, dimension, tail exponent, batch, random draw, where a fact lies, best fact at 0.9"
    )
    for name in (*names.split(", "), "step size, upper", "momentum, lower"):
        slider = page.get_by_role("slider", name=name, exact=True)
        before = slider.get_attribute("aria-valuetext")
        last = slider.input_value() == slider.get_attribute("max")
        slider.press("ArrowLeft" if last else "ArrowRight")
        assert slider.get_attribute("aria-valuetext") != before, name
    assert page.locator(".muonlab-lesson").inner_text() == "A setting of your own."
    assert page.evaluate("document.documentElement.scrollWidth") <= 375


@pytest.mark.browser
def test_a_link_restores_what_was_seen(page):
    page.visit("#play&left=normuon&right=ns&facts=9&dimension=12&batch=16&axes=0.4&step=31")
    reaches(page, 31)
    before = sentence(page)
    page.get_by_role("button", name="Copy a link to this").click()
    link = page.url
    assert re.search("#play&left=normuon&right=ns&facts=9&.*step=31", link)
    page.visit("#" + link.split("#")[1])
    reaches(page, 31)
    assert sentence(page) == before


@pytest.mark.browser
def test_with_reduced_motion_nothing_moves_by_itself(page):
    page.emulate_media(reduced_motion="reduce")
    page.visit()
    page.wait_for_timeout(1200)
    reaches(page, 40)
    page.get_by_role("button", name="Too many facts").click()
    page.locator(".muonlab-sentence", has_text="of 36 facts").wait_for()
    reaches(page, 40)
    assert page.get_by_role("button", name="Play").count() == 1
