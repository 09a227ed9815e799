// Reads the document that the page carries, draws it, and wires the buttons of the page.

import { saveJson, themeNow } from "./download.js";
import { make } from "./elements.js";
import { showExplained, titles } from "./explained.js";
import { stackWith } from "./lanes.js";

// Returns the document.
export function start() {
  const text = document.getElementById("document").textContent;
  const explained = JSON.parse(text);
  showExplained(document.getElementById("views"), explained);
  document.getElementById("links").append(...titles(explained).map(([name, title]) => make("a", { href: `#view-${name}` }, title)));
  document.getElementById("json").addEventListener("click", () => saveJson("explain.json", text));
  document.getElementById("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = themeNow() === "dark" ? "light" : "dark";
  });
  stackWith(document.getElementById("stack"))(explained);
  return explained;
}
