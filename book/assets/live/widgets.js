// Draws the lessons' widgets in a page without a kernel. Each was saved with its state, and its
// drawing code is part of that state: nothing is fetched, so http and file pages work alike.
(() => {
  const STATE = 'script[type="application/vnd.jupyter.widget-state+json"]';
  const VIEW = 'script[type="application/vnd.jupyter.widget-view+json"]';
  const modules = new Map();
  const styled = new Set();

  // the part of anywidget's model that a widget may call
  function standIn(state) {
    const listeners = {};
    return {
      get: (name) => state[name],
      set(name, value) {
        state[name] = value;
        this.changed.add(name);
      },
      changed: new Set(),
      save_changes() {
        const names = [...this.changed];
        this.changed.clear();
        for (const name of names) for (const call of listeners[`change:${name}`] ?? []) call();
      },
      on: (event, call) => (listeners[event] ??= []).push(call),
      off: (event, call) => (listeners[event] = (listeners[event] ?? []).filter((c) => c !== call)),
      send: () => {},
    };
  }

  function load(source) {
    if (!modules.has(source)) {
      const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
      modules.set(source, import(address).finally(() => URL.revokeObjectURL(address)));
    }
    return modules.get(source);
  }

  function style(css) {
    if (!css || styled.has(css)) return;
    styled.add(css);
    document.head.append(Object.assign(document.createElement("style"), { textContent: css }));
  }

  async function draw(script, models) {
    const state = models[JSON.parse(script.textContent).model_id]?.state;
    if (!state?._esm) return; // not one of ours: leave its text form
    const el = document.createElement("div");
    script.after(el);
    style(state._css);
    const widget = (await load(state._esm)).default;
    await widget.render({ model: standIn(state), el });
  }

  function drawAll() {
    const models = {};
    for (const script of document.querySelectorAll(STATE)) {
      const saved = JSON.parse(script.textContent);
      Object.assign(models, saved.state ?? saved);
    }
    document.querySelectorAll(VIEW).forEach((script) => draw(script, models));
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", drawAll);
  else drawAll();
})();
