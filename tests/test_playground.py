"""The home page's playground: its numbers are the package's, its five sentences are true."""

import json
import math
import re
from functools import cache

import pytest
import torch
from test_browser import browser, open_page

from muonlab import polar
from muonlab.optim.normuon import NorMuon
from muonlab.publishing import book
from muonlab.theory import answers, coupled, descent, direction, power_law, train

browser = browser  # the fixture of test_browser
RULES = {"gd": "gd", "sign": "sign", "muon": "muon", "ns": "newton_schulz", "adam": "adam"}
SETTINGS = json.loads((book.PLAYGROUND / "settings.json").read_text(encoding="utf-8"))
BASE = SETTINGS[0]["state"]
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
        if turn > 1:
            Q = polar((2 - turn) * Q + (turn - 1) * polar(gaussian(d, d, source)))
        yield Q @ (torch.eye(d).double()[:, :K] if d >= K else gaussian(d, K, source))


def batches(state, p):
    source = numbers(state["draw"], 2)
    while True:
        drawn = torch.tensor([next(source) for _ in range(state["batch"])]).double()
        facts = torch.searchsorted(p.cumsum(0), drawn, right=True).clamp(max=len(p) - 1)
        yield torch.bincount(facts, minlength=len(p)) / len(drawn) if len(drawn) else p


@cache
def run_cached(key, side, steps):
    """Probabilities (steps + 1, K), losses, the last W, and its −∇L."""
    state = dict(key)
    rule, rate, momentum = (state[side + what] for what in ("", "-rate", "-momentum"))
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
            rows.append(answers(W, E, values).diagonal())
            G = descent(W, E, values, next(seen))
            if step == steps:
                return torch.stack(rows), -(torch.stack(rows).log() * p).sum(1), W, G
            W.grad = -G
            if optimizer:
                optimizer.step()
            else:
                M = momentum * M + (1 - momentum) * G
                W += rate * direction(M, RULES[rule])
    return None


def run(state, side, steps=100):
    return run_cached(tuple(state.items()), side, steps)


def correct(state, side, **changed):
    return run({**state, **changed}, side)[0]


def gap(p):
    return (p.amax(1) - p.amin(1)).max()


def known(p):
    return int((p > 0.5).sum())


@pytest.mark.parametrize(("rule", "rate"), [("gd", 5), *((r, 0.1) for r in list(RULES)[1:])])
def test_the_runs_of_this_file_are_those_of_theory(rule, rate):
    state = {**BASE, "axes": 1.5, "left": rule, "left-rate": rate, "left-momentum": 0.8}
    p = power_law(state["facts"], state["tail"])
    options = {"momentum": 0.8, "beta2": 0.95 if RULES[rule] == "adam" else 0.0}
    expected = train(p, *embeddings(state), RULES[rule], rate, STEPS, **options)
    found = run(state, "left", STEPS)
    torch.testing.assert_close(found[0], expected.correct)
    torch.testing.assert_close(found[1], expected.loss)


# --- five settings worth seeing ------------------------------------------------------------------


