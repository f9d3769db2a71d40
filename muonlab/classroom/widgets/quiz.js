function goTo(section) {
  const headings = [...document.querySelectorAll("h1, h2, h3, h4")];
  const title = (heading) => heading.textContent.replace(/[#¶]\s*$/, "").trim(); // the theme's link
  const target = headings.find((heading) => title(heading) === section)
    ?? headings.find((heading) => title(heading).startsWith(section));
  if (!target) return;
  target.setAttribute("tabindex", "-1"); // the keyboard goes on reading from there
  target.focus({ preventScroll: true });
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  target.scrollIntoView({ behavior: still ? "auto" : "smooth", block: "start" });
}

function verdict(question, number) {
  const option = question.options[number];
  if (number === question.right) {
    return [element("b", { class: "muonlab-right" }, "✓ Right. "), option.because];
  }
  const link = element("button", { type: "button", class: "muonlab-link" }, `“${option.section}”`);
  link.addEventListener("click", () => goTo(option.section));
  const name = element("i", {}, `${option.misconception}. `);
  const sign = element("b", { class: "muonlab-wrong" }, "✗ Not right. ");
  return [sign, "A common belief: ", name, `${option.because} Read again: `, link];
}

function ask(question, number, answers, changed) {
  const feedback = element("div", { role: "status", class: "muonlab-feedback" });
  const buttons = question.options.map((option, place) => {
    const button = element("button", { type: "button", class: "muonlab-option" }, option.option);
    button.addEventListener("click", () => choose(place, true));
    return button;
  });
  const choose = (place, announce) => {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === place)));
    feedback.replaceChildren(...verdict(question, place));
    if (announce) changed(number, place);
  };
  const latest = answers[number]?.at(-1);
  if (latest !== undefined) choose(latest, false);
  const title = element("p", { class: "muonlab-question" }, `${number + 1}. ${question.text}`);
  return element("div", { role: "group", "aria-label": question.text }, title, ...buttons, feedback);
}

function render({ model, el }) {
  root(el, "muonlab-quiz");
  const questions = model.get("questions");
  const score = element("p", { role: "status", class: "muonlab-note" });
  const show = () => {
    const answers = model.get("answers");
    const first = questions.filter((q, i) => answers[i]?.[0] === q.right).length;
    const answered = Object.keys(answers).length;
    score.textContent =
      `${first} of ${questions.length} right at the first try, ${answered} answered.`;
  };
  const changed = (number, place) => {
    const answers = model.get("answers");
    model.set("answers", { ...answers, [number]: [...(answers[number] ?? []), place] });
    model.save_changes();
    show();
  };
  el.append(...questions.map((q, i) => ask(q, i, model.get("answers"), changed)), score);
  show();
}

export default { render };
