// The card "What if": edits the source, lists what is forced, switched off, set or held; undo, start again, copy a link.
import { chooser, make, quoted, visible } from "../page/elements.js";
import { titleOf } from "../page/reading.js";
import { hasHeads } from "./changes.js";
import { gatesOf, holdGate, replaceWord, switchHead, toHash, withIds, withModel, withText, withoutWord, wordsOf } from "./state.js";

const HELD = [["", "as computed"], ["0", "0"], ["0.5", "0.5"], ["1", "1"]];

export class Panel {
  // `about` says where the model is; `change(state)` is called with every new state, `undo()` and `restart()` by their buttons.
  constructor(models, { about, change, undo, restart }) {
    Object.assign(this, { models, change, undo, restart, opened: null });
    this.said = make("output", { class: "readout", "aria-live": "polite", tabindex: -1, dir: "auto" });
    this.body = make("div", {});
    this.element = make("section", { class: "card", id: "what-if", "aria-labelledby": "title-what-if" },
      make("h2", { id: "title-what-if" }, "What if?"),
      make("p", { class: "about" }, about, " Change the source, force another word (choose an output word, then one ",
        "of its alternatives, or a branch under Beam search), drag a cell of the attention or of a gate up or down, or press + or - ",
        "there: the output follows."),
      this.body, this.said);
  }

  say(text) {
    this.said.textContent = text;
  }

  // The control that has the focus; it has it again after `show`.
  get focus() {
    return this.body.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  }

  show(state, lanes, changed, focus = this.focus) {
    this.body.replaceChildren(
      this.source(state, lanes),
      ...state.models.map((_, lane) => this.inside(state, lane, lanes[lane])),
      make("div", { class: "choosers" },
        this.button("undo", "Undo", this.undo, !changed), this.button("restart", "Start again", this.restart, !changed),
        this.button("link", "Copy link", () => this.copy(state))));
    Object.assign(this, { focusOn: focus, changed });
  }

  // When the panel is in the page again.
  refocus() {
    if (this.focusOn) (this.body.querySelector(`[data-key="${CSS.escape(this.focusOn)}"]:enabled`) ?? this.said).focus({ preventScroll: true });
  }

  button(key, text, onclick, disabled = false) {
    return make("button", { type: "button", dataset: { key }, onclick, disabled }, text);
  }

  async copy(state) {
    location.hash = toHash(state);
    try {
      await navigator.clipboard.writeText(location.href);
      this.say("The link is copied: it restores these changes in this page.");
    } catch {
      this.say("The link is in the address bar: it restores these changes in this page.");
    }
  }

  // Words to delete or replace; of a tokenizer that this page cannot apply, tokens to delete.
  source(state, lanes) {
    if (this.models.every((model) => model.source.reads)) {
      const words = wordsOf(state.text).map((word) => word.trim());
      const remove = (at) => this.change(withText(state, withoutWord(state.text, at)));
      return make("div", {}, this.words(words, remove, (word, at) => this.word(word, at, state, lanes)), this.whole(state));
    }
    const note = (can) => make("p", { class: "note" }, `A tokenizer was imported with its model, and this page cannot apply it: ${can}`);
    if (this.models.length > 1) return note("the source cannot be changed here.");
    const tokens = lanes[0].source.tokens.slice(0, -1);
    const remove = (at) => this.change(withIds(state, tokens.filter((_, place) => place !== at).map((token) => token.id)));
    return make("div", {}, this.words(tokens.map((token) => token.piece), remove, (piece) => quoted(visible(piece))), note("tokens can be deleted, not replaced."));
  }

  words(words, remove, show) {
    return make("div", { class: "words", role: "group", "aria-label": "Source words" }, words.map((word, at) => make("span", { class: "word" }, show(word, at),
      make("button", { type: "button", class: "delete", dataset: { key: `delete ${at}` }, "aria-label": `Delete ${visible(word)}`, onclick: () => remove(at) }, "×"))));
  }

  word(word, at, state, lanes) {
    if (this.opened === at) return this.editor(state, word, at);
    const open = () => {
      this.opened = at;
      this.show(state, lanes, this.changed);
      this.body.querySelector("input.replace").select();
    };
    return make("button", { type: "button", class: "chip", dir: "auto", dataset: { key: `word ${at}` }, "aria-label": `Replace ${visible(word)}`, onclick: open }, visible(word));
  }

