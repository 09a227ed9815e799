// All heads at once, with what each does. A head that is chosen here is shown in the views Attention and Self-attention.

import { linear } from "../colours.js";
import { chooser, make, percent, readout, several, tableOf } from "../elements.js";
import { inLanes } from "../lanes.js";
import { thumbnail } from "../matrix.js";
import { matrixOf, range, titleOf } from "../reading.js";

export const heads = {
  name: "heads",
  has: (document) => document.lanes.some((lane) => lane.heads),
  draw(place, document, selection) {
    inLanes(place, document, "heads", (lane) => lane.heads, (body, lane) => grid(body, lane, selection));
  },
};

const rolesInWords = (head) => Object.entries(head.roles).sort((a, b) => b[1] - a[1]).map(([role, weight]) => `${role} ${percent(weight)}`).join(", ");

function grid(body, lane, selection) {
  const said = readout("Choose a head to see it large under Attention or Self-attention.");
  const cards = lane.heads.heads.map((head) => ({ head, node: card(head, lane, selection, said) }));
  const roles = [...new Set(lane.heads.heads.map((head) => head.role))].sort();
  const fade = (role) => cards.forEach(({ head, node }) => node.classList.toggle("faded", role !== "" && head.role !== role));
  body.append(
    make("div", { class: "choosers" }, chooser("Show", [["", "all roles"], ...roles.map((role) => [role, role])], "", fade),
      make("span", { class: "soft" }, `roles measured over ${several(lane.heads.sentences, "sentence")}`)),
    make("div", { class: "head-kinds" }, [...new Set(lane.heads.heads.map((head) => kindOf(head.map)))].map((kind) => make("div", {},
      make("h4", {}, titleOf(kind)), rows(cards.filter(({ head }) => kindOf(head.map) === kind))))),
    said, tableOf("Heads and their roles", () => ["head", "role", "weights"],
      () => lane.heads.heads.map((head) => [`${titleOf(head.map)}, head ${head.head + 1}`, head.role, rolesInWords(head)])));
}

// Without the weights of this sentence: one bar per role.
function bars(head) {
  return Object.entries(head.roles).map(([role, weight]) => {
    const bar = make("i", { class: role === head.role ? "weight own" : "weight", "aria-hidden": "true" });
    bar.style.inlineSize = `${100 * Math.min(1, weight)}%`;
    return bar;
  });
}

const kindOf = (name) => name.replace(/\.\d+$/, "");

// One row per layer, the first layer below the others as in drawings of the model.
function rows(cards) {
  const layers = [...new Set(cards.map(({ head }) => head.layer))].sort((a, b) => b - a);
  return layers.map((layer) => make("div", { class: "head-row" }, make("span", { class: "soft" }, `layer ${layer + 1}`),
    cards.filter(({ head }) => head.layer === layer).map(({ node }) => node)));
}

function card(head, lane, selection, said) {
  const map = lane.maps.find((each) => each.name === head.map && each.trained);
  const title = `${titleOf(head.map)}, head ${head.head + 1}: ${head.role}`;
  const say = () => { said.textContent = `${title}. ${rolesInWords(head)}`; };
  const choose = () => {
    selection.ask("head", { lane, map: head.map, head: head.head });
    say();
  };
  const node = make("button", { type: "button", class: "head", "aria-label": title, onclick: choose, onpointerenter: say, onfocus: say });
  if (map) {
    const matrix = matrixOf(map, [head.head]);
    node.append(thumbnail(matrix, linear(0, range(matrix)[1])));
  }
  else node.append(...bars(head));
  node.append(make("span", { class: "role" }, head.role));
  return node;
}
