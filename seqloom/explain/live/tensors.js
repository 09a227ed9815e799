// Tensors: {shape, data}. data is a Float32Array, an Int32Array or, for true and false, a Uint8Array.

export const sizeOf = (shape) => shape.reduce((size, length) => size * length, 1);

export function tensor(shape, data) {
  return { shape, data };
}

export function zeros(shape, Kind = Float32Array) {
  return tensor(shape, new Kind(sizeOf(shape)));
}

export function stridesOf(shape) {
  const strides = new Array(shape.length);
  for (let axis = shape.length - 1, step = 1; axis >= 0; axis--) {
    strides[axis] = step;
    step *= shape[axis];
  }
  return strides;
}

export const axisOf = (axis, rank) => (axis < 0 ? axis + rank : axis);

// The shape of two shapes side by side: aligned at the end, a length of 1 is repeated.
export function broadcast(a, b) {
  const rank = Math.max(a.length, b.length);
  const shape = new Array(rank);
  for (let i = 1; i <= rank; i++) {
    const [m, n] = [a[a.length - i] ?? 1, b[b.length - i] ?? 1];
    if (m !== n && m !== 1 && n !== 1) throw new Error(`shapes ${a} and ${b} do not fit`);
    shape[rank - i] = m === 1 ? n : m;
  }
  return shape;
}

// Steps through `from` while walking over `shape`: 0 along an axis that is repeated.
function stepsOver(from, shape) {
  const strides = stridesOf(from);
  const lead = shape.length - from.length;
  return shape.map((_, axis) => (axis < lead || from[axis - lead] === 1 ? 0 : strides[axis - lead]));
}

// Copies numbers of `data` in the order of walking over `shape` with these steps, beginning at `start`.
export function gatherSteps(data, shape, steps, start = 0) {
  const size = sizeOf(shape);
  const out = new data.constructor(size);
  if (size === 0) return out;
  const rank = shape.length;
  const [inner, step] = rank ? [shape[rank - 1], steps[rank - 1]] : [1, 0];
  const at = new Array(rank).fill(0);
  for (let written = 0, from = start; ; ) {
    for (let i = 0, j = from; i < inner; i++, j += step) out[written++] = data[j];
    if (written === size) return out;
    for (let axis = rank - 2; ; axis--) {
      from += steps[axis];
      if (++at[axis] < shape[axis]) break;
      from -= steps[axis] * shape[axis];
      at[axis] = 0;
    }
  }
}

export function expand(x, shape) {
  const full = broadcast(x.shape, shape);
  if (sizeOf(full) === x.data.length) return tensor(full, x.data);
  return tensor(full, gatherSteps(x.data, full, stepsOver(x.shape, full)));
}

export function transpose(x, order = x.shape.map((_, axis) => x.shape.length - 1 - axis)) {
  const strides = stridesOf(x.shape);
  const shape = order.map((axis) => x.shape[axis]);
  const moved = order.filter((axis) => x.shape[axis] !== 1);
  if (moved.every((axis, i) => i === 0 || axis > moved[i - 1])) return tensor(shape, x.data); // only axes of length 1 move
  return tensor(shape, gatherSteps(x.data, shape, order.map((axis) => strides[axis])));
}

// change(a, b) for every pair of numbers; the result is of the kind `Kind`.
export function pairwise(a, b, change, Kind = a.data.constructor) {
  const [x, y, m, n] = [a.data, b.data, a.data.length, b.data.length];
  const shape = broadcast(a.shape, b.shape);
  const size = sizeOf(shape);
  const out = new Kind(size);
  if (m === size && n === size) for (let i = 0; i < size; i++) out[i] = change(x[i], y[i]);
  else if (m === size && n === 1) for (let i = 0, v = y[0]; i < size; i++) out[i] = change(x[i], v);
  else if (m === size && repeats(b.shape, shape)) {
    for (let start = 0; start < size; start += n) for (let i = 0; i < n; i++) out[start + i] = change(x[start + i], y[i]);
  } else {
    const [left, right] = [expand(a, shape).data, expand(b, shape).data];
    for (let i = 0; i < size; i++) out[i] = change(left[i], right[i]);
  }
  return tensor(shape, out);
}

// Whether the numbers of `small` are simply repeated to fill `shape`: all its axes are the last ones, in full length.
function repeats(small, shape) {
  let axis = 0;
  while (axis < small.length && small[axis] === 1) axis++;
  for (; axis < small.length; axis++) if (small[axis] !== shape[shape.length - small.length + axis]) return false;
  return true;
}

export function each(x, change, Kind = x.data.constructor) {
  const out = new Kind(x.data.length);
  for (let i = 0; i < out.length; i++) out[i] = change(x.data[i]);
  return tensor(x.shape, out);
}

// Splits a shape around an axis: how many before it, its length, how many after it.
export function around(shape, axis) {
  return [sizeOf(shape.slice(0, axis)), shape[axis], sizeOf(shape.slice(axis + 1))];
}

export function concat(parts, axis) {
  const shape = [...parts[0].shape];
  axis = axisOf(axis, shape.length);
  shape[axis] = parts.reduce((length, part) => length + part.shape[axis], 0);
  const out = zeros(shape, parts[0].data.constructor);
  const [outer, , inner] = around(shape, axis);
  for (let i = 0, written = 0; i < outer; i++)
    for (const part of parts) {
      const length = part.shape[axis] * inner;
      out.data.set(part.data.subarray(i * length, (i + 1) * length), written);
      written += length;
    }
  return out;
}

// The entries of `x` at these places of an axis.
export function take(x, places, axis) {
  const [outer, length, inner] = around(x.shape, axis);
  const out = new x.data.constructor(outer * places.data.length * inner);
  for (let i = 0, written = 0; i < outer; i++)
    for (const place of places.data) {
      const from = (i * length + (place < 0 ? place + length : place)) * inner;
      out.set(x.data.subarray(from, from + inner), written);
      written += inner;
    }
  return tensor([...x.shape.slice(0, axis), ...places.shape, ...x.shape.slice(axis + 1)], out);
}

export function slice(x, starts, ends, axes, steps) {
  const strides = stridesOf(x.shape);
  const shape = [...x.shape];
  let begin = 0;
  starts.forEach((start, i) => {
    const axis = axisOf(axes ? axes[i] : i, shape.length);
    const [length, step] = [x.shape[axis], steps ? steps[i] : 1];
    const within = (place, least, most) => Math.min(Math.max(place < 0 ? place + length : place, least), most);
    const [first, end] = step > 0
      ? [within(start, 0, length), within(ends[i], 0, length)]
      : [within(start, -1, length - 1), ends[i] < -length ? -1 : within(ends[i], -1, length - 1)];
    shape[axis] = Math.max(0, Math.ceil((end - first) / step));
    begin += first * strides[axis];
    strides[axis] *= step;
  });
  return tensor(shape, gatherSteps(x.data, shape, strides, begin));
}
