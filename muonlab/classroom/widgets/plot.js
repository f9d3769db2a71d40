// A picture, as an explorer's `view(values, data)` returns it, becomes SVG:
//   title, sentence: what is shown, and what one sees; both are also the text alternative
//   x, y: { label, unit, log, range }; y.names, if there are any: a row each, from 1
//   series: [{ label, x, y, who, marker, line, dash, width, low, high }]; who: a name of optimizers.json
//   marks: [{ x or y, label }], dotted lines; handles: see handles.js; maps: see explorer.js
//   panels: names of drawings of equal size, side by side; they have no axes, and nothing is read off

const TOP = 10, RIGHT = 14, BOTTOM = 42, SIZE = 12; // in pixels, the last of a text

function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const paper = document.createElement("canvas").getContext("2d");
paper.font = `bold ${SIZE}px ${getComputedStyle(document.body).fontFamily || "sans-serif"}`;
const wide = (words) => Math.max(6 * words.length, 1.05 * paper.measureText(words).width);

// --- numbers -----------------------------------------------------------------------------------

function short(number, digits = 5) {
  const size = Math.abs(number);
  if (size && (size < 1e-4 || size >= 1e7)) return number.toExponential(Math.min(2, digits - 1)).replace("e+", "e");
  return number.toLocaleString("en", { maximumSignificantDigits: digits });
}

function said(axis, value) {
  return short(value, 4) + (axis.unit ? ` ${axis.unit}` : "");
}

function names(ticks) { // alike on one axis
  const far = ticks.some((v) => v && (Math.abs(v) < 1e-4 || Math.abs(v) >= 1e7));
  return ticks.map((v) => (far && v ? v.toExponential(0).replace("e+", "e") : short(v)));
}

function ticks([low, high], log, room) {
  if (!(high - low > 1e-12 * Math.max(Math.abs(low), Math.abs(high)))) return [low];
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
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(i * step + 0); // no -0
  return found.length < 2 ? ticks([low, high], log, 2 * room) : found; // one number is no scale
}

// --- from numbers to pixels, and back ----------------------------------------------------------

function extent(axis, values) {
  const usable = values.filter((v) => Number.isFinite(v) && (!axis.log || v > 0));
  if (!axis.range && !usable.length) return axis.log ? [0.1, 10] : [0, 1];
  const [low, high] = axis.range ?? [Math.min(...usable), Math.max(...usable)];
  if (low !== high) return [low, high];
  return axis.log ? [low / 2, high * 2] : [low - 1, high + 1];
}

function scale(axis, range, from, to) {
  const [f, back] = axis.log ? [Math.log10, (v) => 10 ** v] : [(v) => v, (v) => v];
  const [low, high] = range.map(f);
  const place = (v) => from + ((f(v) - low) / (high - low)) * (to - from);
  // far outside the picture all values look alike, and browsers refuse huge coordinates
  const pixel = (v) => Math.max(-2000, Math.min(4000, place(v)));
  pixel.back = (p) => back(low + ((p - from) / (to - from)) * (high - low));
  return pixel;
}

// Where everything stands: the four edges of the plot, and what turns numbers into pixels.
function frame(picture, width) {
  const drawn = (part) => picture.series.flatMap((series) => series[part] ?? []);
  const ranges = [extent(picture.x, drawn("x")), extent(picture.y, ["y", "low", "high"].flatMap(drawn))];
  const panels = picture.panels?.length;
  const w = picture.square ? Math.min(width, 420 * (panels ?? 1)) : width;
  const rows = picture.y.names, high = rows ? 18 * (rows.length + 1) : Math.max(190, Math.min(310, width * 0.56 - 52));
  const lines = rows ? rows.map((_, i) => i + 1) : ticks(ranges[1], picture.y.log, high / 50);
  const words = rows ?? names(lines);
  const left = panels ? RIGHT : 28 + Math.max(...words.map(wide));
  const bottom = TOP + (picture.square ? (w - left - RIGHT) / (panels ?? 1) : high); // square: one unit is as long upwards as sideways
  const x = scale(picture.x, ranges[0], left, w - RIGHT);
  return { w, h: bottom + BOTTOM, left, right: w - RIGHT, bottom, ranges, lines, words, x, y: scale(picture.y, ranges[1], bottom, TOP) };
}

// --- curves ------------------------------------------------------------------------------------

