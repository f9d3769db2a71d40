// A clicker turns the page also while a slider has the keyboard; a quiz leads to its slide.
addEventListener("keydown", (event) => {
  if (event.key === "PageDown") Reveal.next();
  else if (event.key === "PageUp") Reveal.prev();
  else return;
  event.preventDefault();
  event.stopPropagation();
}, true);

addEventListener("click", (event) => {
  if (!event.target.matches(".muonlab-link")) return;
  event.stopPropagation(); // its own jump is for a page that scrolls
  const section = event.target.textContent.slice(1, -1);
  const heading = [...document.querySelectorAll("h2")].find((h) => h.textContent.trim().startsWith(section));
  if (!heading) return;
  const { h, v } = Reveal.getIndices(heading.closest("section"));
  Reveal.slide(h, v);
}, true);
