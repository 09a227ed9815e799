// Gates of a recurrent network over time: one strip per gate (mean over the units), and every unit on demand.

import { linear, signed } from "../colours.js";
import { chooser, make, short } from "../elements.js";
import { inLanes } from "../lanes.js";
import { Matrix, cellSize } from "../matrix.js";
import { mapsOf, matrixOf, tokensOf } from "../reading.js";

export const gates = {
  name: "gates",
  has: (document) => document.lanes.some((lane) => mapsOf(lane, "gates").length),
  draw(place, document, selection) {
    inLanes(place, document, "gates", (lane) => mapsOf(lane, "gates").length, (body, lane, lanes) => {
      body.append(make("div", { class: "pictures" }, [...groups(mapsOf(lane, "gates"))].map(([where, maps]) => strips(where, maps, { lane, lanes, selection }))));
    });
  },
};

// "encoder.forward.0.gate.forget" belongs to "encoder forward, layer 1" and is its gate "forget".
function groups(maps) {
  const found = new Map();
  for (const map of maps) {
    const parts = map.name.split("."), gate = parts.at(-1);
    const layer = parts.find((part) => /^\d+$/.test(part));
    const words = parts.slice(0, -1).filter((part) => part !== "gate" && part !== "state" && part !== layer).join(" ");
    const where = (layer === undefined ? words : `${words}, layer ${Number(layer) + 1}`) + (map.trained ? "" : ", fresh weights");
    found.set(where, [...(found.get(where) ?? []), { gate, map, values: matrixOf(map), signed: map.low < 0 }]);
  }
  return found;
}

function strips(where, rows, place) {
  const { lane } = place;
  const columns = tokensOf(lane, rows[0].map.axes[0], rows[0].values.rows);
  const means = rows.map((row) => columns.map((_, column) => mean(row, column)));
  const highest = rows.map((row, at) => (row.signed ? Math.max(...means[at]) : Math.max(1, row.map.high)));
  const units = make("div", { class: "units", "aria-live": "polite" });
  const buttons = rows.map((row) => make("button", { type: "button", class: "open", "aria-expanded": "false", "aria-label": `Units of ${row.gate}`,
    onclick: () => open(row) }, row.signed ? `|${row.gate}|` : row.gate));
  const open = (row) => {
    const was = buttons[rows.indexOf(row)].getAttribute("aria-expanded") === "true";
    buttons.forEach((button) => button.setAttribute("aria-expanded", "false"));
    if (was) return units.replaceChildren();
    buttons[rows.indexOf(row)].setAttribute("aria-expanded", "true");
    showUnits(units, row, where, columns, place, "peak");
  };
  const strip = new Matrix({
    title: `${where}: mean over ${rows[0].values.columns} units`, ...place, columns, maps: rows.map((row) => row.map),
    matrix: { rows: rows.length, columns: columns.length, at: (row, column) => means[row][column] },
    rows: rows.map((row, at) => ({ text: row.gate, name: row.gate, side: null, index: -1, node: buttons[at] })),
    share: (value, row) => linear(0, highest[row])(value), legend: ["0", rows.some((row) => row.signed) ? "1; |…|: largest of the row" : "1"],
  });
  return make("div", {}, strip.element, units);
}

// The mean over the units; of numbers with a sign the mean size, for their mean is about 0.
function mean(row, column) {
  let sum = 0;
  for (let unit = 0; unit < row.values.columns; unit++) {
    const value = row.values.at(column, unit);
    sum += row.signed ? Math.abs(value) : value;
  }
  return sum / row.values.columns;
}

const ORDERS = {
  peak: ["where they are largest", (track) => track.indexOf(Math.max(...track))],
  mean: ["mean over the tokens", (track) => -track.reduce((sum, value) => sum + value, 0)],
  change: ["change over the tokens", (track) => -track.slice(1).reduce((sum, value, at) => sum + Math.abs(value - track[at]), 0)],
  number: ["number", () => 0],
};

function showUnits(body, row, where, columns, place, order) {
  const tracks = Array.from({ length: row.values.columns }, (_, unit) => columns.map((_, column) => row.values.at(column, unit)));
  const key = tracks.map(ORDERS[order][1]);
  const sorted = tracks.map((_, unit) => unit).sort((a, b) => key[a] - key[b] || a - b);
  const size = Math.max(Math.abs(row.map.low), Math.abs(row.map.high));
  const picture = new Matrix({
    title: `${where}, ${row.gate}: every unit`, ...place, columns, map: row.map, signed: row.signed,
    matrix: { rows: sorted.length, columns: columns.length, at: (at, column) => tracks[sorted[at]][column] },
    rows: sorted.map((unit) => ({ text: `unit ${unit}`, name: `unit ${unit}`, side: null, index: -1 })),
    share: row.signed ? signed(size) : linear(0, Math.max(1, row.map.high)),
    legend: row.signed ? [short(-size), short(size)] : ["0", short(Math.max(1, row.map.high))],
    units: true, cell: { width: cellSize(columns.length, 1, place.lanes), height: sorted.length > 40 ? 4 : 8 },
  });
  const orders = Object.entries(ORDERS).map(([name, [words]]) => [name, words]);
  body.replaceChildren(make("div", { class: "choosers" }, chooser("Sort units by", orders, order,
    (name) => { showUnits(body, row, where, columns, place, name); body.querySelector("select").focus(); })), picture.element);
}
