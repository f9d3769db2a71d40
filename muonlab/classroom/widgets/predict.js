function render({ model, el }) {
  root(el, "muonlab-predict");
  const group = `${model.get("id")}-${Math.random().toString(36).slice(2)}`;
  const note = element("p", { role: "status", class: "muonlab-note" });
  let arrows = false, waiting = -1; // the arrow keys pass over options that nobody has chosen yet
  const choose = (number) => {
    waiting = -1;
    model.set("choice", number);
    model.save_changes();
    show();
  };
  const legend = element("legend", {}, element("b", {}, "Your prediction. "), model.get("question"));
  const choices = model.get("options").map((option, number) => {
    const input = element("input", { type: "radio", name: group });
    input.checked = number === model.get("choice");
    input.addEventListener("change", () => {
      if (!arrows) return choose(number);
      [waiting, arrows] = [number, false];
      note.textContent = "Press Enter to choose this.";
    });
    return element("label", {}, input, ` ${option}`);
  });
  const show = () => {
    const unsaved = "Chosen. Run this cell in Jupyter to have it saved.";
    const chosen = model.get("choice") >= 0;
    note.textContent = model.get("note") || (chosen ? unsaved : "Choose, or go on without.");
  };
  model.on("change:note", show);
  show();
  const fields = element("fieldset", {}, legend, ...choices);
  fields.addEventListener("pointerdown", () => (arrows = false));
  fields.addEventListener("keydown", (event) => {
    arrows = event.key.startsWith("Arrow");
    if (waiting < 0 || !["Enter", " "].includes(event.key)) return;
    event.preventDefault();
    choose(waiting);
  });
  fields.addEventListener("focusout", (event) => waiting >= 0 && !fields.contains(event.relatedTarget) && choose(waiting));
  el.append(fields, note);
}

export default { render };
