// Files: chosen or dropped on the page, translated one after the other, and fetched from a list.

import * as api from "./api.js";

const OVERHEAD = 2048;  // bytes that surround the file in the body of a request
const PATIENCE = 300_000;  // ms to wait for a turn
const $ = (id) => document.getElementById(id);
const waiting = [];
let working = false;
let most = 0;       // bytes of a file
let languages;      // () => { source, target }: as they are chosen now

const megabytes = (bytes, round) => `${(round(bytes / 1e5) / 10).toFixed(1)} MB`;
const pause = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

function made(tag, properties = {}) {
  return Object.assign(document.createElement(tag), properties);
}

// One line of the list: the name of the file, how far it is, and at the end the result or why there is none.
class Line {
  constructor(name) {
    this.name = name;
    this.bar = made("progress", { max: 1 });
    this.bar.setAttribute("aria-label", `Progress of ${name}`);
    this.state = made("span", { textContent: "waiting" });
    this.row = made("li");
    this.row.append(made("bdi", { textContent: name }), this.state);
    $("file-list").prepend(this.row);
  }

  begin() {
    this.state.before(this.bar);
    this.tell("sending …");
  }

  tell(sentence) { this.state.textContent = sentence; }

  end(sentence) {
    this.bar.remove();
    this.tell(sentence);
    $("file-spoken").textContent = `${this.name}: ${sentence}`;
  }

  refuse(sentence) {
    this.end(sentence);
    this.state.className = "bad";
  }

  offer({ name, content }) {
    this.end("translated");
    this.row.append(made("a", { href: URL.createObjectURL(content), download: name, textContent: `Download ${name}` }));
  }
}

async function translate(file, line) {
  const { source, target } = languages();
  if (file.size > most) {
    const sizes = [megabytes(file.size, Math.ceil), megabytes(most, Math.floor)];
    return line.refuse(`This file has ${sizes[0]}; the server takes at most ${sizes[1]}. Send it in parts.`);
  }
  line.begin();
  const content = new Blob([await file.arrayBuffer()]);  // throws if it cannot be read, as a folder cannot
  const handle = await inTurn(() => api.sendFile(file.name, content, source, target), line);
  const begun = performance.now();
  line.tell("translating …");
  for (;;) {
    const said = await api.fileStatus(handle);
    if (said.status === "error") return line.refuse(said.error_message);
    if (said.status === "done") return line.offer(await api.fetchFile(handle));
    const [gone, left] = [(performance.now() - begun) / 1000, said.seconds_remaining];
    if (left > 1) {  // less is said before the first text is translated, too
      line.bar.value = gone / (gone + left);
      line.tell(`about ${left} s left`);
    }
  }
}

// Ask; while the server has too much to do, wait as long as it says and ask again.
async function inTurn(ask, line) {
  for (const end = performance.now() + PATIENCE; ;) {
    try {
      return await ask();
    } catch (error) {
      if (!error.again || performance.now() > end) throw error;
      line.tell("waiting for a turn: the server is busy …");
      await pause(error.again);
    }
  }
}

async function work() {
  if (working) return;
  working = true;
  while (waiting.length) {
    const [file, line] = waiting.shift();
    try {
      await translate(file, line);
    } catch (error) {
      line.refuse(error instanceof api.Refused ? error.message : "This file could not be read.");
    }
  }
  working = false;
}

function take(files) {
  waiting.push(...[...files].map((file) => [file, new Line(file.name)]));
  work();
}

const holdsFiles = (event) => event.dataTransfer?.types.includes("Files");

// Without this, a browser leaves the page and opens the file.
function wireDrops() {
  let inside = 0;  // elements that the dragged file has entered and not left
  const show = (change) => {
    inside = change ? Math.max(0, inside + change) : 0;
    document.body.classList.toggle("dropping", inside > 0);
  };
  document.addEventListener("dragenter", (event) => holdsFiles(event) && show(1));
  document.addEventListener("dragleave", (event) => holdsFiles(event) && show(-1));
  document.addEventListener("dragover", (event) => holdsFiles(event) && event.preventDefault());
  document.addEventListener("drop", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    show(0);
    take(event.dataTransfer.files);
  });
}

// Shows the button. settings: what /frontend/settings says; chosen: () => { source, target }.
export function showFiles(settings, chosen) {
  languages = chosen;
  most = settings.bodyLimit - OVERHEAD;
  const kinds = settings.supportedFilesFormat;
  $("files").hidden = false;
  $("file").accept = kinds.join(",");
  $("file-kinds").textContent = `or drop it here: ${kinds.join(" ")}, at most ${megabytes(most, Math.floor)}`;
  $("choose-file").addEventListener("click", () => $("file").click());
  $("file").addEventListener("change", () => { take($("file").files); $("file").value = ""; });
  wireDrops();
}
