// A model in the page: a source text and what-ifs in, the output with its steps, alternatives and attention out.
import { changesAt } from "./changes.js";
import { Graph } from "./graph.js";
import { search } from "./search.js";
import { Tokenizer } from "./tokenizer.js";
import { readArrays, readJson } from "./weights.js";

const VERSION = 1;

export class LiveModel {
  static async load(described) {
    if (described.version !== VERSION) throw new Error(`a live model of version ${described.version}; this page reads ${VERSION}`);
    return new LiveModel(described, await readArrays(described.weights), await readJson(described.tokenizers), await readJson(described.bases));
  }

  constructor(described, arrays, { source, target }, bases) {
    this.about = described;
    this.bases = bases; // the axes of the states, by the name of their path
    this.ids = described.ids;
    this.encoder = new Graph(described.encoder, arrays);
    this.step = new Graph(described.step, arrays);
    this.source = new Tokenizer(source, described.normalise, described.ids);
    this.target = target ? new Tokenizer(target, described.normalise, described.ids) : this.source;
  }

  // The most tokens of an output; both lengths count the end token.
  limit(sourceLength) {
    const rule = this.about.output_tokens;
    return rule.each_source_token * sourceLength + rule.and;
  }

  // The names of everything that can be changed: attention by layer, gates.
  get recorded() {
    return [...Object.keys(this.encoder.recorded), ...Object.keys(this.step.recorded)];
  }

  // what: {text or ids, prefix, off, attention, gates, beam}. Returns the best output first; none for an empty source.
  find(what) {
    const given = what.ids ?? this.source.encode(what.text);
    const kept = given.slice(0, this.about.source_tokens);
    const notes = kept.length < given.length ? [`The source has ${given.length} tokens; the model takes ${kept.length}, the rest was cut off.`] : [];
    const beam = what.beam ?? this.about.search.beam;
    if (kept.length === 0) return { source: [], hypotheses: [], nodes: [], notes, beam };
    const source = [...kept, this.ids.end];
    const changes = (step) => changesAt(what, this.step, step);
    const found = search(this, source, { ...this.about.search, beam, prefix: what.prefix, changes });
    if (found.hypotheses.length === 0) throw new Error("the search found no output: the forced words exclude every one");
    return { ...found, source, notes, beam };
  }
}
