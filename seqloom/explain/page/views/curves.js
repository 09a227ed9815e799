// Training curves: one small chart per figure, one line per run.

import { make } from "../elements.js";
import { lineChart } from "../lines.js";

export const curves = {
  name: "curves",
  has: (document) => document.curves.length > 0,
  draw(place, document) {
    const runs = [...new Set(document.curves.map((curve) => curve.run))];
    const names = [...new Set(document.curves.map((curve) => curve.name))];
    place.append(make("div", { class: "charts" }, names.map((name) => {
      const lines = document.curves.filter((curve) => curve.name === name);
      return lineChart({
        title: name, xLabel: "step", yLabel: lines[0].unit || name,
        series: lines.map((curve) => ({ name: curve.run, points: curve.steps.map((step, at) => [step, curve.values[at]]), colour: runs.indexOf(curve.run) })),
      });
    })));
  },
};
