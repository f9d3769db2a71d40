// Draws one explorer: controls, a picture in SVG, a sentence. An explorer file declares `controls`
// and `view(values, data)`; nothing here asks Python for a number, so a static page works too.

const COLOURS = [1, 2, 3, 4, 5, 6].map((number) => `var(--muonlab-${number})`); // of widgets.css: light and dark
const DASHES = ["", "8 4", "2 3", "10 3 2 3", "5 2", "1 2"];
const MARKERS = {
  circle: (x, y) => `M${x - 4},${y}a4,4 0 1 0 8,0a4,4 0 1 0 -8,0`,
  square: (x, y) => `M${x - 3.5},${y - 3.5}h7v7h-7z`,
  triangle: (x, y) => `M${x},${y - 5}l5,8h-10z`,
};
const MARGIN = { left: 48, right: 12, top: 10, bottom: 42 };

function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function short(number) {
  if (number === 0) return "0";
  const size = Math.abs(number);
  return size < 1e-3 || size >= 1e5 ? number.toExponential(0) : String(Number(number.toPrecision(5)));
}

function ticks([low, high], log, room) {
  if (log) {
    const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
    const every = Math.max(1, Math.ceil((last - first + 1) / room));
    const powers = [];
    for (let power = first - 1; power <= last; power += every) powers.push(10 ** power);
    const between = last - first < 2 ? powers.flatMap((power) => [power, 2 * power, 5 * power]) : powers;
    return between.filter((value) => value >= low * 0.999 && value <= high * 1.001);
  }
  const rough = (high - low) / room, unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * unit >= rough) * unit;
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(i * step);
  return found;
}

function extent(axis, values) {
  if (axis.range) return axis.range;
  const usable = values.filter((v) => Number.isFinite(v) && (!axis.log || v > 0));
  if (!usable.length) return axis.log ? [0.1, 10] : [0, 1];
  const low = Math.min(...usable), high = Math.max(...usable);
  if (axis.log) return low < high ? [low, high] : [low / 2, high * 2];
  return low < high ? [low, high] : [low - 1, high + 1];
}

function scale(axis, range, from, to) {
  const f = axis.log ? Math.log10 : (v) => v;
  const [low, high] = range.map(f);
  const place = (v) => from + ((f(v) - low) / (high - low)) * (to - from);
  // far outside the picture all values look alike, and browsers refuse huge coordinates
  return (v) => Math.max(-2000, Math.min(4000, place(v)));
}

function path(series, x, y) {
  let line = "", open = false;
  series.x.forEach((value, i) => {
    const px = x(value), py = y(series.y[i]);
    const drawn = Number.isFinite(px) && Number.isFinite(py);
    if (drawn) line += `${open ? "L" : "M"}${px.toFixed(1)},${py.toFixed(1)}`;
    open = drawn;
  });
  return line;
}

function markers(series, number, x, y) {
  const every = series.x.length <= 30 ? 1 : Math.ceil(series.x.length / 8);
  const shape = MARKERS[series.marker] ?? Object.values(MARKERS)[number % 3]; // true: any
  const at = series.x.map((value, i) => [x(value), y(series.y[i])]);
  return at.filter(([px, py], i) => i % every === 0 && Number.isFinite(px + py))
    .map(([px, py]) => shape(px, py)).join("");
}

function look(series, number) {
  const stroke = COLOURS[number % COLOURS.length];
  const dash = series.dash ?? DASHES[number % DASHES.length];
  return { fill: "none", stroke, "stroke-width": series.line === false ? 0 : 2.2, "stroke-dasharray": dash };
}

function drawn(series, number, x, y) {
  const parts = [svg("path", { d: path(series, x, y), class: "muonlab-line", ...look(series, number) })];
  if (series.marker) parts.push(svg("path", { d: markers(series, number, x, y), fill: look(series, number).stroke }));
  return svg("g", {}, ...parts);
}

function text(words, x, y, attributes = {}) {
  return svg("text", { x, y, fill: "currentColor", "font-size": 12, ...attributes }, words);
}

function axes(picture, ranges, x, y, width, height) {
  const grid = { stroke: "currentColor", "stroke-opacity": 0.18 };
  const bottom = height - MARGIN.bottom, right = width - MARGIN.right;
  const middle = { "text-anchor": "middle" };
  const parts = [];
  for (const t of ticks(ranges.x, picture.x.log, width / 90)) {
    parts.push(svg("line", { x1: x(t), x2: x(t), y1: MARGIN.top, y2: bottom, ...grid }));
    parts.push(text(short(t), x(t), bottom + 16, middle));
  }
  for (const t of picture.y.named ? [] : ticks(ranges.y, picture.y.log, height / 55)) { // named: by marks
    parts.push(svg("line", { x1: MARGIN.left, x2: right, y1: y(t), y2: y(t), ...grid }));
    parts.push(text(short(t), MARGIN.left - 6, y(t) + 4, { "text-anchor": "end" }));
  }
  const centre = (MARGIN.top + bottom) / 2;
  parts.push(text(picture.x.label, (MARGIN.left + right) / 2, height - 8, middle));
  parts.push(text(picture.y.label, 12, centre, { ...middle, transform: `rotate(-90 12 ${centre})` }));
  return parts;
}

