// Lesson 13: how far W_q walks until the largest logit is so high, by two norms; recorded runs.
// data: {every, arms: [{label, who, dash, frobenius, spectral, logit}]}: a step's mean lengths, and logits, means of so many steps

// The way to a height, on straight lines between the points; NaN where it is not reached.
function way(x, y, height) {
  const i = y.findIndex((v) => v >= height);
  if (i < 1) return i ? NaN : x[0];
  return x[i - 1] + ((x[i] - x[i - 1]) * (height - y[i - 1])) / (y[i] - y[i - 1]);
}

function view({ norm, height }, data) {
  const { every, arms } = data;
  const name = norm.split(" ")[0].toLowerCase();
  const series = arms.map(({ label, who, dash, logit, [name]: length }) => (
    { label, who, dash, x: logit.map((_, i) => length * every * (i + 0.5)), y: logit }
  ));
  const ways = (optimizer) => {
    const found = series.filter(({ who }) => who === optimizer).map(({ x, y }) => way(x, y, height));
    return found.filter(Number.isFinite).map((v) => short(v, 2)).join(" and ");
  };
  return {
    title: `Largest logit by the way of W_q, ${norm}`,
    x: { label: "sum of the lengths of the steps so far", short: "way", log: true },
    y: { label: "largest logit", log: true },
    series,
    marks: [{ y: height, label: `a logit of ${height}` }],
    sentence:
      `Until the largest logit is ${height}, W_q walks ${ways("AdamW")} under AdamW and ${ways("Muon")} under Muon. ` +
      "Runs that end below are left out.",
  };
}
