// Lesson 04: recorded tuning runs of two optimizers; the learner chooses the two rates of each on a map.
// data: {runs: [{optimizer, rate, outer, step, overall, head, tail, train}], range: {overall, …}}
// The runs of an optimizer are sorted, the best first; train is the loss of every step.
const NAMES = { adamw: "AdamW", muon: "Muon" };

const last = (run, part) => run[part].at(-1);
const sorted = (numbers) => [...new Set(numbers)].sort((a, b) => a - b);

function chart(optimizer, part, runs, [low, high]) {
  const own = runs.filter((run) => run.optimizer === optimizer);
  const rates = sorted(own.map((run) => run.rate)).reverse(), outer = sorted(own.map((run) => run.outer));
  const cell = (rate, other) => {
    const rank = own.findIndex((run) => run.rate === rate && run.outer === other);
    const end = last(own[rank], part);
    return {
      value: rank + 1, text: end.toFixed(3), strength: (high - end) / (high - low),
      label: `${rate} for the matrices, ${other} for embedding and head: ${end.toFixed(3)}`,
    };
  };
  return {
    name: optimizer, who: NAMES[optimizer], title: `${NAMES[optimizer]}: where each pair of rates ends`,
    rows: rates.map(String), columns: outer.map(String), cells: rates.map((rate) => outer.map((other) => cell(rate, other))),
  };
}

function curves(run, part) {
  const who = NAMES[run.optimizer], measured = { label: `${who}, held out`, who, x: run.step, y: run[part], marker: true };
  if (part !== "overall") return [measured]; // training counts no parts
  const x = run.train.map((_, i) => i + 1);
  return [{ label: `${who}, the batch of each step`, who, x, y: run.train }, { ...measured, line: false }];
}

function view({ muon, adamw, part }, { runs, range }) {
  const chosen = Object.entries({ muon, adamw }).map(([name, rank]) => runs.filter((run) => run.optimizer === name)[rank - 1]);
  const ends = runs.map((run) => last(run, part)), span = [Math.min(...ends), Math.max(...ends)];
  const rates = (run) => `rates ${run.rate} for the matrices, ${run.outer} for embedding and head`;
  const told = chosen.map((run) => `${NAMES[run.optimizer]} (${rates(run)}) ends at ${last(run, part).toFixed(3)}`);
  return {
    title: "Held-out loss at the end, the stronger the colour the lower: a row for each rate of the matrices, a column for each of embedding and head",
    x: { label: "step", unit: "" },
    y: { label: `loss, ${part}, nats`, unit: "nats", range: range[part] },
    series: chosen.flatMap((run) => curves(run, part)),
    maps: Object.keys(NAMES).map((optimizer) => chart(optimizer, part, runs, span)),
    sentence: `${told.join("; ")}. ` + (part === "overall" ? "No curve is smoothed." : "Lines join the held-out measurements."),
  };
}
