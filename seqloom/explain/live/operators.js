// The operators that exported graphs use: (inputs, attributes, number of outputs) -> tensor, or several in an array.
import { gemm, matmul } from "./products.js";
import { recurrent, sigmoid } from "./recurrent.js";
import { around, axisOf, broadcast, concat, each, expand } from "./tensors.js";
import { pairwise, sizeOf, slice, stridesOf, take, tensor, transpose, zeros } from "./tensors.js";

const whole = (x) => x.data instanceof Int32Array;
const numbers = (x) => (x ? Array.from(x.data) : undefined);
const TYPES = { 1: Float32Array, 6: Int32Array, 7: Int32Array, 9: Uint8Array }; // of the ONNX attribute `to`

function view(x, shape) {
  return tensor(shape, x.data);
}

function unsqueeze(x, axes) {
  const shape = new Array(x.shape.length + axes.length).fill(0);
  for (const axis of axes) shape[axisOf(axis, shape.length)] = 1;
  const rest = x.shape.values();
  return view(x, shape.map((length) => length || rest.next().value));
}

function squeeze(x, axes) {
  const gone = axes?.map((axis) => axisOf(axis, x.shape.length));
  return view(x, x.shape.filter((length, axis) => (gone ? !gone.includes(axis) : length !== 1)));
}

function reshape(x, wanted, allowZero) {
  const shape = wanted.map((length, axis) => (length === 0 && !allowZero ? x.shape[axis] : length));
  const unknown = shape.indexOf(-1);
  if (unknown >= 0) shape[unknown] = x.data.length / -sizeOf(shape) || 0; // 0 / 0: nothing at all
  return view(x, shape);
}

function split(x, axis, lengths, count) {
  axis = axisOf(axis, x.shape.length);
  const part = Math.ceil(x.shape[axis] / count);
  lengths ??= Array.from({ length: count }, (_, i) => Math.min(part, x.shape[axis] - i * part));
  let start = 0;
  return lengths.map((length) => {
    start += length;
    return slice(x, [start - length], [start], [axis]);
  });
}

// Sums over axes: `total` gets the numbers one after the other; `finish` may change what came out.
function reduce(x, axes, keep, first, total, finish = (sum) => sum) {
  const gone = (axes?.length ? axes : x.shape.map((_, axis) => axis)).map((axis) => axisOf(axis, x.shape.length));
  const stay = x.shape.map((_, axis) => axis).filter((axis) => !gone.includes(axis));
  const moved = transpose(x, [...stay, ...gone]);
  const shape = stay.map((axis) => x.shape[axis]);
  const inner = sizeOf(gone.map((axis) => x.shape[axis]));
  const out = new x.data.constructor(sizeOf(shape));
  for (let i = 0; i < out.length; i++) {
    let sum = first;
    for (let j = i * inner; j < (i + 1) * inner; j++) sum = total(sum, moved.data[j]);
    out[i] = finish(sum, inner, moved.data.subarray(i * inner, (i + 1) * inner));
  }
  return tensor(keep ? x.shape.map((length, axis) => (gone.includes(axis) ? 1 : length)) : shape, out);
}

const sum = (total, value) => total + value;

function logSumExp(_, __, values) {
  const most = values.reduce((a, b) => Math.max(a, b), -Infinity);
  return most === -Infinity ? most : most + Math.log(values.reduce((total, value) => total + Math.exp(value - most), 0));
}

function softmax(x, axis, logarithm) {
  axis = axisOf(axis ?? -1, x.shape.length);
  const [outer, length, inner] = around(x.shape, axis);
  const out = new Float32Array(x.data.length);
  for (let i = 0; i < outer; i++)
    for (let k = 0; k < inner; k++) {
      const at = i * length * inner + k;
      let most = -Infinity, total = 0;
      for (let j = 0; j < length; j++) most = Math.max(most, x.data[at + j * inner]);
      for (let j = 0; j < length; j++) total += Math.exp(x.data[at + j * inner] - most);
      const shift = most + Math.log(total);
      for (let j = 0; j < length; j++) {
        const value = x.data[at + j * inner];
        out[at + j * inner] = logarithm ? value - shift : Math.exp(value - most) / total;
      }
    }
  return tensor(x.shape, out);
}

function layerNormalization(x, scale, bias, { axis = -1, epsilon = 1e-5 }) {
  const inner = sizeOf(x.shape.slice(axisOf(axis, x.shape.length)));
  const out = new Float32Array(x.data.length);
  for (let from = 0; from < out.length; from += inner) {
    let mean = 0, variance = 0;
    for (let i = 0; i < inner; i++) mean += x.data[from + i] / inner;
    for (let i = 0; i < inner; i++) variance += (x.data[from + i] - mean) ** 2 / inner;
    const size = Math.sqrt(variance + epsilon);
    for (let i = 0; i < inner; i++)
      out[from + i] = ((x.data[from + i] - mean) / size) * scale.data[i] + (bias ? bias.data[i] : 0);
  }
  return tensor(x.shape, out);
}

function gatherNd(x, places) {
  const depth = places.shape.at(-1);
  const strides = stridesOf(x.shape);
  const inner = sizeOf(x.shape.slice(depth));
  const count = places.data.length / depth;
  const out = new x.data.constructor(count * inner);
  for (let i = 0; i < count; i++) {
    let from = 0;
    for (let j = 0; j < depth; j++) {
      const place = places.data[i * depth + j];
      from += (place < 0 ? place + x.shape[j] : place) * strides[j];
    }
    out.set(x.data.subarray(from, from + inner), i * inner);
  }
  return tensor([...places.shape.slice(0, -1), ...x.shape.slice(depth)], out);
}

