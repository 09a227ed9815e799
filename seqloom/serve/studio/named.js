// Models that do not translate: a text, and what the chosen model says to it.

import * as api from "./api.js";

const $ = (id) => document.getElementById(id);
const TOKENS = 60;  // of a continuation
let models = [];
let current = null;  // the request under way; an answer to an older one is dropped

const chosen = () => models.find((one) => one.name === $("named-model").value);
const percent = (score) => `${(100 * score).toFixed(1)} %`;

// The lines of an answer, each as [text, what stands beside it].
const LINES = {
  labels: ([found]) => found.map((one) => [one.label, percent(one.score)]),
  tags: (found) => found.map((one) => [one.word, `${one.entity} ${percent(one.score)}`]),
  fills: (found) => found.map((one) => [one.sequence, percent(one.score)]),
  texts: (answer) => answer.choices.map((one) => [one.text, one.finish_reason === "length" ? "…" : ""]),
};

async function answer() {
  const model = chosen(), text = $("named-text").value;
  const mine = current = {};
  $("named-status").textContent = "…";
  try {
    const labels = model.address.startsWith("/models/");
    const found = await (labels ? api.infer(model.name, text) : api.complete(model.name, text, TOKENS));
    if (mine !== current) return;
    show(LINES[labels ? model.answers : "texts"](found));
    $("named-status").textContent = "";
  } catch (error) {
    if (mine !== current) return;
    $("named-status").textContent = error instanceof api.Refused ? error.message : "Something went wrong.";
  }
}

function show(lines) {
  $("named-answer").replaceChildren(...lines.map(([text, beside]) => {
    const row = document.createElement("li"), said = document.createElement("bdi"), aside = document.createElement("small");
    said.textContent = text;
    aside.textContent = beside ? ` ${beside}` : "";
    row.append(said, aside);
    return row;
  }));
}

function choose() {
  show([]);
  $("named-text").placeholder = chosen().answers === "fills" ? "A text with a gap: the ___ sat" : "Type or paste a text";
}

// Shows the section if there are such models; without translators it is all that the page has.
export async function showNamed(translators) {
  ({ named: models } = await api.model());
  if (!models.length) return;
  $("named").hidden = false;
  $("translators").hidden = !translators;
  $("named-model").replaceChildren(...models.map((one) => {
    const made = document.createElement("option");
    made.value = one.name;
    made.textContent = `${one.name} (${one.task})`;
    return made;
  }));
  $("named-model").addEventListener("change", choose);
  $("named-ask").addEventListener("click", answer);
  choose();
}
