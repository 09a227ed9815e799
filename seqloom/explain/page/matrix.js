// A matrix as a heat map: sticky tokens, a readout, arrow keys. Large ones stay fast, for the cells are one canvas.

import { make, readout, short, tableOf, visible } from "./elements.js";
import { onTheme, scale } from "./colours.js";

const NUDGE = { "+": 0.1, "-": -0.1 };  // the keys that ask for another number, as dragging does
const KEYS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

// A token, or the name of a row that is none: "unit 7".
const nameOf = (token) => token.name ?? visible(token.text);

const NARROW = 960, WIDEST = 1760, BESIDE = 170, TALL = 616;  // pixels; BESIDE: the names of the rows and the edges of the card

// The side of a square cell, so that the whole picture is in sight where that leaves the tokens legible.
// `pictures`: how many the view draws beside each other.
export function cellSize(columns, rows, lanes, pictures = 1) {
  const [least, most] = lanes === 1 ? [20, 36] : [18, 28];
  const room = Math.min(innerWidth, WIDEST) / (innerWidth < NARROW ? 1 : lanes * pictures) - BESIDE;
  return Math.max(least, Math.min(most, Math.floor(room / columns), Math.floor(TALL / rows)));
}

// The most columns and rows of these maps: pictures with one size of cell line up.
export const widest = (maps) => [-1, -2].map((axis) => Math.max(...maps.map((map) => map.shape.at(axis))));

// What the rows and columns of a map are, for people.
const AXES = { target: "output", prefix: "written", source: "source", position: "position", unit: "dimension" };

// options: title; matrix {rows, columns, at}; rows, columns (tokens {text, side, index}); share(value, row) from -1 to 1
// for the colour; lane; lanes (how many are beside each other); selection; legend [low, high] in words or null; cell {width, height}; for events: map (or maps,
// one per row) and head. The axes of `map` are named in the corner.
export class Matrix {
  constructor(options) {
    Object.assign(this, options);
    this.cursor = [0, 0];
    const width = this.cell?.width ?? cellSize(this.matrix.columns, this.matrix.rows, this.lanes ?? 1);
    this.cell = { width, height: this.cell?.height ?? width };
    this.canvas = make("canvas", { "aria-hidden": "true" });
    this.bands = make("div", { class: "bands", "aria-hidden": "true" });
    this.body = make("div", {
      class: "cells", tabindex: 0, role: "application", "aria-roledescription": "heat map",
      "aria-label": `${this.title}: ${this.matrix.rows} rows, ${this.matrix.columns} columns. Arrow keys move, Enter keeps a word lit.`,
    }, this.canvas, this.bands);
    this.readout = readout("");
    this.frame = make("div", { class: "matrix" }, this.corner(), this.heads(this.columns, "top"), this.heads(this.rows, "left"), this.body);
    this.element = make("figure", { class: "picture" },
      make("figcaption", {}, make("span", {}, this.title), this.legend && ramp(this.legend, this.signed)),
      make("div", { class: "scroll" }, this.frame), this.readout, this.table());
    this.listen();
    this.paint();
    onTheme(this);
  }

  corner() {
    const [rows, columns] = this.units ? [] : (this.map?.axes ?? []).slice(-2).map((axis) => AXES[axis]);
    return rows && columns ? make("div", { class: "corner", "aria-hidden": "true" }, make("span", {}, `${columns} →`), make("span", {}, `↓ ${rows}`)) : null;
  }

  heads(tokens, where) {
    const bare = where === "left" && this.cell.height < 10;
    const every = !bare && tokens[0]?.side === null && !tokens[0].node && (where === "top" ? this.cell.width : this.cell.height) < 18 ? 5 : 1;
    const nodes = tokens.map((token, at) => make("span", {
      class: `${token.side ? "token" : "name"}${[...token.text].length < 3 ? " brief" : ""}`, dir: "auto", title: token.text,
      onpointerenter: () => this.selection.point(this.lane, token.side, token.index),
      onpointerleave: () => this.selection.point(this.lane, null, -1),
      onclick: () => this.selection.pin(this.lane, token.side, token.index),
    }, token.node ?? (bare || at % every ? "" : nameOf(token))));
    this[`${where}Nodes`] = nodes;
    const place = make("div", { class: `heads ${where}` }, nodes);
    place.style.setProperty("--cell", `${where === "top" ? this.cell.width : this.cell.height}px`);
    return place;
  }

  table() {
    return tableOf(this.title, () => ["", ...this.columns.map(nameOf)],
      () => this.rows.map((token, row) => [nameOf(token),
        ...this.columns.map((_, column) => this.matrix.at(row, column))]));
  }

