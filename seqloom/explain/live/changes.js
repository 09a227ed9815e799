// What-ifs inside the model: heads that are switched off, attention that is set by hand, gates that are held.
// Each is a change to a recorded value while the graph runs (graph.js); no weight is touched.

import { gatesOf } from "./state.js";

const ATTENTION = "decoder.attention"; // (1, rows, source): recurrent decoders
const CROSS = /^decoder\.cross\.(\d+)$/; // (1, heads, rows, source): a layer of a Transformer
const LAYER = /\.(self|cross)\.\d+$/; // a recording with heads

// The changes of one step (-1 is the encoder) for `Graph.run`. wanted:
//   off        [[recording, head], ...]
//   gates      {recording, or recording@step, or of the encoder recording@source token: the value that all its units have}
//   attention  [{map, head, step, weights}, ...]; without a head all heads; "decoder.attention" is every layer
export function changesAt(wanted, graph, step) {
  const changes = {};
  const add = (name, change) => {
    const before = changes[name];
    changes[name] = before ? (x, at) => (before(x, at), change(x, at)) : change;
  };
  for (const { map, head, weights } of (wanted.attention ?? []).filter((one) => one.step === step))
    for (const name of map === ATTENTION ? [ATTENTION, ...crossLayers(graph)] : [map]) add(name, (x) => setRows(x, head, weights));
  for (const [name, head] of wanted.off ?? []) add(name, (x) => eachRow(x, head, (row) => row.fill(0)));
  for (const { map, position, value } of gatesOf(wanted.gates ?? {})) // of the encoder at a source token, else at a step
    add(map, (x, at = step) => { if (position === null || position === at) x.data.fill(value); });
  return changes;
}

// Every row along the last axis, of one head (the second axis) or of all.
function eachRow(x, head, change) {
  const length = x.shape.at(-1);
  const heads = x.shape.length > 3 ? x.shape[1] : 1;
  const perHead = x.shape.length > 3 ? x.shape[2] : Infinity;
  for (let from = 0, row = 0; from < x.data.length; from += length, row++)
    if (head === null || head === undefined || Math.floor(row / perHead) % heads === head) change(x.data.subarray(from, from + length));
}

function setRows(x, head, weights) {
  eachRow(x, head, (row) => row.forEach((_, j) => { row[j] = weights[j] ?? 0; }));
}

export function crossLayers(graph) {
  return Object.keys(graph.recorded).filter((name) => CROSS.test(name)).sort((a, b) => CROSS.exec(a)[1] - CROSS.exec(b)[1]);
}

export const hasHeads = (name) => LAYER.test(name);

// The attention to the source of each row, or null: that of a recurrent decoder, or the mean over all heads of the upper
// half of the layers, as seqloom/models/traced_attention.py has it.
export function attentionOf(graph, made, rows, length) {
  const found = Array.from({ length: rows }, () => new Float32Array(length));
  if (graph.recorded[ATTENTION]) {
    const { data } = made.get(graph.recorded[ATTENTION]);
    found.forEach((weights, row) => weights.set(data.subarray(row * length, (row + 1) * length)));
    return found;
  }
  const layers = crossLayers(graph);
  if (layers.length === 0) return null;
  const upper = layers.slice(Math.floor(layers.length / 2)).map((name) => made.get(graph.recorded[name]));
  for (const { data, shape } of upper)
    for (let i = 0; i < data.length; i++) found[Math.floor(i / length) % rows][i % length] += data[i] / shape[1] / upper.length;
  return found;
}
