"""A text without a letter or digit: one rule for command line, Python and HTTP."""

import json
import shutil
from itertools import product

import pytest

import seqloom as package
from seqloom.serve.service import Service
from seqloom.workflows.serve import load_pair

TEXTS = ["😀", "👩‍👩‍👧 👍🏽", "?!", "--- . ---", "the cat", "   ", "\u0301\u0301", "…"]


@pytest.fixture
def three_ways(seqloom, serve, tmp_path):
    """What a model makes of texts: the command line, Python, HTTP (text and html)."""

    def ask(folder):
        (tmp_path / "in.txt").write_text("\n".join(TEXTS), "utf-8")
        done = seqloom("translate", folder, tmp_path / "in.txt")
        assert (done.returncode, done.stderr) == (0, "")
        pair = load_pair(f"en-de={folder}", threads=1)
        with serve(Service([pair])) as running:
            texts, pages = (
                running.translate(TEXTS, format=format).json["translatedText"] for format in ("text", "html")
            )
        return [done.stdout.split("\n")[:-1], package.load(folder).translate(TEXTS), texts, pages]

    return ask


def test_it_comes_back_unchanged_everywhere(three_ways, folders):
    shell, python, texts, pages = three_ways(folders[0])
    assert shell == python == texts == pages
    assert [got == text for got, text in zip(shell, TEXTS, strict=True)] == [text != "the cat" for text in TEXTS]


def test_a_model_that_learned_such_sources_is_asked(seqloom, three_ways, tiny_settings, tmp_path):
    """Morse code: nothing but dots and dashes. The run counts its wordless sources."""
    code = {"a": ".-", "b": "-...", "e": ".", "i": "..", "m": "--", "n": "-.", "o": "---", "s": "...", "t": "-"}
    words = ["".join(two) for two in product(code, repeat=2)]
    rows = [f"{' '.join(code[letter] for letter in word)}\t{word}" for word in words]
    (tmp_path / "morse.tsv").write_text("\n".join(rows), "utf-8")
    done = seqloom("train", tmp_path / "morse.tsv", "--out", tmp_path / "morse", *tiny_settings)
    assert done.returncode == 0, done.stderr
    facts = json.loads((tmp_path / "morse" / "run.json").read_text("utf-8"))
    assert facts["wordless"] == 1.0
    shell, python, texts, _ = three_ways(tmp_path / "morse")
    assert shell == python == texts
    dashes = TEXTS.index("--- . ---")
    assert shell[dashes] != TEXTS[dashes]
    assert shell[TEXTS.index("   ")] == "   ", "a blank text says nothing to any model"


def test_an_ordinary_run_says_that_it_has_seen_none(tiny_model):
    assert json.loads((tiny_model / "run.json").read_text("utf-8"))["wordless"] == 0.0


@pytest.mark.parametrize(("task", "stays"), [("pronounce", True), ("summarise", True), ("dialogue", False)])
def test_the_task_decides(folders, tmp_path, task, stays):
    """An emoji said to a dialogue model wants an answer."""
    folder = shutil.copytree(folders[0], tmp_path / "model")
    config = (folder / "config.toml").read_text("utf-8")
    (folder / "config.toml").write_text(config.replace('name = "translate"', f'name = "{task}"'), "utf-8")
    assert (package.load(folder).translate("😀") == "😀") == stays
    assert package.load(folder).translate("  ") == "  "


def test_one_of_several_answers_is_the_same(folders):
    found = package.load(folders[0]).hypotheses(["😀", "a cat"], n_best=2)
    assert [one.text for one in found[0]] == ["😀", "😀"]
    assert len({one.text for one in found[1]}) == 2


def test_its_words_are_aligned_each_with_itself(server):
    fields = {"source": "en", "target": "de", "alignment": True, "alternatives": 2}
    [found] = server.post("/v1/translate", q="? -- ?", **fields).json["translations"]
    assert found["alignment"]["links"] == [[0, 0], [1, 1], [2, 2]]
    assert (found["text"], found["alternatives"]) == ("? -- ?", [])
