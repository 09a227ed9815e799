// The ONNX operators RNN, GRU and LSTM: a layer over time, forwards, backwards or both, over rows of given lengths.
import { addProductTransposed } from "./products.js";
import { tensor, zeros } from "./tensors.js";

export const sigmoid = (value) => 1 / (1 + Math.exp(-value));
const ACTIVATIONS = { Tanh: Math.tanh, Relu: (value) => Math.max(0, value) };

// A step of each cell: `x` has W x + both biases, `h` the state before; it writes the state after into `h` (and `c`).
// `x` becomes the gates, one after the other in the order of `gates`. `settle(from, to)` lets the caller change these of
// them by hand before anything is computed from them.
const CELLS = {
  RNN: {
    gates: [null],
    step({ x, h, H, R, activation }) {
      addProductTransposed(x, 0, h, 0, R.data, R.offset, 1, H, H);
      for (let i = 0; i < H; i++) h[i] = activation(x[i]);
    },
  },
  LSTM: {
    gates: ["input", "output", "forget", "candidate"],
    step({ x, h, c, H, R, settle }) {
      addProductTransposed(x, 0, h, 0, R.data, R.offset, 1, H, 4 * H);
      for (let i = 0; i < 4 * H; i++) x[i] = i < 3 * H ? sigmoid(x[i]) : Math.tanh(x[i]);
      settle(0, 4);
      for (let i = 0; i < H; i++) {
        c[i] = x[2 * H + i] * c[i] + x[i] * x[3 * H + i];
        h[i] = x[H + i] * Math.tanh(c[i]);
      }
    },
  },
  GRU: {
    gates: ["update", "reset", "candidate"],
    step({ x, h, H, R, biasOfState, resetsLate, settle }) {
      addProductTransposed(x, 0, h, 0, R.data, R.offset, 1, H, 2 * H);
      for (let i = 0; i < 2 * H; i++) x[i] = sigmoid(x[i]);
      settle(0, 2);
      const seen = resetsLate ? h : h.map((value, i) => x[H + i] * value), read = new Float32Array(H);
      addProductTransposed(read, 0, seen, 0, R.data, R.offset + 2 * H * H, 1, H, H);
      for (let i = 0; i < H; i++) {
        const fromState = read[i] + biasOfState[2 * H + i];
        x[2 * H + i] = Math.tanh(x[2 * H + i] + (resetsLate ? x[H + i] * fromState : fromState));
      }
      settle(2, 3);
      for (let i = 0; i < H; i++) h[i] = (1 - x[i]) * x[2 * H + i] + x[i] * h[i];
    },
  },
};

// The names of the gates of these cells, which are named by direction: encoder.forward.0.gate.update.
export const gateNames = (operator, cells) => cells.flatMap((cell) => CELLS[operator].gates.filter(Boolean).map((gate) => `${cell}.gate.${gate}`));

// The states of these cells: encoder.forward.0.state.hidden, and of an LSTM the cell.
export const stateNames = (operator, cells) => cells.flatMap((cell) => (operator === "LSTM" ? ["hidden", "cell"] : ["hidden"]).map((state) => `${cell}.state.${state}`));

// X (T,B,E), W (directions, gates H, E), R (directions, gates H, H), bias (directions, 2 gates H), lengths (B).
// watch: {cells, changes, record}: the name of the cell of each direction; a function (gate, position) by the name of a
// gate, which may change its numbers; record(name, tensor) gets every gate and state (T,B,H).
export function recurrent(name, [X, W, R, bias, lengths], attributes, watch = { cells: [] }) {
  const cell = CELLS[name];
  const [T, B, E] = X.shape;
  const H = attributes.hidden_size;
  const G = cell.gates.length * H;
  const directions = W.shape[0];
  const outputs = zeros([T, directions, B, H]), contents = zeros([T, directions, B, H]);
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
    const names = watch.cells[d] ? gateNames(name, [watch.cells[d]]) : [];
    const changes = names.map((gate) => watch.changes[gate]);
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
          settle: (from, to) => changes.slice(from, to).forEach((change, at) => change?.(tensor([H], x.subarray((from + at) * H, (from + at + 1) * H)), t)),
        });
        outputs.data.set(h, ((t * directions + d) * B + b) * H);
        contents.data.set(c, ((t * directions + d) * B + b) * H);
      }
    }
    for (const [at, state] of (watch.cells[d] ? stateNames(name, [watch.cells[d]]) : []).entries())
      watch.record(state, part([outputs, contents][at].data, T, directions * B * H, d * B * H, B * H, [T, B, H]));
    names.forEach((gate, at) => watch.record(gate, part(projected, T * B, G, at * H, H, [T, B, H])));
  }
  return name === "LSTM" ? [outputs, last.h, last.c] : [outputs, last.h];
}

// Columns of a matrix, as a tensor of this shape.
function part(data, rows, columns, from, width, shape) {
  const found = zeros(shape);
  for (let row = 0; row < rows; row++) found.data.set(data.subarray(row * columns + from, row * columns + from + width), row * width);
  return found;
}
