function render({ model, el }) {
  root(el, "muonlab-predict");
  const group = `${model.get("id")}-${Math.random().toString(36).slice(2)}`;
  const note = element("p", { role: "status", class: "muonlab-note" });
  const legend = element("legend", {}, element("b", {}, "Your prediction. "), model.get("question"));
  const choices = model.get("options").map((option, number) => {
    const input = element("input", { type: "radio", name: group });
    input.checked = number === model.get("choice");
    input.addEventListener("change", () => {
      model.set("choice", number);
      model.save_changes();
      show();
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
  el.append(element("fieldset", {}, legend, ...choices), note);
}

export default { render };
