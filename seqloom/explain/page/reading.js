// Reads the explain document: numbers of maps, tokens of axes, names for people. Everything else draws.

const decoded = new WeakMap();

function bytesOf(text) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent === 0) return sign * 2 ** -24 * fraction;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * 2 ** (exponent - 15) * (1 + fraction / 1024);
}

// The numbers of a map, one after the other; the last axis runs fastest.
export function valuesOf(map) {
  if (!decoded.has(map)) decoded.set(map, decode(map));
  return decoded.get(map);
}

function decode(map) {
  const bytes = bytesOf(map.data), view = new DataView(bytes.buffer);
  if (map.dtype === "uint8") return Float32Array.from(bytes, (byte) => map.low + byte / 255 * (map.high - map.low));
  if (map.dtype === "float16") {
    return Float32Array.from({ length: bytes.length / 2 }, (_, i) => half(view.getUint16(2 * i, true)));
  }
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
}

// The last two axes of a map as a matrix: {rows, columns, at(row, column)}. The axes before (head) are the numbers of
// `picks`; an axis without a number is averaged.
export function matrixOf(map, picks = []) {
  const values = valuesOf(map), depth = map.shape.length;
  const [rows, columns] = map.shape.slice(-2), size = rows * columns;
  const blocks = [];
  const collect = (axis, start) => {
    if (axis === depth - 2) return blocks.push(start * size);
    const all = picks[axis] === undefined || picks[axis] === null;
    for (let i = all ? 0 : picks[axis]; i <= (all ? map.shape[axis] - 1 : picks[axis]); i++) {
      collect(axis + 1, start * map.shape[axis] + i);
    }
  };
  collect(0, 0);
  const at = (row, column) => {
    let sum = 0;
    for (const block of blocks) sum += values[block + row * columns + column];
    return sum / blocks.length;
  };
  return { rows, columns, at, row: (row) => Array.from({ length: columns }, (_, column) => at(row, column)) };
}

export function range(matrix) {
  let low = Infinity, high = -Infinity;
  for (let row = 0; row < matrix.rows; row++) {
    for (let column = 0; column < matrix.columns; column++) {
      const value = matrix.at(row, column);
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return [low, high];
}

// What each step wrote: a token of the target, a label, a tag, or the piece that fills a gap.
export function writtenOf(lane) {
  if (lane.target) return lane.target.tokens.map((token) => token.piece);
  if (lane.answers.length === lane.steps.length) return lane.answers;
  return lane.steps.map((step) => step.top[Math.min(step.rank, step.top.length) - 1].piece);
}

// The tokens of an axis: {text, side, index}; side and index say which word of the sentence lights up with it.
export function tokensOf(lane, axis, size) {
  const target = writtenOf(lane);
  const known = {
    source: lane.source.tokens.map((token, index) => ({ text: token.piece, side: "source", index })),
    target: target.map((text, index) => ({ text, side: "target", index })),
    prefix: ["<s>", ...target].map((text, at) => ({ text, side: at ? "target" : null, index: at - 1 })),
  }[axis] ?? [];
  return Array.from({ length: size }, (_, at) => known[at] ?? { text: String(at + (axis === "head" ? 1 : 0)), side: null, index: -1 });
}

export const rowsOf = (lane, map) => tokensOf(lane, map.axes.at(-2), map.shape.at(-2));
export const columnsOf = (lane, map) => tokensOf(lane, map.axes.at(-1), map.shape.at(-1));
export const mapsOf = (lane, view) => lane.maps.filter((map) => map.view === view);

const WORDS = {
  "decoder.cross": "cross-attention", "decoder.self": "decoder self-attention", "encoder.self": "encoder self-attention",
  "decoder.attention": "attention", "flow.source": "gradient to the source", "flow.prefix": "gradient to what is already written",
  "attribution.gradient_input.source": "gradient × input", "attribution.gradient_input.prefix": "gradient × input",
  "attribution.integrated.source": "integrated gradients", "attribution.integrated.prefix": "integrated gradients",
};

// "decoder.cross.0" is "cross-attention, layer 1"; numbers of layers begin with 1 for people.
export function titleOf(name) {
  const parts = name.split(".");
  const layer = parts.findIndex((part) => /^\d+$/.test(part));
  const rest = parts.filter((_, at) => at !== layer);
  const words = WORDS[rest.join(".")] ?? rest.filter((part) => part !== "gate" && part !== "state").join(" ");
  return layer < 0 ? words : `${words}, layer ${Number(parts[layer]) + 1}`;
}

// What a note of the lane says about a view, for models that lack it.
export const noteOn = (lane, view) => lane.notes.find((note) => note.startsWith(`${view}:`));