def rare_facts_wait(state):
    gd, muon = (correct(state, side)[40] for side in ("left", "right"))
    assert (gd.diff() < 0).all()
    for rate in (10, 20, 50):  # as far along, and later
        faster = correct(state, "left", **{"left-rate": rate})
        assert (faster[200 // rate].diff() < 0).all()
        assert (faster[40] > gd).all()
    assert (muon[0] - muon[-1]).abs() < 0.1 < 0.5 < gd[0] - gd[-1]
    return (
        "Gradient descent learns facts in the order of how often they are asked: at step 40 the "
        f"most frequent has probability {gd[0]:.2f} and the rarest {gd[-1]:.2f}. Muon gives them "
        f"{muon[0]:.2f} and {muon[-1]:.2f}. Larger steps shorten the wait and keep the order."
    )


def the_axes_turn(state):
    own, turned = (gap(correct(state, "left", axes=axes)) for axes in (0, 2))
    assert own < 1e-9
    assert all(gap(correct(state, "left", draw=draw)) > 0.7 for draw in range(2, 6))
    return (
        "Sign descent, which is Adam without its memory, keeps all facts level in their own axes: "
        f"the largest gap is {own:.2f}. Where the axes are turned at random it is {turned:.2f}. "
        "Move “embeddings” to its left end."
    )


def muon_does_not_care(state):
    turns = (0, 0.3, 1, 1.6, 2)
    first, *others = (correct(state, "right", axes=axes) for axes in turns)
    for other in others:
        torch.testing.assert_close(first, other)
    own, turned = (gap(correct(state, "left", axes=axes)) for axes in (0, 2))
    assert own < 1e-9
    return (
        "In axes turned at random Adam's rare facts wait: the largest gap between its best and its "
        f"least known fact is {turned:.2f}, Muon's is {gap(first):.2f}. Turn the axes with "
        "“embeddings”: Muon's run stays the same, and in the facts' own axes Adam's gap is "
        f"{own:.2f}."
    )


def batch_and_momentum(state):
    bare, mended = (correct(state, side)[60] for side in ("left", "right"))
    full = correct(state, "left", batch=0)
    assert gap(full) < 0.1
    for draw in range(2, 6):  # not this draw alone
        pair = (correct(state, side, draw=draw)[60] for side in ("left", "right"))
        assert known(next(pair)) < 20 < known(next(pair))
    assert known(mended) == state["facts"]
    return (
        f"A batch of {state['batch']} draws misses rare facts: at step 60 Muon without momentum "
        f"knows {known(bare)} of {len(bare)}. Momentum {state['right-momentum']} remembers earlier "
        "batches, and Muon knows all."
    )


def too_many_facts(state):
    adam, muon = (correct(state, side)[100] for side in ("left", "right"))
    assert gap(correct(state, "right")) > 0.9
    shorter = correct(state, "left", **{"left-rate": 0.1})[100]
    assert known(shorter) < known(muon) < known(adam)
    for side in ("left", "right"):
        assert known(correct(state, side, facts=12)[100]) == 12
    return (
        f"{len(adam)} facts share {state['dimension']} dimensions and disturb each other: Muon "
        f"does not keep them level either. After 100 steps Adam knows {known(adam)} and Muon "
        f"{known(muon)}. Who knows more depends on the step sizes. With 12 facts both know all."
    )


SENTENCES = [rare_facts_wait, the_axes_turn, muon_does_not_care, batch_and_momentum, too_many_facts]


@pytest.mark.parametrize(("setting", "sentence"), [*zip(SETTINGS, SENTENCES, strict=True)])
def test_a_setting_worth_seeing_says_what_happens(setting, sentence):
    assert setting["title"].replace(" ", "_").lower() == sentence.__name__
    assert setting["sentence"] == sentence(setting["state"])


def test_one_setting_opens_and_the_page_is_light():
    assert sum("opens" in setting for setting in SETTINGS) == 1
    assert len(book.playground_module().encode()) <= 32_500


# --- in a browser --------------------------------------------------------------------------------


def state(rule, rate, momentum, facts, dimension, tail, axes, batch, draw):
    data = dict(facts=facts, dimension=dimension, tail=tail, axes=axes, batch=batch, draw=draw)
    return {**BASE, **data, "left": rule, "left-rate": rate, "left-momentum": momentum}


TWENTY = [
    state(*row)
    for row in [
        ("gd", 5, 0, 24, 24, 1, 0, 0, 1),
        ("gd", 20, 0.9, 36, 12, 0.5, 1.3, 16, 2),
        ("gd", 50, 0.5, 3, 3, 2, 1, 4, 20),
        ("sign", 0.05, 0, 24, 24, 1, 2, 0, 1),
        ("sign", 0.1, 0.8, 12, 18, 1.2, 1, 32, 3),
        ("sign", 0.01, 0.95, 36, 24, 0, 0.7, 64, 4),
        ("adam", 0.05, 0.9, 24, 24, 1, 2, 0, 1),
        ("adam", 0.1, 0, 12, 12, 1.5, 0.2, 0, 5),
        ("adam", 0.02, 0.95, 36, 15, 0.8, 1.7, 8, 6),
        ("adam", 0.2, 0.5, 10, 21, 2, 0, 64, 7),
        ("muon", 0.2, 0, 24, 24, 1, 2, 0, 1),
        ("muon", 0.1, 0.9, 24, 24, 1, 2, 32, 1),
        ("muon", 0.5, 0, 36, 12, 1, 2, 0, 1),
        ("muon", 0.2, 0.95, 7, 9, 0, 0.5, 4, 8),
        ("ns", 0.1, 0, 24, 24, 1, 0, 0, 9),
        ("ns", 0.2, 0.9, 12, 24, 1.9, 1.4, 16, 10),
        ("ns", 0.05, 0.5, 30, 6, 1, 1, 32, 11),
        ("normuon", 0.1, 0, 24, 24, 1, 2, 0, 12),
        ("normuon", 0.2, 0.95, 15, 15, 0.6, 0.9, 8, 13),
        ("normuon", 0.05, 0.8, 36, 18, 1.1, 1.8, 64, 14),
    ]
]
RUN = """async ([source, states, steps]) => {
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const { run, RULES } = (await import(url)).default;
  return [Object.keys(RULES), states.map((state) => {
    const { points, next } = run(state, state.left, state["left-rate"], state["left-momentum"]);
    while (points.length <= steps) next();
    const { W, G, spectra } = points.at(-1), list = (A) => [...A.at];
    const all = (name) => points.map((point) => point[name]);
    return { correct: all("correct"), loss: all("loss"), W: list(W), G: list(G), spectra };
  })];
}"""


@pytest.fixture(scope="module")
def window(browser, tmp_path_factory):
    """A page with the playground as the book has it; `visit(fragment)` opens it."""
    loader = (book.PLAYGROUND.parent / "assets" / "live" / "widgets.js").read_text("utf-8")
    path = tmp_path_factory.mktemp("page") / "page.html"
    body = book.playground().replace(
        '<script src="../live/widgets.js"></script>', f"<script>{loader}</script>"
    )
    path.write_text(f"<!doctype html><meta charset=utf-8><body>{body}", encoding="utf-8")
    far = '<p style="height: 3000px">words</p>'
    amid = f"<!doctype html><meta charset=utf-8><body>{far}{body}{far}"
    path.with_name("amid.html").write_text(amid, encoding="utf-8")
    page = open_page(browser, 375)
    page.set_default_timeout(20_000)

    def visit(fragment="", name=path.name):
        page.goto("about:blank")
        page.goto(path.with_name(name).as_uri() + fragment)
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


@pytest.fixture(scope="module")
def computed(window):
    return window.evaluate(RUN, [book.playground_module(), TWENTY, STEPS])


@pytest.mark.browser
@pytest.mark.parametrize("number", range(len(TWENTY)))
def test_the_numbers_are_those_of_the_package(number, computed):
    found, setting = computed[1][number], TWENTY[number]
    correct, loss, W, G = run(setting, "left", STEPS)
    E, values = embeddings(setting)
    mine = {name: torch.tensor(found[name]).double() for name in ("correct", "loss", "W", "G")}
    matrices = {name: mine[name].view(W.shape) for name in "WG"}
    check(mine["correct"], correct)
    check(mine["loss"], loss)
    check(matrices["G"], G)
    if setting["left"] == "muon":  # late in a run, rounding in Python's gradient has a direction,
        pairs = (values.mT @ A @ E for A in (matrices["W"], W))  # which moves all answers alike
        check(*(logits - logits.mean(0) for logits in pairs))
    else:
        check(matrices["W"], W)
    for name, matrix in matrices.items():
        check(torch.tensor(found["spectra"][name]), torch.linalg.svdvals(matrix))


def check(mine, theirs):
    torch.testing.assert_close(mine.float(), theirs.detach().float())


@pytest.mark.browser
def test_the_twenty_settings_hold_every_optimizer(computed):
    assert set(computed[0]) == {setting["left"] for setting in TWENTY}


READ = """async ([source, fragments]) => {
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const { read, written, SETTINGS } = (await import(url)).default;
  return [fragments.map(read), SETTINGS.map(({ state }) => [state, read(written(state))])];
}"""


@pytest.mark.browser
def test_a_link_is_read_strictly_and_holds_every_setting(page):
    opening = next(setting["state"] for setting in SETTINGS if "opens" in setting)
    cases = {
        "#play&facts=999999&dimension=25&tail=0.14": {"facts": 36, "dimension": 24, "tail": 0.1},
        "#play&facts=-5&step=1e9&tail=Infinity&axes=0x1&batch=": {},
        "#play&left=<img src=x onerror=alert(1)>&right=constructor&__proto__=1&toString=2": {},
        "#play&left=gd&left-rate=7": {"left": "gd", "left-rate": 5, "left-momentum": 0},
        "#play&right=ns": {"right": "ns", "right-rate": 0.1, "right-momentum": 0},
        "#play&step=3&step=4&&=&=5": {"step": 4},
    }
    others = ["", "#results", "#play&" + "a" * 999]
    found, settings = page.evaluate(READ, [book.playground_module(), [*cases, *others]])
    for (fragment, changed), state in zip(cases.items(), found, strict=False):
        assert state == {**opening, **changed}, fragment
    assert found[len(cases) :] == [None, None, None]
    assert all(before == after for before, after in settings)


def sentence(page):
    return page.locator(".muonlab-sentence").inner_text()


def reaches(page, step):
    page.locator(".muonlab-sentence", has_text=f"Step {step}.").wait_for()


@pytest.mark.browser
def test_a_link_to_the_playground_amid_a_page_shows_it(page):
    page.visit("#playground", "amid.html")
    top = "document.querySelector('.muonlab-playground').getBoundingClientRect().top"
    page.wait_for_function(f"Math.abs({top}) < 100")


@pytest.mark.browser
@pytest.mark.parametrize("fragment", ["#play&left=<b>x</b>&facts=%", "#%", "#play&step=<script>"])
def test_a_hostile_link_opens_the_page_as_it_is(page, fragment):
    page.visit(fragment)
    reaches(page, 20)
    assert page.locator(".muonlab-playground :is(b, script)").count() == 0


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
    page.wait_for_function("said.length === 1")
    page.get_by_role("button", name="Rare facts wait").click()
    assert page.locator(".muonlab-lesson").inner_text() == SETTINGS[0]["sentence"]
    page.wait_for_function("+document.querySelector('.muonlab-scrub input').value >= 9")
    assert page.evaluate("said.length") == 1, "nothing is said while it plays"
    page.get_by_role("button", name="Pause").press("Space")
    page.wait_for_function("said.length === 2")
    step = page.get_by_role("slider", name="step", exact=True)
    assert page.evaluate("said[1]") == sentence(page)
    assert f"step={step.input_value()}&" in page.url
    left, right = (run(SETTINGS[0]["state"], side)[0] for side in ("left", "right"))
    for p, words in zip((left, right), sentence(page).split("Right"), strict=True):
        now = p[int(step.input_value())]
        assert f"{known(now)} of 24 facts known, the best with {now.max():.2f}" in words


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
    choice = page.get_by_role("combobox", name="optimizer, left")
    choice.select_option("gradient descent")
    assert page.get_by_role("slider", name="step size, left").get_attribute("aria-valuetext") == "5"
    page.get_by_role("button", name="Restart").press("Enter")
    reaches(page, 0)
    for name in ("facts", "dimension", "tail exponent", "embeddings", "batch", "random draw"):
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
    page.get_by_role("button", name="Too many facts").click()
    reaches(page, 100)
    assert page.get_by_role("button", name="Play").count() == 1
