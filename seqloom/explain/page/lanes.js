// Models beside each other: one lane per model, on the same sentence.

import { make, quoted } from "./elements.js";
import { noteOn } from "./reading.js";

// Draws a view once per lane: draw(place, lane, number of lanes). A model that lacks the view is named with the reason, and leaves its room to the others.
export function inLanes(place, document, name, has, draw) {
  const able = document.lanes.filter(has), unable = document.lanes.filter((lane) => !has(lane));
  place.append(...unable.map((lane) => make("p", { class: "missing" }, quoted(lane.model), ": ", reason(lane, name))));
  place.append(make("div", { class: "lanes", dataset: { lanes: able.length } }, able.map((lane) => {
    const body = make("div", { class: "lane", role: "group", "aria-label": lane.model });
    if (document.lanes.length > 1) body.append(make("h3", {}, quoted(lane.model), make("small", {}, lane.family)));
    draw(body, lane, able.length);
    return body;
  })));
}

// The button that puts lanes below each other, on one token axis; hidden while there is one lane.
export function stackWith(button) {
  button.addEventListener("click", () => {
    const on = document.body.classList.toggle("stacked");
    button.setAttribute("aria-pressed", String(on));
  });
  return (explained) => { button.hidden = explained.lanes.length < 2; };
}

function reason(lane, name) {
  return noteOn(lane, name)?.slice(name.length + 1).trim() ?? "has nothing to show here";
}