const corners = (points) => (x, y) => {
  const steps = points.slice(1).map(([px, py], i) => `l${(px - points[i][0]).toFixed(1)},${(py - points[i][1]).toFixed(1)}`);
  return `M${(x + points[0][0]).toFixed(1)},${(y + points[0][1]).toFixed(1)}${steps.join("")}z`;
};
const around = (radii, turn) => corners(radii.map((r, i) => {
  const angle = 2 * Math.PI * (i / radii.length + turn);
  return [r * Math.sin(angle), -r * Math.cos(angle)];
}));
const PLUS = [
  [-1.5, -5], [1.5, -5], [1.5, -1.5], [5, -1.5], [5, 1.5], [1.5, 1.5],
  [1.5, 5], [-1.5, 5], [-1.5, 1.5], [-5, 1.5], [-5, -1.5], [-1.5, -1.5],
];
const INSIDE = Array.from({ length: 16 }, (_, i) => [-4 * Math.sin((Math.PI * i) / 8), -4 * Math.cos((Math.PI * i) / 8)]); // turns back: a hole
const MARKERS = {
  circle: around(Array(16).fill(4), 0),
  square: around(Array(4).fill(5), 1 / 8),
  triangle: around(Array(3).fill(5.5), 0),
  "triangle down": around(Array(3).fill(5.5), 1 / 2),
  diamond: around([6, 4.5, 6, 4.5], 0),
  pentagon: around(Array(5).fill(5), 0),
  star: around(Array.from({ length: 10 }, (_, i) => (i % 2 ? 2.4 : 6)), 0),
  plus: corners(PLUS),
  cross: corners(PLUS.map(([x, y]) => [0.7 * (x - y), 0.7 * (x + y)])),
  ring: (x, y) => around(Array(16).fill(7), 0)(x, y) + corners(INSIDE)(x, y), // as a handle looks
};

const DOTTED = { stroke: "currentColor", "stroke-width": 1.2, "stroke-dasharray": "1 3" };

function points(series, { x, y }) {
  return series.x.map((value, i) => [x(value), y(series.y[i])]);
}

const exists = ([px, py]) => Number.isFinite(px + py);

function path(at) {
  let open = false;
  return at.map((point) => {
    const [px, py] = point, letter = open ? "L" : "M";
    open = exists(point);
    return open ? `${letter}${px.toFixed(1)},${py.toFixed(1)}` : "";
  }).join("");
}

// Colour, marker and dash: of whom the series shows, otherwise of its number among the others.
function look(series, number) {
  const who = LOOKS.contestants.findIndex(({ name, also }) => name === series.who || also.includes(series.who));
  const own = who < 0 ? number % LOOKS.series.length : who;
  const found = (who < 0 ? LOOKS.series : LOOKS.contestants)[own];
  return {
    colour: series.marker === "ring" ? "var(--muonlab-1)" : `var(--muonlab-${who < 0 ? "series" : "who"}-${own})`,
    marker: MARKERS[series.marker] ?? MARKERS[found.marker], // true: its own
    dash: series.dash ?? found.dash.join(" "),
  };
}

function drawn(series, number, at, shift = 0) {
  const { colour, marker, dash } = look(series, number);
  const width = series.line === false ? 0 : series.width ?? 2.2;
  const line = { class: "muonlab-line", fill: "none", stroke: colour, "stroke-width": width, "stroke-dasharray": dash };
  const parts = [svg("path", { d: path(at), ...line })];
  if (series.marker) {
    const every = at.length <= 30 ? 1 : Math.ceil(at.length / 8);
    const shapes = at.filter((point, i) => i % every === 0 && exists(point)).map(([px, py]) => marker(px, py));
    parts.push(svg("path", { d: shapes.join(""), fill: colour }));
  }
  const bars = series.bars?.map(([px, low, high]) => path([[px + shift, low], [px + shift, high]]));
  if (bars) parts.push(svg("path", { d: bars.join(""), stroke: colour, "stroke-width": 1.2 }));
  return svg("g", {}, ...parts);
}

function curve(series, number, all, place) {
  const bars = series.low?.map((low, i) => [place.x(series.x[i]), place.y(low), place.y(series.high[i])]);
  return drawn({ ...series, bars }, number, points(series, place), 3 * (number - (all.length - 1) / 2));
}

// Names of the curves, and of the dotted lines whose label found no free place beside them.
function legend(series, unplaced) {
  const items = series.map((s, number) => {
    const sample = svg("svg", { viewBox: "0 0 34 12", "aria-hidden": "true" });
    sample.append(drawn({ ...s, marker: false }, number, [[0, 6], [34, 6]]), drawn({ ...s, line: false }, number, [[17, 6]]));
    return element("span", {}, sample, s.label);
  });
  const dots = unplaced.map((label) => {
    const sample = svg("svg", { viewBox: "0 0 34 12", "aria-hidden": "true" }, svg("line", { x1: 0, x2: 34, y1: 6, y2: 6, ...DOTTED }));
    return element("span", { class: "muonlab-mark" }, sample, label);
  });
  return element("div", { class: "muonlab-legend" }, ...items, ...dots);
}

// --- axes and marks ----------------------------------------------------------------------------

function text(words, x, y, attributes = {}) {
  return svg("text", { x, y, fill: "currentColor", "font-size": SIZE, ...attributes }, words);
}

