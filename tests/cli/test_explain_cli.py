"""`seqloom explain`: what it draws, what it writes, and one sentence for everything that is wrong."""

import json
import re

import pytest

from seqloom.cli.app import main
from seqloom.explain.document import Explained
from seqloom.inside.views import CURVES, VIEWS

RNN = ("model.kind=rnn", "model.attention=additive")
FIXED = ("model.kind=rnn", "model.attention=none")


@pytest.fixture
def folder(random_model):
    return str(random_model(*RNN, brief=True))


def test_the_terminal_shows_answer_attention_and_alternatives(folder, capsys):
    assert main(["explain", folder, "a cat", "--target", "le chat"]) == 0
    shown = capsys.readouterr().out
    assert "le chat" in shown
    assert "attention: " in shown


def test_a_json_file_is_the_document(folder, random_model, tmp_path, capsys):
    out = tmp_path / "two.json"
    other = str(random_model("model.kind=transformer", brief=True))
    assert main(["explain", folder, "a cat", "--with", other, "--view", "attention", "-o", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}\n"
    document = Explained.from_json(out.read_bytes())
    assert [lane.family for lane in document.lanes] == ["rnn", "transformer"]
    assert all(lane.views() == ["attention"] for lane in document.lanes)
    assert {"seqloom", "weights", "tokenizers"} <= document.lanes[0].provenance.keys()


def test_without_a_view_a_file_has_all_that_the_model_has(random_model, tmp_path):
    out = tmp_path / "all.json"
    assert main(["explain", str(random_model("model.kind=transformer", brief=True)), "a cat", "--out", str(out)]) == 0
    found = set(Explained.from_json(out.read_bytes()).lanes[0].views())
    assert found == set(VIEWS) - {"gates"}


def test_an_html_file_is_one_page_with_every_view(folder, random_model, tmp_path):
    out = tmp_path / "page.html"
    other = str(random_model("model.kind=transformer", brief=True))
    assert main(["explain", folder, "a cat", "--with", other, "-o", str(out)]) == 0
    text = out.read_text("utf-8")
    assert text.startswith("<!doctype html>")
    (data,) = re.findall(r'<script type="application/json" id="document">(.*?)</script>', text)
    assert {"attention", "self"} <= set(Explained.from_json(data).views())


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml")])
def test_a_picture_shows_the_view_that_was_asked_for(random_model, tmp_path, suffix, start):
    pytest.importorskip("matplotlib")
    out, model = tmp_path / f"x{suffix}", str(random_model("model.kind=transformer", brief=True))
    assert main(["explain", model, "a cat", "--view", "self", "-o", str(out)]) == 0
    assert out.read_bytes().startswith(start)


def test_a_picture_without_a_view_says_which_one_it_shows(folder, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    out = tmp_path / "x.png"
    assert main(["explain", folder, "a cat", "-o", str(out)]) == 0
    assert f"{out} shows the view attention; choose another one with --view: " in capsys.readouterr().err
    assert main(["explain", folder, "a cat", "--view", "gates", "-o", str(out)]) == 0
    assert "shows the view" not in capsys.readouterr().err


def test_a_picture_of_a_model_that_has_no_view_is_refused(random_model, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    model, out = str(random_model(*FIXED, brief=True)), str(tmp_path / "x.png")
    assert main(["explain", model, "a cat", "--view", "attention", "-o", out]) == 2
    assert "model.attention = none" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["--view", "atention"], 2, "--view atention: no such view. Did you mean 'attention'?"),
        (["--view", "self"], 2, "models of kind transformer and gpt have it"),
        (["-o", "x.jsn"], 2, "the suffix says what to write; want .json, .html, .png, .svg"),
        (["-o", "x.png", "--view", "attention", "--view", "self"], 2, "a picture shows one view, got 2"),
        (["-o", "x"], 2, "the suffix says what to write"),
        (["-o", "nowhere/x.json"], 2, "there is no folder nowhere"),
        (["--sentences", "none.txt"], 2, "none.txt"),
        (["--with", "nothing"], 4, "nothing: no such folder"),
    ],
)
def test_what_is_wrong_is_one_sentence(folder, words, code, sentence, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["explain", folder, "a cat", *words]) == code
    captured = capsys.readouterr()
    assert sentence in captured.err
    assert "Traceback" not in captured.err
    assert [*tmp_path.iterdir()] == []