function where(condition, a, b) {
  const shape = broadcast(condition.shape, broadcast(a.shape, b.shape));
  const [yes, x, y] = [condition, a, b].map((part) => expand(part, shape).data);
  const out = new a.data.constructor(yes.length);
  for (let i = 0; i < out.length; i++) out[i] = yes[i] ? x[i] : y[i];
  return tensor(shape, out);
}

function trilu(x, shift, upper) {
  const [rows, columns] = x.shape.slice(-2);
  const out = zeros(x.shape, x.data.constructor);
  for (let i = 0; i < out.data.length; i++) {
    const [row, column] = [Math.floor(i / columns) % rows, i % columns];
    if (upper ? column - row >= shift : column - row <= shift) out.data[i] = x.data[i];
  }
  return out;
}

// The error function to about 1e-7 (Abramowitz and Stegun 7.1.26 is too coarse): a series, then a continued fraction.
function erf(value) {
  const x = Math.abs(value);
  let result;
  if (x < 2.5) {
    let term = x, total = x;
    for (let n = 1; n < 60 && Math.abs(term) > 1e-12; n++) {
      term *= (-x * x) / n;
      total += term / (2 * n + 1);
    }
    result = (2 / Math.sqrt(Math.PI)) * total;
  } else {
    let fraction = 0;
    for (let n = 40; n > 0; n--) fraction = n / 2 / (x + fraction);
    result = 1 - Math.exp(-x * x) / Math.sqrt(Math.PI) / (x + fraction);
  }
  return value < 0 ? -result : result;
}

const gelu = (value) => 0.5 * value * (1 + erf(value / Math.SQRT2));
const geluByTanh = (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
const equal = (a, b) => (a === b ? 1 : 0);

export const OPERATORS = {
  Add: ([a, b]) => pairwise(a, b, (x, y) => x + y),
  Cast: ([x], { to }) => each(x, TYPES[to] === Uint8Array ? (value) => (value ? 1 : 0) : (value) => value, TYPES[to]),
  Concat: (parts, { axis }) => concat(parts, axis),
  ConstantOfShape: ([shape], { value }) => {
    const made = zeros(numbers(shape), value ? value.data.constructor : Float32Array);
    return value ? tensor(made.shape, made.data.fill(value.data[0])) : made;
  },
  Div: ([a, b]) => pairwise(a, b, whole(a) ? (x, y) => Math.trunc(x / y) : (x, y) => x / y),
  Equal: ([a, b]) => pairwise(a, b, equal, Uint8Array),
  Expand: ([x, shape]) => expand(x, numbers(shape)),
  Gather: ([x, places], { axis = 0 }) => take(x, places, axisOf(axis, x.shape.length)),
  GatherND: ([x, places]) => gatherNd(x, places),
  Gelu: ([x], { approximate }) => each(x, approximate === "tanh" ? geluByTanh : gelu),
  Gemm: ([a, b, c], attributes) => gemm(a, b, c, attributes),
  GRU: (inputs, attributes, _, watch) => recurrent("GRU", inputs, attributes, watch),
  Identity: ([x]) => x,
  LayerNormalization: ([x, scale, bias], attributes) => layerNormalization(x, scale, bias, attributes),
  LogSoftmax: ([x], { axis }) => softmax(x, axis, true),
  LSTM: (inputs, attributes, _, watch) => recurrent("LSTM", inputs, attributes, watch),
  MatMul: ([a, b]) => matmul(a, b),
  Mul: ([a, b]) => pairwise(a, b, (x, y) => x * y),
  Not: ([x]) => each(x, (value) => (value ? 0 : 1)),
  Pow: ([a, b]) => pairwise(a, b, Math.pow),
  ReduceLogSumExp: ([x, axes], { keepdims = 1 }) => reduce(x, numbers(axes), keepdims, 0, sum, logSumExp),
  ReduceMax: ([x, axes], { keepdims = 1 }) => reduce(x, numbers(axes), keepdims, -Infinity, Math.max),
  ReduceSum: ([x, axes], { keepdims = 1 }) => reduce(x, numbers(axes), keepdims, 0, sum),
  Relu: ([x]) => each(x, (value) => (value > 0 ? value : 0)),
  Reshape: ([x, shape], { allowzero }) => reshape(x, numbers(shape), allowzero),
  RNN: (inputs, attributes, _, watch) => recurrent("RNN", inputs, attributes, watch),
  Shape: ([x], { start = 0, end }) => {
    const shape = x.shape.slice(start, end);
    return tensor([shape.length], Int32Array.from(shape));
  },
  Sigmoid: ([x]) => each(x, sigmoid),
  Slice: ([x, starts, ends, axes, steps]) => slice(x, ...[starts, ends, axes, steps].map(numbers)),
  Softmax: ([x], { axis }) => softmax(x, axis, false),
  Split: ([x, lengths], { axis = 0 }, count) => split(x, axis, numbers(lengths), count),
  Squeeze: ([x, axes]) => squeeze(x, numbers(axes)),
  Sub: ([a, b]) => pairwise(a, b, (x, y) => x - y),
  Tanh: ([x]) => each(x, Math.tanh),
  Transpose: ([x], { perm }) => transpose(x, perm),
  Trilu: ([x, shift], { upper = 1 }) => trilu(x, shift ? shift.data[0] : 0, upper),
  Unsqueeze: ([x, axes]) => unsqueeze(x, numbers(axes)),
  Where: ([condition, a, b]) => where(condition, a, b),
};
