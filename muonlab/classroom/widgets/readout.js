// What the picture says at a place: under the pointer, under a finger, or where the arrow keys are.

// The places that the keys visit, in pixels along the axis, and what is read there.
// In a square picture a place is a point of its longest series; in named rows, a row.
function places(picture, place) {
  if (picture.panels) return [];
  if (picture.square) return picture.series.reduce((a, b) => (b.x.length > a.x.length ? b : a)).x.map((_, i) => i);
  const along = picture.y.names ? place.lines.map(place.y) : picture.series.flatMap((s) => points(s, place).filter(exists).map(([px]) => px));
  const inside = along.filter((p) => picture.y.names || (p >= place.left - 1 && p <= place.right + 1));
  return [...new Set(inside.map((p) => Math.round(10 * p) / 10))].sort((a, b) => a - b);
}

function nearest(numbers, goal) {
  let best = -1;
  numbers.forEach((number, i) => {
    if (Number.isFinite(number) && (best < 0 || Math.abs(number - goal) < Math.abs(numbers[best] - goal))) best = i;
  });
  return best;
}

// The point of each series that belongs to a place; of a series without a line, only one close by.
function readings(picture, place, at) {
  return picture.series.flatMap((series, number) => {
    const drawn = points(series, place), axis = picture.y.names ? 1 : 0;
    const i = picture.square ? Math.min(at, drawn.length - 1) : nearest(drawn.map((p) => (exists(p) ? p[axis] : NaN)), at);
    if (i < 0 || !exists(drawn[i])) return [];
    if (!picture.square && (series.line === false || axis) && Math.abs(drawn[i][axis] - at) > 9) return [];
    return [{ series, number, i, px: drawn[i][0], py: drawn[i][1] }];
  });
}

function told(picture, { series, i }, head) {
  const [x, y] = [said(picture.x, series.x[i]), said(picture.y, series.y[i])];
  const brief = ({ label }) => label.split(/[,:]/)[0];
  const alike = picture.series.filter((other) => brief(other) === brief(series)).length > 1;
  const name = alike ? series.label : brief(series);
  const range = series.low ? ` (${said(picture.y, series.low[i])} to ${said(picture.y, series.high[i])})` : "";
  if (picture.square) return `${name}: (${x}, ${y})`;
  if (picture.y.names) return `${name}: ${x}`;
  return `${name}: ${y}${range}${series.x[i] === head ? "" : ` at ${x}`}`;
}

function readout() {
  const bubble = element("div", { class: "muonlab-readout", hidden: "" });
  const pad = element("div", { class: "muonlab-pad", role: "slider", tabindex: "0", "aria-label": "Read off the picture", "aria-valuemin": "0" });
  let picture, place, canvas, stops = [], at = 0, cursor;

  function headline(head) { // where it is read
    if (picture.square) return [];
    if (picture.y.names) return [place.words[nearest(place.lines.map(place.y), stops[at])]];
    return [`${picture.x.short ?? picture.x.label}: ${said(picture.x, head)}`];
  }

  function show() {
    const found = readings(picture, place, stops[at]);
    if (!found.length) return hide();
    const first = found.reduce((a, b) => (Math.abs(b.px - stops[at]) < Math.abs(a.px - stops[at]) ? b : a));
    const head = picture.square ? null : first.series.x[first.i];
    const lines = [...headline(head), ...found.map((reading) => told(picture, reading, head))];
    bubble.replaceChildren(...lines.map((line) => element("div", {}, line)));
    pad.setAttribute("aria-valuetext", lines.join("; "));
    pad.setAttribute("aria-valuenow", String(at));
    cursor?.remove();
    const ring = { r: 5, fill: "none", stroke: "currentColor", "stroke-width": 1.5 };
    const seen = found.filter(({ py }) => py >= TOP - 6 && py <= place.bottom + 6);
    cursor = svg("g", {}, ...seen.map(({ px, py }) => svg("circle", { cx: px, cy: py, ...ring })));
    const upright = { x1: first.px, x2: first.px, y1: TOP, y2: place.bottom, stroke: "currentColor" };
    if (!picture.square && !picture.y.names) cursor.append(svg("line", upright));
    canvas.append(cursor);
    bubble.hidden = false;
    put(first, found);
  }

  // Beside the point, and away from the curves.
  function put(first, found) {
    const beside = picture.square && canvas.parentNode.offsetWidth > place.w + 200; // room on the right
    const high = found.reduce((sum, { py }) => sum + py, 0) / found.length < (TOP + place.bottom) / 2;
    const lowest = place.bottom - bubble.offsetHeight - 4, below = picture.square || picture.y.names;
    const low = beside ? TOP : below ? Math.min(first.py + 12, lowest) : high ? lowest : TOP;
    const side = first.px > place.w / 2 ? first.px - bubble.offsetWidth - 12 : first.px + 12;
    const across = beside ? place.w : Math.max(0, Math.min(side, place.w - bubble.offsetWidth));
    bubble.style.transform = `translate(${across}px, ${Math.max(0, low)}px)`;
  }

  function hide() {
    bubble.hidden = true;
    cursor?.remove();
  }

  function point(event) {
    const box = pad.getBoundingClientRect();
    const px = place.left + event.clientX - box.left, py = TOP + event.clientY - box.top;
    if (picture.square) {
      const longest = picture.series.find((s) => s.x.length === stops.length);
      at = nearest(points(longest, place).map(([x, y]) => Math.hypot(x - px, y - py)), 0);
    } else at = nearest(stops, picture.y.names ? py : px);
    show();
  }

  function key(event) {
    const last = stops.length - 1, stride = Math.max(1, Math.round(last / 50)); // a curve in 50 strides
    const back = picture.y.names ? -1 : 1; // rows: upwards is back
    const moves = {
      ArrowLeft: -stride, ArrowRight: stride, ArrowUp: stride * back, ArrowDown: -stride * back,
      PageUp: 5 * stride * back, PageDown: -5 * stride * back, Home: -last, End: last,
    };
    if (event.key === "Escape") return hide();
    if (!(event.key in moves)) return;
    event.preventDefault();
    at = Math.max(0, Math.min(last, bubble.hidden && Math.abs(moves[event.key]) < last ? at : at + moves[event.key]));
    show();
  }

  pad.addEventListener("pointermove", point);
  pad.addEventListener("pointerdown", point);
  pad.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && document.activeElement !== pad && hide());
  pad.addEventListener("pointercancel", hide); // the finger scrolls the page
  const away = (event) => event.target !== pad && hide(); // a finger that touches anything else has read
  document.addEventListener("pointerdown", away);
  pad.addEventListener("keydown", key);
  pad.addEventListener("focus", () => pad.matches(":focus-visible") && show());
  pad.addEventListener("blur", hide);

  function update(now, where, node) {
    const before = stops[at];
    [picture, place, canvas] = [now, where, node];
    stops = places(picture, place);
    at = Math.max(0, before === undefined ? Math.floor(stops.length / 2) : nearest(stops, before));
    pad.hidden = !stops.length;
    pad.setAttribute("aria-valuemax", String(Math.max(0, stops.length - 1)));
    const edges = { left: place.left, top: TOP, width: place.right - place.left, height: place.bottom - TOP };
    for (const [name, value] of Object.entries(edges)) pad.style[name] = `${value}px`;
    if (!bubble.hidden) return show();
    pad.setAttribute("aria-valuenow", String(at));
    pad.setAttribute("aria-valuetext", "not read yet");
  }
  const stop = () => document.removeEventListener("pointerdown", away);
  return { nodes: [pad, bubble], update, stop };
}
