// The path of the states of a sentence on two axes, and many sentences on one map.

import { make, percent, quoted, several, visible } from "../elements.js";
import { inLanes } from "../lanes.js";
import { scatter } from "../scatter.js";
import { titleOf, tokensOf } from "../reading.js";

const axesOf = (explained) => [0, 1].map((at) => `axis ${at + 1}${explained[at] === undefined ? "" : `: ${percent(explained[at])} of the variance`}`);

export const states = {
  name: "states",
  has: (document) => document.lanes.some((lane) => lane.paths.length),
  draw(place, document, selection) {
    inLanes(place, document, "states", (lane) => lane.paths.length, (body, lane) => {
      body.append(make("div", { class: "pictures maps" }, lane.paths.map((path, colour) => {
        const tokens = tokensOf(lane, path.axis, path.points.length);
        const points = path.points.map((point, at) => ({ ...tokens[at], text: visible(tokens[at].text), x: point[0], y: point[1] ?? 0, colour }));
        const fitted = path.fitted_on ? `, basis from ${several(path.fitted_on, "sentence")}` : "";
        return scatter({ title: `${titleOf(path.name)}${fitted}`, points, axes: axesOf(path.explained), joined: true, lane, selection });
      })));
    });
  },
};

export const phrases = {
  name: "phrases",
  has: (document) => document.phrases.length > 0,
  draw(place, document) {
    place.append(make("div", { class: "lanes", dataset: { lanes: document.phrases.length } }, document.phrases.map((one) => {
      const labels = [...new Set(one.points.map((point) => point.label))];
      const points = one.points.map((point) => ({ x: point.point[0], y: point.point[1] ?? 0, text: point.text, label: point.label, side: null, index: -1, colour: labels.indexOf(point.label) }));
      return make("div", { class: "lane wide" }, make("h3", {}, quoted(one.model), make("small", {}, one.about)),
        scatter({ title: several(points.length, "sentence"), points, axes: axesOf(one.explained), joined: false }));
    })));
  },
};
