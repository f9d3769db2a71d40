// What the playground draws: matrices as colours, bars, dots, and the two runs as bands over their steps.

// The page's colours now, light or dark; those of matrices as numbers, 0 to 255.
function palette(el) {
  const brush = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const style = getComputedStyle(el);
  const named = (name) => style.getPropertyValue(`--muonlab-${name}`);
  const numbers = (colour) => {
    brush.fillStyle = colour;
    brush.fillRect(0, 0, 1, 1);
    return brush.getImageData(0, 0, 1, 1).data;
  };
  const looks = LOOKS.contestants.map(({ name, dash }, i) => [name, { colour: named(`who-${i}`), dash }]);
  return { ink: style.color, paper: named("paper"), above: numbers(named("above")), below: numbers(named("below")), who: Object.fromEntries(looks) };
}

// The names of --muonlab-above and --muonlab-below in playground.css, wherever words are needed.
const SIGNS = { above: "green", below: "purple" };

// A pixel an entry, which the style sheet enlarges: the colour of its sign, as strong as its share of the largest.
function heat(canvas, A, { above, below }) {
  if (canvas.width !== A.columns) [canvas.width, canvas.height] = [A.columns, A.rows];
  const end = largest(A), image = new ImageData(A.columns, A.rows);
  for (let k = 0; k < A.at.length; k++) {
    const colour = A.at[k] > 0 ? above : below;
    for (let i = 0; i < 3; i++) image.data[4 * k + i] = colour[i];
    image.data[4 * k + 3] = (255 * Math.abs(A.at[k])) / end;
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}

// An empty canvas, in the pixels of the page; as many numbers as the screen has.
function cleared(canvas) {
  const { width, height } = canvas.room, fine = devicePixelRatio || 1, brush = canvas.getContext("2d");
  const [w, h] = [Math.round(width * fine), Math.round(height * fine)];
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
  brush.setTransform(fine, 0, 0, fine, 0, 0);
  brush.clearRect(0, 0, width, height);
  return { brush, width, height };
}

const level = ({ brush, width }, y, { ink }) => { // lines at 0, one half and 1
  brush.fillStyle = ink;
  brush.globalAlpha = 0.25;
  for (const share of [0, 0.5, 1]) brush.fillRect(0, y(share), width, 1);
  brush.globalAlpha = 1;
};

// A bar a fact, full where it is known and else pale; a line of steps says how often each is asked.
function answers(canvas, shares, often, look, colours) {
  const place = cleared(canvas), { brush, width, height } = place, each = width / shares.length, thick = Math.max(2, 0.76 * each);
  const y = (share) => height - 1 - share * (height - 3);
  level(place, y, colours);
  brush.fillStyle = brush.strokeStyle = look.colour;
  brush.lineWidth = 1;
  shares.forEach((share, k) => {
    if (!share) return; // nothing yet
    const left = (k + 0.5) * each - thick / 2, top = y(share), tall = y(0) + 1 - top;
    brush.globalAlpha = share > 0.5 ? 1 : 0.35;
    brush.fillRect(left, top, thick, tall);
    brush.globalAlpha = 1;
    brush.strokeRect(left + 0.5, top + 0.5, thick - 1, Math.max(0, tall - 1));
  });
  for (const [colour, wide] of [[colours.paper, 4], [colours.ink, 1.5]]) { // a rim: a bar may have the colour of ink
    brush.strokeStyle = colour;
    brush.lineWidth = wide;
    brush.beginPath();
    often.forEach((share, k) => {
      brush.lineTo(k * each, y(share));
      brush.lineTo((k + 1) * each, y(share));
    });
    brush.stroke();
  }
}

// A bar a singular value, and a dot for another: both as shares of the largest.
function spectrum(canvas, shares, others, look, colours) {
  const place = cleared(canvas), { brush, width, height } = place, each = width / shares.length, thick = Math.max(1, 0.7 * each);
  const y = (share) => height - 2 - share * (height - 6), wide = Math.min(6, Math.max(3, 0.7 * each));
  level(place, y, colours);
  shares.forEach((share, k) => {
    const x = (k + 0.5) * each;
    brush.fillStyle = look.colour;
    brush.fillRect(x - thick / 2, y(share), thick, y(0) - y(share));
    for (const [colour, rim] of [[colours.paper, 1], [colours.ink, 0]]) {
      brush.fillStyle = colour;
      brush.fillRect(x - wide / 2 - rim, y(others[k]) - wide / 2 - rim, wide + 2 * rim, wide + 2 * rim);
    }
  });
}

// Each run is a band from its least to its best known fact; a line stands at step t.
function timeline(canvas, runs, looks, t, steps, { ink }) {
  const { brush, width, height } = cleared(canvas);
  const x = (step) => 8 + (step / steps) * (width - 16), y = (share) => height - 2 - share * (height - 5);
  brush.fillStyle = ink;
  brush.globalAlpha = 0.25;
  for (const level of [0, 0.5, 1]) brush.fillRect(8, y(level), width - 16, 1);
  runs.forEach(({ points }, side) => {
    const edges = ["best", "worst"].map((end) => points.map((point, step) => [x(step), y(point[end])]));
    const line = (at) => at.forEach(([px, py]) => brush.lineTo(px, py));
    brush.fillStyle = brush.strokeStyle = looks[side].colour;
    brush.globalAlpha = 0.22;
    brush.beginPath();
    line(edges[0]);
    line(edges[1].toReversed());
    brush.fill();
    brush.globalAlpha = 1;
    brush.lineWidth = 2;
    brush.setLineDash(looks[side].dash);
    for (const edge of edges) {
      brush.beginPath();
      line(edge);
      brush.stroke();
    }
    brush.setLineDash([]);
  });
  brush.fillStyle = ink;
  brush.globalAlpha = 1;
  brush.fillRect(x(t) - 0.75, 0, 1.5, height);
}
