// Self-attention: which tokens of a text look at which, as a matrix and as arcs.

import { inLanes } from "../lanes.js";
import { Layers } from "../layers.js";
import { mapsOf } from "../reading.js";

export const self = {
  name: "self",
  has: (document) => document.lanes.some((lane) => mapsOf(lane, "self").length),
  draw(place, document, selection) {
    inLanes(place, document, "self", (lane) => mapsOf(lane, "self").length, (body, lane, lanes) => {
      body.append(new Layers({ lane, lanes, selection, maps: mapsOf(lane, "self"), arcs: true }).element);
    });
  },
};
