// Weights in the order in which a product reads them: blocks of four columns, in each block row by row. Every number is
// then next to the one before it, which a browser reads faster than four rows far from each other.

const WIDTH = 4;

// Packs the weights (K,N), or (N,K) if they are to be used transposed, once; they must not change afterwards.
export function pack(weights, turned) {
  if (weights.packed || weights.shape.length !== 2 || !(weights.data instanceof Float32Array)) return;
  const [K, N] = turned ? [weights.shape[1], weights.shape[0]] : weights.shape;
  if (N < WIDTH) return;
  const { data } = weights;
  const out = new Float32Array(Math.ceil(N / WIDTH) * WIDTH * K); // the last block may have columns of 0
  const [row, column] = turned ? [1, K] : [N, 1];
  for (let n = 0; n < N; n++) {
    const to = Math.floor(n / WIDTH) * WIDTH * K + (n % WIDTH);
    for (let k = 0; k < K; k++) out[to + WIDTH * k] = data[k * row + n * column];
  }
  weights.packed = { data: out, turned };
}

// The packed numbers of a matrix, if it was packed for this use.
export const packOf = ({ packed }, turned) => (packed?.turned === turned ? packed.data : null);

// out (R,N) = x (R,K) times packed weights. Two rows at once read the weights half as often: beams have several rows.
export function packedProduct(out, x, w, R, K, N) {
  for (let n = 0; n < N; n += WIDTH) {
    let r = 0;
    for (; r + 2 <= R; r += 2) twoRows(out, r * N + n, N, Math.min(WIDTH, N - n), x, r * K, w, n * K, K);
    if (r < R) oneRow(out, r * N + n, Math.min(WIDTH, N - n), x, r * K, w, n * K, K);
  }
}

function oneRow(out, to, columns, x, p, w, q, K) {
  let a = 0, b = 0, c = 0, d = 0;
  for (const end = p + K; p < end; p++, q += WIDTH) {
    const value = x[p];
    a += value * w[q];
    b += value * w[q + 1];
    c += value * w[q + 2];
    d += value * w[q + 3];
  }
  write(out, to, columns, a, b, c, d);
}

function twoRows(out, to, N, columns, x, p, w, q, K) {
  let a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
  for (let p1 = p + K, end = p + K; p < end; p++, p1++, q += WIDTH) {
    const one = x[p], two = x[p1];
    const w0 = w[q], w1 = w[q + 1], w2 = w[q + 2], w3 = w[q + 3];
    a += one * w0;
    b += one * w1;
    c += one * w2;
    d += one * w3;
    e += two * w0;
    f += two * w1;
    g += two * w2;
    h += two * w3;
  }
  write(out, to, columns, a, b, c, d);
  write(out, to + N, columns, e, f, g, h);
}

// Up to four numbers of a row; more would fall into the next one.
function write(out, to, columns, a, b, c, d) {
  out[to] = a;
  if (columns > 1) out[to + 1] = b;
  if (columns > 2) out[to + 2] = c;
  if (columns > 3) out[to + 3] = d;
}
