// The page: translates while you type, shows other translations, and which word came from which.

import * as api from "./api.js";
import { showFiles } from "./documents.js";
import { showNamed } from "./named.js";
import { copy, snippet, SNIPPETS } from "./snippets.js";
import { Links, NO_LINKS, showWords } from "./words.js";

const PAUSE = 250;  // ms without a key before a request
const MORE = 3;     // other translations
const UNNAMED = "src";  // the source of a model without known languages
const WORDS = /[^ \t\n\r\f\v]+/g;
const $ = (id) => document.getElementById(id);
const text = $("text"), output = $("output"), source = $("source"), target = $("target");

let served = [];      // what /languages says
let limit = 5000;
let keyNeeded = false;
let current = null;   // the request under way; an answer to an older one is dropped
let timer = 0;
let words = [];       // of the translation, as they stand on the page
let links = NO_LINKS;
const asked = new Set();  // what more has been asked for about this translation
let active = -1;      // the word of the translation that the arrow keys are at
let kind = "curl";

// ---- languages

function option(code, name) {
  const made = document.createElement("option");
  made.value = code;
  made.textContent = name;
  return made;
}

const nameOf = (code) => served.find((one) => one.code === code)?.name ?? code;

// A model without known languages is named by its folder, which the server writes into both names.
function pairName(from, to) {
  return from.code === UNNAMED ? from.name.replace(/ \(input\)$/, "") : `${from.name} → ${nameOf(to)}`;
}

function fillTargets() {
  const from = source.value;
  const allowed = new Set(served.filter((one) => from === "auto" || one.code === from).flatMap((one) => one.targets));
  const before = target.value;
  target.replaceChildren(...served.filter((one) => allowed.has(one.code)).map((one) => option(one.code, one.name)));
  if (allowed.has(before)) target.value = before;
  const swapped = served.find((one) => one.code === target.value);
  $("swap").disabled = from === "auto" || !swapped?.targets.includes(from);
}

function swap() {
  if ($("swap").disabled) return;
  const [from, to, translation] = [source.value, target.value, output.textContent];
  source.value = to;
  fillTargets();
  target.value = from;
  fillTargets();
  if (translation) text.value = translation;
  changed(0);
}

// ---- translating

function fields() {
  return { q: text.value, source: source.value, target: target.value };
}

function changed(pause = PAUSE) {
  const length = [...text.value].length;
  $("count").textContent = length ? `${length.toLocaleString()} / ${limit.toLocaleString()}` : "";
  $("count").classList.toggle("over", length > limit);
  $("snippet").textContent = snippet(kind, fields(), keyNeeded);
  forgetLinks();
  clearTimeout(timer);
  current?.abort();
  timer = setTimeout(translate, pause);
}

async function translate() {
  const mine = current = new AbortController();
  if (!text.value.trim()) return show({ text: "" });
  output.classList.add("waiting");
  try {
    const found = await api.translate(fields(), mine.signal);
    if (mine === current) show(found);
  } catch (error) {
    complain(error, mine);
  }
}

// What takes the server longer is asked for when somebody looks for it, once a translation.
async function more(name, value, showMore) {
  const mine = current;
  if (!words.length || asked.has(name) || output.classList.contains("waiting")) return;
  asked.add(name);
  try {
    const found = await api.translate({ ...fields(), [name]: value }, mine.signal);
    if (mine === current) showMore(found[name]);
  } catch (error) {
    complain(error, mine);
  }
}

function complain(error, mine) {
  if (mine !== current || error.name === "AbortError") return;
  output.classList.remove("waiting");
  say(error instanceof api.Refused ? error.message : "Something went wrong.", true);
}

function say(sentence, bad = false) {
  $("status").textContent = sentence;
  $("status").classList.toggle("bad", bad);
}

function show(found) {
  output.classList.remove("waiting");
  words = showWords(output, found.text, found.text.match(WORDS) ?? [], "target");
  forgetLinks();
  asked.clear();
  $("spoken").textContent = found.text;
  $("copy").disabled = !found.text;
  $("detected").textContent = detected(found);
  say("");
  $("others").hidden = !words.length;
  showInside();
  $("alternatives").replaceChildren();
  askForOthers();
}

// The same text on the page that looks inside the model.
function showInside() {
  $("inside").hidden = !words.length;
  $("inside").href = `/inside?${new URLSearchParams(fields())}`;
}

function detected(found) {
  if (found.confidence == null || !text.value.trim()) return "";
  return `${nameOf(found.source)}, ${Math.round(found.confidence)} %`;
}

function askForOthers() {
  if ($("others").open) more("alternatives", MORE, showOthers);
}

function showOthers(alternatives) {
  if (!alternatives.length) return say("No other translation comes close.");
  $("alternatives").replaceChildren(...alternatives.map((other) => {
    const row = document.createElement("li"), button = document.createElement("button");
    button.type = "button";
    button.dir = "auto";
    button.textContent = other;
    button.title = "Copy this one";
    button.addEventListener("click", () => copy(other).then(() => say("Copied.")));
    row.append(button);
    return row;
  }));
}

// ---- which word came from which

const askForLinks = () => more("alignment", true, showLinks);

function showLinks(alignment) {
  if (!alignment) return;  // the model cannot tell
  links = new Links(showWords($("mirror"), text.value, alignment.source, "source"), words, alignment.links);
  $("mirror").append("\n");
  active >= 0 && output.matches(":hover") ? links.mark(active) : markWhereTheCursorIs();
}

