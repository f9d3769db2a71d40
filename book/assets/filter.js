// A page's tables of claims, or of errata, filtered by words and by lesson. Without this script the page shows all.
const { of } = document.currentScript.dataset; // "claims" or "errata": a class of tables
const tables = [...document.querySelectorAll(`table.${of}`)];
const rows = tables.flatMap((table) => [...table.tBodies[0].rows]);
const places = new Map(); // "04" or the name of a page: its rows
for (const row of rows) {
  const links = [...row.cells[0].querySelectorAll("a")].map((a) => a.textContent.trim().replace(/-c\d+$/, ""));
  for (const link of new Set(links)) {
    places.set(link, [...(places.get(link) ?? []), row]);
  }
}

const make = (tag, text, more) => Object.assign(document.createElement(tag), { textContent: text }, more);
const place = make("select", "", { id: "filter-place" });
place.append(make("option", "all", { value: "" }));
for (const name of [...places.keys()].sort()) place.append(make("option", name, { value: name }));
const words = make("input", "", { id: "filter-words", type: "search" });
const said = make("p", "", { role: "status" });

function show() {
  const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
  const chosen = place.value ? places.get(place.value) : rows;
  let count = 0;
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !(chosen.includes(row) && wanted.every((word) => text.includes(word)));
    count += !row.hidden;
  }
  for (const table of tables) {
    // with its heading: an empty table says nothing
    table.closest("section").hidden = [...table.tBodies[0].rows].every((row) => row.hidden);
  }
  said.textContent = `${count} of ${rows.length} ${of}`;
}

const form = make("form", "", { className: "muonlab-filter", onsubmit: (event) => event.preventDefault() });
const labelled = (text, control) => {
  const label = make("label", `${text} `);
  label.append(control);
  return label;
};
form.append(labelled("Lesson or page", place), labelled("Words", words), said);
form.addEventListener("input", show);
tables[0]?.closest("section").before(form);
show();
