// Asks a server with the unmodified clients of npm; one line per client: its name, then ok or what went wrong.
//
//     node ask_node.mjs ADDRESS EXPECTED FOLDER      FOLDER has the node_modules
import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [address, expected, folder] = process.argv.slice(2);
const require = createRequire(join(folder, "x.js"));

async function deeplNode() {
  const deepl = require("deepl-node");
  const client = new deepl.DeepLClient("any", { serverUrl: address });
  const [source, target] = [join(folder, "a.txt"), join(folder, `b${process.pid}.txt`)];
  writeFileSync(source, "a small dog");
  await client.translateDocument(source, target, "en", "de");
  if (readFileSync(target, "utf-8") !== expected) throw new Error("the document differs");
  return (await client.translateText("a small dog", "en", "de")).text;
}

async function openai() {
  const { OpenAI } = require("openai");
  const client = new OpenAI({ baseURL: `${address}/v1`, apiKey: "any" });
  const messages = [{ role: "user", content: "a small dog" }];
  let streamed = "";
  for await (const chunk of await client.chat.completions.create({ model: "en-de", messages, stream: true })) {
    streamed += chunk.choices[0]?.delta?.content ?? "";
  }
  if (streamed !== expected) throw new Error(`streamed ${streamed}`);
  if ((await client.responses.create({ model: "en-de", input: "a small dog" })).output_text !== expected) throw new Error("responses");
  return (await client.chat.completions.create({ model: "en-de", messages })).choices[0].message.content;
}

for (const [name, ask] of [["deepl-node", deeplNode], ["openai-node", openai]]) {
  try {
    const got = await ask();
    console.log(name, got.trim() === expected.trim() ? "ok" : `got ${got}`);
  } catch (error) {
    console.log(name, String(error).slice(0, 300));
  }
}
