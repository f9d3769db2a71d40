// The playground: its state, the link that holds it, its controls, and the clock.

const STEPS = 100, SPEED = 12; // steps a run has, and steps a second
const range = (from, to, by) => Array.from({ length: Math.round((to - from) / by) + 1 }, (_, i) => Number((from + i * by).toFixed(2)));
const RATES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50], MOMENTA = [0, 0.5, 0.8, 0.9, 0.95];
const STOPS = { // all that a number of the state can be
  facts: range(3, 36, 1), dimension: range(3, 24, 3), tail: range(0, 2, 0.1), axes: range(0, 2, 0.1),
  batch: [0, 4, 8, 16, 32, 64], draw: range(1, 20, 1), step: range(0, STEPS, 1), pace: [0, 5, 10, 20, 30, 40, 60],
  "left-rate": RATES, "left-momentum": MOMENTA, "right-rate": RATES, "right-momentum": MOMENTA,
};
const SIDES = ["left", "right"], ROWS = ["upper", "lower"], OPENING = SETTINGS.find(({ opens }) => opens);
const AXES = (value) => {
  const percent = Math.round(100 * (value % 1));
  if (percent) return value < 1 ? `${percent} % spread in threes` : `${percent} % spread over all`;
  return ["in one number of the matrix", "spread over nine numbers", "spread over all numbers"][value];
};
const NOTHING = "Nothing learned yet. Who will learn the rare facts first?";
const nearest = (stops, value) => stops.reduce((best, stop) => (Math.abs(stop - value) < Math.abs(best - value) ? stop : best));

// The step sizes of both sides: of equal pace, unless the state says "by hand" (pace 0), or there are none.
function rates(state) {
  const equal = state.pace && SIDES.map((side) => paced(state, side)), found = equal && !equal.includes(null);
  return { rates: found ? equal : SIDES.map((side) => state[`${side}-rate`]), found };
}

for (const { state, rates } of SETTINGS) { // known before: the page opens at once
  if (rates) SIDES.forEach((side, i) => KEPT.set(pacedKey(state, side), rates[i]));
}

// --- the link -------------------------------------------------------------------------------------

const written = (state) => {
  const names = Object.keys(STOPS).filter((name) => !(state.pace && name.endsWith("-rate")));
  return `#play&${[...SIDES, ...names].map((name) => `${name}=${state[name]}`).join("&")}`;
};

// An optimizer begins with its usual step size and momentum.
const chosen = (side, rule) => ({ [side]: rule, [`${side}-rate`]: RULES[rule].rate, [`${side}-momentum`]: RULES[rule].momentum });

