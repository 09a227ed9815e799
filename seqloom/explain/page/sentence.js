// The sentence on top of the page: source, one output per model, and what else the model could have written.

import { make, percent, quoted, short, tableOf, visible } from "./elements.js";
import { mapsOf, matrixOf, tokensOf, writtenOf } from "./reading.js";

const LONG = 24;  // tokens: a longer line scrolls instead of filling the screen

export class Sentence {
  constructor(document, selection) {
    Object.assign(this, { document, selection, chips: [] });
    this.element = make("div", { class: "sentence" });
    const texts = new Set(document.lanes.map((lane) => lane.source.text + lane.source.tokens.map((token) => token.piece).join("\n")));
    document.lanes.forEach((lane, at) => {
      if ((at === 0 || texts.size > 1) && lane.source.tokens.length) this.element.append(this.line(lane, "source", "source", tokensOf(lane, "source", lane.source.tokens.length)));
      this.element.append(this.line(lane, "target", document.lanes.length > 1 ? lane.model : lane.forced ? "text" : "output", tokensOf(lane, "target", writtenOf(lane).length)));
    });
    this.options = make("div", { class: "options" });
    selection.addEventListener("change", () => this.light());
    selection.addEventListener("token", ({ detail }) => { if (detail.side === "target") this.choices(detail); });
  }

  line(lane, side, name, tokens) {
    const nodes = tokens.map((token) => make("button", {
      type: "button", class: "chip", dir: "auto", tabindex: token.index ? -1 : 0, "aria-label": this.words(lane, token), "aria-pressed": "false",
      onpointerenter: () => this.selection.point(lane, side, token.index), onpointerleave: () => this.selection.point(lane, null, -1),
      onfocus: () => this.selection.point(lane, side, token.index), onblur: () => this.selection.point(lane, null, -1),
      onclick: () => this.selection.pin(lane, side, token.index),
    }, make("span", {}, visible(token.text)), side === "target" ? this.bar(lane.steps[token.index]) : null));
    nodes.forEach((node, at) => node.addEventListener("keydown", (event) => this.key(event, nodes, at)));
    this.chips.push(...nodes.map((node, index) => ({ node, lane, side, index })));
    const text = side === "source" ? lane.source.text : lane.target?.text ?? "";
    return make("div", { class: `line ${side}${tokens.length > LONG ? " long" : ""}` }, make("span", { class: "who" }, quoted(name)), make("div", { class: "chips", role: "group", "aria-label": `${name}: ${text}`, dir: direction(text) }, nodes));
  }

  words(lane, token) {
    const step = token.side === "target" ? lane.steps[token.index] : null;
    return `${visible(token.text)}${step ? `, probability ${percent(Math.exp(step.log_prob))}, rank ${step.rank}` : ""}`;
  }

  bar(step) {
    if (!step) return null;
    const bar = make("i", { class: step.rank === 1 ? "sure" : "sure second", "aria-hidden": "true" });
    bar.style.inlineSize = `${100 * Math.exp(step.log_prob)}%`;
    return bar;
  }

  // Arrow keys go along the line; in a line that runs from right to left the left key goes forward.
  key(event, nodes, at) {
    const forward = getComputedStyle(nodes[0].parentElement).direction === "rtl" ? -1 : 1;
    const next = { ArrowRight: at + forward, ArrowLeft: at - forward, Home: 0, End: nodes.length - 1 }[event.key];
    if (event.key === "Escape") this.selection.clear();
    if (next === undefined) return;
    event.preventDefault();
    const node = nodes[Math.max(0, Math.min(nodes.length - 1, next))];
    nodes.forEach((each) => { each.tabIndex = each === node ? 0 : -1; });
    node.focus();
  }

  // Lit words; and while an output word is lit, the source words are shaded by the attention it pays to them.
  light() {
    const now = this.selection.now;
    const map = now?.side === "target" ? mapsOf(now.lane, "attention").findLast((each) => each.shape.at(-2) > now.index) : null;
    const weights = map ? matrixOf(map).row(now.index) : null;
    for (const { node, lane, side, index } of this.chips) {
      node.classList.toggle("lit", this.selection.lit(lane, side).has(index));
      node.setAttribute("aria-pressed", String(this.selection.pinned?.lane === lane && this.selection.pinned.side === side && this.selection.pinned.index === index));
      const weight = weights && side === "source" && lane.source.text === now.lane.source.text ? weights[index] ?? 0 : 0;
      node.style.setProperty("--weight", weight.toFixed(3));
      if (node.classList.contains("lit") && !node.matches(":hover")) intoView(node);
    }
  }

  // What the model could have written instead of this token; choosing one asks Studio to force it.
  choices({ lane, index }) {
    const step = lane.steps[index];
    if (!step) return;
    const largest = Math.exp(step.top[0]?.log_prob ?? 0);
    this.options.replaceChildren(
      make("h3", {}, "Instead of ", quoted(visible(this.chipText(lane, index))), make("small", {}, `rank ${step.rank}, margin ${short(step.margin)}, entropy ${short(step.entropy)} nats`)),
      make("ol", {}, step.top.map((choice) => {
        const bar = make("i", { class: "amount", "aria-hidden": "true" });
        bar.style.inlineSize = `${100 * Math.exp(choice.log_prob) / largest}%`;
        return make("li", {}, make("button", { type: "button", onclick: () => this.selection.ask("alternative", { lane, index, choice }) },
          quoted(visible(choice.piece)), make("span", {}, percent(Math.exp(choice.log_prob))), bar));
      })));
  }

  chipText(lane, index) {
    return tokensOf(lane, "target", index + 1)[index].text;
  }

  tables() {
    return this.document.lanes.filter((lane) => lane.steps.length).map((lane) => tableOf(`Steps of ${lane.model}`,
      () => ["token", "probability", "rank", "margin", "entropy", "alternatives"],
      () => lane.steps.map((step, at) => [visible(this.chipText(lane, at)), percent(Math.exp(step.log_prob)), String(step.rank), step.margin, step.entropy,
        step.top.map((choice) => `${visible(choice.piece)} ${percent(Math.exp(choice.log_prob))}`).join(", ")])));
  }
}

// Only the line scrolls, never the page under the reader's pointer.
function intoView(node) {
  const line = node.parentElement, box = node.getBoundingClientRect(), frame = line.getBoundingClientRect();
  if (box.left < frame.left) line.scrollLeft += box.left - frame.left - 20;
  if (box.right > frame.right) line.scrollLeft += box.right - frame.right + 20;
}

// What dir="auto" would find; it does not look into buttons.
export function direction(text) {
  const first = text.match(/\p{L}/u)?.[0] ?? "";
  return /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u.test(first) ? "rtl" : "ltr";
}