function axes(picture, place) {
  const { x, y, left, right, bottom, w, h } = place;
  const share = (right - left) / (picture.panels?.length ?? 1);
  if (picture.panels) return picture.panels.map((name, i) => text(name, left + (i + 0.5) * share, bottom + 16, { "text-anchor": "middle" }));
  const grid = { stroke: "currentColor", "stroke-opacity": 0.18 };
  const middle = { "text-anchor": "middle" };
  const across = ticks(place.ranges[0], picture.x.log, (right - left) / 80), said = names(across), parts = [];
  across.forEach((tick, i) => {
    const half = wide(said[i]) / 2, at = Math.min(x(tick), w - half);
    parts.push(svg("line", { x1: x(tick), x2: x(tick), y1: TOP, y2: bottom, ...grid }));
    parts.push(text(said[i], at, bottom + 16, middle));
  });
  place.lines.forEach((tick, i) => {
    const chosen = picture.y.names && place.words[i] === picture.y.chosen;
    parts.push(svg("line", { x1: left, x2: right, y1: y(tick), y2: y(tick), ...grid }));
    parts.push(text(place.words[i], left - 6, y(tick) + 4, { "text-anchor": "end", ...(chosen ? { "font-weight": "bold" } : {}) }));
  });
  const centre = (TOP + bottom) / 2;
  parts.push(text(picture.x.label, Math.min((left + right) / 2, w - wide(picture.x.label) / 2), h - 8, middle));
  parts.push(text(picture.y.label, 12, centre, { ...middle, transform: `rotate(-90 12 ${centre})` }));
  return parts;
}

// The pixels that a label should not cover: every curve, every few pixels.
function busy(picture, place) {
  return picture.series.flatMap((series) => {
    const at = points(series, place).map(([px, py]) => [px, Math.max(0, Math.min(place.h, py))]); // the rest is not seen
    return at.flatMap(([px, py], i) => {
      const [qx, qy] = i && series.line !== false ? at[i - 1] : [px, py];
      const count = Math.ceil(Math.hypot(px - qx, py - qy) / 4) || 1;
      return Array.from({ length: count }, (_, k) => [px + ((qx - px) * k) / count, py + ((qy - py) * k) / count]);
    }).filter(exists);
  });
}

// A label beside its line, where it covers nothing; null when there is no such place.
function beside(line, place, taken) {
  const { x, y, left, right, bottom } = place, width = wide(line.label) + 6;
  const spots = Array.from({ length: 17 }, (_, i) => i / 16).flatMap((share) => "y" in line
    ? [-4, SIZE + 5].map((dy) => [right - width - share * (right - left - width), y(line.y) + dy])
    : [-width - 2, 4].map((dx) => [x(line.x) + dx, TOP + SIZE + share * (bottom - TOP - 2 * SIZE)]));
  const within = spots.filter(([px, py]) => px >= left - 2 && px + width <= right + 8 && py - SIZE >= TOP - 2 && py <= bottom);
  const free = ([px, py]) => !taken.some(([qx, qy]) => qx > px - 4 && qx < px + width + 4 && qy > py - SIZE - 4 && qy < py + 4);
  const spot = within.find(free);
  if (!spot) return null;
  const [px, py] = spot;
  for (let i = 0; i <= width; i += 6) taken.push([px + i, py - 10], [px + i, py - 4], [px + i, py]);
  return text(line.label, px + 3, py, { class: "muonlab-label" });
}

function marks(picture, place) {
  const { x, y, left, right, bottom } = place, taken = busy(picture, place);
  const lines = (picture.marks ?? []).map((line) => ("y" in line
    ? { x1: left, x2: right, y1: y(line.y), y2: y(line.y) }
    : { x1: x(line.x), x2: x(line.x), y1: TOP, y2: bottom }));
  for (const { x1, x2, y1, y2 } of lines) // nor other lines
    for (let i = 0; i <= 60; i++) taken.push([x1 + ((x2 - x1) * i) / 60, y1 + ((y2 - y1) * i) / 60]);
  place.unplaced = [];
  const labels = (picture.marks ?? []).filter(({ label }) => label).flatMap((line) => {
    const label = beside(line, place, taken);
    if (!label) place.unplaced.push(line.label);
    return label ? [label] : [];
  });
  return [...lines.map((ends) => svg("line", { ...ends, ...DOTTED })), ...labels];
}

function plot(picture, place) {
  const { w, h, left, right, bottom } = place;
  const id = `muonlab-clip-${Math.random().toString(36).slice(2)}`; // one page, many explorers
  const area = { x: left - 6, y: TOP - 6, width: right - left + 12, height: bottom - TOP + 12 }; // whole markers
  const words = [picture.title, picture.sentence].filter(Boolean).join(". ");
  return svg("svg", { viewBox: `0 0 ${w} ${h}`, role: "img", "aria-label": words, style: `max-width:${w}px` },
    svg("clipPath", { id }, svg("rect", area)), ...axes(picture, place),
    svg("g", { "clip-path": `url(#${id})` }, ...picture.series.map((s, i, all) => curve(s, i, all, place))),
    ...marks(picture, place));
}
