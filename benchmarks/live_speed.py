"""Measure pages that carry their model (`seqloom explain --live`): size, agreement with torch, time per edit.

    python benchmarks/live_speed.py MODEL ... --texts sentences.txt [--number 50] [--bits 8]

Per model: the size of the page; how many of the first `--number` sentences get the same greedy output as from torch (in
node); and the milliseconds from an edit of the source to the output, median and largest: in node by greedy search and
by the model's own beam, and in Chromium by the model's own beam with the drawing of all views that changed. CPU time is
printed beside the time on the clock, for machines that do other things too.
"""

import argparse
import gzip
import json
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from seqloom.explain.page import page
from seqloom.formats.live_model import live_model
from seqloom.inside.lanes import explain
from seqloom.runtime.answering import load_answering
from seqloom.runtime.folder import open_run
from seqloom.runtime.translator import Translator

SCRIPTS = Path(__file__).parents[1] / "seqloom" / "explain" / "live"
WARM = 5  # edits before the clock counts: a browser compiles what runs often
ASK = """
import { readFileSync } from "node:fs";
const [scripts, document, asked, warm] = process.argv.slice(2);
const { LiveModel } = await import(`${scripts}/model.js`);
const began = performance.now();
const model = await LiveModel.load(JSON.parse(readFileSync(document, "utf-8")));
const load = performance.now() - began;
const texts = JSON.parse(readFileSync(asked, "utf-8"));
function measure(beam) {
  const one = (text) => model.find({ text, beam }).hypotheses[0];
  texts.slice(0, Number(warm)).forEach(one);
  return texts.map((text) => {
    const cpu = process.cpuUsage(), start = performance.now();
    const best = one(text);
    const clock = performance.now() - start;
    return { text: best ? model.target.decode(best.ids) : "", clock, cpu: process.cpuUsage(cpu).user / 1000 };
  });
}
console.log(JSON.stringify({ load, greedy: measure(1), beam: measure(model.about.search.beam) }));
"""
EDIT = """
(text) => {
  const input = document.querySelector("input.whole");
  const start = performance.now();
  input.value = text;
  input.dispatchEvent(new Event("change"));
  return performance.now() - start;
}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--texts", type=Path, required=True, help="one sentence per line; of a .tsv the first column")
    parser.add_argument("--number", type=int, default=50)
    parser.add_argument("--bits", type=int, choices=(8, 16))
    options = parser.parse_args()
    texts = read(options.texts)[: options.number]
    print("| model | parameters | bits | page MB | same as torch | node greedy | node beam | Chromium |")
    print("|---|---|---|---|---|---|---|---|")
    for folder in options.models:
        with tempfile.TemporaryDirectory() as name:
            print(row(folder, texts, options.bits, Path(name)), flush=True)


def row(folder: Path, texts: list[str], bits: Any, work: Path) -> str:
    live = live_model(open_run(folder), bits)
    document = explain([load_answering([folder], 1)], texts[0], strict=False)
    (work / "page.html").write_text(page(document, [live]), "utf-8")
    (work / "live.json").write_text(json.dumps(live), "utf-8")
    found = in_node(work, texts)
    right = Translator.load(folder, 1, engine="torch").translate(texts, beam=1)
    same = sum(one["text"] == text for one, text in zip(found["greedy"], right, strict=True))
    size = (work / "page.html").stat().st_size / 1e6
    times = [shown(found["greedy"]), shown(found["beam"]), in_chromium(work / "page.html", texts)]
    return (
        f"| {folder.name} | {live['parameters']:,} | {live['bits']} | {size:.2f} | {same} of {len(texts)} | "
        f"{' | '.join(times)} |"
    )


def in_node(work: Path, texts: list[str]) -> dict[str, Any]:
    (work / "ask.mjs").write_text(ASK, "utf-8")
    (work / "asked.json").write_text(json.dumps(texts), "utf-8")
    words = ["node", work / "ask.mjs", SCRIPTS, work / "live.json", work / "asked.json", str(WARM)]
    answer: dict[str, Any] = json.loads(subprocess.run(words, capture_output=True, check=True, encoding="utf-8").stdout)
    return answer


def shown(found: list[dict[str, float]]) -> str:
    clock, cpu = ([one[name] for one in found] for name in ("clock", "cpu"))
    of_cpu = f"CPU {statistics.median(cpu):.0f}, {max(cpu):.0f}"
    return f"{statistics.median(clock):.0f} ms, at most {max(clock):.0f} ({of_cpu})"


def in_chromium(file: Path, texts: list[str]) -> str:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        opened = browser.new_page()
        opened.goto(file.as_uri())
        opened.wait_for_selector("#what-if", timeout=120_000)
        times = [float(opened.evaluate(EDIT, text)) for text in [*texts[:WARM], *texts]][WARM:]
        browser.close()
    return f"{statistics.median(times):.0f} ms, at most {max(times):.0f}"


def read(file: Path) -> list[str]:
    content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    return [line.split("\t")[0] for line in content.decode().splitlines() if line.strip()]


if __name__ == "__main__":
    main()
