// The playground: its state, the link that holds it, its controls, and the clock.

const STEPS = 100, SPEED = 12; // steps a run has, and steps a second
const range = (from, to, by) => Array.from({ length: Math.round((to - from) / by) + 1 }, (_, i) => Number((from + i * by).toFixed(2)));
const RATES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50], MOMENTA = [0, 0.5, 0.8, 0.9, 0.95];
const STOPS = { // all that a number of the state can be
  facts: range(3, 36, 1), dimension: range(3, 24, 3), tail: range(0, 2, 0.1), axes: range(0, 2, 0.1),
  batch: [0, 4, 8, 16, 32, 64], draw: range(1, 20, 1), step: range(0, STEPS, 1),
  "left-rate": RATES, "left-momentum": MOMENTA, "right-rate": RATES, "right-momentum": MOMENTA,
};
const SIDES = ["left", "right"], OPENING = SETTINGS.find(({ opens }) => opens);
const AXES = (value) => {
  const percent = Math.round(100 * (value % 1));
  if (percent) return value < 1 ? `${percent} % coupled` : `${percent} % random`;
  return ["own axes", "coupled", "random"][value];
};

// --- the link -------------------------------------------------------------------------------------

const written = (state) => `#play&${[...SIDES, ...Object.keys(STOPS)].map((name) => `${name}=${state[name]}`).join("&")}`;

// An optimizer begins with its usual step size and momentum.
const chosen = (side, rule) => ({ [side]: rule, [`${side}-rate`]: RULES[rule].rate, [`${side}-momentum`]: RULES[rule].momentum });

// Anybody can write a link: only known names are read, and of numbers the nearest that a control can show.
function read(fragment) {
  if (!fragment.startsWith("#play&") || fragment.length > 500) return null;
  const found = { ...OPENING.state };
  for (const part of fragment.slice(6).split("&")) {
    const [name, value = ""] = part.split("=");
    if (SIDES.includes(name) && Object.hasOwn(RULES, value)) Object.assign(found, chosen(name, value));
    if (Object.hasOwn(STOPS, name) && /^\d{1,6}(\.\d{1,6})?$/.test(value)) {
      found[name] = STOPS[name].reduce((best, stop) => (Math.abs(stop - value) < Math.abs(best - value) ? stop : best));
    }
  }
  return found;
}

// --- what one sees and moves ------------------------------------------------------------------------

function slider(name, label, show, set) {
  const stops = STOPS[name], output = element("span", { class: "muonlab-value", "aria-hidden": "true" });
  const input = element("input", { type: "range", "aria-label": label, min: 0, max: stops.length - 1, step: 1 });
  input.addEventListener("input", () => set({ [name]: stops[input.value] }));
  const sync = (state) => {
    if (output.textContent === show(state[name])) return; // a page that changes is laid out again
    input.value = stops.indexOf(state[name]);
    output.textContent = show(state[name]);
    input.setAttribute("aria-valuetext", output.textContent);
  };
  return { node: element("label", {}, element("span", {}, label), output, input), sync };
}

function button(words, click) {
  const node = element("button", { type: "button" }, words);
  node.addEventListener("click", click);
  return node;
}

function picture(kind, caption, words) {
  const canvas = element("canvas", { class: `muonlab-${kind}`, role: "img", "aria-label": words });
  return { canvas, node: element("figure", {}, canvas, element("figcaption", {}, caption)) };
}

function column(side, set) {
  const options = Object.entries(RULES).map(([rule, { name }]) => element("option", { value: rule }, name));
  const choice = element("select", { "aria-label": `optimizer, ${side}` }, ...options);
  choice.addEventListener("change", () => set(chosen(side, choice.value)));
  const sliders = [["rate", "step size"], ["momentum", "momentum"]].map(([what, label]) => slider(`${side}-${what}`, `${label}, ${side}`, String, set));
  const W = picture("pixels", "W", `The matrix W, ${side}: green above 0, purple below`);
  const G = picture("pixels", "−gradient", `The way down, ${side}: green above 0, purple below`);
  const spectrum = picture("spectrum", "singular values of W (bars), gradient (dots)", `Singular values, ${side}`);
  const facts = picture("facts", "facts, frequent to rare (lines: how often)", `What is known of each fact, ${side}`);
  const numbers = element("p", { class: "muonlab-note" });
  const node = element("div", { role: "group", "aria-label": side, class: "muonlab-side" },
    choice, element("div", { class: "muonlab-pair" }, W.node, G.node), spectrum.node, facts.node, numbers,
    element("div", { class: "muonlab-controls" }, ...sliders.map((one) => one.node)));
  const sync = (state) => {
    choice.value = state[side];
    sliders.forEach((one) => one.sync(state));
  };
  return { node, sync, W: W.canvas, G: G.canvas, spectrum: spectrum.canvas, facts: facts.canvas, numbers };
}

