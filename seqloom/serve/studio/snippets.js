// The request of this moment, as code to paste. The shapes are those of the LibreTranslate protocol.

const inShell = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function curl(address, fields) {
  return `curl ${address}/translate -H 'Content-Type: application/json' \\\n  -d ${inShell(JSON.stringify(fields))}`;
}

function python(address, fields) {
  const body = JSON.stringify(fields, null, 4);
  return `import json\nfrom urllib.request import Request, urlopen\n\nfields = ${body}\n` +
    `request = Request("${address}/translate", json.dumps(fields).encode(), {"Content-Type": "application/json"})\n` +
    `print(json.load(urlopen(request))["translatedText"])`;
}

function js(address, fields) {
  return `const response = await fetch("${address}/translate", {\n  method: "POST",\n` +
    `  headers: { "Content-Type": "application/json" },\n  body: JSON.stringify(${JSON.stringify(fields)}),\n});\n` +
    `console.log((await response.json()).translatedText);`;
}

export const SNIPPETS = { curl, python, js };

export function snippet(kind, fields, keyNeeded) {
  const said = keyNeeded ? { ...fields, api_key: "YOUR KEY" } : fields;
  return SNIPPETS[kind](location.origin, said);
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // only pages of this machine or of https may write there
    const place = document.createElement("textarea");
    place.value = text;
    document.body.append(place);
    place.select();
    document.execCommand("copy");
    place.remove();
  }
}
