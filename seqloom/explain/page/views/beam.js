// The tree of the search: best hypotheses on top, the answer thick, pruned branches dashed; the reference below.

import { make, quoted, readout, shape, short, tableOf, visible } from "../elements.js";
import { inLanes } from "../lanes.js";

const WIDE = 130, HIGH = 34, BOX = 110;

export const beam = {
  name: "beam",
  has: (document) => document.lanes.some((lane) => lane.beam),
  draw(place, document, selection) {
    inLanes(place, document, "beam", (lane) => lane.beam, (body, lane) => {
      body.append(new Tree(lane, selection).element);
      if (lane.beam.reference.length) body.append(reference(lane));
    });
  },
};

class Tree {
  constructor(lane, selection) {
    Object.assign(this, { lane, selection, at: 0 });
    this.nodes = new Map(lane.beam.nodes.map((node) => [node.id, { ...node, children: [] }]));
    for (const node of this.nodes.values()) this.nodes.get(node.parent)?.children.push(node);
    this.readout = readout("");
    this.place = make("div", { class: "scroll" });
    const pruned = make("input", { type: "checkbox", checked: true, onchange: (event) => this.draw(event.target.checked) });
    this.element = make("figure", { class: "picture" },
      make("figcaption", {}, make("span", {}, `Beam of ${lane.beam.width}, length penalty ${short(lane.beam.length_penalty)}`),
        make("label", { class: "chooser" }, pruned, make("span", {}, "pruned branches"))),
      this.place, this.readout, this.table());
    this.draw(true);
    selection.addEventListener("change", () => this.light());
  }

  draw(withPruned) {
    this.shown = [...this.nodes.values()].filter((node) => withPruned || node.fate !== "pruned");
    const steps = new Map();
    for (const node of this.shown) steps.set(node.step, [...(steps.get(node.step) ?? []), node]);
    for (const nodes of steps.values()) {
      nodes.sort((a, b) => a.rank - b.rank || b.score - a.score).forEach((node, at) => { node.x = node.step * WIDE; node.y = 12 + at * HIGH; });
    }
    const size = [(Math.max(0, ...steps.keys()) + 1) * WIDE + 20, 24 + HIGH * Math.max(1, ...[...steps.values()].map((nodes) => nodes.length))];
    const edges = this.shown.map((node) => this.edge(node));
    this.boxes = new Map(this.shown.map((node) => [node.id, this.box(node)]));
    const picture = shape("svg", { width: size[0], height: size[1], viewBox: `0 0 ${size[0]} ${size[1]}`, class: "tree", tabindex: 0, role: "application",
      "aria-roledescription": "tree", "aria-label": `Search tree with ${this.shown.length} hypotheses. Arrow keys move; Enter chooses.` },
    edges, shape("text", { class: "start", x: 8, y: 12 + HIGH / 2 }, "start"), [...this.boxes.values()]);
    picture.addEventListener("keydown", (event) => this.key(event));
    picture.addEventListener("focus", () => this.go(this.nodes.get(this.at) ?? this.shown[0]));
    picture.addEventListener("pointerleave", () => this.selection.point(this.lane, null, -1));
    this.place.replaceChildren(picture);
    this.light();
  }

  edge(node) {
    const parent = this.nodes.get(node.parent), x = parent ? parent.x + BOX : 44, y = (parent ? parent.y : 12) + HIGH / 2 - 4;
    const middle = (x + node.x) / 2, end = node.y + HIGH / 2 - 4;
    return shape("path", { d: `M ${x} ${y} C ${middle} ${y}, ${middle} ${end}, ${node.x} ${end}`, class: `edge ${node.fate}${node.best ? " best" : ""}` });
  }

