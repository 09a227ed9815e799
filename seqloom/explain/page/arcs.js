// Self-attention as arcs above the tokens: the largest weights that together make up 75 % of each row.

import { make, percent, readout, shape, tableOf, visible } from "./elements.js";

const KEPT = 0.75, HIGH = 180, LEAST = 16;

// The columns of a row that hold most of it, largest first.
export function largest(row, share = KEPT) {
  const order = row.map((weight, column) => [weight, column]).sort((a, b) => b[0] - a[0]);
  const total = row.reduce((sum, weight) => sum + weight, 0), kept = [];
  let sum = 0;
  for (const [weight, column] of order) {
    if (sum >= share * total) break;
    kept.push(column);
    sum += weight;
  }
  return kept;
}

export class Arcs {
  constructor({ matrix, tokens, lane, selection }) {
    Object.assign(this, { tokens, lane, selection });
    this.step = tokens.length > 30 ? 26 : tokens.length > 14 ? 30 : 38;
    this.foot = 26 + 6.4 * Math.min(12, Math.max(...tokens.map((token) => [...token.text].length)));
    this.layer = shape("g", {});
    this.labels = tokens.map((token, at) => shape("text", {
      class: "arc-token", transform: `translate(${this.x(at)} ${HIGH + 12}) rotate(55)`,
      onpointerenter: () => this.over(at), onpointerleave: () => this.over(-1),
      onclick: () => selection.pin(lane, token.side, token.index),
    }, visible(token.text)));
    this.picture = shape("svg", { class: "arcs", tabindex: 0, role: "application", "aria-roledescription": "arcs",
      "aria-label": `Arcs between ${tokens.length} tokens. Left and right move, Enter keeps a word lit.`,
      onfocus: () => this.go(Math.max(0, this.cursor)), onblur: () => this.over(-1), onkeydown: (event) => this.key(event) }, this.layer, this.labels);
    this.readout = readout("");
    this.cursor = 0;
    this.element = make("figure", { class: "picture" }, make("figcaption", {}, make("span", {}, "arcs"), make("span", { class: "legend" }, "the thicker, the larger the weight")),
      make("div", { class: "scroll" }, this.picture), this.readout, this.table());
    this.over(-1);
    this.show(matrix);
    selection.addEventListener("change", () => this.light());
  }

  x(at) { return 20 + at * this.step; }

  over(at) {
    this.hovered = at;
    const token = this.tokens[at];
    if (token?.side) this.selection.point(this.lane, token.side, token.index);
    else this.selection.point(this.lane, null, -1);
    if (this.arcs) this.light();
  }

  // What a token looks at, in words.
  words(at) {
    return this.arcs.filter((arc) => arc.row === at).map((arc) => `${visible(this.tokens[arc.column].text)} ${percent(arc.weight)}`).join(", ");
  }

  go(at) {
    this.cursor = at;
    this.over(at);
    this.readout.textContent = `${visible(this.tokens[at].text)} looks at ${this.words(at)}`;
    this.labels[at].scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  key(event) {
    const last = this.tokens.length - 1, { cursor } = this;
    const next = { ArrowLeft: cursor - 1, ArrowRight: cursor + 1, Home: 0, End: last }[event.key];
    const { side, index } = this.tokens[cursor];
    if (event.key === "Enter") this.selection.pin(this.lane, side, index);
    if (next === undefined) return;
    event.preventDefault();
    this.go(Math.max(0, Math.min(last, next)));
  }

  table() {
    return tableOf("arcs", () => ["token", "looks at"], () => this.tokens.map((token, at) => [visible(token.text), this.words(at)]));
  }

  show(matrix) {
    this.arcs = [];
    for (let row = 0; row < matrix.rows; row++) {
      const weights = matrix.row(row);
      for (const column of largest(weights)) this.arcs.push(this.arc(row, column, weights[column]));
    }
    this.layer.replaceChildren(...this.arcs.map((arc) => arc.node));
    const old = this.element.querySelector("details.numbers"), fresh = this.table();
    old.replaceWith(fresh);
    fresh.open = old.open;
    this.crop(Math.max(0, ...this.arcs.map(({ row, column }) => this.rise(row, column))));
    this.light();
  }

  // Longer arcs are higher, up to the longest: no two lengths share a height.
  rise(row, column) {
    const span = this.tokens.length - 1 || 1, most = Math.min(HIGH - 12, LEAST + 12 * span);
    return LEAST + (most - LEAST) * (Math.abs(row - column) / span) ** 0.8;
  }

  // No empty room above the highest arc.
  crop(high) {
    const wide = this.tokens.length * this.step + 74, top = HIGH - high - 8;
    for (const [name, value] of Object.entries({ viewBox: `0 ${top} ${wide} ${HIGH + this.foot - top}`, width: wide, height: HIGH + this.foot - top })) this.picture.setAttribute(name, value);
  }

  arc(row, column, weight) {
    const [from, to] = [this.x(row), this.x(column)], high = this.rise(row, column);
    const path = from === to
      ? `M ${from - 5} ${HIGH} C ${from - 14} ${HIGH - 26}, ${from + 14} ${HIGH - 26}, ${from + 5} ${HIGH}`
      : `M ${from} ${HIGH} C ${from} ${HIGH - high * 1.3}, ${to} ${HIGH - high * 1.3}, ${to} ${HIGH}`;
    return { row, column, weight, node: shape("path", { d: path, class: "arc", "stroke-width": (0.6 + 4 * weight).toFixed(2), "stroke-opacity": (0.15 + 0.6 * weight).toFixed(2) }) };
  }

  // Of a lit token only its own arcs stay: those to what it looks at, and fainter those that look at it.
  light() {
    const lit = new Set();
    this.tokens.forEach((token, at) => {
      const on = at === this.hovered || (token.side !== null && this.selection.lit(this.lane, token.side).has(token.index));
      if (on) lit.add(at);
      this.labels[at].classList.toggle("lit", on);
    });
    for (const { row, column, node } of this.arcs ?? []) {
      node.classList.toggle("off", lit.size > 0 && !lit.has(row));
      node.classList.toggle("in", lit.size > 0 && !lit.has(row) && lit.has(column));
      node.classList.toggle("on", lit.has(row));
    }
  }
}
