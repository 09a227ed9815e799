// Talks to the server. Every refusal has {"error": sentence}; the sentence is what a person sees.

export class Refused extends Error {
  constructor(sentence, again = 0) {
    super(sentence);
    this.again = again;  // seconds after which the server asks to be asked again; 0: never
  }
}

let key = "";
export function useKey(given) { key = given; }

async function send(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("The server does not answer.");
  }
  if (response.ok) return response;
  const said = await read(response);
  const again = Number(response.headers.get("Retry-After"));
  throw new Refused(said.error?.message ?? said.error ?? "The server could not answer.", again);
}

const read = (response) => response.json().catch((error) => {
  if (error.name === "AbortError") throw error;
  return {};
});

const ask = async (path, options = {}) => read(await send(path, options));

export const languages = () => ask("/languages");
export const settings = () => ask("/frontend/settings");

export const model = () => ask("/v1/model", { headers: keyed() });
export const curves = () => ask("/v1/curves", { headers: keyed() });

// The views that the served models have.
export async function views() {
  const { models } = await model();
  return [...new Set(models.flatMap((model) => [model, ...model.beside]).flatMap((model) => model.views))];
}

function keyed(headers = {}) {
  return key ? { ...headers, Authorization: `Bearer ${key}` } : headers;
}

const post = (path, fields, signal) =>
  ask(path, { method: "POST", headers: keyed({ "Content-Type": "application/json" }), signal, body: JSON.stringify(fields) });

export async function translate(fields, signal) {
  return (await post("/v1/translate", fields, signal)).translations[0];
}

export const infer = (name, inputs) => post(`/models/${encodeURIComponent(name)}`, { inputs });
export const complete = (model, prompt, max_tokens) => post("/v1/completions", { model, prompt, max_tokens });
export const explain = (fields) => post("/v1/explain", fields);

// A file, as DeepL's clients send it: this protocol tells how far the server is.
export function sendFile(name, content, source, target) {
  const body = new FormData();
  body.set("file", content, name);
  body.set("source_lang", source);
  body.set("target_lang", target);
  return ask("/v2/document", { method: "POST", headers: keyed(), body });
}

const ofFile = ({ document_id, document_key }, part = "") => [`/v2/document/${document_id}${part}`, {
  method: "POST", headers: keyed({ "Content-Type": "application/json" }), body: JSON.stringify({ document_key }),
}];

// The server answers when the file is done, or after a second.
export const fileStatus = (handle) => ask(...ofFile(handle));

// The translated file and its name. The server forgets it then.
export async function fetchFile(handle) {
  const response = await send(...ofFile(handle, "/result"));
  const [, name] = response.headers.get("Content-Disposition").match(/filename="([^"]+)"/);
  return { name, content: await response.blob() };
}
