// Draws one explorer: controls, maps, a picture, a sentence. Its file declares `controls` and
// `view(values, data)`; nothing here asks Python for a number, so a static page works too.

function control(spec, values, data, changed) {
  const show = spec.format ?? ((value) => short(value));
  const output = element("span", { class: "muonlab-value", "aria-hidden": "true" }); // the input says its value itself
  const input = spec.options
    ? element("select", { "aria-label": spec.label }, ...spec.options.map((option) => element("option", { value: option }, option)))
    : element("input", { type: "range", "aria-label": spec.label, min: spec.min, max: spec.max, step: spec.step });
  const sync = (now, idle, data) => {
    input.value = now[spec.name];
    input.disabled = idle.includes(spec.name); // the picture says which controls move nothing now
    output.textContent = spec.options ? "" : input.disabled ? "–" : show(now[spec.name], data);
    if (!spec.options) input.setAttribute("aria-valuetext", output.textContent);
  };
  input.addEventListener("input", () => changed({ [spec.name]: spec.options ? input.value : Number(input.value) }));
  sync(values, [], data);
  return { node: element("label", {}, element("span", {}, spec.label), output, input), sync };
}

// A map: { name, title, rows: [names], columns: [names], cells: [row][column] { value, who, text, strength, label } }.
// `name` is the control that takes the chosen cell's value; `who` gives its colour, of a strength from 0 to 1.
function map({ name, title, rows, columns, cells }, values, changed) {
  const buttons = cells.map((row) => row.map(({ value, who, text, strength, label }) => {
    const chosen = values[name] === value;
    const share = `${Math.round(8 + 37 * strength)}%`; // pale enough for the number on it
    const style = `background: color-mix(in srgb, ${look({ who }, 0).colour} ${share}, var(--muonlab-paper))`;
    const states = { role: "radio", "aria-checked": chosen, "aria-label": label, tabindex: chosen ? 0 : -1 };
    const node = element("button", { type: "button", ...states, style }, text);
    node.addEventListener("click", () => changed({ [name]: value }));
    return node;
  }));
  const heads = columns.map((words) => element("span", { "aria-hidden": "true" }, words));
  const lines = buttons.map((row, i) => [element("span", { "aria-hidden": "true" }, rows[i]), ...row]);
  const style = `grid-template-columns: auto repeat(${columns.length}, 1fr)`;
  const grid = element("div", { class: "muonlab-cells", style }, element("span", {}), ...heads, ...lines.flat());
  grid.addEventListener("keydown", (event) => {
    const [dx, dy] = KEYS[event.key] ?? [0, 0];
    if (!dx && !dy) return;
    event.preventDefault();
    const row = cells.findIndex((line) => line.some(({ value }) => value === values[name]));
    const column = cells[row].findIndex(({ value }) => value === values[name]);
    const next = cells[row - dy]?.[column + dx];
    if (next) changed({ [name]: next.value });
  });
  return element("div", { class: "muonlab-map", role: "radiogroup", "aria-label": title }, element("div", {}, title), grid);
}

// A heat map: { title, words, matrix: rows of numbers }; green above 0, purple below, as strong as its share of the largest.
function heat({ title, words, matrix }) {
  const end = Math.max(...matrix.flat().map(Math.abs));
  const cells = matrix.flat().map((v) => {
    const colour = `var(--muonlab-${v > 0 ? "good" : "series-1"}) ${((100 * Math.abs(v)) / end).toFixed(1)}%`;
    return element("div", { style: `background: color-mix(in srgb, ${colour}, var(--muonlab-paper))` });
  });
  const grid = element("div", { class: "muonlab-heat", style: `grid-template-columns: repeat(${matrix[0].length}, 1fr)` }, ...cells);
  return element("div", { class: "muonlab-panel", role: "figure", "aria-label": `${title}: ${words}` }, element("div", {}, title), grid);
}

function explorer({ controls, view, changed: adjust }) {
  const defaults = Object.fromEntries(controls.map((c) => [c.name, c.value]));
  const fit = ([name, value]) => { // to what the control can show
    const { min, max, step } = controls.find((control) => control.name === name);
    if (min === undefined) return [name, value];
    const near = min + Math.round((value - min) / step) * step;
    return [name, Number(Math.max(min, Math.min(max, near)).toFixed(6))];
  };
  const render = ({ model, el }) => {
    root(el, "muonlab-explorer");
    const state = () => ({ ...defaults, ...model.get("values") });
    const changed = (some) => {
      const fitting = Object.fromEntries(Object.entries(some).map(fit));
      const before = state(), adjusted = (values, name) => (adjust ? adjust(name, values, before, model.get("data")) : values);
      const now = Object.keys(some).reduce(adjusted, { ...before, ...fitting });
      model.set("values", now);
      model.save_changes();
      draw();
    };
    const inputs = controls.filter((c) => !c.cells).map((c) => control(c, state(), model.get("data"), changed));
    const title = element("p", { class: "muonlab-title" });
    const maps = element("div", { class: "muonlab-maps" });
    const figure = element("div", { class: "muonlab-figure" });
    const sentence = element("p", { class: "muonlab-sentence", role: "status" });
    const reader = readout(), grips = handles(controls, state, changed);
    const canvas = element("div", {}), below = element("div", {});
    const draw = () => {
      let picture;
      try {
        picture = view(state(), model.get("data"));
      } catch (error) {
        sentence.textContent = `Nothing is drawn: expected this explorer's data (${error.message}).`;
        return;
      }
      const place = frame(picture, Math.max(280, Math.min(el.clientWidth || 680, 720)));
      inputs.forEach((input) => input.sync(state(), picture.idle ?? [], model.get("data")));
      title.textContent = picture.title ?? "";
      const focused = [...maps.children].findIndex((node) => node.contains(document.activeElement));
      maps.replaceChildren(...(picture.maps ?? []).map((one) => (one.matrix ? heat(one) : map(one, state(), changed))));
      maps.children[focused]?.querySelector("[tabindex='0']")?.focus({ preventScroll: true });
      canvas.replaceChildren(plot(picture, place));
      below.replaceChildren(legend(picture.series, place.unplaced));
      reader.update(picture, place, canvas.firstChild);
      grips.update(picture, place);
      if (sentence.textContent !== picture.sentence) sentence.textContent = picture.sentence;
    };
    model.on("change:values", draw);
    model.on("change:data", draw);
    figure.append(canvas, ...reader.nodes, grips.node);
    grips.node.className = "muonlab-grips";
    el.append(element("div", { class: "muonlab-controls" }, ...inputs.map((i) => i.node)), title, maps, figure, below, sentence);
    draw();
    let width = el.clientWidth;
    const watcher = new ResizeObserver(() => { if (el.clientWidth !== width) { width = el.clientWidth; draw(); } });
    watcher.observe(el);
    return () => { watcher.disconnect(); reader.stop(); model.off("change:values", draw); model.off("change:data", draw); };
  };
  return { render, controls, view };
}
