// Beam search on the graphs of one sentence, by the rules of seqloom/decode/search.py; a beam of 1 is greedy search.
import { take, tensor } from "./tensors.js";
import { attentionOf } from "./changes.js";

// `model`: {encoder, step, ids, limit}; `source`: ids with the end token. The request:
//   beam, length_penalty, coverage_penalty, min_length, no_repeat_ngram    as in Python
//   prefix      ids that the output begins with; the end token may be the last of them
//   changes     step (from 0; -1 = the encoder) -> changes for Graph.run
// Returns {hypotheses, nodes, memory}: the best `beam` outputs, every candidate that was looked at, the encoder's values.
export function search(model, source, request) {
  const { beam, prefix = [], changes = () => ({}) } = request;
  const limit = model.limit(source.length);
  const memory = model.encoder.run({ tokens: tensor([1, source.length], Int32Array.from(source)) }, changes(-1));
  let feeds = Object.fromEntries(model.step.inputs.map((name) => [name, memory.get(name)]));
  let live = [{ ids: [], logProb: 0, node: null, path: null, coverage: new Float32Array(source.length) }];
  const pool = [];
  const nodes = [];
  let bestEnded = false;
  for (let length = 1; ; length++) {
    const token = Int32Array.from(live, ({ ids }) => ids.at(-1) ?? model.ids.begin);
    const made = model.step.run({ ...feeds, token: tensor([live.length], token) }, changes(length - 1));
    const looks = lookAhead(model, made, live, source.length);
    const forced = prefix[length - 1];
    const found = best(live, looks, 2 * beam, (row) => allowed(model, live[row].ids, looks[row].logProbs, request, forced));
    const isLast = limit <= length;
    const alive = [];
    for (const [rank, candidate] of found.entries()) {
      const next = grow(candidate, live[candidate.row], looks[candidate.row], nodes, length, rank);
      const ends = candidate.token === model.ids.end;
      if ((ends || isLast) && rank < beam) {
        pool.push(finish(next, ends, request));
        bestEnded ||= rank === 0;
        next.node.fate = ends ? "finished" : "unfinished";
      } else if (!ends && !isLast && alive.length < beam) {
        alive.push({ ...next, row: candidate.row });
        next.node.fate = "kept";
      }
    }
    if (isLast || alive.length === 0 || isFull(pool, bestEnded, request)) break;
    const rows = tensor([alive.length], Int32Array.from(alive, ({ row }) => row));
    for (const name of model.step.inputs)
      if (name.startsWith("state.")) feeds[name] = take(made.get(`next_${name}`), rows, 0);
    live = alive;
  }
  pool.sort((a, b) => b.score - a.score);
  for (let node = pool[0]?.node; node; node = node.parent) node.best = true;
  const hypotheses = pool.slice(0, beam).map((one) => ({ ...one, path: unrolled(one.path) }));
  return { hypotheses, nodes, memory };
}

// What each live hypothesis sees: log p of every next token and its attention to the source.
function lookAhead(model, made, live, sourceLength) {
  const logProbs = made.get("log_probs");
  const size = logProbs.shape[1];
  const attention = attentionOf(model.step, made, live.length, sourceLength);
  return live.map((hypothesis, row) => ({
    logProbs: logProbs.data.subarray(row * size, (row + 1) * size),
    attention: attention?.[row] ?? null,
    made,
    row,
    coverage: attention ? hypothesis.coverage.map((sum, j) => sum + attention[row][j]) : hypothesis.coverage,
  }));
}

// A function that says which tokens may come next; the order of the rules is that of seqloom/decode/constraints.py.
function allowed(model, written, logProbs, { min_length: least = 0, no_repeat_ngram: n = 0 }, forced) {
  if (forced !== undefined) return (token) => token === forced;
  const struck = new Set([model.ids.pad, model.ids.begin]);
  if (n > 0 && written.length >= n)
    for (let start = 0; start + n <= written.length; start++)
      if (sameTokens(written.slice(start, start + n - 1), written.slice(written.length - n + 1)))
        struck.add(written[start + n - 1]);
  if (written.length < least && struck.size < logProbs.length - 1) struck.add(model.ids.end);
  return (token) => !struck.has(token);
}

const sameTokens = (a, b) => a.length === b.length && a.every((token, i) => token === b[i]);

// The most probable continuations of all live hypotheses, best first.
function best(live, looks, number, rule) {
  const found = [];
  live.forEach(({ logProb }, row) => {
    const may = rule(row);
    const { logProbs } = looks[row];
    for (let token = 0; token < logProbs.length; token++) {
      const total = logProb + logProbs[token];
      if (found.length === number && total <= found[number - 1].total) continue;
      if (total === -Infinity || !may(token)) continue;
      let place = found.length;
      while (place > 0 && found[place - 1].total < total) place--;
      found.splice(place, 0, { total, row, token });
      if (found.length > number) found.pop();
    }
  });
  return found;
}

// The hypothesis with one more token, and its node in the tree of the search.
function grow({ total, token, row }, parent, look, nodes, step, rank) {
  const logProb = look.logProbs[token];
  const node = { id: nodes.length, parent: parent.node, step, token, logProb, total, rank: rank + 1, fate: "pruned", best: false };
  nodes.push(node);
  return { ids: [...parent.ids, token], logProb: total, node, path: { before: parent.path, token, look }, coverage: look.coverage };
}

function finish({ ids, logProb, node, path, coverage }, ended, request) {
  const penalty = request.coverage_penalty
    ? request.coverage_penalty * coverage.reduce((sum, all) => sum + Math.log(Math.min(Math.max(all, 1.1754943508222875e-38), 1)), 0)
    : 0;
  const score = logProb / ids.length ** request.length_penalty + penalty;
  return { ids: ended ? ids.slice(0, -1) : ids, logProb, score, ended, node, path };
}

function isFull(pool, bestEnded, { beam, length_penalty: length, coverage_penalty: coverage = 0 }) {
  return length === 0 && coverage === 0 ? bestEnded && pool.length >= 1 : pool.length >= beam;
}

function unrolled(path) {
  const steps = []; // {token, logProbs, attention, made, row}: what the model saw when it wrote the token
  for (let at = path; at; at = at.before) steps.unshift({ token: at.token, ...at.look });
  return steps;
}

// The most probable tokens of a step, best first.
export function topChoices(logProbs, number) {
  const found = [];
  for (let token = 0; token < logProbs.length; token++) {
    if (found.length === number && logProbs[token] <= found[number - 1].logProb) continue;
    let place = found.length;
    while (place > 0 && found[place - 1].logProb < logProbs[token]) place--;
    found.splice(place, 0, { token, logProb: logProbs[token] });
    if (found.length > number) found.pop();
  }
  return found;
}
