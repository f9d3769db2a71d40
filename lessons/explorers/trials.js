// Lesson 04: every trial of two searches; the learner chooses the number on the axis, and how many trials were made.
// data: {steps: {AdamW, Muon: {knobs: five lists, of an average 1 - it; overall, head, tail: final losses}}}, in the order of trials
const KNOBS = controls.find(({ name }) => name === "knob").options;

const counted = (number) => `${number} ${number === 1 ? "trial" : "trials"}`;

function view({ steps, knob, part, trials }, data) {
  const found = data[steps], column = KNOBS.indexOf(knob), average = knob.startsWith("average");
  const made = Object.entries(found).map(([who, all]) => ({ who, x: all.knobs[column].slice(0, trials), y: all[part].slice(0, trials) }));
  const best = made.map(({ y }) => Math.min(...y));
  const every = Object.values(found), range = (each, pad) => {
    const numbers = every.flatMap(each);
    return pad(Math.min(...numbers), Math.max(...numbers));
  };
  const at = ({ x, y }, low) => x[y.indexOf(low)], value = (v) => short(average ? 1 - v : v, 3);
  const told = made.map((one, i) => `${one.who}'s best ends at ${best[i].toFixed(3)} (${value(at(one, best[i]))})`);
  const below = made[1].y.filter((loss) => loss < best[0]).length;
  return {
    title: `${knob}, runs of ${steps} steps, ${counted(trials)} each: those from number 17 on look around the best so far`,
    x: { label: average ? `1 − ${knob}` : knob, log: true, range: range((all) => all.knobs[column], (a, b) => [a / 1.1, 1.1 * b]) },
    y: { label: `final loss, ${part}, nats`, unit: "nats", range: range((all) => all[part], (a, b) => [a - 0.03 * (b - a), b + 0.03 * (b - a)]) },
    series: made.map(({ who, x, y }) => ({ label: who, who, x, y, line: false, marker: true })),
    marks: [{ y: best[0], label: "AdamW's best" }],
    sentence: `After ${counted(trials)} each, ${told.join(", ")}. Of Muon's, ${below} of ${trials} end below AdamW's best.`,
  };
}
