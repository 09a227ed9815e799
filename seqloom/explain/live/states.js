// The states of encoder and decoder on the axes of the document, as seqloom/inside/states.py has them.

const HIDDEN = /^(encoder|decoder)\.(?:(?:forward|backward)\.)?(\d+)\.state\.hidden$/;

// `before`: the paths of the document that the page was made with. Returns those for which the page has axes, for this text.
export function pathsOf(model, memory, path, before) {
  const rows = { encoder: () => ofEncoder(model, memory), decoder: () => ofDecoder(model, path) };
  return before.filter(({ name }) => model.bases[name]).map((one) => ({ ...one, points: rows[one.name]().map((row) => project(row, model.bases[one.name])) }));
}

const project = (row, { mean, axes }) => axes.map((axis) => axis.reduce((sum, weight, at) => sum + weight * (row[at] - mean[at]), 0));

// The top layer of a recurrent encoder, both directions side by side; else the output of the encoder.
function ofEncoder(model, memory) {
  const names = topLayer(model.encoder);
  const parts = (names.length ? names.map((name) => memory.get(model.encoder.recorded[name])) : [memory.get("memory.annotations")]).map(rowsOf);
  return parts[0].map((_, at) => parts.flatMap((rows) => [...rows[at]]));
}

// The top layer of a recurrent decoder; else the vectors that the tokens are predicted from.
function ofDecoder(model, path) {
  const name = model.step.recorded[topLayer(model.step)[0] ?? "decoder.hidden"];
  return path.map(({ made, row }) => rowsOf(made.get(name))[row]);
}

// The states of the highest layer, forward before backward.
function topLayer(graph) {
  const found = Object.keys(graph.recorded).map((name) => HIDDEN.exec(name)).filter(Boolean);
  const top = Math.max(...found.map(([, , layer]) => Number(layer)));
  return found.filter(([, , layer]) => Number(layer) === top).map(([name]) => name).sort((a, b) => a.includes(".backward.") - b.includes(".backward."));
}

// The rows along the last axis.
function rowsOf({ shape, data }) {
  const width = shape.at(-1);
  return Array.from({ length: data.length / width }, (_, at) => data.subarray(at * width, (at + 1) * width));
}