def test_a_file_that_cannot_be_written(folder, tmp_path, capsys):
    (tmp_path / "x.json").mkdir()
    assert main(["explain", folder, "a cat", "-o", str(tmp_path / "x.json")]) == 2
    assert "that is a folder; name a file" in capsys.readouterr().err


def test_a_model_without_attention_is_drawn_without_it(random_model, capsys):
    assert main(["explain", str(random_model(*FIXED, brief=True)), "a cat"]) == 0
    shown = capsys.readouterr().out
    assert "0.7+" not in shown  # the legend of the heat map
    assert "one vector (model.attention = none)" in " ".join(shown.split())


def test_a_folder_without_weights_is_refused(folder, tmp_path, capsys):
    import shutil

    shutil.copytree(folder, tmp_path / "engine_only")
    (tmp_path / "engine_only" / "model.safetensors").unlink()
    assert main(["explain", str(tmp_path / "engine_only"), "a cat"]) == 4
    assert "model.safetensors is missing" in capsys.readouterr().err


def test_an_empty_file_of_sentences_is_refused(folder, tmp_path, capsys):
    (tmp_path / "none.txt").write_text("\n \n", "utf-8")
    assert main(["explain", folder, "a cat", "--sentences", str(tmp_path / "none.txt")]) == 3
    assert "no sentence in it" in capsys.readouterr().err


def test_a_long_text_is_cut_with_a_note(folder, tmp_path):
    out = tmp_path / "x.json"
    assert main(["explain", folder, "abcdefgh" * 5, "--view", "attention", "-o", str(out)]) == 0
    (lane,) = json.loads(out.read_bytes())["lanes"]
    assert any("the model takes 30" in note for note in lane["notes"])


def test_curves_show_runs_and_need_no_text(tmp_path, capsys):
    for name, loss in (("a", 5), ("b", 4)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.jsonl").write_text(f'{{"event": "train", "step": 10, "loss": {loss}}}\n')
    out = tmp_path / "curves.json"
    words = ["explain", str(tmp_path / "a"), "--with", str(tmp_path / "b"), "--view", "curves"]
    assert main([*words, "-o", str(out)]) == 0
    found = Explained.from_json(out.read_bytes())
    assert [(curve.run, curve.values) for curve in found.curves] == [("a", [5.0]), ("b", [4.0])]
    capsys.readouterr()
    assert main(words) == 0
    assert "loss" in capsys.readouterr().out
    assert main([*words, "--view", "attention"]) == 2
    assert "leave out the text and other views" in capsys.readouterr().err


def test_a_text_is_needed_for_everything_else(folder, capsys):
    assert main(["explain", folder]) == 2
    assert "give the text that the model reads" in capsys.readouterr().err


def test_phrases_are_points_of_one_map(folder, tmp_path, capsys):
    (tmp_path / "phrases.txt").write_text("en\ta cat\nen\ta dog ran\nfr\tle chat\n\nun chien " + "ab" * 30, "utf-8")
    out = tmp_path / "map.json"
    assert main(["explain", folder, "--phrases", str(tmp_path / "phrases.txt"), "-o", str(out)]) == 0
    (found,) = Explained.from_json(out.read_bytes()).phrases
    assert [point.label for point in found.points] == ["en", "en", "fr", ""]
    assert len(found.points[0].point) == 3
    assert "the model takes 30" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "words", "code", "sentence"),
    [
        ("a\nb\n", [], 3, "2 sentences; a map needs at least 3"),
        ("a\nen\t \nb\nc", [], 3, "sentence 2 is empty behind its label"),
        ("", [], 3, "no sentence in it"),
        ("a\nb\nc\n", ["--view", "states"], 2, "leave out the text and --view"),
        ("a\nb\nc\n", ["a text"], 2, "leave out the text and --view"),
    ],
)
def test_wrong_phrases_are_one_sentence(folder, tmp_path, capsys, text, words, code, sentence):
    (tmp_path / "phrases.txt").write_text(text, "utf-8")
    assert main(["explain", folder, *words, "--phrases", str(tmp_path / "phrases.txt")]) == code
    assert sentence in capsys.readouterr().err


def test_the_help_names_every_view(capsys):
    assert main(["explain", "--help"]) == 0
    words = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert f"may be given several times: {', '.join(VIEWS)}; {CURVES} shows" in words


def test_a_name_that_cannot_be_written(folder, tmp_path, capsys):
    out = tmp_path / f"{'x' * 300}.json"
    assert main(["explain", folder, "a cat", "--view", "attention", "-o", str(out)]) == 2
    assert "too long" in capsys.readouterr().err