function forgetLinks() {
  links.clear();
  links = NO_LINKS;
  active = -1;
  $("mirror").textContent = `${text.value}\n`;  // under the text it has the same size, so that the pane grows with it
}

function mark(word) {
  active = word;
  return links.mark(word);
}

output.addEventListener("pointerover", (event) => {
  const word = event.target.dataset?.target;
  if (word === undefined) return;
  askForLinks();
  mark(Number(word));
});
output.addEventListener("focus", askForLinks);
text.addEventListener("click", askForLinks);
output.addEventListener("pointerleave", () => links.clear());
output.addEventListener("blur", () => links.clear());
output.addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1, Escape: 0 }[event.key];
  if (step === undefined || !links.target.length) return;
  event.preventDefault();
  if (!step) return links.clear();
  const last = links.target.length - 1;
  const from = mark(Math.min(last, Math.max(0, active + step)));
  $("spoken").textContent = `${links.target[active].node.textContent}: ${from.join(" ") || "from no single word"}`;
});

function markWhereTheCursorIs() {
  if (document.activeElement !== text || !links.source.length) return;
  const at = text.selectionStart;
  const word = links.source.findIndex((each) => each.start <= at && at <= each.end);
  word < 0 ? links.clear() : links.markSource(word);
}
document.addEventListener("selectionchange", markWhereTheCursorIs);

// ---- the rest of the page

function choose(name) {
  kind = name;
  for (const each of Object.keys(SNIPPETS)) {
    const tab = $(`tab-${each}`);
    tab.setAttribute("aria-selected", String(each === kind));
    tab.tabIndex = each === kind ? 0 : -1;
  }
  $("snippet").setAttribute("aria-labelledby", `tab-${kind}`);
  $("snippet").textContent = snippet(kind, fields(), keyNeeded);
}

function wireTabs() {
  const names = Object.keys(SNIPPETS);
  for (const name of names) {
    $(`tab-${name}`).addEventListener("click", () => choose(name));
    $(`tab-${name}`).addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: names.length - 1 }[event.key];
      if (!step) return;
      choose(names[(names.indexOf(name) + step) % names.length]);
      $(`tab-${kind}`).focus();
    });
  }
}

function wire() {
  text.addEventListener("input", () => changed());
  source.addEventListener("change", () => { fillTargets(); changed(0); });
  target.addEventListener("change", () => { fillTargets(); changed(0); });
  $("swap").addEventListener("click", swap);
  $("clear").addEventListener("click", clear);
  $("copy").addEventListener("click", () => copy(output.textContent).then(() => say("Copied.")));
  $("copy-code").addEventListener("click", () => copy($("snippet").textContent).then(() => say("Copied.")));
  $("key").addEventListener("change", () => { useKey($("key").value); changed(0); });
  $("key-row").addEventListener("submit", (event) => event.preventDefault());  // Enter is a change too; nothing is sent
  $("theme").addEventListener("click", changeTheme);
  $("others").addEventListener("toggle", askForOthers);
  document.addEventListener("keydown", (event) => {
    if (event.altKey && event.key.toLowerCase() === "s") { event.preventDefault(); swap(); }
    if (event.key === "Escape" && document.activeElement === text) clear();
  });
  wireTabs();
}

function useKey(key) {
  api.useKey(key);
  try { sessionStorage.setItem("key", key); } catch { /* then it holds for this page alone */ }
}

function clear() {
  text.value = "";
  text.focus();
  changed(0);
}

function changeTheme() {
  const now = document.documentElement.dataset.theme ??
    (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const next = now === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try { localStorage.setItem("theme", next); } catch { /* it lasts as long as the page */ }
}

// A browser that may keep nothing of this page throws at the mere look.
function rememberedTheme() {
  try { return localStorage.getItem("theme"); } catch { return null; }
}

async function start() {
  const theme = rememberedTheme();
  if (theme) document.documentElement.dataset.theme = theme;
  wire();
  try {
    const [known, about] = await Promise.all([api.languages(), api.settings()]);
    served = known;
    limit = about.charLimit;
    keyNeeded = about.keyRequired;
    $("key-row").hidden = !keyNeeded;
    const translates = served.length > 0;
    if (!keyNeeded) await showNamed(translates);
    else $("key").addEventListener("change", () => showNamed(translates).catch(() => say("The key is wrong.", true)));
    if (!translates) {
      $("code").hidden = true;
      return;
    }
    const pairs = served.flatMap((from) => from.targets.map((to) => pairName(from, to)));
    $("model").textContent = pairs.slice(0, 3).join(", ") + (pairs.length > 3 ? ", …" : "");
    const sources = served.filter((one) => one.targets.length);
    const languages = sources.some((one) => one.code !== UNNAMED);  // else there is nothing to detect
    const detect = languages ? [option("auto", "Detect language")] : [];
    source.replaceChildren(...detect, ...sources.map((one) => option(one.code, one.name)));
    source.value = about.language.source.code;
    fillTargets();
    target.value = about.language.target.code;
    fillTargets();
    showFiles(about, () => ({ source: source.value, target: target.value }));
    changed(0);
  } catch (error) {
    say(error instanceof api.Refused ? error.message : "The page could not start.", true);
  }
}

start();
