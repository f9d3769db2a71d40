// Shows the class's data. All words come in by textContent or append: none is read as HTML.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const main = document.querySelector("main");
  const back = document.getElementById("back"), next = document.getElementById("next");
  const pages = []; // of each its section, and what uncovers it

  function element(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  const many = (n, word) => n + " " + word + (n === 1 ? "" : "s");

  const page = (place, title, ...parts) =>
    element("section", {}, element("p", { class: "small" }, place), element("h2", { tabindex: "-1" }, title), ...parts);

  function table(label, heads, rows) {
    const line = (cells, tag) => element("tr", {}, ...cells.map((cell) => element(tag, tag === "th" ? { scope: "col" } : {}, String(cell))));
    const all = element("table", {}, element("thead", {}, line(heads, "th")), element("tbody", {}, ...rows.map((row) => line(row, "td"))));
    return element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": label }, all);
  }

  function prediction(lesson, asked, number) {
    const total = asked.votes.reduce((sum, votes) => sum + votes, 0);
    const rows = asked.options.map((option, i) => {
      const share = total ? asked.votes[i] / total : 0;
      const bar = element("div", { class: "bar" });
      bar.style.width = 100 * share + "%";
      const mark = element("span", {}, option);
      const count = element("span", { class: "count" }, asked.votes[i] + " · " + Math.round(100 * share) + " %");
      return { mark, li: element("li", {}, element("div", { class: "option" }, mark, count), element("div", { class: "track", "aria-hidden": "true" }, bar)) };
    });
    const outcome = element("p", { class: "outcome", role: "status" });
    const button = element("button", { type: "button" }, "Show what happened");
    const missing = lesson.learners - total - asked.others;
    const notes = [
      missing ? many(missing, "learner") + " did not predict." : "",
      asked.others ? many(asked.others, "answer") + " of another version of the lesson left out." : "",
    ].join(" ").trim();
    const place = "Lesson " + lesson.id + " · prediction " + number + " of " + lesson.asked.length + " · " + many(total, "answer");
    const section = page(place, asked.question, element("ul", {}, ...rows.map((row) => row.li)), outcome, element("p", { class: "small" }, notes));
    let shown = false;
    const show = (now) => {
      shown = now;
      section.classList.toggle("shown", now);
      rows.forEach((row, i) => {
        const right = now && i === asked.right;
        row.li.classList.toggle("right", right);
        row.mark.textContent = (right ? "✓ " : "") + asked.options[i];
      });
      const told = asked.votes[asked.right] + " of " + total + " predicted it.";
      if (now) outcome.replaceChildren(element("strong", {}, "What happened: "), asked.options[asked.right] + ". " + asked.because + " ", element("span", { class: "count" }, told));
      else outcome.replaceChildren(button);
    };
    button.addEventListener("click", () => { show(true); section.querySelector("h2").focus(); });
    show(false);
    pages.push({ section, toggle: () => show(!shown), show, shown: () => shown });
  }

  function exercises(lesson) {
    const heads = ["exercise", ...data.statuses, "not checked"];
    const place = "Lesson " + lesson.id + " · exercises · " + many(lesson.learners, "learner");
    const note = "Not yet: the code was still missing when the check ran. Not checked: the cell did not run, or the file comes from the book." +
      (lesson.unknown ? " " + many(lesson.unknown, "file") + " with questions or exercises of another version of the lesson." : "");
    const section = page(place, "Exercises: " + lesson.title, table("Exercises by status", heads, lesson.exercises), element("p", { class: "small" }, note));
    pages.push({ section });
  }

  function files() {
    const left = data.left_out.length;
    const parts = [];
    parts.push(element("p", {}, many(data.who.length, "file") + " of " + many(data.learners, "learner") + " counted, " + left + " left out."));
    if (left) parts.push(element("div", { class: "small" }, table("Files that were left out", ["left out", "why"], data.left_out)));
    const names = table("Who handed in", ["lesson", "name", "predictions", "exercises right", "made (UTC)"], data.who);
    parts.push(element("details", {}, element("summary", {}, "Names: not for the projector"), names));
    pages.push({ section: page("For the teacher", "The files of the class", ...parts) });
  }

  for (const lesson of data.lessons) {
    lesson.asked.forEach((asked, i) => prediction(lesson, asked, i + 1));
    exercises(lesson);
  }
  files();
  main.append(...pages.map((page) => page.section));

  let at = 0;
  function go(to, focus = true) {
    at = Math.min(Math.max(to, 0), pages.length - 1);
    pages.forEach((page, i) => page.section.classList.toggle("current", i === at));
    back.disabled = at === 0;
    next.disabled = at === pages.length - 1;
    try { history.replaceState(null, "", "#" + (at + 1)); } catch { /* some browsers refuse for files */ }
    if (focus) pages[at].section.querySelector("h2").focus();
  }
  back.addEventListener("click", () => go(at - 1));
  next.addEventListener("click", () => go(at + 1));
  const keys = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1, Home: -Infinity, End: Infinity };
  addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest(".wide")) return;
    if (event.key in keys) {
      event.preventDefault();
      go(at + keys[event.key]);
    } else if (event.key === " " && !event.target.closest("button, summary")) {
      event.preventDefault();
      pages[at].toggle?.();
    }
  });
  // paper shows all, what happened too
  let before;
  addEventListener("beforeprint", () => { before = pages.map((page) => page.shown?.()); pages.forEach((page) => page.show?.(true)); });
  addEventListener("afterprint", () => pages.forEach((page, i) => page.show?.(before[i])));
  go(parseInt(location.hash.slice(1), 10) - 1 || 0, false);
})();
