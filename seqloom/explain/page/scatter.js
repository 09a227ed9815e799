// Points on a plane, with labels; a path joins them if they are the states of one sentence.

import { make, readout, shape, short, tableOf } from "./elements.js";
import { line } from "./colours.js";
import { keepTextSize } from "./text_size.js";

const WIDE = 560, HIGH = 400, EDGE = 36, LONGEST = 36;

// points: [{x, y, text, label, side, index, colour}]; joined: draw the path from one to the next.
export function scatter({ title, points, axes, joined, lane, selection }) {
  const span = (of) => [Math.min(...points.map(of)), Math.max(...points.map(of))];
  const [left, right] = span((point) => point.x), [low, high] = span((point) => point.y);
  const x = (value) => EDGE + (right > left ? (value - left) / (right - left) : 0.5) * (WIDE - 2 * EDGE);
  const y = (value) => HIGH - EDGE - (high > low ? (value - low) / (high - low) : 0.5) * (HIGH - 2 * EDGE);
  const said = readout("");
  const dots = points.map((point, at) => shape("g", { class: "dot", "data-at": at },
    shape("circle", { cx: x(point.x), cy: y(point.y), r: 5, fill: line(point.colour ?? 0) }),
    shape("text", { y: y(point.y) + 4 }, brief(point.text))));
  const picture = shape("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "chart map", tabindex: 0, role: "application",
    "aria-roledescription": "map", "aria-label": `${title}: ${points.length} points. Arrow keys move from point to point.` },
    joined ? trail(points, x, y) : null, dots,
    shape("text", { class: "label", x: WIDE / 2, y: HIGH - 6, "text-anchor": "middle" }, axes[0]),
    shape("text", { class: "label", transform: `translate(12 ${HIGH / 2}) rotate(-90)`, "text-anchor": "middle" }, axes[1]));
  keepTextSize(picture, WIDE, (times) => {
    const sides = roomForLabels(points.map((point) => [x(point.x), y(point.y), brief(point.text)]), times);
    dots.forEach((dot, number) => {
      const { anchor, fits } = sides[number], label = dot.querySelector("text");
      dot.classList.toggle("crowded", !fits);
      label.setAttribute("text-anchor", anchor);
      label.setAttribute("x", x(points[number].x) + (anchor === "end" ? -8 : 8));
    });
  });
  let at = -1;
  const show = (place) => {
    at = (place + points.length) % points.length;
    const point = points[at];
    dots.forEach((dot, number) => dot.classList.toggle("here", number === at));
    said.textContent = `${point.text}${point.label ? ` (${point.label})` : ""}: ${short(point.x)}, ${short(point.y)}`;
    selection?.point(lane, point.side, point.index);
  };
  const leave = () => {
    dots.forEach((dot) => dot.classList.remove("here"));
    selection?.point(lane, null, -1);
  };
  dots.forEach((dot, number) => dot.addEventListener("pointerenter", () => show(number)));
  dots.forEach((dot, number) => dot.addEventListener("click", () => selection?.pin(lane, points[number].side, points[number].index)));
  picture.addEventListener("pointerleave", leave);
  picture.addEventListener("blur", leave);
  picture.addEventListener("focus", () => { if (points.length) show(Math.max(0, at)); });
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter" && at >= 0) selection?.pin(lane, points[at].side, points[at].index);
    if (!step) return;
    event.preventDefault();
    show(at + step);
  });
  selection?.addEventListener("change", () => dots.forEach((dot, number) => {
    const point = points[number];
    dot.classList.toggle("lit", Boolean(point.side) && selection.lit(lane, point.side).has(point.index));
  }));
  return make("figure", { class: "picture" }, make("figcaption", {}, make("span", {}, title)), picture, colours(points), said,
    tableOf(title, () => ["", ...(points.some((point) => point.label) ? ["label"] : []), axes[0], axes[1]],
      () => points.map((point) => [point.text, ...(points.some((each) => each.label) ? [point.label] : []), point.x, point.y])));
}

// Which colour is which label, if there are labels.
function colours(points) {
  const labels = new Map(points.filter((point) => point.label).map((point) => [point.label, point.colour]));
  if (!labels.size) return null;
  return make("ul", { class: "key" }, [...labels].map(([label, colour]) => make("li", {},
    shape("svg", { viewBox: "0 0 10 10", class: "swatch", "aria-hidden": "true" }, shape("circle", { cx: 5, cy: 5, r: 4, fill: line(colour) })), make("bdi", {}, label))));
}

function trail(points, x, y) {
  return points.slice(1).map((point, at) => shape("line", {
    class: "trail", x1: x(points[at].x), y1: y(points[at].y), x2: x(point.x), y2: y(point.y),
    "stroke-opacity": 0.25 + 0.6 * at / points.length,
  }));
}

// The side of its point on which a label covers neither a point nor an earlier label; a label that fits on no side is
// shown only when its point is.
function roomForLabels(labels, times) {
  const near = 6, dots = labels.map(([x, y]) => [x - near, y - near, x + near, y + near]), taken = [];
  const apart = (a, b) => a[2] < b[0] || b[2] < a[0] || a[3] < b[1] || b[3] < a[1];
  return labels.map(([x, y, text], own) => {
    const wide = 8 + 7.4 * times * [...text].length, high = 8 * times;
    const boxes = { start: [x + near + 1, y - high, x + wide, y + high], end: [x - wide, y - high, x - near - 1, y + high] };
    const sides = x > WIDE * 0.66 ? ["end", "start"] : ["start", "end"];
    const anchor = sides.find((side) => {
      const box = boxes[side];
      return box[0] >= 0 && box[2] <= WIDE && taken.every((other) => apart(box, other)) && dots.every((dot, at) => at === own || apart(box, dot));
    });
    if (anchor) taken.push(boxes[anchor]);
    return { anchor: anchor ?? sides[0], fits: Boolean(anchor) };
  });
}

// A sentence as the beginning that a map has room for; the line below the map shows the whole one.
const brief = (text) => ([...text].length > LONGEST ? `${[...text].slice(0, LONGEST - 1).join("")}…` : text);