  paint() {
    const { rows, columns, at } = this.matrix, { width, height } = this.cell, colour = scale();
    const sharp = Math.min(2, Math.ceil(window.devicePixelRatio || 1));
    Object.assign(this.canvas, { width: columns * width * sharp, height: rows * height * sharp });
    Object.assign(this.canvas.style, { width: `${columns * width}px`, height: `${rows * height}px` });
    const pen = this.canvas.getContext("2d");
    pen.scale(sharp, sharp);
    const gap = height >= 12 ? 1 : 0;
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const [red, green, blue] = colour(this.share(at(row, column), row));
        pen.fillStyle = `rgb(${red} ${green} ${blue})`;
        pen.fillRect(column * width, row * height, width - gap, height - gap);
      }
    }
    this.light();
  }

  // Other numbers in the same places: another head, another layer.
  show(matrix, share, title, legend) {
    Object.assign(this, { matrix, share, title, legend });
    this.element.querySelector("figcaption").replaceChildren(make("span", {}, title), ramp(legend, this.signed));
    const old = this.element.querySelector("details.numbers"), fresh = this.table();
    old.replaceWith(fresh);
    fresh.open = old.open;
    this.paint();
  }

  listen() {
    this.body.addEventListener("pointermove", (event) => this.move(...this.placeOf(event)));
    this.body.addEventListener("pointerleave", () => this.selection.point(this.lane, null, -1));
    this.body.addEventListener("keydown", (event) => this.key(event));
    this.body.addEventListener("focus", () => this.move(...(this.body.dataset.cursor?.split(",").map(Number) ?? this.cursor)));
    this.body.addEventListener("blur", () => this.selection.point(this.lane, null, -1));
    this.body.addEventListener("pointerdown", (event) => this.drag(event));
    this.selection.addEventListener("change", () => this.light());
  }

  placeOf(event) {
    const box = this.canvas.getBoundingClientRect();
    const place = (at, size, count) => Math.max(0, Math.min(count - 1, Math.floor(at / size)));
    return [place(event.clientY - box.top, this.cell.height, this.matrix.rows),
      place(event.clientX - box.left, this.cell.width, this.matrix.columns)];
  }

  move(row, column) {
    this.cursor = [row, column];
    this.body.dataset.cursor = this.cursor.join();  // a page that is drawn again puts it back
    const [down, across] = [this.rows[row], this.columns[column]];
    if (!down || !across) return;
    this.readout.textContent = `${nameOf(down)} · ${nameOf(across)}: ${short(this.matrix.at(row, column))}`;
    const token = down.side ? down : across;
    if (this.selection.pointed?.index === token.index && this.selection.pointed?.side === token.side) this.light();
    else this.selection.point(this.lane, token.side, token.index);
    if (!token.side) this.light();
  }

  key(event) {
    const token = this.rows[this.cursor[0]]?.side ? this.rows[this.cursor[0]] : this.columns[this.cursor[1]];
    if (event.key === "Enter") this.selection.pin(this.lane, token.side, token.index);
    if (event.key === "Escape") this.selection.clear();
    if (NUDGE[event.key]) this.nudge(NUDGE[event.key]);
    const step = KEYS[event.key];
    if (!step) return;
    event.preventDefault();
    const { rows, columns } = this.matrix;
    const row = Math.max(0, Math.min(rows - 1, this.cursor[0] + step[0]));
    const column = Math.max(0, Math.min(columns - 1, this.cursor[1] + step[1]));
    this.move(row, column);
    this.bands.lastElementChild?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  // Keys may come faster than answers: all of them in this cell count, until the answer is drawn as a new picture.
  nudge(change) {
    const place = this.cursor.join();
    this.nudged = { place, change: change + (this.nudged?.place === place ? this.nudged.change : 0) };
    this.ask(...this.cursor, this.nudged.change);
  }

  // Another number in this cell, please: Studio or the model in the page computes what follows from it.
  ask(row, column, change) {
    const value = this.matrix.at(row, column), map = this.maps?.[row] ?? this.map;
    this.selection.ask("drag", { lane: this.lane, map: map?.name, head: this.head ?? null, row, column, value, wanted: value + change });
  }

  // A click keeps the word lit; dragging up or down asks for another number.
  drag(down) {
    const [row, column] = this.placeOf(down);
    const end = (up) => {
      const change = (down.clientY - up.clientY) / 100;
      if (Math.abs(change) > 0.04) {
        this.ask(row, column, change);
      } else {
        const token = this.rows[row].side ? this.rows[row] : this.columns[column];
        this.selection.pin(this.lane, token.side, token.index);
      }
    };
    window.addEventListener("pointerup", end, { once: true });
  }

  // Bands over the rows and columns that are lit, and the cell under the cursor.
  light() {
    const { width, height } = this.cell, made = [];
    const mark = (nodes, tokens, place) => tokens.forEach((token, at) => {
      const on = token.side !== null && this.selection.lit(this.lane, token.side).has(token.index);
      nodes[at].classList.toggle("lit", on);
      if (on) made.push(place(at));
    });
    const box = (kind, left, top, wide, high) => {
      const node = make("i", { class: kind });
      Object.assign(node.style, { left: `${left}px`, top: `${top}px`, width: `${wide}px`, height: `${high}px` });
      return node;
    };
    mark(this.leftNodes, this.rows, (row) => box("band", 0, row * height, this.matrix.columns * width, height));
    mark(this.topNodes, this.columns, (column) => box("band", column * width, 0, width, this.matrix.rows * height));
    if (this.body.matches(":hover, :focus")) made.push(box("cursor", this.cursor[1] * width, this.cursor[0] * height, width, height));
    this.bands.replaceChildren(...made);
  }
}

function ramp(ends, withSign) {
  return make("span", { class: "legend" }, ends[0], make("i", { class: withSign ? "ramp signed" : "ramp" }), ends[1]);
}

// A matrix so small that it is a picture of its pattern only.
export function thumbnail(matrix, share) {
  const canvas = make("canvas", { "aria-hidden": "true", class: "thumbnail", width: matrix.columns, height: matrix.rows });
  canvas.paint = () => {
    const pen = canvas.getContext("2d"), image = pen.createImageData(matrix.columns, matrix.rows), colour = scale();
    for (let at = 0; at < matrix.rows * matrix.columns; at++) {
      const row = Math.floor(at / matrix.columns);
      image.data.set([...colour(share(matrix.at(row, at % matrix.columns), row)), 255], 4 * at);
    }
    pen.putImageData(image, 0, 0);
  };
  canvas.paint();
  onTheme(canvas);
  return canvas;
}