  editor(state, word, at) {
    const done = (value) => {
      this.opened = null;
      this.change(withText(state, value.trim() ? replaceWord(state.text, at, value.trim()) : withoutWord(state.text, at)));
    };
    return make("input", { class: "replace", value: word, size: Math.max(4, word.length + 1), dir: "auto", "aria-label": `Instead of ${visible(word)}`,
      onchange: (event) => done(event.target.value),
      onkeydown: (event) => { if (event.key === "Escape") { event.stopPropagation(); done(word); } } });
  }

  whole(state) {
    const input = make("input", { class: "whole", value: state.text, dir: "auto", dataset: { key: "whole" }, onchange: (event) => this.change(withText(state, event.target.value)) });
    return make("label", { class: "chooser" }, make("span", {}, "Source"), input);
  }

  // What was changed inside one model, and what can be.
  inside(state, lane, shown) {
    const model = this.models[lane];
    const { prefix, attention, gates } = state.models[lane];
    const touched = gatesOf(gates).filter((one) => one.position !== null);
    const pieces = prefix.map((id) => visible(model.target.pieces[id] ?? String(id))).join(" ");
    const set = attention.map((one) => `${titleOf(one.map)}${one.head === null ? "" : `, head ${one.head + 1}`}, step ${one.step + 1}`).join("; ");
    const parts = [
      prefix.length ? make("p", {}, "Forced beginning: ", quoted(pieces), " ", this.button(`free ${lane}`, "Set free", () => this.change(withModel(state, lane, { prefix: [] })))) : null,
      attention.length ? make("p", {}, `Set by hand: ${set} `, this.button(`unset ${lane}`, "Set free", () => this.change(withModel(state, lane, { attention: [] })))) : null,
      ...touched.map((one) => make("p", {}, `Set by hand: ${titleOf(one.map)}, token ${one.position + 1}: ${one.value} `,
        this.button(`open ${lane} ${one.key}`, "Set free", () => this.change(holdGate(state, lane, one.key, null))))),
      this.heads(state, lane, shown), this.gates(state, lane),
    ].filter(Boolean);
    if (!parts.length) return make("span", {});
    return make("div", {}, this.models.length > 1 ? make("h3", {}, quoted(shown.model)) : null, parts);
  }

  heads(state, lane, shown) {
    const layers = shown.maps.filter((map) => hasHeads(map.name));
    if (!layers.length) return null;
    const { off } = state.models[lane];
    const isOff = (name, head) => off.some((one) => one[0] === name && one[1] === head);
    const box = (name, head) => make("label", { class: "switch" },
      make("input", { type: "checkbox", checked: !isOff(name, head), dataset: { key: `head ${lane} ${name} ${head}` }, "aria-label": `${titleOf(name)}, head ${head + 1}`,
        onchange: (event) => this.change(switchHead(state, lane, name, head, event.target.checked)) }), String(head + 1));
    return this.fold(`heads ${lane}`, `Heads${off.length ? `: ${off.length} switched off` : ""}`, layers.map((map) =>
      make("div", { class: "choosers" }, make("span", { class: "soft" }, titleOf(map.name)), Array.from({ length: map.shape[0] }, (_, head) => box(map.name, head)))));
  }

  gates(state, lane) {
    const names = this.models[lane].recorded.filter((name) => name.includes(".gate.") && !name.endsWith(".candidate"));
    if (!names.length) return null;
    const { gates } = state.models[lane];
    const count = gatesOf(gates).filter((one) => one.position === null).length;
    return this.fold(`gates ${lane}`, `Gates at every token${count ? `: ${count} held` : ""}`, [make("div", { class: "choosers" }, names.map((name) => {
      const list = chooser(titleOf(name).replace("decoder ", ""), HELD, gates[name] ?? "", (value) => this.change(holdGate(state, lane, name, value === "" ? null : Number(value))));
      list.querySelector("select").dataset.key = `gate ${lane} ${name}`;
      return list;
    }))]);
  }

  // A part that stays open while the panel is drawn again.
  fold(key, title, content) {
    this.unfolded ??= new Set();
    const part = make("details", { class: "numbers", open: this.unfolded.has(key) }, make("summary", {}, title), content);
    part.addEventListener("toggle", () => (part.open ? this.unfolded.add(key) : this.unfolded.delete(key)));
    return part;
  }
}
