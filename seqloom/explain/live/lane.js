// The answer of a live model as a lane of the explain document (seqloom/explain/document.py), which every view can draw.
import { hasHeads } from "./changes.js";
import { topChoices } from "./search.js";
import { pathsOf } from "./states.js";

const TOP = 5;
const LEAST = 1e-30; // probabilities below this add nothing to an entropy

// `before`: the lane that the page was made with; what does not depend on the sentence stays.
export function laneOf(model, what, before) {
  const { source, hypotheses, nodes, memory, notes, beam } = model.find(what);
  const [best] = hypotheses;
  const text = what.text ?? model.source.decode(what.ids);
  const lane = {
    ...before, reference: null, score: best ? best.score : null, forced: false, decay: [], agreement: [], paths: [], lens: [],
    source: { text, tokens: source.map((id) => token(model.source, id)) },
    target: { text: "", tokens: [] }, steps: [], answers: [""], maps: [], beam: null,
    notes: [...notes, ...gone(model, before)],
  };
  if (!best) return lane;
  const written = best.path.map((step) => step.token);
  const answer = model.target.decode(best.ids);
  return {
    ...lane,
    target: { text: answer, tokens: written.map((id) => token(model.target, id)) },
    answers: [answer],
    steps: best.path.map((step) => stepOf(model, step)),
    maps: [...mapsOf(model, memory, best.path, source.length, before.maps), ...before.maps.filter((map) => SAME.has(map.view))],
    paths: pathsOf(model, memory, best.path, before.paths),
    beam: treeOf(model, nodes, beam),
  };
}

// Views that need gradients or other texts are drawn for the original text only; the page says so.
function gone(model, before) {
  const names = new Set(before.maps.filter((map) => !LIVE.has(map.view) && !SAME.has(map.view)).map((map) => map.view));
  if (before.paths.some((path) => !model.bases[path.name])) names.add("states");
  if (before.lens.length) names.add("lens");
  return [...names].map((name) => `${name}: this page shows it for the original text only; undo the changes to see it`);
}

const LIVE = new Set(["attention", "self", "gates"]);
const SAME = new Set(["positions"]); // the same for every text
const GATE = /\.(gate|state)\./;
const STATE = /\.state\./;
const hasGates = (model) => model.recorded.some((name) => name.includes(".gate."));
const token = (tokenizer, id) => ({ id, piece: tokenizer.pieces[id], span: null });
const choice = (model, id, logProb) => ({ id, piece: model.target.pieces[id], log_prob: logProb });

function stepOf(model, { token: id, logProbs }) {
  const own = logProbs[id];
  let rank = 1, other = -Infinity, entropy = 0;
  logProbs.forEach((value, at) => {
    if (value > own) rank++;
    if (at !== id && value > other) other = value;
    const p = Math.exp(value);
    if (p > LEAST) entropy -= p * value;
  });
  const top = topChoices(logProbs, TOP).map((one) => choice(model, one.token, one.logProb));
  return { log_prob: own, rank, margin: other === -Infinity ? 0 : own - other, entropy, top, source_share: null, at: null };
}

// Attention and gates along the path of the answer, as maps.
function mapsOf(model, memory, path, sourceLength, before) {
  const maps = [];
  if (path[0].attention) {
    const rows = path.map((step) => step.attention);
    maps.push(mapOf("decoder.attention", "attention", ["target", "source"], [path.length, sourceLength], rows));
  }
  const kept = ([name]) => !STATE.test(name) || hasGates(model); // a plain cell has no view of gates
  for (const [name, value] of recordedIn(model.encoder, before).filter(kept)) {
    const { shape, data } = memory.get(value);
    if (GATE.test(name)) maps.push(mapOf(name, "gates", ["source", "unit"], [shape[0], shape.at(-1)], [data]));
    else maps.push(mapOf(name, "self", ["head", "source", "source"], shape.slice(1), [data]));
  }
  for (const [name, value] of recordedIn(model.step, before).filter(kept)) {
    const seen = path.map(({ made, row }) => ({ x: made.get(value), row }));
    if (GATE.test(name)) maps.push(gateMap(name, seen));
    else if (hasHeads(name)) maps.push(headsMap(name, seen, sourceLength));
  }
  return maps;
}

// Recordings in the order of the maps that the page was made with, others as the graph has them.
function recordedIn(graph, before) {
  const places = new Map(before.map((map, at) => [map.name, at]));
  const place = ([name]) => places.get(name) ?? before.length;
  return Object.entries(graph.recorded).sort((a, b) => place(a) - place(b));
}

function gateMap(name, seen) {
  const width = seen[0].x.shape.at(-1);
  const rows = seen.map(({ x, row }) => x.data.subarray(row * width, (row + 1) * width));
  return mapOf(name, "gates", ["target", "unit"], [rows.length, width], rows);
}

// (1, heads, rows, source) of cross-attention, (rows, heads, 1, past) of self-attention -> head, target, source or prefix.
function headsMap(name, seen, sourceLength) {
  const cross = name.includes(".cross.");
  const heads = seen[0].x.shape[1];
  const columns = cross ? sourceLength : seen.length;
  const rows = [];
  for (let head = 0; head < heads; head++)
    for (const { x, row } of seen) {
      const [, , queries, keys] = x.shape;
      const from = (cross ? head * queries + row : row * heads + head) * keys;
      const weights = new Float32Array(columns);
      weights.set(x.data.subarray(from, from + keys));
      rows.push(weights);
    }
  return mapOf(name, cross ? "attention" : "self", ["head", "target", cross ? "source" : "prefix"], [heads, seen.length, columns], rows);
}

function mapOf(name, view, axes, shape, rows) {
  const values = new Float32Array(rows.reduce((size, row) => size + row.length, 0));
  let low = Infinity, high = -Infinity, written = 0;
  for (const row of rows) {
    values.set(row, written);
    written += row.length;
    for (const value of row) [low, high] = [Math.min(low, value), Math.max(high, value)];
  }
  return { name, view, about: "computed in this page", axes, shape, dtype: "float32", data: base64(values), low, high, trained: true };
}

// The numbers as the document stores them.
function base64(values) {
  const bytes = new Uint8Array(values.buffer);
  let text = "";
  for (let start = 0; start < bytes.length; start += 4096) text += String.fromCharCode(...bytes.subarray(start, start + 4096));
  return btoa(text);
}

const REASONS = {
  kept: () => "",
  finished: () => "wrote the end token",
  unfinished: () => "cut at the longest output",
  pruned: (node, width) => `rank ${node.rank}: the beam keeps ${width}`,
};

function treeOf(model, nodes, width) {
  const { length_penalty: penalty } = model.about.search;
  return {
    width, length_penalty: penalty, reference: [], verdict: "",
    nodes: nodes.map((node) => ({
      id: node.id, parent: node.parent ? node.parent.id : -1, step: node.step, token: choice(model, node.token, node.logProb),
      log_prob: node.total, score: node.total / node.step ** penalty, rank: node.rank, fate: node.fate,
      reason: REASONS[node.fate](node, width), best: node.best,
    })),
  };
}
