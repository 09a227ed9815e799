// Matrix products, in loops that a browser compiles well: four columns or four rows of the second matrix at once.
import { packedProduct, packOf } from "./packed.js";
import { broadcast, expand, sizeOf, tensor, zeros } from "./tensors.js";

// out (R,N) += x (R,K) times w (K,N), each beginning at its offset.
export function addProduct(out, o, x, p, w, q, R, K, N) {
  let k = 0;
  for (; k + 4 <= K; k += 4) {
    const [q0, q1, q2, q3] = [q + k * N, q + (k + 1) * N, q + (k + 2) * N, q + (k + 3) * N];
    for (let r = 0; r < R; r++) {
      const from = p + r * K + k;
      const a = x[from], b = x[from + 1], c = x[from + 2], d = x[from + 3];
      const to = o + r * N;
      for (let n = 0; n < N; n++) out[to + n] += a * w[q0 + n] + b * w[q1 + n] + c * w[q2 + n] + d * w[q3 + n];
    }
  }
  for (; k < K; k++)
    for (let r = 0; r < R; r++) {
      const a = x[p + r * K + k];
      for (let n = 0; n < N; n++) out[o + r * N + n] += a * w[q + k * N + n];
    }
}

// out (R,N) += x (R,K) times the transpose of w (N,K). Two rows at once read w half as often: beams have several rows.
export function addProductTransposed(out, o, x, p, w, q, R, K, N) {
  let n = 0;
  for (; n + 4 <= N; n += 4) {
    let r = 0;
    for (; r + 2 <= R; r += 2) twoRows(out, o + r * N + n, N, x, p + r * K, w, q + n * K, K);
    if (r < R) oneRow(out, o + r * N + n, x, p + r * K, w, q + n * K, K);
  }
  for (; n < N; n++)
    for (let r = 0; r < R; r++) {
      let sum = 0;
      for (let k = 0; k < K; k++) sum += x[p + r * K + k] * w[q + n * K + k];
      out[o + r * N + n] += sum;
    }
}

function oneRow(out, to, x, p, w, q, K) {
  const q1 = q + K, q2 = q1 + K, q3 = q2 + K;
  let a = 0, b = 0, c = 0, d = 0;
  for (let k = 0; k < K; k++) {
    const value = x[p + k];
    a += value * w[q + k];
    b += value * w[q1 + k];
    c += value * w[q2 + k];
    d += value * w[q3 + k];
  }
  out[to] += a;
  out[to + 1] += b;
  out[to + 2] += c;
  out[to + 3] += d;
}

function twoRows(out, to, N, x, p, w, q, K) {
  const p1 = p + K, q1 = q + K, q2 = q1 + K, q3 = q2 + K;
  let a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
  for (let k = 0; k < K; k++) {
    const one = x[p + k], two = x[p1 + k];
    const w0 = w[q + k], w1 = w[q1 + k], w2 = w[q2 + k], w3 = w[q3 + k];
    a += one * w0;
    b += one * w1;
    c += one * w2;
    d += one * w3;
    e += two * w0;
    f += two * w1;
    g += two * w2;
    h += two * w3;
  }
  out[to] += a;
  out[to + 1] += b;
  out[to + 2] += c;
  out[to + 3] += d;
  out[to + N] += e;
  out[to + N + 1] += f;
  out[to + N + 2] += g;
  out[to + N + 3] += h;
}

// ONNX MatMul: matrices are the last two axes; the axes before them are repeated where needed.
export function matmul(a, b) {
  const left = a.shape.length === 1 ? [1, ...a.shape] : a.shape;
  const right = b.shape.length === 1 ? [...b.shape, 1] : b.shape;
  const [R, K, N] = [left.at(-2), left.at(-1), right.at(-1)];
  if (right.at(-2) !== K) throw new Error(`matrices of shapes ${a.shape} and ${b.shape} do not fit`);
  const before = broadcast(left.slice(0, -2), right.slice(0, -2));
  const shape = [...before];
  if (a.shape.length > 1) shape.push(R);
  if (b.shape.length > 1) shape.push(N);
  const out = zeros(shape);
  const count = sizeOf(before);
  if (sizeOf(right) === K * N) {
    // one matrix for all: a single product of many rows
    const x = sizeOf(left) === count * R * K ? a.data : expand(tensor(left, a.data), [...before, R, K]).data;
    const packed = packOf(b, false);
    if (packed) packedProduct(out.data, x, packed, count * R, K, N);
    else addProduct(out.data, 0, x, 0, b.data, 0, count * R, K, N);
    return out;
  }
  const x = expand(tensor(left, a.data), [...before, R, K]).data;
  const w = expand(tensor(right, b.data), [...before, K, N]).data;
  for (let i = 0; i < count; i++) addProduct(out.data, i * R * N, x, i * R * K, w, i * K * N, R, K, N);
  return out;
}

// ONNX Gemm: alpha A B + beta C, either matrix perhaps transposed.
export function gemm(a, b, c, { alpha = 1, beta = 1, transA = 0, transB = 0 }) {
  const [R, K] = transA ? [a.shape[1], a.shape[0]] : a.shape;
  const N = transB ? b.shape[0] : b.shape[1];
  let x = a.data;
  if (transA) {
    x = new Float32Array(R * K);
    for (let r = 0; r < R; r++) for (let k = 0; k < K; k++) x[r * K + k] = a.data[k * R + r];
  }
  const out = zeros([R, N]);
  const packed = packOf(b, Boolean(transB));
  if (packed) packedProduct(out.data, x, packed, R, K, N);
  else (transB ? addProductTransposed : addProduct)(out.data, 0, x, 0, b.data, 0, R, K, N);
  if (alpha !== 1) for (let i = 0; i < out.data.length; i++) out.data[i] *= alpha;
  if (c) {
    const isRow = c.data.length === N && c.shape.at(-1) === N; // one bias for all rows
    const added = isRow ? c.data : expand(c, [R, N]).data;
    for (let i = 0, j = 0; i < out.data.length; i++) {
      out.data[i] += beta * added[j];
      if (++j === added.length) j = 0;
    }
  }
  return out;
}
