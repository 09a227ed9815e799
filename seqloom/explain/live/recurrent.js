// The ONNX operators RNN, GRU and LSTM: a layer over time, forwards, backwards or both, over rows of given lengths.
import { addProductTransposed } from "./products.js";
import { zeros } from "./tensors.js";

export const sigmoid = (value) => 1 / (1 + Math.exp(-value));
const ACTIVATIONS = { Tanh: Math.tanh, Relu: (value) => Math.max(0, value) };

// A step of each cell: `x` has W x + both biases, `h` the state before; it writes the state after into `h` (and `c`).
const CELLS = {
  RNN: {
    gates: 1,
    step({ x, h, H, R, activation }) {
      addProductTransposed(x, 0, h, 0, R.data, R.offset, 1, H, H);
      for (let i = 0; i < H; i++) h[i] = activation(x[i]);
    },
  },
  LSTM: {
    gates: 4, // i, o, f, candidate
    step({ x, h, c, H, R }) {
      addProductTransposed(x, 0, h, 0, R.data, R.offset, 1, H, 4 * H);
      for (let i = 0; i < H; i++) {
        c[i] = sigmoid(x[2 * H + i]) * c[i] + sigmoid(x[i]) * Math.tanh(x[3 * H + i]);
        h[i] = sigmoid(x[H + i]) * Math.tanh(c[i]);
      }
    },
  },
  GRU: {
    gates: 3, // z, r, candidate
    step({ x, h, H, R, biasOfState, resetsLate }) {
      addProductTransposed(x, 0, h, 0, R.data, R.offset, 1, H, 2 * H);
      const r = new Float32Array(H);
      for (let i = 0; i < H; i++) r[i] = sigmoid(x[H + i]);
      const read = new Float32Array(H);
      if (!resetsLate) for (let i = 0; i < H; i++) r[i] *= h[i];
      addProductTransposed(read, 0, resetsLate ? h : r, 0, R.data, R.offset + 2 * H * H, 1, H, H);
      for (let i = 0; i < H; i++) {
        const fromState = read[i] + biasOfState[2 * H + i];
        const candidate = Math.tanh(x[2 * H + i] + (resetsLate ? r[i] * fromState : fromState));
        const z = sigmoid(x[i]);
        h[i] = (1 - z) * candidate + z * h[i];
      }
    },
  },
};

// X (T,B,E), W (directions, gates H, E), R (directions, gates H, H), bias (directions, 2 gates H), lengths (B).
export function recurrent(name, [X, W, R, bias, lengths], attributes) {
  const cell = CELLS[name];
  const [T, B, E] = X.shape;
  const H = attributes.hidden_size;
  const G = cell.gates * H;
  const directions = W.shape[0];
  const outputs = zeros([T, directions, B, H]);
  const last = { h: zeros([directions, B, H]), c: zeros([directions, B, H]) };
  for (let d = 0; d < directions; d++) {
    const backwards = attributes.direction === "reverse" || d === 1;
    const biasOfState = bias.data.subarray(d * 2 * G + G, (d + 1) * 2 * G);
    const projected = new Float32Array(T * B * G);
    for (let i = 0; i < T * B; i++)
      for (let g = 0; g < G; g++) {
        const apart = name === "GRU" && g >= 2 * H; // its step adds that bias itself: the reset gate may scale it
        projected[i * G + g] = bias.data[d * 2 * G + g] + (apart ? 0 : biasOfState[g]);
      }
    addProductTransposed(projected, 0, X.data, 0, W.data, d * G * E, T * B, E, G);
    for (let b = 0; b < B; b++) {
      const [h, c] = [last.h, last.c].map((all) => all.data.subarray((d * B + b) * H, (d * B + b + 1) * H));
      const length = lengths ? lengths.data[b] : T;
      for (let i = 0; i < length; i++) {
        const t = backwards ? length - 1 - i : i;
        const x = projected.subarray((t * B + b) * G, (t * B + b + 1) * G);
        cell.step({
          x, h, c, H, biasOfState,
          R: { data: R.data, offset: d * G * H },
          resetsLate: attributes.linear_before_reset === 1,
          activation: ACTIVATIONS[attributes.activations?.[d] ?? "Tanh"],
        });
        outputs.data.set(h, ((t * directions + d) * B + b) * H);
      }
    }
  }
  return name === "LSTM" ? [outputs, last.h, last.c] : [outputs, last.h];
}
