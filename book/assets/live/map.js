// Marks on the map what this reader has predicted and answered: the lessons' pages keep it in this browser.
(() => {
  function kept(key) {
    try { return localStorage.getItem(key); } catch { return null; } // a browser that keeps nothing
  }

  function show() {
    for (const link of document.querySelectorAll(".muonlab-map a")) {
      const asks = link.dataset.asks.split(" ").filter(Boolean);
      const predicted = asks.filter((id) => kept(`muonlab prediction ${id}`) !== null).length;
      const [, right, questions] = /^(\d+) of (\d+)$/.exec(kept(`muonlab quiz ${link.dataset.lesson}`)) ?? [];
      const told = [predicted && `${predicted} of ${asks.length} predicted`, questions && `quiz ${right} of ${questions}`];
      const said = told.filter(Boolean).join(" · ");
      const share = (predicted + (questions ? 1 : 0)) / (asks.length + 1);
      link.querySelector(".progress").textContent = said;
      link.querySelector(".done").style.width = `calc((100% - var(--left)) * ${share})`;
      link.dataset.plain ??= link.getAttribute("aria-label");
      link.setAttribute("aria-label", said ? `${link.dataset.plain} You: ${said}.` : link.dataset.plain);
    }
  }

  addEventListener("pageshow", show); // also when one comes back to the page
  addEventListener("storage", show);  // what was done in another tab
})();
