// Lesson 11: how much of the gap from all AdamW to all Muon each row of Table 1 recovers; one row is chosen.
// A gap that is too uncertain to divide by is not: the picture then counts nats.
// data: {tables: {kind: {source: {loss: {name: [seed]}, share: the same, gap}}}}
// gap: AdamW's loss minus Muon's: [mean, low, high] over the seeds, or [one run].
const ROWS = controls.find(({ name }) => name === "row").options; // the first is all AdamW, the last all Muon

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function percent(share) {
  return `${Math.round(100 * share)} %`;
}

function divisible({ gap: [gap, low] }) {
  return low === undefined || low >= gap / 2; // the paper's gap is one run and has no interval
}

function gained({ loss }) {
  const below = ([name, values]) => [name, values.map((value, seed) => loss["all AdamW"][seed] - value)];
  return Object.fromEntries(Object.entries(loss).map(below));
}

function told(name, table) {
  if (!(name in table.loss)) return `${name} is not a row of this table.`;
  const losses = table.loss[name], shares = table.share[name], [gap, low, high] = table.gap;
  const first = `${name} ends at ${mean(losses).toFixed(3)} nats`;
  if (losses.length === 1) return `${first} and recovers ${percent(shares[0])} of the gap of ${gap.toFixed(3)}. This is one run.`;
  const size = `the gap of ${gap.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`;
  const below = mean(gained(table)[name]);
  const gain = `${Math.abs(below).toFixed(3)} nats ${below < 0 ? "above" : "below"} all AdamW`;
  if (!divisible(table)) return `${first}, ${gain}, mean of ${losses.length} seeds. No share is given: ${size} is too uncertain to divide by.`;
  const ends = `from ${percent(Math.min(...shares))} to ${percent(Math.max(...shares))} over ${losses.length} seeds`;
  return `${first} and recovers ${percent(mean(shares))} of ${size}, ${ends}.`;
}

function view({ row, source, kind }, data) {
  const table = data.tables[kind][source], name = row;
  const shares = divisible(table), value = shares ? table.share : gained(table);
  const rows = ROWS.filter((known) => known in table.loss), height = (known) => rows.indexOf(known) + 1;
  const seeds = value["all Muon"].map((_, seed) => ({
    label: table.gap.length > 1 ? `seed ${seed + 1}` : "the paper's run",
    x: rows.map((known) => value[known][seed]), y: rows.map(height),
    line: false, marker: true,
  }));
  const drawn = seeds.flatMap((seed) => seed.x), least = Math.min(...drawn), most = Math.max(...drawn);
  const chosen = name in table.loss ? mean(value[name]) : NaN, at = height(name);
  return {
    title: `${kind}, ${source}: ${name.startsWith("all") ? `${name.slice(4)} takes all` : `Muon takes ${name}, AdamW the rest`}`,
    x: shares
      ? { label: "share of the gap: 0 is all AdamW, 1 all Muon", range: [Math.min(-0.1, least - 0.1), Math.max(1.2, most + 0.1)] }
      : { label: "nats below all AdamW", unit: "nats", range: [1.2 * least, 1.1 * most] },
    y: { label: "row", range: [0, rows.length + 1], names: rows, chosen: name },
    series: [{ label: "the chosen row", x: [0, chosen], y: [at, at], dash: "" }, ...seeds],
    marks: [{ x: 0, label: "" }, ...(shares ? [{ x: 1, label: "" }] : [])],
    sentence: told(name, table),
  };
}
