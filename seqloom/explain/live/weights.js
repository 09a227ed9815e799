// The compressed parts of a live document. Numbers in 16 or 8 bits become float32, which the products compute with.
import { sizeOf, tensor } from "./tensors.js";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%.()*+-;,=:?@^_`{|}~";

// Five characters are four bytes (base 85); the last group may be shorter.
function bytesOf(text) {
  const digit = new Uint8Array(128);
  for (let i = 0; i < DIGITS.length; i++) digit[DIGITS.charCodeAt(i)] = i;
  const missing = (5 - (text.length % 5)) % 5;
  const out = new Uint8Array(((text.length + missing) / 5) * 4);
  for (let i = 0, written = 0; i < text.length; i += 5) {
    let group = 0;
    for (let j = i; j < i + 5; j++) group = group * 85 + (j < text.length ? digit[text.charCodeAt(j)] : 84);
    out[written++] = group >>> 24;
    out[written++] = (group >>> 16) & 255;
    out[written++] = (group >>> 8) & 255;
    out[written++] = group & 255;
  }
  return out.subarray(0, out.length - missing);
}

async function inflate(text) {
  const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The value of each of the 65,536 half-precision numbers.
function halves() {
  return Float32Array.from({ length: 65536 }, (_, bits) => {
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    const size = exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024);
    return bits & 0x8000 ? -size : size;
  });
}

const READERS = {
  float32: (bytes) => new Float32Array(bytes.slice().buffer),
  float16(bytes, size, table) {
    const out = new Float32Array(size);
    for (let i = 0; i < size; i++) out[i] = table[bytes[i] | (bytes[size + i] << 8)];
    return out;
  },
  uint8(bytes, size, _, shape) {
    const columns = shape.at(-1);
    const rows = size / columns;
    const scales = new Float32Array(bytes.slice(0, 4 * rows).buffer);
    const out = new Float32Array(size);
    for (let i = 0; i < size; i++) out[i] = (bytes[4 * rows + i] - 128) * scales[Math.floor(i / columns)];
    return out;
  },
};
const KINDS = { float32: Float32Array, int32: Int32Array, bool: Uint8Array };

export async function readJson(text) {
  return JSON.parse(new TextDecoder().decode(await inflate(text)));
}

export async function readArrays({ arrays, data }) {
  const bytes = await inflate(data);
  const table = halves();
  let start = 0;
  return arrays.map(({ type, shape, values, bytes: length }) => {
    if (values) return tensor(shape, KINDS[type].from(values, Number));
    start += length;
    return tensor(shape, READERS[type](bytes.subarray(start - length, start), sizeOf(shape), table, shape));
  });
}
