// Lesson 04: every trial of two searches; the learner chooses the number on the axis, and how many trials were made.
// data: {steps: {AdamW, Muon: {knobs: five lists, of an average 1 - it; overall, head, tail: final losses}}}, in the order of trials
const KNOBS = controls.find(({ name }) => name === "knob").options;

const FIRST = 16; // trials of the first round: over the whole ranges
const LATER = { AdamW: "triangle", Muon: "diamond" };

const counted = (number) => `${number} ${number === 1 ? "trial" : "trials"}`;

function rounds({ who, x, y }) {
  const part = (label, marker, ...ends) => ({ label, who, x: x.slice(...ends), y: y.slice(...ends), line: false, marker });
  const both = [part(`${who}, spread`, true, 0, FIRST), part(`${who}, near the best`, LATER[who], FIRST)];
  return both.filter((series) => series.x.length);
}

function changed(name, values, before, data) { // some lengths had fewer
  return { ...values, trials: Math.min(values.trials, data[values.steps].Muon.overall.length) };
}

function view({ steps, knob, part, trials }, data) {
  const found = data[steps];
  const column = KNOBS.indexOf(knob), average = knob.startsWith("average");
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
    title: `${knob}, runs of ${steps} steps, ${counted(trials)} each`,
    x: { label: average ? `1 − ${knob}` : knob, log: true, range: range((all) => all.knobs[column], (a, b) => [a / 1.1, 1.1 * b]) },
    y: { label: `final loss, ${part}, nats`, unit: "nats", range: range((all) => all[part], (a, b) => [a - 0.03 * (b - a), b + 0.03 * (b - a)]) },
    series: made.flatMap(rounds),
    marks: [{ y: best[0], label: "AdamW's best" }],
    sentence: `After ${counted(trials)} each, ${told.join(", ")}. Of Muon's, ${below} of ${trials} end below AdamW's best.`,
  };
}
