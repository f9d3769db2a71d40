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

  // A prediction made in a page stays in this browser; where the answer stands, it is repeated.
  function remember(model) {
    const key = `muonlab prediction ${model.get("id")}`;
    const tell = (note) => {
      model.set("note", note);
      model.save_changes();
    };
    const repeat = () => {
      const option = model.get("options")[model.get("choice")];
      const place = document.querySelector(`[data-prediction="${model.get("id")}"]`);
      if (!place || option === undefined) return;
      place.classList.add("muonlab-predicted");
      const right = option === place.dataset.right;
      place.textContent = right ? "Your prediction came true." : `You predicted: ${option}.`;
    };
    try {
      const kept = localStorage.getItem(key);
      if (kept !== null) {
        model.set("choice", model.get("options").indexOf(kept));
        model.set("note", "Saved in this browser.");
        repeat();
      }
    } catch (error) {
      model.set("note", `This browser does not keep predictions (${error.name}). Choose all the same.`);
    }
    model.on("change:choice", () => {
      repeat();
      try {
        localStorage.setItem(key, model.get("options")[model.get("choice")]);
        tell("Saved in this browser. What happened is shown below.");
      } catch (error) {
        tell(`Not saved: this browser refuses (${error.name}).`);
      }
    });
  }

  // How many of a quiz were right at the first try stays in this browser, for the map; the answers do not.
  function count(model) {
    model.on("change:answers", () => {
      const questions = model.get("questions"), answers = model.get("answers");
      if (questions.some((_, number) => !(number in answers))) return;
      const right = questions.filter((question, number) => answers[number][0] === question.right);
      try {
        localStorage.setItem(`muonlab quiz ${model.get("lesson")}`, `${right.length} of ${questions.length}`);
      } catch { /* a browser that keeps nothing shows no progress */ }
    });
  }

  // What was predicted on this page as a file for a class: muonlab/classroom/handin.py says what it holds.
  const asked = [];

  function learner() {
    const drawn = crypto.getRandomValues(new Uint32Array(2));
    const fresh = [...drawn].map((number) => number.toString(16).padStart(8, "0")).join("");
    try {
      const kept = localStorage.getItem("muonlab learner");
      if (/^[0-9a-f]{16}$/.test(kept)) return kept;
      localStorage.setItem("muonlab learner", fresh);
    } catch { /* a browser that keeps nothing is a new learner each time */ }
    return fresh;
  }

  function handIn(name) {
    const chosen = asked.filter((model) => model.get("choice") >= 0);
    if (!chosen.length) return "Choose a prediction first.";
    const lesson = chosen[0].get("id").slice(0, 2), who = learner();
    const predictions = {};
    for (const model of chosen) {
      const [question, options, choice] = ["question", "options", "choice"].map((part) => model.get(part));
      predictions[model.get("id")] = { question, options, choice };
    }
    const made = `${new Date().toISOString().slice(0, 19)}Z`;
    const content = { format: "muonlab answers 1", lesson, learner: who, name, made, predictions, checks: {} };
    const file = new Blob([JSON.stringify(content, null, 1)], { type: "application/json" });
    const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(file), download: `muonlab-${lesson}-${who.slice(0, 8)}.json` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    return `${link.download}: predictions: ${chosen.length}; ${name ? "your name" : "no name"}. Give this file to your teacher.`;
  }

  function offerFile() {
    if (!asked.length || document.querySelector(".reveal")) return; // slides are the teacher's
    const name = Object.assign(document.createElement("input"), { maxLength: 80, autocomplete: "off" });
    const label = document.createElement("label");
    label.append("In a class? Your name, if you want it in the file: ", name);
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Save my predictions as a file" });
    const note = document.createElement("span");
    note.setAttribute("role", "status");
    button.addEventListener("click", () => (note.textContent = handIn(name.value.trim())));
    const box = Object.assign(document.createElement("div"), { className: "muonlab-file" });
    box.append(label, button, note);
    (document.querySelector("article.bd-article") ?? document.body).append(box);
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
    const model = standIn(state);
    if ("choice" in state) {
      remember(model);
      asked.push(model);
    }
    if (state.questions && state.lesson && !document.querySelector(".reveal")) count(model); // a slide holds half
    await widget.render({ model, el });
  }

  function drawAll() {
    const models = {};
    for (const script of document.querySelectorAll(STATE)) {
      const saved = JSON.parse(script.textContent);
      Object.assign(models, saved.state ?? saved);
    }
    const drawn = [...document.querySelectorAll(VIEW)].map((script) => draw(script, models));
    Promise.allSettled(drawn).then(offerFile);
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", drawAll);
  else drawAll();
})();
