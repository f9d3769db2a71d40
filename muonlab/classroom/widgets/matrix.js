// For the explorers that compute with matrices: lists of rows.

const product = (A, B) => A.map((row) => B[0].map((_, j) => row.reduce((sum, a, k) => sum + a * B[k][j], 0)));
const transposed = (A) => A[0].map((_, j) => A.map((row) => row[j]));

// The coupled embeddings' blocks of three facts, turned by a share of the angles of arXiv 2509.26030, Appendix D.
function coupled(turn) {
  const z = (t) => [[Math.cos(t), -Math.sin(t), 0], [Math.sin(t), Math.cos(t), 0], [0, 0, 1]];
  const y = (t) => [[Math.cos(t), 0, Math.sin(t)], [0, 1, 0], [-Math.sin(t), 0, Math.cos(t)]];
  const euler = (a, b, c) => product(product(z(a * turn), y(b * turn)), z(c * turn));
  return { keys: euler(1.715, 0.876, 3.098), values: euler(3.638, 2.949, 5.218) };
}
