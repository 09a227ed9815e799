"""Unmodified clients from npm, in Node: `libretranslate`, `libretranslate-ts`, `translate`."""

import json
import shutil
import subprocess

import pytest

PACKAGES = ("libretranslate@1.0.1", "libretranslate-ts@0.5.12", "translate@3.1.0")
SCRIPT = """
import { createRequire } from "node:module";
const [address, packages] = process.argv.slice(2);
const require = createRequire(packages + "/");
const { translate } = require("libretranslate");
const { libreTranslate } = require("libretranslate-ts");
const { default: third } = await import(packages + "/node_modules/translate/index.min.js");

libreTranslate.setApiEndpoint(address);
third.engine = "libre";
third.url = address + "/translate";
console.log(JSON.stringify({
  libretranslate: await translate({ query: "a small dog", source: "en", target: "de", apiurl: address }),
  ts: await libreTranslate.translate("a small dog", "en", "de", 2),
  detected: await libreTranslate.detect("der Hund und die Katze"),
  languages: await libreTranslate.listLanguages(),
  wrong: await libreTranslate.translate("a small dog", "en", "fr"),
  translate: await third("a small dog", { from: "en", to: "de" }),
}));
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """The packages, installed into a temporary folder."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("node and npm are not installed")
    folder = tmp_path_factory.mktemp("npm")
    (folder / "package.json").write_text('{"private": true}', "utf-8")
    words = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline", *PACKAGES]
    done = subprocess.run(words, cwd=folder, capture_output=True, encoding="utf-8", timeout=300)
    if done.returncode:
        pytest.skip(f"npm cannot install here: {done.stderr[-200:]}")
    return folder


def test_the_clients_of_npm_translate(packages, server, pairs):
    script = packages / "ask.mjs"
    script.write_text(SCRIPT, "utf-8")
    done = subprocess.run(
        ["node", str(script), server.address, str(packages)], capture_output=True, encoding="utf-8", timeout=120
    )
    assert done.returncode == 0, done.stderr
    said, expected = json.loads(done.stdout), pairs[0].translator.translate("a small dog")
    assert said["libretranslate"] == said["translate"] == said["ts"]["translatedText"] == expected
    assert said["ts"]["status"] == 200 and len(said["ts"]["alternatives"]) == 2
    assert said["detected"]["language"] == "de" and said["detected"]["confidence"] > 90
    assert [language["targets"] for language in said["languages"]] == [["de"], ["en"]]
    assert "not a language that is served here" in said["wrong"]["error"]
