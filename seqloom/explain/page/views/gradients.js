// Gradient flow: how strongly each output token reacts to each state, trained and fresh weights on one colour scale.

import { logarithmic } from "../colours.js";
import { make, short } from "../elements.js";
import { inLanes } from "../lanes.js";
import { lineChart } from "../lines.js";
import { Matrix, cellSize, widest } from "../matrix.js";
import { columnsOf, mapsOf, matrixOf, rowsOf, titleOf, valuesOf } from "../reading.js";

const DECADES = 8;  // smaller numbers have the colour of 0

export const gradients = {
  name: "gradients",
  has: (document) => document.lanes.some((lane) => mapsOf(lane, "gradients").length),
  draw(place, document, selection) {
    inLanes(place, document, "gradients", (lane) => mapsOf(lane, "gradients").length, (body, lane, lanes) => {
      const maps = mapsOf(lane, "gradients").filter((map) => map.axes.length === 2);
      const names = [...new Set(maps.map((map) => map.name))];
      const cell = { width: cellSize(...widest(maps), lanes, lanes === 1 ? 2 : 1) };
      for (const name of names) body.append(pair(name, maps.filter((map) => map.name === name), lane, selection, cell));
      if (lane.decay.length) body.append(decay(lane));
    });
  },
};

const weights = (map) => (map.trained ? "trained" : "fresh weights");

function pair(name, maps, lane, selection, cell) {
  const high = Math.max(...maps.map((map) => map.high));
  const positive = maps.flatMap((map) => [...valuesOf(map)]).filter((value) => value > 0);
  const least = positive.reduce((low, value) => Math.min(low, value), Infinity);
  const low = Math.max(least, high / 10 ** DECADES);
  return make("div", { class: "pictures" }, maps.map((map) => new Matrix({
    title: `${titleOf(name)}, ${weights(map)}`, matrix: matrixOf(map), rows: rowsOf(lane, map), columns: columnsOf(lane, map),
    share: logarithmic(low, high), legend: [short(low), `${short(high)} (log)`], lane, selection, map, cell,
  }).element));
}

function decay(lane) {
  const names = [...new Set(lane.decay.map((one) => one.map))], several = names.length > 1;
  const series = lane.decay.map((one) => ({
    name: `${several ? `${titleOf(one.map)}, ` : ""}${weights(one)}${one.slope === null ? "" : `: ${slope(one.slope)}`}`,
    points: one.distance.map((distance, at) => [distance, one.norm[at]]), dashed: !one.trained, colour: names.indexOf(one.map),
  }));
  return lineChart({ title: "Mean gradient by distance between tokens", series, xLabel: "distance", yLabel: "norm", log: true });
}

// A slope of -0.2 per token: the gradient falls to a tenth within 5 tokens.
function slope(value) {
  if (value >= -1e-3) return `slope ${short(value)}, does not fall`;
  return `slope ${short(value)}, a tenth after ${short(-1 / value)} tokens`;
}
