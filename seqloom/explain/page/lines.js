// Line charts: few lines, linear or logarithmic, with a readout that follows the pointer and the arrow keys.

import { make, readout, shape, short, tableOf } from "./elements.js";
import { line } from "./colours.js";
import { keepTextSize } from "./text_size.js";

const WIDE = 520, HIGH = 260, EDGE = { left: 74, right: 26, top: 14, bottom: 40 };

function ticks(low, high, log) {
  if (log) {
    const from = Math.ceil(Math.log10(low) - 1e-9), to = Math.floor(Math.log10(high) + 1e-9);
    const step = Math.max(1, Math.ceil((to - from) / 5));
    const powers = Array.from({ length: Math.max(0, Math.floor((to - from) / step) + 1) }, (_, i) => 10 ** (from + i * step));
    return powers.length > 1 ? powers : [low, high];
  }
  const rough = (high - low) / 4 || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((times) => times * power).find((each) => each >= rough);
  const first = Math.ceil(low / step) * step;
  return Array.from({ length: Math.floor((high - first) / step + 1e-6) + 1 }, (_, i) => Number((first + i * step).toPrecision(12)));
}

// Numbers that would be too long beside their axis are written in a smaller unit: 0.0015 as 1.5, in 1e-3.
function unitOf(places, log) {
  const largest = Math.max(...places.map(Math.abs));
  return log || largest >= 0.01 || !largest ? 1 : 10 ** (3 * Math.floor(Math.log10(largest) / 3 + 1e-9));
}

function bounds(values, log) {
  const usable = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
  if (!usable.length) return log ? [0.1, 1] : [0, 1];
  const low = Math.min(...usable), high = Math.max(...usable);
  if (low === high) return log ? [low / 2, high * 2] : [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
  return [low, high];
}

// series: [{name, points: [[x, y]], dashed}]. Returns a figure with its table.
export function lineChart({ title, series, xLabel, yLabel, log = false }) {
  const xs = bounds(series.flatMap((one) => one.points.map((point) => point[0])), false);
  const ys = bounds(series.flatMap((one) => one.points.map((point) => point[1])), log);
  const flat = (value) => (log ? Math.log10(value) : value);
  const x = (value) => EDGE.left + (value - xs[0]) / (xs[1] - xs[0]) * (WIDE - EDGE.left - EDGE.right);
  const y = (value) => HIGH - EDGE.bottom - (flat(value) - flat(ys[0])) / (flat(ys[1]) - flat(ys[0])) * (HIGH - EDGE.top - EDGE.bottom);
  const drawn = (point) => Number.isFinite(point[1]) && (!log || point[1] > 0);
  const levels = ticks(...ys, log), unit = unitOf(levels, log);
  const beside = unit === 1 ? yLabel : `${yLabel}, in ${unit.toExponential()}`;
  const grid = [
    ...levels.map((value) => [shape("line", { class: "grid", x1: EDGE.left, x2: WIDE - EDGE.right, y1: y(value), y2: y(value) }),
      shape("text", { x: EDGE.left - 6, y: y(value) + 4, "text-anchor": "end" }, short(value / unit).replace(".0e", "e"))]),
    ...ticks(...xs, false).map((value) => shape("text", { x: x(value), y: HIGH - EDGE.bottom + 16, "text-anchor": "middle" }, short(value))),
    shape("line", { class: "axis", x1: EDGE.left, x2: WIDE - EDGE.right, y1: HIGH - EDGE.bottom, y2: HIGH - EDGE.bottom }),
    shape("text", { class: "label", x: (WIDE + EDGE.left) / 2, y: HIGH - 6, "text-anchor": "middle" }, xLabel),
    shape("text", { class: "label", transform: `translate(12 ${HIGH / 2 - 10}) rotate(-90)`, "text-anchor": "middle" }, beside),
  ];
  const paths = series.map((one, number) => shape("polyline", {
    points: one.points.filter(drawn).map((point) => `${x(point[0]).toFixed(1)},${y(point[1]).toFixed(1)}`).join(" "),
    class: one.dashed ? "line dashed" : "line", stroke: line(one.colour ?? number),
  }));
  const cursor = shape("line", { class: "at", y1: EDGE.top, y2: HIGH - EDGE.bottom, visibility: "hidden" });
  const picture = shape("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "chart", tabindex: 0, role: "application",
    "aria-roledescription": "line chart", "aria-label": `${title}: ${series.length} lines. Arrow keys move along ${xLabel}.` }, grid, paths, cursor);
  keepTextSize(picture, WIDE);
  const said = readout("");
  follow(picture, series, { x, xs, cursor, said, xLabel });
  return make("figure", { class: "picture" }, make("figcaption", {}, make("span", {}, title)), picture,
    series.length > 1 || series[0]?.dashed !== undefined ? key(series) : null, said, table(title, series, xLabel));
}

function key(series) {
  return make("ul", { class: "key" }, series.map((one, number) => make("li", {},
    shape("svg", { viewBox: "0 0 24 8", class: "swatch", "aria-hidden": "true" },
      shape("line", { x1: 0, x2: 24, y1: 4, y2: 4, class: one.dashed ? "line dashed" : "line", stroke: line(one.colour ?? number) })), one.name)));
}

function follow(picture, series, { x, xs, cursor, said, xLabel }) {
  const places = [...new Set(series.flatMap((one) => one.points.map((point) => point[0])))].sort((a, b) => a - b);
  let at = 0;
  const show = (place) => {
    at = Math.max(0, Math.min(places.length - 1, place));
    const here = places[at];
    for (const end of ["x1", "x2"]) cursor.setAttribute(end, x(here));
    cursor.setAttribute("visibility", "visible");
    const parts = series.map((one) => [one.name, one.points.find((point) => point[0] === here)?.[1]]);
    said.textContent = `${xLabel} ${short(here)}: ${parts.filter((part) => part[1] !== undefined).map(([name, value]) => `${name} ${short(value)}`).join("; ")}`;
  };
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect(), inside = (event.clientX - box.left) / box.width * WIDE;
    const value = xs[0] + (inside - EDGE.left) / (WIDE - EDGE.left - EDGE.right) * (xs[1] - xs[0]);
    show(places.reduce((best, place, number) => Math.abs(place - value) < Math.abs(places[best] - value) ? number : best, 0));
  });
  picture.addEventListener("focus", () => show(at));
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    show(at + step);
  });
}

function table(title, series, xLabel) {
  const places = [...new Set(series.flatMap((one) => one.points.map((point) => point[0])))].sort((a, b) => a - b);
  return tableOf(title, () => [xLabel, ...series.map((one) => one.name)],
    () => places.map((place) => [String(place), ...series.map((one) => one.points.find((point) => point[0] === place)?.[1] ?? "")]));
}
