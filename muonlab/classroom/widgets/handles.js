// Points that can be dragged in a picture, or moved by the arrow keys once they have the focus.
// A picture's handle: { x, y, label, sets: [across, upwards], move(x, y) }; x and y are numbers of the
// axes (without y it stands on the lower edge, without x in the middle); `sets` names the controls that
// the keys step through; `move` returns the controls' values for a place. Without `sets`, keys call `move`.

const KEYS = {
  ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1],
  PageUp: [0, 10], PageDown: [0, -10], Home: [-1e9, 0], End: [1e9, 0], // a value stays in its range
};

function handles(controls, state, set) {
  const layer = element("div", {});
  let wanted = [], place;

  function moved(handle, px, py) { // inside the picture
    const x = Math.max(place.left, Math.min(place.right, px)), y = Math.max(TOP, Math.min(place.bottom, py));
    set(handle.move(place.x.back(x), place.y.back(y)));
  }

  function drag(event, number) {
    const box = layer.getBoundingClientRect();
    moved(wanted[number], event.clientX - box.left, event.clientY - box.top);
  }

  function key(event, number) {
    if (!(event.key in KEYS)) return;
    event.preventDefault();
    const [dx, dy] = KEYS[event.key], handle = wanted[number];
    const name = handle.sets?.[dx ? 0 : 1] ?? handle.sets?.[0];
    const spec = controls.find((control) => control.name === name);
    if (spec) set({ [name]: state()[name] + (dx + dy) * spec.step });
    else moved(handle, place.x(handle.x) + 4 * dx, place.y(handle.y) - 4 * dy);
  }

  function made(number) {
    const node = element("div", { class: "muonlab-handle", role: "slider", tabindex: "0" });
    node.addEventListener("pointerdown", (event) => {
      node.setPointerCapture(event.pointerId);
      node.focus({ preventScroll: true });
      event.preventDefault();
    });
    node.addEventListener("pointermove", (event) => node.hasPointerCapture(event.pointerId) && drag(event, number));
    node.addEventListener("keydown", (event) => key(event, number));
    return node;
  }

  function update(picture, where) {
    [wanted, place] = [picture.handles ?? [], where];
    while (layer.children.length > wanted.length) layer.lastChild.remove();
    while (layer.children.length < wanted.length) layer.append(made(layer.children.length));
    wanted.forEach(({ x, y, label }, i) => {
      const px = x === undefined ? (place.left + place.right) / 2 : place.x(x), py = y === undefined ? place.bottom : place.y(y);
      const at = [x === undefined ? null : said(picture.x, x), y === undefined ? null : said(picture.y, y)].filter(Boolean).join(", ");
      const node = layer.children[i];
      node.style.transform = `translate(${px}px, ${py}px)`;
      const words = { label: `${label}, in the picture`, valuetext: at, valuenow: x ?? y, valuemin: -1e9, valuemax: 1e9 };
      for (const [name, value] of Object.entries(words)) node.setAttribute(`aria-${name}`, value);
    });
  }
  return { node: layer, update };
}
