// Attention from the output to the source: one matrix, with a choice of layer and head.

import { inLanes } from "../lanes.js";
import { Layers } from "../layers.js";
import { mapsOf } from "../reading.js";

export const attention = {
  name: "attention",
  has: (document) => document.lanes.some((lane) => mapsOf(lane, "attention").length),
  draw(place, document, selection) {
    inLanes(place, document, "attention", (lane) => mapsOf(lane, "attention").length, (body, lane, lanes) => {
      body.append(new Layers({ lane, lanes, selection, maps: mapsOf(lane, "attention"), arcs: false }).element);
    });
  },
};
