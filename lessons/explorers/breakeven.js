// Lesson 15: how many steps must be saved so that a slower step pays off. All is computed here.
const format = { extra: (v) => `${v} %`, saved: (v) => `${v} %` };
const REPORTED = [ // speed in steps, as the share that is saved: 1.4 times as fast needs 1/1.4 of the steps
  { speed: 1.1, label: "1.1 times, at 1.2B" },
  { speed: 1.4, label: "1.4 times as fast, at 0.1B" },
  { speed: 1 / 0.52, label: "52 % of the work" },
];

const percent = (share) => `${(100 * share).toFixed(1)} %`;

function view({ extra, saved }) {
  const x = Array.from({ length: 101 }, (_, i) => 2 * i);
  const needed = (longer) => (100 * longer) / (100 + longer); // (1 + longer)(1 - needed) = 1
  const ratio = ((100 + extra) * (100 - saved)) / 10_000;
  const verdict = ratio === 1 ? "as long as with AdamW" : `${percent(Math.abs(ratio - 1))} ${ratio > 1 ? "longer" : "less long"} than with AdamW`;
  return {
    title: `A step takes ${extra} % longer, ${saved} % of the steps are saved`,
    x: { label: "how much longer a step takes, %", short: "a step longer by", unit: "%", range: [0, 200] },
    y: { label: "steps that are saved, %", unit: "%", range: [0, 70] },
    series: [
      { label: "even: time is saved above this line, lost below", x, y: x.map(needed) },
      { label: "your run", x: [extra], y: [saved], marker: "ring", line: false },
    ],
    marks: REPORTED.map(({ speed, label }) => ({ y: 100 * (1 - 1 / speed), label })),
    handles: [{ label: "your run", x: extra, y: saved, sets: ["extra", "saved"], move: (x, y) => ({ extra: x, saved: y }) }],
    sentence:
      `The run takes ${verdict}. To be even, ${percent(needed(extra) / 100)} of the steps must be saved. ` +
      "Dotted: 1.1 and 1.4 times as fast in steps (arXiv 2509.02046), 52 % of the work (arXiv 2502.16982).",
  };
}
