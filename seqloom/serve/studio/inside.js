// Look inside: the explain views of the text that Studio translates. The server computes every what-if.

import { saveJson, themeNow } from "/explain/page/download.js";
import { make } from "/explain/page/elements.js";
import { showExplained, titles } from "/explain/page/explained.js";
import { stackWith } from "/explain/page/lanes.js";
import { noteOn } from "/explain/page/reading.js";
import { Session } from "/explain/live/session.js";
import { gatesOf, original } from "/explain/live/state.js";
import * as api from "./api.js";

const EVERY = 5000;  // ms between two looks at a run that trains
const $ = (id) => document.getElementById(id);

// The served model and those beside it as the engine of a session: it asks the server for the lanes of a state.
class OnTheServer {
  about = "The server computes what you change.";

  // `views`: what a changed lane shows again.
  constructor(asked, explained, views) {
    Object.assign(this, { asked, explained, views });
    this.models = explained.lanes.map(() => ({ source: { reads: true }, target: { pieces: {} }, recorded: [] }));
    const first = original(explained.lanes[0].source.text, explained.lanes.length);
    this.shown = explained.lanes.map((lane, at) => ({ wish: JSON.stringify(wishes(first, at)), lane }));
    explained.lanes.forEach((lane, at) => this.learn(lane, at));
  }

  // The names of tokens and gates, as far as a document has shown them.
  learn(lane, at) {
    const model = this.models[at];
    const seen = [...(lane.target?.tokens ?? []), ...lane.steps.flatMap((step) => step.top), ...(lane.beam?.nodes ?? []).map((node) => node.token)];
    for (const { id, piece } of seen) model.target.pieces[id] = piece;
    model.recorded = lane.maps.map((map) => map.name).filter((name) => name.includes(".gate."));
  }

  async lanes(state) {
    const began = performance.now();
    const lanes = [];
    for (const at of this.models.keys()) lanes.push(await this.lane(state, at));  // one request at a time per client
    const took = Math.round(performance.now() - began);
    return { lanes, said: `${lanes.map((lane) => lane.answers[0]).join(" | ")} (${took} ms)` };
  }

  // The lane of one model. The first model is the one that translates; the others have names.
  async ask(at, fields) {
    const who = at ? { model: this.explained.lanes[at].model, source: "auto", target: "" } : {};
    return (await api.explain({ ...this.asked, ...who, ...fields })).lanes[0];
  }

  // Why a changed lane lacks the other views: each takes seconds, or the model has none.
  slow(at) {
    const before = this.explained.lanes[at], namesIn = (lanes) => titles({ ...this.explained, lanes }).map(([name]) => name);
    const had = namesIn([before]);
    return namesIn(this.explained.lanes).filter((name) => !this.views.includes(name)).map((name) =>
      (had.includes(name) ? `${name}: takes seconds, so it is shown without changes only; undo them to see it` : noteOn(before, name)))
      .filter(Boolean);
  }

  // Only a lane whose wishes have changed is computed again.
  async lane(state, at) {
    const fields = wishes(state, at), wish = JSON.stringify(fields);
    if (this.shown[at].wish === wish) return this.shown[at].lane;
    const found = await this.ask(at, { views: this.views, ...fields });
    const lane = { ...found, notes: [...found.notes, ...this.slow(at)] };
    this.learn(lane, at);
    this.shown[at] = { wish, lane };
    return lane;
  }
}

// What a state of the session wishes of one model, as fields of /v1/explain.
function wishes({ text, models }, at) {
  const { prefix, off, attention, gates } = models[at];
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
    this.stack = stackWith($("stack"));
    this.wire();
    this.open();
  }

  wire() {
    $("all").addEventListener("click", () => this.open(true));
    $("json").addEventListener("click", () => this.session && saveJson("explain.json", JSON.stringify({ ...this.engine.explained, lanes: this.session.lanes })));
    $("curves").addEventListener("click", () => this.toggleCurves());
    $("theme").addEventListener("click", () => { document.documentElement.dataset.theme = themeNow() === "dark" ? "light" : "dark"; });
    try { document.documentElement.dataset.theme = localStorage.getItem("theme") ?? themeNow(); } catch { /* as the system has it */ }
    try { api.useKey(sessionStorage.getItem("key") ?? ""); } catch { /* then the server refuses, with a sentence */ }
  }

  // The document of the text; `all`: with the views that take seconds.
  async open(all = false) {
    if (!this.asked.q.trim()) return this.say("Type a text on the first page, then choose “Look inside”.");
    if (this.watching) this.toggleCurves();  // else the next curves would take the place of the views
    this.say("");
    $("views").setAttribute("aria-busy", "true");
    try {
      const explained = all && this.engine ? await this.withAllViews() : await api.explain({ ...this.asked, beside: true });
      this.quick ??= titles(explained).map(([name]) => name);
      this.engine = new OnTheServer(this.asked, explained, this.quick);
      this.stack(explained);
      this.session = new Session(explained, this.engine);
      $("links").replaceChildren(...titles(explained).map(([name, title]) => make("a", { href: `#view-${name}` }, title)));
      this.say("");
    } catch (error) {
      this.say(error.message);
    } finally {
      $("views").removeAttribute("aria-busy");
    }
  }

  // One model after the other, so that each has the server's whole deadline.
  async withAllViews() {
    const views = await api.views(), lanes = [], { models, explained } = this.engine;
    for (const at of models.keys()) {
      this.say(`Computing all views${at ? ` of ${explained.lanes[at].model}` : ""}; this takes some seconds …`);
      lanes.push(await this.engine.ask(at, { views }));
    }
    return { ...explained, lanes };
  }

  // Curves of the served runs in the place of the views, again and again: a run may still train.
  toggleCurves() {
    this.watch(!this.watching);
    if (this.watching) this.showCurves();
    else if (this.session) this.session.draw();
    else $("views").replaceChildren();
  }

  watch(on) {
    $("curves").setAttribute("aria-pressed", String(on));
    clearInterval(this.watching);
    this.drawn = null;
    this.watching = on ? setInterval(() => this.showCurves(), EVERY) : 0;
  }

  async showCurves() {
    try {
      const explained = await api.curves();
      if (!this.watching) return;
      this.say(explained.curves.length ? "" : "The served folders have no log of a training.");
      if (explained.curves.length) this.drawCurves(explained);
    } catch (error) {
      this.say(error.message);
    }
  }

  // Nothing moves while nothing is new; an opened table stays open, and the keyboard stays in its chart.
  drawCurves(explained) {
    const found = JSON.stringify(explained.curves);
    if (found === this.drawn) return;
    const views = $("views"), charts = () => [...views.querySelectorAll("svg.chart, summary")], tables = () => [...views.querySelectorAll("details")];
    const open = this.drawn === null ? [] : tables().map((table) => table.open), at = charts().indexOf(document.activeElement);
    this.drawn = found;
    showExplained(views, explained);
    tables().forEach((table, number) => { table.open = open[number] ?? false; });
    charts()[at]?.focus({ preventScroll: true });
  }

  say(sentence) {
    $("status").textContent = sentence;
    $("status").hidden = !sentence;
  }
}

new Inside();
