// Lesson 03: what the momentum μ makes of the gradients of one matrix, in M and in the direction D.
// data: {at: [0, 3, …], "w_out M": [row of μ = 0, of 0.05, …], "w_out D": …}; a row is the share of the
// steepest way, then singular values as shares of the norm, those at the places in `at`.
const format = { mu: (v) => v.toFixed(2) };
const STEPS = Array.from({ length: 20 }, (_, i) => i / 20);
const LIFTED = 0.002; // what five steps with Jordan's numbers still lift into the band
const percent = (v, digits = 0) => `${(100 * v).toFixed(digits)} %`;

function view({ mu, matrix, show }, data) {
  const i = Math.round(20 * mu), steep = show === "the way downhill";
  const parts = [["M, the average", "M"], ["D, with Nesterov", "D"]].map(([label, part]) => ({ label, rows: data[`${matrix} ${part}`] }));
  const [[wayM, topM], [wayD, topD]] = parts.map(({ rows }) => rows[i]), [lowM, lowD] = parts.map(({ rows }) => rows[i].at(-1));
  const weights = `The newest gradient has the weight ${percent(1 - mu)} in M and ${percent(1 - mu * mu, 1)} in D.`;
  return {
    title: `${matrix} of the middle block, μ = ${mu.toFixed(2)}`,
    x: steep ? { label: "momentum μ", range: [-0.02, 0.97] } : { label: "number of the singular value, largest first", short: "number" },
    y: steep ? { label: "share of the steepest way" } : { label: "singular value / norm", log: true, range: [1e-5, 1] },
    series: parts.map(({ label, rows }) => ({
      label, marker: true, x: steep ? STEPS : data.at.map((place) => place + 1), y: steep ? rows.map(([way]) => way) : rows[i].slice(1),
    })),
    marks: steep ? [{ x: mu, label: `μ = ${mu.toFixed(2)}` }] : [{ y: LIFTED, label: "five steps lift what is above" }],
    handles: steep ? [{ label: "momentum", x: mu, sets: ["mu"], move: (x) => ({ mu: x }) }] : [],
    sentence: weights + (steep
      ? ` On other batches the step along M goes ${percent(wayM)} of the steepest way, along D ${percent(wayD)}.`
      : ` The largest singular value is ${percent(topM)} of the norm of M and ${percent(topD)} of that of D; the smallest is ${short(lowM, 2)} and ${short(lowD, 2)}.`),
  };
}
