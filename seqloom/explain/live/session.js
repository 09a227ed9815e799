// A session of what-ifs: draws the lanes, turns clicks and drags into states, and draws what an engine computes for them.
// The engine is the model in this page (main.js), or a server (serve/studio/inside.js).
import { showExplained } from "../page/explained.js";
import { matrixOf } from "../page/reading.js";
import { Panel } from "./panel.js";
import { History, force, fromHash, original, setGate, setWeight, withModel } from "./state.js";

const GATE = /\.gate\.(?!candidate$)/;
const SETTABLE = /^decoder\.(attention|cross\.\d+|self\.\d+)$/;

export class Session {
  // `engine`: {about, models, lanes(state) -> Promise of {lanes, said}}; `explained`: the document of the first state.
  constructor(explained, engine) {
    Object.assign(this, { explained, engine, lanes: explained.lanes, asked: 0 });
    this.first = original(explained.lanes[0].source.text, engine.models.length);
    this.history = new History(this.first);
    this.panel = new Panel(engine.models, {
      about: engine.about,
      change: (state) => this.go(state),
      undo: () => this.back(() => this.history.undo()),
      restart: () => this.back(() => { this.history = new History(this.first); }),
    });
    this.views = document.getElementById("views");
    window.addEventListener("hashchange", () => this.open());
    this.draw();
    this.open();
  }

  // The state that the address names, if it names one.
  open() {
    const asked = fromHash(location.hash, this.engine.models.length);
    if (asked && JSON.stringify(asked) !== JSON.stringify(this.history.now)) this.go(asked);
  }

  go(state) {
    this.history.add(state);
    return this.compute();
  }

  back(step) {
    step();
    return this.compute();
  }

  // An answer to an older state is dropped; a state that cannot be computed is undone.
  async compute() {
    const state = this.history.now, mine = ++this.asked;
    try {
      const { lanes, said } = state === this.first
        ? { lanes: this.explained.lanes, said: "As the page was made." } : await this.engine.lanes(state);
      if (mine !== this.asked) return;
      this.lanes = lanes;
      this.draw();
      this.panel.say(said);
    } catch (error) {
      if (mine !== this.asked) return;
      this.panel.say(`This cannot be computed: ${error.message}`);
      this.history.undo();
    }
  }

  draw() {
    const { scrollX, scrollY } = window;
    const { focus } = this.panel;
    const lost = focus === undefined && this.views.contains(document.activeElement) ? pictureOf(document.activeElement) : null;
    const selection = showExplained(this.views, { ...this.explained, lanes: this.lanes });
    this.panel.show(this.history.now, this.lanes, this.history.changed, focus);
    this.views.querySelector(".sentence").after(this.panel.element);
    this.panel.refocus();
    window.scrollTo(scrollX, scrollY);
    if (lost) this.refocus(lost);
    const at = ({ lane }) => this.lanes.indexOf(lane);
    const state = () => this.history.now;
    selection.addEventListener("alternative", ({ detail }) =>
      this.go(force(state(), at(detail), detail.lane.target.tokens.map((token) => token.id), detail.index, detail.choice.id)));
    selection.addEventListener("branch", ({ detail }) =>
      this.go(withModel(state(), at(detail), { prefix: detail.path.map((token) => token.id) })));
    selection.addEventListener("drag", ({ detail }) => this.drag(at(detail), detail));
  }

  // A picture that was changed by keyboard is drawn again: the cursor stays in its cell.
  refocus({ card, number, cursor }) {
    const cells = card ? document.getElementById(card)?.querySelectorAll(".cells")[number] : null;
    if (cells && cursor) cells.dataset.cursor = cursor;
    (cells ?? this.panel.said).focus({ preventScroll: true });
  }

  // Attention of the decoder and gates can be set by dragging; of other pictures the panel says so.
  drag(lane, { lane: shown, map: name, head, row, column, wanted }) {
    const map = shown.maps.find((each) => each.name === name);
    if (map && map.trained && GATE.test(name)) return this.go(setGate(this.history.now, lane, name, column, wanted));
    if (!map || !SETTABLE.test(name)) return this.panel.say("Only attention of the decoder and gates can be set by dragging.");
    const weights = matrixOf(map, [head]).row(row);
    const read = map.axes.at(-1) === "prefix" ? weights.slice(0, row + 1) : weights;
    return this.go(setWeight(this.history.now, lane, { map: name, head, step: row, column, wanted, row: read }));
  }
}

// Where the keyboard was: the card, the number of the picture in it, and its cell.
function pictureOf(element) {
  const card = element.closest("section");
  return { card: card?.id, number: card ? [...card.querySelectorAll(".cells")].indexOf(element) : -1, cursor: element.dataset.cursor };
}