// Anybody can write a link: only known names are read, and of numbers the nearest that a control can show. A link
// with a step size, as they once all were, means it.
function read(fragment) {
  if (!fragment.startsWith("#play&") || fragment.length > 500) return null;
  const found = { ...OPENING.state };
  const parts = fragment.slice(6).split("&").map((part) => part.split("="));
  if (parts.some(([name]) => /^(left|right)-rate$/.test(name)) && !parts.some(([name]) => name === "pace")) found.pace = 0;
  for (const [name, value = ""] of parts) {
    if (SIDES.includes(name) && Object.hasOwn(RULES, value)) Object.assign(found, chosen(name, value));
    if (Object.hasOwn(STOPS, name) && /^\d{1,6}(\.\d{1,6})?$/.test(value)) found[name] = nearest(STOPS[name], value);
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
    input.value = stops.indexOf(nearest(stops, state[name]));
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

// What is always seen of a side: its name, how much it knows, and a bar a fact.
function row(which) {
  const name = element("strong"), known = element("span"), facts = element("canvas", { class: "muonlab-facts", role: "img" });
  const node = element("figure", { class: "muonlab-row" }, element("figcaption", {}, name, known), facts);
  facts.setAttribute("aria-label", `What is known of each fact, ${which} row`);
  return { node, name, known, facts };
}

// The rest of a side.
function column(side, which, set, byHand) {
  const options = Object.entries(RULES).map(([rule, { name }]) => element("option", { value: rule }, name));
  const choice = element("select", { "aria-label": `optimizer, ${which} row` }, ...options);
  choice.addEventListener("change", () => set(chosen(side, choice.value)));
  const sliders = [
    slider(`${side}-rate`, `step size, ${which}`, (rate) => String(Number(rate.toPrecision(3))), byHand),
    slider(`${side}-momentum`, `momentum, ${which}`, String, set),
  ];
  const W = picture("pixels", "W", `The matrix W, ${which} row: ${SIGNS.above} above 0, ${SIGNS.below} below`);
  const G = picture("pixels", "−gradient", `The way down, ${which} row: ${SIGNS.above} above 0, ${SIGNS.below} below`);
  const values = picture("spectrum", "singular values of W (bars), gradient (dots)", `Singular values, ${which} row`);
  const numbers = element("p", { class: "muonlab-note" });
  const node = element("div", { role: "group", "aria-label": `${which} row`, class: "muonlab-side" },
    choice, element("div", { class: "muonlab-pair" }, W.node, G.node), values.node, numbers,
    element("div", { class: "muonlab-controls" }, ...sliders.map((one) => one.node)));
  const sync = (state) => {
    choice.value = state[side];
    sliders.forEach((one) => one.sync(state));
  };
  return { node, sync, W: W.canvas, G: G.canvas, spectrum: values.canvas, numbers };
}

const say = (node, words) => { if (node.textContent !== words) node.textContent = words; };
const told = ({ known, best, worst }, of) => `knows ${known}${of}, the best with ${best.toFixed(2)}, the least with ${worst.toFixed(2)}.`;

// Why the gradient has singular values of 0.
function zeros({ facts, dimension }) {
  if (facts > dimension) return "There are more facts than dimensions: the gradient uses all of these.";
  const why = "for each key the softmax's errors sum to 0 over all answers, so one direction is never pushed";
  if (facts === dimension) return `The gradient's last singular value is 0: ${why}. Muon leaves a 0 as it is.`;
  return `The gradient's last ${dimension - facts + 1} singular values are 0: there are ${facts} facts only, and ${why}. Muon leaves a 0 as it is.`;
}

// --- the clock ------------------------------------------------------------------------------------

function render({ el }) {
  root(el, "muonlab-playground");
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const linked = read(location.hash);
  let state = linked ?? { ...OPENING.state, step: still.matches ? OPENING.state.step : 0 }, untouched = !linked, runs, looks, colours;
  let used, names, time = 0, since = 0;
  let playing = false, waiting = 0, last, later, drawn; // `waiting` for a frame, `later` for a rest

  const lesson = element("p", { class: "muonlab-lesson" });
  const chooser = SETTINGS.map((setting) => button(setting.title, () => {
    set({ ...setting.state, step: still.matches ? setting.state.step : 0 });
    if (!still.matches) play(true);
  }));
  const toggle = button("", () => {
    if (!playing && (time >= STEPS || untouched)) time = 0;
    untouched = false;
    play(!playing);
  });
  toggle.className = "muonlab-play";
  const forward = button("Step", () => set({ step: Math.min(STEPS, Math.floor(time) + 1) }));
  const back = button("Restart", () => set({ step: 0 }));
  const scrub = slider("step", "step", (step) => `${step} of ${STEPS}`, set);
  const keys = SIDES.map(() => element("span", { class: "muonlab-key" }));
  const history = picture("timeline", "probability, from the best known fact to the least; the line is now", "The two runs over their steps");
  history.node.lastChild.prepend(...keys);
  const hands = () => Object.fromEntries(SIDES.map((side, i) => [`${side}-rate`, nearest(RATES, used.rates[i])])); // what is used now
  const byHand = (some) => set({ ...hands(), pace: 0, ...some });
  const rows = ROWS.map(row), columns = SIDES.map((side, i) => column(side, ROWS[i], set, byHand));
  const sentence = element("p", { class: "muonlab-sentence" }), spoken = element("p", { class: "muonlab-spoken", role: "status" });
  const axes = slider("axes", "where a fact lies", AXES, set);
  const pace = slider("pace", "best fact at 0.9", (step) => (step ? `at step ${step}` : "step sizes by hand"), (some) => set({ ...hands(), ...some }));
  const data = [
    ["facts", "facts", String], ["dimension", "dimension", String], ["tail", "tail exponent", (x) => x.toFixed(1)],
    ["batch", "batch", (n) => (n ? `${n} draws` : "all facts")], ["draw", "random draw", String],
  ].map(([name, label, show]) => slider(name, label, show, set));
  const copy = button("Copy a link to this", () => {
    keep();
    const done = (words) => () => { say(copied, words), say(spoken, words); };
    (navigator.clipboard?.writeText(location.href) ?? Promise.reject()).then(done("Copied."), done("The address of this page is the link."));
  });
  const copied = element("span", { "aria-hidden": "true" });
  const rule = element("span"), zero = element("p", { class: "muonlab-note" });
  const swatch = (sign) => element("span", {}, element("i", { class: `muonlab-swatch muonlab-${sign}` }), `${SIGNS[sign]} is ${sign} 0`);
  const [front, others] = [true, false].map((first) => chooser.filter((_, i) => first === Boolean(SETTINGS[i].front)));
  const more = element("details", { class: "muonlab-more" },
    element("summary", {}, "More: optimizers, step sizes, data, matrices and their spectra"), lesson,
    element("div", { class: "muonlab-buttons", role: "group", "aria-label": "Other settings worth seeing" }, ...others),
    history.node, element("div", { class: "muonlab-controls muonlab-scrub" }, scrub.node, forward),
    element("div", { class: "muonlab-controls", role: "group", "aria-label": "both rows" }, pace.node, ...data.map((one) => one.node)),
    element("div", { class: "muonlab-sides" }, ...columns.map((one) => one.node)), zero,
    element("p", { class: "muonlab-note muonlab-signs" }, swatch("above"), swatch("below"), element("span", {}, "Singular values are shares of the largest. The gap is the best fact minus the least.")),
    element("div", { class: "muonlab-buttons" }, copy, copied));
  el.append(
    ...rows.map((one) => one.node), element("p", { class: "muonlab-often", "aria-hidden": "true" }, element("span", {}, "asked often"), element("span", {}, "asked rarely")),
    element("div", { class: "muonlab-drive muonlab-buttons" }, toggle, back, element("div", { class: "muonlab-controls" }, axes.node)),
    element("div", { class: "muonlab-buttons muonlab-three", role: "group", "aria-label": "Three settings worth seeing" }, ...front), sentence, spoken,
    element("p", { class: "muonlab-note" }, "Each bar is a fact: the probability of its right answer, solid above one half. The line shows how often it is asked. ", rule), more);

  function set(some) {
    untouched = false;
    if ("step" in some) play(false);
    change(some);
  }

  function change(some) {
    const id = (of) => written({ ...of, step: 0 }), before = id(state);
    state = { ...state, ...some };
    if (!runs || id(state) !== before) {
      used = rates(state);
      runs = SIDES.map((side, i) => run(state, state[side], used.rates[i], state[`${side}-momentum`]));
      since = performance.now();
    }
    time = state.step;
    names = SIDES.map((side, i) => RULES[state[side]].name + (state.left === state.right ? `, ${ROWS[i]} row,` : ""));
    say(copied, "");
    const same = SETTINGS.findIndex((setting) => id(setting.state) === id(state));
    chooser.forEach((node, i) => node.setAttribute("aria-pressed", i === same));
    say(lesson, SETTINGS[same]?.sentence ?? "A setting of your own.");
    say(zero, zeros(state));
    if (used.found) say(rule, `Step sizes: in both rows the best fact reaches 0.9 at step ${state.pace}.`);
    else say(rule, state.pace ? `No step size brings the best fact to 0.9 at step ${state.pace}: they are set by hand.` : "Step sizes are set by hand.");
    const shown = { ...state, "left-rate": used.rates[0], "right-rate": used.rates[1] };
    [axes, pace, ...data, ...columns].forEach((one) => one.sync(shown));
    dress();
    settle();
  }

  function dress() { // in the colours of the page; where both have one, the right one's line is dashed
    colours = palette(el);
    looks = SIDES.map((side) => colours.who[RULES[state[side]].who]);
    if (looks[0] === looks[1]) looks[1] = { ...looks[1], dash: [2, 3] };
    looks.forEach((look, i) => {
      for (const { node } of [rows[i], columns[i]]) node.style.setProperty("--muonlab-mine", look.colour);
      keys[i].style.borderBottom = `3px ${look.dash.length ? "dashed" : "solid"} ${look.colour}`;
      say(keys[i], RULES[state[SIDES[i]]].name);
      say(rows[i].name, RULES[state[SIDES[i]]].name);
    });
    drawn = undefined;
    wake();
  }

  function play(on) {
    if (playing && !on) time = state.step; // the picture rests where its numbers do
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
      if (!untouched) keep(), (spoken.textContent = sentence.textContent);
      rows.forEach((one, i) => {
        const shares = runs[i].points[state.step].correct.map((share) => share.toFixed(2)).join(", ");
        one.facts.setAttribute("aria-label", `Probability of the right answer, ${ROWS[i]} row, frequent to rare: ${shares}`);
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
    const budget = playing ? 4 : 12; // milliseconds; a frame has 16
    while (ready() < wanted && performance.now() - begun < budget) runs.find(({ points }) => points.length - 1 === ready()).next();
    const late = !still.matches && begun - since > 250; // a short wait shows what was, a longer one how far it is
    if (playing || late || ready() >= wanted) draw(Math.min(time, ready()));
    if (playing) state = { ...state, step: Math.floor(time) };
    if (playing && time >= STEPS) play(false);
    else if (playing || ready() < wanted) wake();
  }

  function draw(t) {
    const step = Math.floor(t), share = still.matches ? 0 : t - step;
    runs.forEach(({ points, p }, i) => {
      const from = points[step], to = points[step + 1] ?? from;
      const now = from.correct.map((x, k) => (t ? (1 - share) * x + share * to.correct[k] : 0));
      answers(rows[i].facts, now, p.map((often) => often / p[0]), looks[i], colours);
      if (!more.open) return;
      heat(columns[i].W, mix(1 - share, from.W, share, to.W), colours);
      heat(columns[i].G, mix(1 - share, from.G, share, to.G), colours);
    });
    if (drawn === step) return; // the rest changes with a step only
    drawn = playing ? step : undefined;
    const now = runs.map(({ points }) => points[step]), of = ` of ${state.facts} facts`;
    now.forEach(({ known }, i) => say(rows[i].known, step ? `knows ${known}${of}` : ""));
    say(sentence, step ? `Step ${step}: ${names.map((name, i) => `${name} ${told(now[i], i ? "" : of)}`).join(" ")}` : NOTHING);
    scrub.sync({ step });
    if (!more.open) return;
    now.forEach(({ loss, best, worst, spectra }, i) => {
      const [W, G] = ["W", "G"].map((name) => spectra()[name].map((value, _, { 0: top }) => value / (top || 1)));
      spectrum(columns[i].spectrum, W, G, looks[i], colours);
      say(columns[i].numbers, `loss ${loss.toFixed(2)}, gap ${(best - worst).toFixed(2)}`);
    });
    timeline(history.canvas, runs, looks, step, STEPS, colours);
  }

  const pictures = [history.canvas, ...rows.map((one) => one.facts), ...columns.map((one) => one.spectrum)];
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
  const opening = new IntersectionObserver(([{ isIntersecting }]) => { // plays once by itself, where it is seen
    if (!isIntersecting) return;
    opening.disconnect();
    if (untouched && !still.matches) play(true);
  });
  opening.observe(rows[0].node);
  change({});
  play(false);
  const plain = (of) => written({ ...of, step: 0, axes: 0 });
  more.open = Boolean(linked) && !SETTINGS.some((setting) => setting.front && plain(setting.state) === plain(linked));
  if (linked || location.hash === "#playground") el.scrollIntoView(); // what is drawn pushed it away
  return () => {
    [watcher, theme, opening].forEach((one) => one.disconnect());
    removeEventListener("hashchange", follow), cancelAnimationFrame(waiting), clearTimeout(later);
  };
}

export default { render, run, read, written, rates, embeddings, SETTINGS, RULES, STOPS, SIGNS };
