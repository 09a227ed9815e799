// A whole explain document on a page: the sentence, then every view it has something for. Studio calls the same function.

import { ABOUT } from "./about.js";
import { savePng } from "./download.js";
import { make } from "./elements.js";
import { Selection } from "./selection.js";
import { Sentence } from "./sentence.js";
import { VIEWS } from "./views.js";

const HINT = "Point at a word or a cell: it lights up everywhere. Click keeps it lit. Tab and the arrow keys work in every picture.";
const MARK = "▁";  // of SentencePiece tokenizers
const DOCS = "docs/how-to/views.md";

// Draws `document` into `place` and returns the selection, whose events say what the reader asks for.
export function showExplained(place, explained) {
  const selection = new Selection(explained.lanes);
  const shown = VIEWS.filter((view) => view.has(explained));
  const parts = [];
  if (explained.lanes.length) {
    const sentence = new Sentence(explained, selection);
    parts.push(sentence.element, make("section", { class: "card first", "aria-label": "Output" }, facts(explained), sentence.options,
      make("div", { class: "rest" }, make("p", { class: "soft" }, HINT, hasMarks(explained) ? ` ${MARK} marks the beginning of a word.` : ""), sentence.tables())));
  }
  parts.push(...shown.map((view) => section(view, explained, selection)));
  if (!shown.length) parts.push(make("p", { class: "missing" }, "This document holds no picture."));
  place.replaceChildren(...parts);
  place.onkeydown = (event) => { if (event.key === "Escape") selection.clear(); };  // replaces that of an earlier drawing
  return selection;
}

const hasMarks = ({ lanes }) => lanes.some((lane) => [...lane.source.tokens, ...(lane.target?.tokens ?? [])].some((token) => token.piece.startsWith(MARK)));

export const titles = (explained) => VIEWS.filter((view) => view.has(explained)).map((view) => [view.name, ABOUT[view.name].title]);

function section(view, explained, selection) {
  const about = ABOUT[view.name], body = make("div", { class: "view" });
  const card = make("section", { class: "card", id: `view-${view.name}`, "aria-labelledby": `title-${view.name}` },
    make("header", {}, make("h2", { id: `title-${view.name}` }, about.title),
      make("button", { type: "button", class: "save", "aria-label": `Download ${about.title} as PNG`, onclick: () => savePng(`${view.name}.png`, card) }, "PNG")),
    make("p", { class: "about" }, about.sees),
    make("p", { class: "about not" }, make("strong", {}, "What it does not mean: "), about.not, " ",
      make("span", { class: "soft" }, `(${DOCS}#${view.name})`)),
    body);
  view.draw(body, explained, selection);
  return card;
}

// One row per model: its answer, score, reference and notes. Why it lacks a view is written in that view.
function facts(explained) {
  const shown = VIEWS.filter((view) => view.has(explained)).map((view) => view.name);
  return explained.lanes.map((lane) => make("div", { class: "facts" },
    make("h3", {}, make("bdi", {}, lane.model), make("small", {}, `${lane.task}, ${lane.family}${lane.forced ? ", output was given" : ""}${typeof lane.score === "number" ? `, score ${lane.score.toFixed(3)}` : ""}`)),
    make("p", { class: "answer", dir: "auto" }, lane.answers.join(" ")),
    lane.reference ? make("p", { class: "soft" }, "reference: ", make("bdi", {}, lane.reference)) : null,
    lane.notes.filter((note) => !shown.includes(note.split(":")[0])).map((note) => make("p", { class: "note" }, note))));
}
