// The page that carries its models: it draws the document, then computes every what-if itself and draws the new lanes.
import { start } from "../page/start.js";
import { laneOf } from "./lane.js";
import { LiveModel } from "./model.js";
import { Session } from "./session.js";

// The models in this page as the engine of a session.
class InThePage {
  about = "The model is inside this page.";

  constructor(explained, models) {
    Object.assign(this, { explained, models });
  }

  async lanes(state) {
    const began = performance.now();
    const lanes = this.explained.lanes.map((lane, at) => laneOf(this.models[at], { ...this.source(state, at), ...state.models[at] }, lane));
    const took = Math.round(performance.now() - began);
    const bits = [...new Set(this.models.map((model) => model.about.bits))].join(" and ");
    return { lanes, said: `${lanes.map((lane) => lane.answers[0]).join(" | ")} (${took} ms, ${bits}-bit weights)` };
  }

  // The source of one model: the text, or the tokens of a model whose tokenizer this page cannot apply.
  source({ text, ids }, at) {
    if (this.models[at].source.reads) return { text };
    return { ids: ids ?? this.explained.lanes[at].source.tokens.slice(0, -1).map((token) => token.id) };
  }
}

async function run() {
  const explained = start();
  try {
    const described = JSON.parse(document.getElementById("live").textContent);
    const models = await Promise.all(described.map((one) => LiveModel.load(one)));
    new Session(explained, new InThePage(explained, models));
  } catch (error) {
    document.getElementById("views").prepend(Object.assign(document.createElement("p"), { className: "note", textContent: `The model of this page cannot be read: ${error.message}` }));
  }
}

run();