function mark(line, x, y, width, height) {
  const look = { stroke: "currentColor", "stroke-width": 1.2, "stroke-dasharray": "1 3" };
  const ends = "y" in line
    ? { x1: MARGIN.left, x2: width - MARGIN.right, y1: y(line.y), y2: y(line.y) }
    : { x1: x(line.x), x2: x(line.x), y1: MARGIN.top, y2: height - MARGIN.bottom };
  const right = !("y" in line) && x(line.x) < MARGIN.left + 7 * line.label.length; // no room on the left
  const at = "y" in line ? [width - MARGIN.right - 4, y(line.y) - 5] : [x(line.x) + (right ? 4 : -4), MARGIN.top + 12];
  return [svg("line", { ...ends, ...look }), text(line.label, ...at, { "text-anchor": right ? "start" : "end", class: "muonlab-label" })];
}

function plot(picture, width) {
  const side = Math.min(width, 420); // square: one unit is as long upwards as sideways
  const w = picture.square ? side : width;
  const [low, high] = picture.y.range ?? [];
  const h = picture.y.named ? MARGIN.top + MARGIN.bottom + 18 * (high - low) : picture.square ? side - MARGIN.left - MARGIN.right + MARGIN.top + MARGIN.bottom : Math.max(240, Math.min(360, width * 0.56));
  const ranges = {
    x: extent(picture.x, picture.series.flatMap((s) => s.x)),
    y: extent(picture.y, picture.series.flatMap((s) => s.y)),
  };
  const x = scale(picture.x, ranges.x, MARGIN.left, w - MARGIN.right);
  const y = scale(picture.y, ranges.y, h - MARGIN.bottom, MARGIN.top);
  const id = `muonlab-clip-${Math.random().toString(36).slice(2)}`; // one page, many explorers
  const area = { x: MARGIN.left - 5, y: MARGIN.top - 5, width: w - MARGIN.left - MARGIN.right + 10, height: h - MARGIN.top - MARGIN.bottom + 10 }; // whole markers
  const canvas = svg("svg", { viewBox: `0 0 ${w} ${h}`, role: "img", "aria-label": [picture.title, picture.sentence].filter(Boolean).join(". "), style: `max-width:${w}px` });
  canvas.append(svg("clipPath", { id }, svg("rect", area)), ...axes(picture, ranges, x, y, w, h));
  const curves = picture.series.map((s, i) => drawn(s, i, x, y));
  canvas.append(svg("g", { "clip-path": `url(#${id})` }, ...curves));
  canvas.append(...(picture.marks ?? []).flatMap((line) => mark(line, x, y, w, h)));
  return canvas;
}

function legend(series) {
  const items = series.map((s, number) => {
    const sample = svg("svg", { viewBox: "0 0 34 12", "aria-hidden": "true" });
    const at = (x, y, marker) => drawn({ ...s, x, y, marker }, number, (v) => v, (v) => v);
    sample.append(at([0, 34], [6, 6]), at([17], [6], s.marker));
    return element("span", {}, sample, s.label);
  });
  return element("div", { class: "muonlab-legend" }, ...items);
}

function control(spec, values, changed) {
  const show = spec.format ?? short;
  const output = element("span", { class: "muonlab-value", "aria-hidden": "true" }); // the input says its value itself
  const input = spec.options
    ? element("select", { "aria-label": spec.label }, ...spec.options.map((option) => element("option", { value: option }, option)))
    : element("input", { type: "range", "aria-label": spec.label, min: spec.min, max: spec.max, step: spec.step });
  const sync = (now) => {
    input.value = now[spec.name];
    output.textContent = spec.options ? "" : show(now[spec.name]);
    if (!spec.options) input.setAttribute("aria-valuetext", output.textContent);
  };
  input.addEventListener("input", () => changed(spec.name, spec.options ? input.value : Number(input.value)));
  sync(values);
  return { node: element("label", {}, element("span", {}, spec.label), output, input), sync };
}

function explorer({ controls, view, changed: adjust }) {
  const defaults = Object.fromEntries(controls.map((c) => [c.name, c.value]));
  const render = ({ model, el }) => {
    root(el, "muonlab-explorer");
    const state = () => ({ ...defaults, ...model.get("values") });
    const changed = (name, value) => {
      const now = { ...state(), [name]: value };
      model.set("values", adjust ? adjust(name, now) : now);
      model.save_changes();
      draw();
    };
    const inputs = controls.map((c) => control(c, state(), changed));
    const title = element("p", { class: "muonlab-title" });
    const figure = element("div", { class: "muonlab-figure" });
    const sentence = element("p", { class: "muonlab-sentence", role: "status" });
    const draw = () => {
      const picture = view(state(), model.get("data"));
      inputs.forEach((input) => input.sync(state()));
      title.textContent = picture.title ?? "";
      figure.replaceChildren(plot(picture, Math.max(280, Math.min(el.clientWidth || 680, 720))), legend(picture.series));
      if (sentence.textContent !== picture.sentence) sentence.textContent = picture.sentence;
    };
    model.on("change:values", draw);
    model.on("change:data", draw);
    el.append(element("div", { class: "muonlab-controls" }, ...inputs.map((i) => i.node)), title, figure, sentence);
    draw();
    let width = el.clientWidth;
    const watcher = new ResizeObserver(() => { if (el.clientWidth !== width) { width = el.clientWidth; draw(); } });
    watcher.observe(el);
    return () => { watcher.disconnect(); model.off("change:values", draw); model.off("change:data", draw); };
  };
  return { render };
}
