// Attention of many layers and heads: choose one, or the mean. A head chosen elsewhere (the grid of heads) is shown too.

import { Arcs } from "./arcs.js";
import { linear } from "./colours.js";
import { chooser, make, short } from "./elements.js";
import { Matrix, cellSize } from "./matrix.js";
import { columnsOf, matrixOf, range, rowsOf, titleOf } from "./reading.js";

// The mean that the model's readers use; else the highest layer of the encoder, else the highest of all.
function first(maps) {
  const mean = maps.findIndex((map) => map.name === "decoder.attention");
  const encoder = maps.findLastIndex((map) => map.name.startsWith("encoder."));
  return mean >= 0 ? mean : encoder >= 0 ? encoder : maps.length - 1;
}

export class Layers {
  constructor({ lane, lanes, selection, maps, arcs }) {
    Object.assign(this, { lane, lanes, selection, maps, arcs, number: first(maps), head: null });
    this.choosers = make("div", { class: "choosers" });
    this.pictures = make("div", { class: "pictures" });
    this.element = make("div", { class: "layers" }, this.choosers, this.pictures);
    selection.addEventListener("head", ({ detail }) => {
      const found = maps.findIndex((map) => map.name === detail.map);
      if (detail.lane === lane && found >= 0) this.choose(found, detail.head);
    });
    this.choose(this.number, null);
  }

  // Of a Transformer the map without layer and head is a mean.
  title(map) { return map.name === "decoder.attention" && this.maps.length > 1 ? "mean of the upper layers" : titleOf(map.name); }

  get map() { return this.maps[this.number]; }
  get heads() { return this.map.axes[0] === "head" ? this.map.shape[0] : 0; }

  choose(number, head) {
    const before = this.map;
    Object.assign(this, { number, head });
    if (this.head !== null && this.head >= this.heads) this.head = null;
    this.choosers.replaceChildren(...this.lists());
    const matrix = matrixOf(this.map, [this.head]), [, high] = range(matrix);
    const title = this.title(this.map) + (this.heads ? `, ${this.head === null ? "mean of all heads" : `head ${this.head + 1}`}` : "");
    const share = linear(0, high), legend = ["0", short(high)];
    const fits = this.picture && before.shape.join() === this.map.shape.join() && before.axes.join() === this.map.axes.join();
    if (fits) {
      Object.assign(this.picture, { map: this.map, head: this.head });
      this.picture.show(matrix, share, title, legend);
      this.bows?.show(matrix);
      return;
    }
    const rows = rowsOf(this.lane, this.map), columns = columnsOf(this.lane, this.map);
    const cell = { width: cellSize(matrix.columns, matrix.rows, this.lanes, this.arcs && this.lanes === 1 ? 2 : 1) };
    this.picture = new Matrix({ title, matrix, rows, columns, share, legend, cell, lane: this.lane, selection: this.selection, map: this.map, head: this.head });
    this.bows = this.arcs ? new Arcs({ matrix, tokens: columns, lane: this.lane, selection: this.selection }) : null;
    this.pictures.replaceChildren(...[this.bows?.element, this.picture.element].filter(Boolean));
  }

  lists() {
    const lists = [];
    if (this.maps.length > 1) {
      const names = this.maps.map((map, at) => [at, this.title(map)]);
      lists.push(chooser("Layer", names, this.number, (value) => this.again("Layer", Number(value), this.head)));
    }
    if (this.heads) {
      const names = [["", "mean"], ...Array.from({ length: this.heads }, (_, at) => [at, String(at + 1)])];
      lists.push(chooser("Head", names, this.head ?? "", (value) => this.again("Head", this.number, value === "" ? null : Number(value))));
    }
    return lists;
  }

  // The lists are made again for the new choice; the focus stays where the reader was.
  again(label, number, head) {
    this.choose(number, head);
    [...this.choosers.children].find((each) => each.firstChild.textContent === label)?.querySelector("select").focus();
  }
}
