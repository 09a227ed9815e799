// Positional encodings as a heat map, and how alike two positions are.

import { signed } from "../colours.js";
import { make, short } from "../elements.js";
import { inLanes } from "../lanes.js";
import { Matrix } from "../matrix.js";
import { columnsOf, mapsOf, matrixOf, rowsOf, titleOf } from "../reading.js";

export const positions = {
  name: "positions",
  has: (document) => document.lanes.some((lane) => mapsOf(lane, "positions").length),
  draw(place, document, selection) {
    inLanes(place, document, "positions", (lane) => mapsOf(lane, "positions").length, (body, lane) => {
      body.append(make("div", { class: "pictures" }, mapsOf(lane, "positions").map((map) => {
        const size = Math.max(Math.abs(map.low), Math.abs(map.high));
        const name = (token) => ({ ...token, side: null, text: token.text });
        return new Matrix({
          title: `${titleOf(map.name)}: ${map.about}`, matrix: matrixOf(map), rows: rowsOf(lane, map).map(name), columns: columnsOf(lane, map).map(name),
          share: signed(size), signed: true, legend: [short(-size), short(size)], lane, selection, map,
          cell: { width: map.shape.at(-1) > 40 ? 8 : 14, height: map.shape.at(-2) > 40 ? 11 : 14 },
        }).element;
      })));
    });
  },
};
