// Elements of the page. Text enters them as text only: nothing here is ever parsed from a string.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "dataset") Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

// make("p", {class: "note"}, "text", other): an HTML element; attributes that begin with "on" are listeners.
export function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

// The same for SVG.
export function shape(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

// A token as people can read it: a blank or an empty piece would be invisible.
export function visible(piece) {
  return piece === "" ? "∅" : piece.replace(/[\p{Zs}]/gu, "␣").replace(/[\p{Cc}\p{Cf}]/gu, "�");
}

// Text of a model or a file inside a sentence of ours: its direction cannot disturb the rest.
export function quoted(text, attributes = {}) {
  return make("bdi", attributes, text);
}

// A number with three digits, short for very small and very large ones.
export function short(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "-∞";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) return value.toExponential(1).replace("e+", "e");
  return size >= 1000 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}

export const percent = (share) => `${(100 * share).toFixed(share < 0.0995 && share > 0 ? 1 : 0)} %`;

export const several = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

// A labelled list to choose from; `options` are pairs of value and text.
export function chooser(label, options, chosen, change) {
  const list = make("select", { "aria-label": label, onchange: (event) => change(event.target.value) },
    options.map(([value, text]) => make("option", { value }, text)));
  list.value = String(chosen);
  return make("label", { class: "chooser" }, make("span", {}, label), list);
}

// What a picture says about the place that is pointed at; screen readers hear it.
export function readout(text) {
  return make("output", { class: "readout", "aria-live": "polite", dir: "auto" }, text);
}

// The numbers of a picture as a table, made when a reader opens it: a long sentence has thousands of cells.
export function tableOf(title, head, rows) {
  const place = make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `${title}, as a table` });
  const details = make("details", { class: "numbers" }, make("summary", {}, `Table: ${title}`), place);
  details.addEventListener("toggle", () => {
    if (!details.open || place.firstChild) return;
    const row = (cells) => make("tr", {}, cells.map((cell, at) => make(at ? "td" : "th",
      at ? { dir: "auto" } : { scope: "row", dir: "auto" }, typeof cell === "number" ? short(cell) : cell)));
    place.append(make("table", {}, make("caption", {}, title),
      make("thead", {}, make("tr", {}, head().map((cell) => make("th", { scope: "col", dir: "auto" }, cell)))),
      make("tbody", {}, rows().map(row))));
  });
  return details;
}
