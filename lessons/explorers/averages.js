// Lesson 15: who ends lower, by AdamW's β1, Muon's μ and the length of a run; recorded runs.
// data: {all, rare: [length][β1][μ] = AdamW's loss minus Muon's, a number a seed}
const AVERAGES = [0.5, 0.8, 0.9, 0.95], LENGTHS = [150, 600, 1200];
const format = { length: (v) => LENGTHS[v].toLocaleString("en") };

const mean = (numbers) => numbers.reduce((sum, v) => sum + v, 0) / numbers.length;
const winner = (lead) => (lead < 0 ? "AdamW" : "Muon");
const signed = (v) => `${v < 0 ? "−" : "+"}${Math.abs(v).toFixed(2)}`;

function view({ part, length, pair }, data) {
  const steps = format.length(length);
  const leads = data[part].map((rows) => rows.flat()), means = leads.map((pairs) => pairs.map(mean));
  const every = Object.values(data).flat(4), most = Math.max(...every.map(Math.abs)), strongest = Math.max(...means.flat());
  const chosen = leads.map((pairs) => pairs[pair]), now = means[length][pair], of = (f) => chosen.map((seeds) => f(...seeds));
  const named = (n) => `β1 ${AVERAGES[Math.floor(n / 4)]}, μ ${AVERAGES[n % 4]}`;
  const cells = AVERAGES.map((_, row) => AVERAGES.map((_, column) => {
    const value = 4 * row + column, lead = means[length][value], who = winner(lead);
    const label = `${named(value)}: ${who} lower by ${Math.abs(lead).toFixed(2)} nats`;
    return { value, who, label, text: signed(lead), strength: Math.min(1, Math.abs(lead) / strongest) };
  }));
  return {
    title: `AdamW's loss minus Muon's, ${part} tokens: above 0, Muon ends lower`,
    maps: [{ name: "pair", title: `after ${steps} steps: rows are AdamW's β1, columns Muon's μ, colours the winner's`, rows: AVERAGES, columns: AVERAGES, cells }],
    x: { label: "steps of a run", short: "steps", log: true, range: [140, 1300] },
    y: { label: "AdamW's loss minus Muon's, nats", unit: "nats", range: [Math.min(...every), most] },
    series: [
      { label: "the pair that favours Muon most", x: LENGTHS, y: means.map((pairs) => Math.max(...pairs)) },
      { label: `${named(pair)}, mean and range of ${chosen[0].length} seeds`, who: winner(now), x: LENGTHS, y: means.map((pairs) => pairs[pair]), low: of(Math.min), high: of(Math.max), marker: true },
      { label: "the pair that favours AdamW most", x: LENGTHS, y: means.map((pairs) => Math.min(...pairs)) },
    ],
    marks: [{ y: 0, label: "level" }],
    sentence:
      `With ${named(pair)} after ${steps} steps: ${signed(now)} nats, ${winner(now)}'s mean is lower. ` +
      `It is AdamW's in ${means[length].filter((lead) => lead < 0).length} of 16 pairs.`,
  };
}
