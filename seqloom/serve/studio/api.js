// Talks to the server. Every refusal has {"error": sentence}; the sentence is what a person sees.

export class Refused extends Error {}

let key = "";
export function useKey(given) { key = given; }

async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("The server does not answer.");
  }
  const said = await response.json().catch((error) => {
    if (error.name === "AbortError") throw error;
    return {};
  });
  if (!response.ok) throw new Refused(said.error?.message ?? said.error ?? "The server could not answer.");
  return said;
}

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