const say = (node, words) => { if (node.textContent !== words) node.textContent = words; };
const told = ({ known, correct, best, worst }) =>
  `${known} of ${correct.length} facts known, the best with ${best.toFixed(2)}, the least with ${worst.toFixed(2)}`;

// --- the clock ------------------------------------------------------------------------------------

function render({ el }) {
  root(el, "muonlab-playground");
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const linked = read(location.hash);
  let state = linked ?? OPENING.state, untouched = !linked, runs, looks, colours, time = 0;
  let playing = false, waiting = 0, last, later, drawn; // `waiting` for a frame, `later` for a rest

  const lesson = element("p", { class: "muonlab-lesson" });
  const chooser = SETTINGS.map((setting) => button(setting.title, () => {
    set({ ...setting.state, step: still.matches ? setting.state.step : 0 });
    if (!still.matches) play(true);
  }));
  const toggle = button("", () => play(!playing));
  toggle.className = "muonlab-play";
  const forward = button("Step", () => set({ step: Math.min(STEPS, Math.floor(time) + 1) }));
  const back = button("Restart", () => set({ step: 0 }));
  const scrub = slider("step", "step", (step) => `${step} of ${STEPS}`, set);
  const keys = SIDES.map(() => element("span", { class: "muonlab-key" }));
  const history = picture("timeline", "probability, from the best known fact to the least; the line is now", "The two runs over their steps");
  history.node.lastChild.prepend(...keys);
  const columns = SIDES.map((side) => column(side, set));
  const sentence = element("p", { class: "muonlab-sentence" }), spoken = element("p", { class: "muonlab-spoken", role: "status" });
  const data = [
    ["facts", "facts", String], ["dimension", "dimension", String], ["tail", "tail exponent", (x) => x.toFixed(1)],
    ["axes", "embeddings", AXES], ["batch", "batch", (n) => (n ? `${n} draws` : "all facts")], ["draw", "random draw", String],
  ].map(([name, label, show]) => slider(name, label, show, set));
  const copy = button("Copy a link to this", () => {
    keep();
    const done = (words) => () => { say(copied, words), say(spoken, words); };
    (navigator.clipboard?.writeText(location.href) ?? Promise.reject()).then(done("Copied."), done("The address of this page is the link."));
  });
  const copied = element("span", { "aria-hidden": "true" });
  const legend = element("p", { class: "muonlab-note" }, "Green is above 0, purple below. Singular values are shares of the largest. Each fact has a bar: the " +
    "probability of its right answer, from 0 to 1, known above one half; the lines say how often it is asked, as shares of the first. The gap is the best minus the least.");
  el.append(
    element("div", { class: "muonlab-buttons", role: "group", "aria-label": "Five settings worth seeing" }, ...chooser), lesson,
    element("div", { class: "muonlab-buttons" }, toggle, forward, back), history.node,
    element("div", { class: "muonlab-controls muonlab-scrub" }, scrub.node),
    element("div", { class: "muonlab-sides" }, ...columns.map((one) => one.node)), sentence, spoken, legend,
    element("div", { class: "muonlab-controls", role: "group", "aria-label": "the data of both" }, ...data.map((one) => one.node)),
    element("div", { class: "muonlab-buttons" }, copy, copied));

  function set(some) {
    untouched = false;
    if ("step" in some) play(false);
    change(some);
  }

  function change(some) {
    const id = (of) => written({ ...of, step: 0 }), before = id(state);
    state = { ...state, ...some };
    if (!runs || id(state) !== before) {
      runs = SIDES.map((side) => run(state, state[side], state[`${side}-rate`], state[`${side}-momentum`]));
    }
    time = state.step;
    say(copied, "");
    const same = SETTINGS.findIndex((setting) => id(setting.state) === id(state));
    chooser.forEach((node, i) => node.setAttribute("aria-pressed", i === same));
    say(lesson, SETTINGS[same]?.sentence ?? "A setting of your own.");
    [...data, ...columns].forEach((one) => one.sync(state));
    dress();
    settle();
  }

  function dress() { // in the colours of the page; where both have one, the right one's line is dashed
    colours = palette(el);
    looks = SIDES.map((side) => colours.who[RULES[state[side]].who]);
    if (looks[0] === looks[1]) looks[1] = { ...looks[1], dash: [2, 3] };
    columns.forEach((one, i) => {
      one.node.style.setProperty("--muonlab-mine", looks[i].colour);
      keys[i].style.borderBottom = `3px ${looks[i].dash.length ? "dashed" : "solid"} ${looks[i].colour}`;
      say(keys[i], RULES[state[SIDES[i]]].name);
    });
    drawn = undefined;
    wake();
  }

  function play(on) {
    if (on && !playing && (time >= STEPS || untouched)) time = 0;
    if (on) untouched = false;
    playing = on;
    last = undefined;
    say(toggle, on ? "Pause" : "Play");
    settle();
    wake();
  }

  // Where the clock stands still, the state is the address of the page, and is said once.
  function settle() {
    clearTimeout(later);
    later = setTimeout(() => {
      if (playing) return;
      if (runs.some(({ points }) => points.length <= state.step)) return settle();
      if (!untouched) keep();
      spoken.textContent = sentence.textContent;
      columns.forEach((one, i) => {
        const shares = runs[i].points[state.step].correct.map((share) => share.toFixed(2)).join(", ");
        one.facts.setAttribute("aria-label", `Probability of the right answer, ${SIDES[i]}, frequent to rare: ${shares}`);
      });
    }, 600);
  }

  function keep() {
    if (location.hash !== written(state)) window.history.replaceState(null, "", written(state));
  }

  const wake = () => (waiting ||= requestAnimationFrame(frame));

  // Computes for a few milliseconds, then draws as far as it came; goes on while there is something to do.
  function frame(now) {
    waiting = 0;
    const begun = performance.now(), ready = () => Math.min(...runs.map(({ points }) => points.length)) - 1;
    if (playing && last !== undefined) time = Math.min(STEPS, ready(), time + ((now - last) / 1000) * SPEED);
    last = now;
    const wanted = Math.min(STEPS, playing ? Math.floor(time) + 4 : time);
    const budget = playing ? 2 : 8; // milliseconds; a frame has 16
    while (ready() < wanted && performance.now() - begun < budget) runs.find(({ points }) => points.length - 1 === ready()).next();
    if (playing || !still.matches || ready() >= wanted) draw(Math.min(time, ready()));
    if (playing) state.step = Math.floor(time);
    if (playing && time >= STEPS) play(false);
    else if (playing || ready() < wanted) wake();
  }

  function draw(t) {
    const step = Math.floor(t), share = still.matches ? 0 : t - step;
    runs.forEach(({ points, p }, i) => {
      const from = points[step], to = points[step + 1] ?? from, one = columns[i];
      heat(one.W, mix(1 - share, from.W, share, to.W), colours);
      heat(one.G, mix(1 - share, from.G, share, to.G), colours);
      const now = from.correct.map((x, k) => (1 - share) * x + share * to.correct[k]);
      bars(one.facts, now, p.map((often) => often / p[0]), looks[i], colours, false);
    });
    if (drawn === step) return; // the rest changes with a step only
    drawn = playing ? step : undefined;
    runs.forEach(({ points }, i) => {
      const { loss, best, worst, spectra } = points[step], one = columns[i];
      const [W, G] = [spectra.W, spectra.G].map((values) => values.map((value) => value / (values[0] || 1)));
      bars(one.spectrum, W, G, looks[i], colours, true);
      say(one.numbers, `loss ${loss.toFixed(2)}, gap ${(best - worst).toFixed(2)}`);
    });
    timeline(history.canvas, runs, looks, step, STEPS, colours);
    scrub.sync({ step });
    const words = SIDES.map((side, i) => `${["Left", "Right"][i]}, ${RULES[state[side]].name}: ${told(runs[i].points[step])}.`);
    say(sentence, `Step ${step}. ${words.join(" ")}`);
  }

  const pictures = [history.canvas, ...columns.flatMap((one) => [one.spectrum, one.facts])];
  const watcher = new ResizeObserver((changes) => {
    for (const { target, contentRect } of changes) target.room = contentRect;
    drawn = undefined;
    wake();
  });
  pictures.forEach((canvas) => { (canvas.room = { width: 0, height: 0 }), watcher.observe(canvas); });
  const theme = new MutationObserver(dress);
  theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  const follow = () => {
    const found = read(location.hash);
    if (found && written(found) !== written(state)) set(found), el.scrollIntoView();
  };
  addEventListener("hashchange", follow);
  change({});
  play(false);
  if (linked || location.hash === "#playground") el.scrollIntoView(); // what is drawn pushed it away
  return () => { watcher.disconnect(), theme.disconnect(), removeEventListener("hashchange", follow), cancelAnimationFrame(waiting), clearTimeout(later); };
}

export default { render, run, read, written, SETTINGS, RULES, STOPS };