  box(node) {
    const piece = visible(node.token.piece);
    return shape("g", { class: `node ${node.fate}${node.best ? " best" : ""}`, transform: `translate(${node.x} ${node.y})`,
      onpointerenter: () => this.go(node), onclick: () => this.choose(node) },
    shape("rect", { width: BOX, height: HIGH - 8, rx: 6 }),
    shape("text", { x: 7, y: 17 }, [...piece].length > 8 ? `${[...piece].slice(0, 7).join("")}…` : piece),
    shape("text", { class: "score", x: BOX - 6, y: 17, "text-anchor": "end" }, node.score.toFixed(2)),
    node.fate === "finished" ? shape("circle", { class: "end", cx: BOX, cy: (HIGH - 8) / 2, r: 4 }) : null);
  }

  path(node) {
    const path = [];
    for (let each = node; each; each = this.nodes.get(each.parent)) path.unshift(each);
    return path;
  }

  go(node) {
    if (!node) return;
    this.at = node.id;
    const text = this.path(node).map((each) => each.token.piece).join(" ");
    const why = node.reason ? `, ${node.reason}` : "";
    this.readout.replaceChildren(quoted(text), ` — ${node.fate}${why}; score ${short(node.score)}, log-probability ${short(node.log_prob)}, rank ${node.rank} of step ${node.step}`);
    this.selection.point(this.lane, node.best ? "target" : null, node.step - 1);
    for (const [id, box] of this.boxes) box.classList.toggle("here", id === node.id);
  }

  choose(node) {
    this.go(node);
    this.selection.ask("branch", { lane: this.lane, node: node.id, path: this.path(node).map((each) => each.token) });
    if (node.best) this.selection.pin(this.lane, "target", node.step - 1);
  }

  key(event) {
    const node = this.nodes.get(this.at);
    const beside = this.shown.filter((each) => each.step === node?.step).sort((a, b) => a.y - b.y);
    const next = {
      ArrowLeft: () => this.nodes.get(node.parent), ArrowRight: () => node.children.filter((each) => this.boxes.has(each.id)).sort((a, b) => a.rank - b.rank)[0],
      ArrowUp: () => beside[beside.indexOf(node) - 1], ArrowDown: () => beside[beside.indexOf(node) + 1],
    }[event.key];
    if (event.key === "Enter" && node) this.choose(node);
    if (!next || !node) return;
    event.preventDefault();
    this.go(next());
    this.boxes.get(this.at)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  light() {
    const lit = this.selection.lit(this.lane, "target");
    for (const [id, box] of this.boxes) box.classList.toggle("lit", this.nodes.get(id).best && lit.has(this.nodes.get(id).step - 1));
  }

  table() {
    return tableOf("Search tree", () => ["hypothesis", "step", "rank", "score", "log-probability", "fate", "reason"],
      () => [...this.nodes.values()].map((node) => [this.path(node).map((each) => each.token.piece).join(" "), String(node.step), String(node.rank), node.score, node.log_prob, node.fate, node.reason]));
  }
}

// The reference, forced through the search: where did the beam lose it?
function reference(lane) {
  const rows = lane.beam.reference;
  return make("div", { class: "reference" }, make("p", { class: "verdict" }, lane.beam.verdict),
    make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "The reference, step by step" }, make("table", {}, make("caption", {}, "The reference, forced through the search"),
      make("tbody", {}, make("tr", {}, make("th", { scope: "row" }, "token"), rows.map((row) => make("td", { dir: "auto", class: row.in_beam ? "in" : "out" }, visible(row.token.piece)))),
        make("tr", {}, make("th", { scope: "row" }, "rank"), rows.map((row) => make("td", { class: row.in_beam ? "in" : "out" }, String(row.rank)))),
        make("tr", {}, make("th", { scope: "row" }, "margin"), rows.map((row) => make("td", { class: row.in_beam ? "in" : "out" }, short(row.margin)))),
        make("tr", {}, make("th", { scope: "row" }, "in the beam"), rows.map((row) => make("td", { class: row.in_beam ? "in" : "out" }, row.in_beam ? "yes" : "no")))))));
}
