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
  if (!response.ok) throw new Refused(said.error ?? "The server could not answer.");
  return said;
}

export const languages = () => ask("/languages");
export const settings = () => ask("/frontend/settings");

export async function translate(fields, signal) {
  const headers = { "Content-Type": "application/json" };
  if (key) headers.Authorization = `Bearer ${key}`;
  const said = await ask("/v1/translate", { method: "POST", headers, signal, body: JSON.stringify(fields) });
  return said.translations[0];
}
