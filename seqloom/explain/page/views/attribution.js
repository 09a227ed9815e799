// Attribution: which source words and which words already written an output word came from, and whether attention agrees.

import { linear } from "../colours.js";
import { chooser, make, percent, readout, shape, short, tableOf, visible } from "../elements.js";
import { inLanes } from "../lanes.js";
import { Matrix, cellSize, widest } from "../matrix.js";
import { columnsOf, mapsOf, matrixOf, range, rowsOf, titleOf, tokensOf } from "../reading.js";

export const attribution = {
  name: "attribution",
  has: (document) => document.lanes.some((lane) => mapsOf(lane, "attribution").length),
  draw(place, document, selection) {
    inLanes(place, document, "attribution", (lane) => mapsOf(lane, "attribution").length, (body, lane, lanes) => {
      const maps = mapsOf(lane, "attribution");
      const methods = [...new Set(maps.map(methodOf))];
      if (lane.steps.some((step) => typeof step.source_share === "number")) body.append(balance(lane, lanes, selection));
      const pictures = make("div", { class: "pictures" });
      const cell = { width: cellSize(...widest(maps), lanes, lanes === 1 ? 2 : 1) };
      const show = (method) => pictures.replaceChildren(...maps.filter((map) => methodOf(map) === method).map((map) => one(map, lane, selection, cell)));
      if (methods.length > 1) body.append(make("div", { class: "choosers" }, chooser("Method", methods.map((name) => [name, name]), methods[0], show)));
      show(methods[0]);
      body.append(pictures);
      if (lane.agreement.length) body.append(agreement(lane));
    });
  },
};

// "attribution.integrated.source" and "attribution.integrated.prefix" are one method: integrated gradients.
const methodOf = (map) => titleOf(map.name).replace(/^attribution /, "").replace(/ (source|prefix|target)$/, "");
const WHERE = { source: "source words", prefix: "words already written" };

// `cell`: the same size for all maps, so that their rows line up.
function one(map, lane, selection, cell) {
  const matrix = matrixOf(map), [low, high] = range(matrix), size = Math.max(-low, high), withSign = low < 0;
  return new Matrix({
    title: WHERE[map.axes.at(-1)] ?? titleOf(map.name), matrix, rows: rowsOf(lane, map), columns: columnsOf(lane, map), lane, selection, map, cell,
    signed: withSign, share: withSign ? (value) => value / size : linear(0, high), legend: [short(withSign ? -size : 0), short(withSign ? size : high)],
  }).element;
}

// One bar per step: the lower part came from the source, the upper part from the prefix.
function balance(lane, lanes, selection) {
  const tokens = tokensOf(lane, "target", lane.steps.length), wide = tokens.length > 30 || lanes > 1 ? 22 : 34, high = 90;
  const said = readout("");
  let cursor = 0;
  const leave = () => selection.point(lane, null, -1);
  const go = (at) => {
    cursor = Math.max(0, Math.min(tokens.length - 1, at));
    const share = lane.steps[cursor].source_share ?? 0, token = tokens[cursor];
    said.textContent = `${visible(token.text)}: ${percent(share)} source, ${percent(1 - share)} words already written`;
    selection.point(lane, token.side, token.index);
  };
  const key = (event) => {
    const next = { ArrowLeft: cursor - 1, ArrowRight: cursor + 1, Home: 0, End: tokens.length - 1 }[event.key];
    if (event.key === "Enter") selection.pin(lane, tokens[cursor].side, tokens[cursor].index);
    if (next === undefined) return;
    event.preventDefault();
    go(next);
    bars[cursor].scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  const bars = lane.steps.map((step, at) => {
    const share = step.source_share ?? 0, token = tokens[at];
    return shape("g", { class: "bar", onpointerenter: () => go(at), onpointerleave: leave, onclick: () => selection.pin(lane, token.side, token.index) },
    shape("rect", { class: "prefix", x: at * wide + 2, y: 4, width: wide - 4, height: high * (1 - share) }),
    shape("rect", { class: "source", x: at * wide + 2, y: 4 + high * (1 - share), width: wide - 4, height: high * share }),
    shape("text", { transform: `translate(${at * wide + wide / 2 - 3} ${high + 16}) rotate(50)` }, visible(token.text)));
  });
  selection.addEventListener("change", () => {
    const lit = selection.lit(lane, "target");
    bars.forEach((bar, at) => bar.classList.toggle("lit", lit.has(at)));
  });
  const longest = Math.max(...tokens.map((token) => [...token.text].length));
  const size = [tokens.length * wide + 60, high + Math.min(84, 26 + 6 * longest)];
  const title = "Share of the source per step";
  return make("figure", { class: "picture" },
    make("figcaption", {}, make("span", {}, title), make("span", { class: "legend" }, make("i", { class: "dot source" }), "source", make("i", { class: "dot prefix" }), "already written")),
    make("div", { class: "scroll" }, shape("svg", { viewBox: `0 0 ${size[0]} ${size[1]}`, width: size[0], height: size[1], class: "balance", tabindex: 0, role: "application", "aria-roledescription": "bars",
      "aria-label": `${title}: ${tokens.length} bars. Left and right move, Enter keeps a word lit.`, onfocus: () => go(cursor), onblur: leave, onkeydown: key }, bars)),
    said, tableOf(title, () => ["token", "source", "already written"],
      () => lane.steps.map((step, at) => [visible(tokens[at].text), step.source_share ?? "", step.source_share === null ? "" : 1 - step.source_share])));
}

function agreement(lane) {
  const said = (one) => (one.tau === null ? "cannot be computed" : one.control !== null && one.tau <= one.control ? "no better than uniform attention" : one.tau < 0.3 ? "they rank words differently" : one.tau < 0.6 ? "they agree in part" : "they agree");
  return make("div", { class: "agreement" }, make("p", { class: "soft" }, "Does attention rank the words as attribution does? (Kendall τ: 1 = same order, 0 = unrelated)"),
    make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Agreement with attention" }, make("table", {},
      make("thead", {}, make("tr", {}, ["attribution", "τ", "τ of uniform attention", ""].map((text) => make("th", { scope: "col" }, text)))),
      make("tbody", {}, lane.agreement.map((one) => make("tr", {}, make("th", { scope: "row" }, titleOf(one.second).replace(/^attribution /, "")),
        [short(one.tau), short(one.control), said(one)].map((text) => make("td", {}, text))))))));
}
