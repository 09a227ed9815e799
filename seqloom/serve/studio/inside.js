// Look inside: the explain views of the text that Studio translates. The server computes every what-if.

import { saveJson, themeNow } from "/explain/page/download.js";
import { make } from "/explain/page/elements.js";
import { showExplained, titles } from "/explain/page/explained.js";
import { Session } from "/explain/live/session.js";
import { gatesOf } from "/explain/live/state.js";
import * as api from "./api.js";

const EVERY = 5000;  // ms between two looks at a run that trains
const $ = (id) => document.getElementById(id);

// The served model as the engine of a session: it asks the server for the lanes of a state.
class OnTheServer {
  about = "The server computes what you change.";

  constructor(asked, explained) {
    this.asked = asked;
    this.models = [{ source: { reads: true }, target: { pieces: {} }, recorded: [] }];
    this.explained = explained;
    this.learn(explained.lanes[0]);
  }

  // The names of tokens and gates, as far as a document has shown them.
  learn(lane) {
    const [model] = this.models;
    const seen = [...(lane.target?.tokens ?? []), ...lane.steps.flatMap((step) => step.top), ...(lane.beam?.nodes ?? []).map((node) => node.token)];
    for (const { id, piece } of seen) model.target.pieces[id] = piece;
    model.recorded = lane.maps.map((map) => map.name).filter((name) => name.includes(".gate."));
  }

  async lanes(state) {
    const began = performance.now();
    this.explained = await api.explain({ ...this.asked, ...wishes(state) });
    const took = Math.round(performance.now() - began);
    const [lane] = this.explained.lanes;
    this.learn(lane);
    return { lanes: [lane], said: `${lane.answers[0]} (${took} ms)` };
  }
}

// A state of the session as the fields of /v1/explain.
function wishes({ text, models: [{ prefix, off, attention, gates }] }) {
  return {
    q: text, prefix,
    heads_off: off.map(([map, head]) => ({ map, head })),
    attention: attention.map(({ map, head, step, weights }) => ({ map, head, position: step, weights })),
    gates: gatesOf(gates).map(({ map, position, value }) => ({ map, position, value })),
  };
}

class Inside {
  constructor() {
    const given = new URLSearchParams(location.search);
    this.asked = { q: given.get("q") ?? "", source: given.get("source") ?? "auto", target: given.get("target") ?? "" };
    this.watching = 0;
    this.wire();
    this.open();
  }

  wire() {
    $("all").addEventListener("click", () => this.open(true));
    $("json").addEventListener("click", () => this.engine && saveJson("explain.json", JSON.stringify(this.engine.explained)));
    $("curves").addEventListener("click", () => this.toggleCurves());
    $("theme").addEventListener("click", () => { document.documentElement.dataset.theme = themeNow() === "dark" ? "light" : "dark"; });
    try { document.documentElement.dataset.theme = localStorage.getItem("theme") ?? themeNow(); } catch { /* as the system has it */ }
    try { api.useKey(sessionStorage.getItem("key") ?? ""); } catch { /* then the server refuses, with a sentence */ }
  }

  // The document of the text; `all`: with the views that take seconds.
  async open(all = false) {
    if (!this.asked.q.trim()) return this.say("Type a text on the first page, then choose “Look inside”.");
    this.say(all ? "Computing all views; this takes some seconds …" : "");
    $("views").setAttribute("aria-busy", "true");
    try {
      const wanted = all ? { views: await api.views() } : {};
      const explained = await api.explain({ ...this.asked, ...wanted });
      this.engine = new OnTheServer(this.asked, explained);
      this.session = new Session(explained, this.engine);
      $("links").replaceChildren(...titles(explained).map(([name, title]) => make("a", { href: `#view-${name}` }, title)));
      this.say("");
    } catch (error) {
      this.say(error.message);
    } finally {
      $("views").removeAttribute("aria-busy");
    }
  }

  // Curves of the served runs in the place of the views, again and again: a run may still train.
  toggleCurves() {
    const on = !this.watching;
    $("curves").setAttribute("aria-pressed", String(on));
    clearInterval(this.watching);
    this.watching = on ? setInterval(() => this.showCurves(), EVERY) : 0;
    if (on) this.showCurves();
    else if (this.session) this.session.draw();
    else $("views").replaceChildren();
  }

  async showCurves() {
    try {
      const explained = await api.curves();
      if (!this.watching) return;
      this.say(explained.curves.length ? "" : "The served folders have no log of a training.");
      if (explained.curves.length) showExplained($("views"), explained);
    } catch (error) {
      this.say(error.message);
    }
  }

  say(sentence) {
    $("status").textContent = sentence;
    $("status").hidden = !sentence;
  }
}

new Inside();
