// What the decoder would write from an earlier layer, or after the first words: a table, coloured by probability.

import { onTheme, scale } from "../colours.js";
import { make, percent, visible } from "../elements.js";
import { inLanes } from "../lanes.js";
import { tokensOf, writtenOf } from "../reading.js";

const TITLES = { "encoder layer": "If the decoder read encoder layer …", "decoder layer": "If decoder layer … were the last", "words read": "After … words of the source" };

export const lens = {
  name: "lens",
  has: (document) => document.lanes.some((lane) => lane.lens.length),
  draw(place, document, selection) {
    inLanes(place, document, "lens", (lane) => lane.lens.length, (body, lane) => {
      for (const kind of new Set(lane.lens.map((reading) => reading.kind))) {
        body.append(table(kind, lane.lens.filter((reading) => reading.kind === kind), lane, selection));
      }
    });
  },
};

function table(kind, readings, lane, selection) {
  const cells = [];
  const rows = readings.map((reading) => make("tr", {}, make("th", { scope: "row", dir: "auto" }, rowName(reading, lane)),
    reading.pieces.map((piece, at) => {
      const share = Math.exp(reading.log_probs[at] ?? -Infinity);
      const cell = make("td", { dir: "auto", title: percent(share), onpointerenter: () => selection.point(lane, "target", at), onpointerleave: () => selection.point(lane, null, -1) },
        visible(piece), make("small", {}, percent(share)));
      cells.push({ cell, share, at });
      return cell;
    })));
  const body = make("tbody", {}, rows);
  body.paint = () => {
    const colour = scale();
    for (const { cell, share } of cells) {
      const [red, green, blue] = colour(share * 0.4);
      cell.style.background = `rgb(${red} ${green} ${blue})`;
    }
  };
  body.paint();
  onTheme(body);
  selection.addEventListener("change", () => {
    const lit = selection.lit(lane, "target");
    for (const { cell, at } of cells) cell.classList.toggle("lit", lit.has(at));
  });
  return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": TITLES[kind] }, make("table", { class: "lens" }, make("caption", {}, TITLES[kind]), written(readings, lane), body));
}

// The last of the words read stands beside their number.
function rowName(reading, lane) {
  const word = reading.kind === "words read" ? lane.source.tokens[reading.number - 1]?.piece : undefined;
  return word === undefined ? String(reading.number) : `${reading.number} ${visible(word)}`;
}

// On top what the whole model wrote, to compare.
function written(readings, lane) {
  const most = Math.max(0, ...readings.map((reading) => reading.pieces.length));
  const tokens = tokensOf(lane, "target", writtenOf(lane).length).slice(0, most);
  return make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "written:"), tokens.map((token) => make("th", { scope: "col", dir: "auto" }, visible(token.text)))));
}
