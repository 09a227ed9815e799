"""The ten-minute tour, typed as it is written: every command runs, on a demo that is too small to learn."""

import re
import shlex
from pathlib import Path

import pytest

from seqloom.cli.app import main
from seqloom.workflows import demo

TOUR = Path(__file__).parents[2] / "docs" / "tour.md"
BLOCK = re.compile(r"^```\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHORTER = {"train.max_steps=400": "train.max_steps=4"}
TINY = """
[text]
tokenizer = "char"
vocab_size = 400
[model]
kind = "rnn"
attention = "additive"
layers = 1
width = 8
[train]
max_steps = 4
threads = 1
[decode]
beam = 1
"""


def typed() -> list[str]:
    return [line for block in BLOCK.findall(TOUR.read_text("utf-8")) for line in block.splitlines()]


@pytest.mark.slow
def test_the_commands_of_the_tour_run_in_their_order(tmp_path, monkeypatch, capsys):
    recipe = tmp_path / "tiny.toml"
    recipe.write_text(TINY, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "RECIPE", str(recipe))
    monkeypatch.setattr(demo, "WANTED", 0.0)
    for name, number in (("NUM_PAIRS", 300), ("NUM_VALID", 20), ("NUM_TEST", 30)):
        monkeypatch.setattr(demo, name, number)
    ran = 0
    for line in typed():
        words = [SHORTER.get(word, word) for word in shlex.split(line)]
        if words == ["make", "demo"]:
            words = ["seqloom", "demo"]
        elif "|" in words:
            words = [*words[words.index("|") + 1 :], words[1]]  # echo TEXT | seqloom ... : the text as an argument
        if words[0] == "seqloom" and words[1] != "serve":  # `serve` does not end; tests/serve has it
            assert main(words[1:]) == 0, f"{line}\n{capsys.readouterr().err}"
            ran += 1
    assert ran >= 10
    assert (tmp_path / "date.html").exists()
    assert (tmp_path / "both.html").exists()
