"""The models in the box: used where no model is named, and by name; a folder of that name comes first."""

import json
import shutil

import pytest

import seqloom
from seqloom.cli.app import main
from seqloom.runtime import bundled

SMALL = ("text.tokenizer=bpe", "model.width=16")
FACTS = {"measured": "BLEU 40.0 (Tatoeba dev)", "licence": "CC BY 2.0 FR"}


@pytest.fixture(scope="module")
def box(random_model, tmp_path_factory):
    """A box with two models that have learned nothing."""
    place = tmp_path_factory.mktemp("box")
    for name, kind in (("en-fr", "transformer"), ("fr-en", "transformer"), ("rnnsearch", "rnn"), ("rnn", "rnn")):
        attention = ("model.attention=none",) if name == "rnn" else ()
        sides = zip(("source", "target"), ("fr", "en") if name == "fr-en" else ("en", "fr"), strict=True)
        languages = [f"data.{side}_lang={language}" for side, language in sides]
        model = random_model(f"model.kind={kind}", *attention, *SMALL, *languages, brief=True)
        shutil.copytree(model, place / name)
        file = place / name / "run.json"
        file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | FACTS), "utf-8")
    return place


@pytest.fixture(autouse=True)
def in_the_box(box, monkeypatch, tmp_path):
    monkeypatch.setattr(bundled, "BOX", box)
    monkeypatch.setattr("seqloom.workflows.models.BOX", box)
    monkeypatch.chdir(tmp_path)


def shown(capsys, *words):
    assert main([*map(str, words)]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def test_a_model_left_out_is_the_default(capsys, box):
    expected = shown(capsys, "translate", box / "en-fr", "the cat")
    for words in (["the cat"], ["en-fr", "the cat"]):
        assert shown(capsys, "translate", *words) == expected
    assert seqloom.load().folder == box / "en-fr"
    assert seqloom.load("en-fr").folder == box / "en-fr"


def test_a_file_alone_is_an_input(capsys, box, tmp_path):
    (tmp_path / "in.txt").write_text("the cat\n", "utf-8")
    (tmp_path / "pairs.tsv").write_text("the cat\tle chat\n", "utf-8")
    assert shown(capsys, "translate", "in.txt") == shown(capsys, "translate", box / "en-fr", "in.txt")
    assert shown(capsys, "score", "pairs.tsv") == shown(capsys, "score", "en-fr", "pairs.tsv")


def test_info_says_where_the_card_of_a_bundled_model_is(capsys, box):
    (box / "en-fr" / "card.md").write_text("# en-fr", "utf-8")
    assert str(box / "en-fr" / "card.md") in shown(capsys, "info", "en-fr")


def test_every_command_knows_the_names(capsys, tmp_path):
    (tmp_path / "pairs.tsv").write_text("the cat\tle chat\n", "utf-8")
    for words in (
        ["explain", "the cat"],
        ["explain", "fr-en", "le chat"],
        ["info", "fr-en"],
        ["evaluate", "en-fr", "pairs.tsv"],
        ["evaluate", "en-fr", "pairs.tsv", "--against", "rnn"],
        ["vectors", "nearest", "en-fr", "##t"],
        ["export", "en-fr", "--format", "ctranslate2", "--out", tmp_path / "exported"],
    ):
        assert shown(capsys, *words)


def test_serve_without_a_folder_serves_both_directions(monkeypatch):
    served = []

    class Recorder:
        def __init__(self, service, ready):
            served.extend(service.pairs)

        def run(self, sockets):
            pass

    monkeypatch.setattr("seqloom.workflows.serve.Server", Recorder)
    assert main(["serve", "--port", "0"]) == 0
    assert [(pair.source, pair.target) for pair in served] == [("en", "fr"), ("fr", "en")]


def test_a_folder_of_that_name_comes_first(capsys, box, tmp_path):
    shutil.copytree(box / "rnn", tmp_path / "en-fr")
    assert "cell" in shown(capsys, "info", "en-fr")


def test_the_list(capsys, box):
    text = shown(capsys, "models")
    assert "en-fr       English to French: Transformer (used where no model is named)" in text
    assert {"BLEU 40.0 (Tatoeba dev)", "CC BY 2.0 FR"} <= {line.strip() for line in text.splitlines()}
    rows = json.loads(shown(capsys, "models", "--json"))
    assert [row["name"] for row in rows] == ["en-fr", "fr-en", "rnn", "rnnsearch"]
    assert rows[0].items() >= FACTS.items()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["translate", "en-rf", "the cat"], "Did you mean 'en-fr'?"),
        (["translate", "pronounce", "cat"], "pronounce: this installation of Seqloom has no bundled models"),
        (["score", "en-fr"], "name the file of pairs, too"),
        (["compare", " "], "an empty text"),
        (["compare", "the cat", "-o", "page.htm"], "Did you mean '.html'?"),
    ],
)
def test_what_is_wrong_is_a_sentence(capsys, words, said):
    assert main(words) in (2, 4)
    assert said in capsys.readouterr().err


def test_without_weights_a_sentence_says_so(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(bundled, "BOX", tmp_path / "none")
    for words in (["models"], ["translate", "the cat"], ["compare", "the cat"], ["serve", "--port", "0"]):
        assert main(words) == 4
        assert "no bundled models" in capsys.readouterr().err


def test_unequal_times_of_training_are_shown(capsys):
    run = bundled.BOX / "rnn" / "run.json"
    kept = run.read_text("utf-8")
    run.write_text(json.dumps({**json.loads(kept), "seconds": 150.0}), "utf-8")
    try:
        found = json.loads(shown(capsys, "compare", "the cat", "rnn", "en-fr", "--json"))
        assert [answer["minutes"] for answer in found["answers"]] == [2.5, None]
        assert "2 min" in shown(capsys, "compare", "the cat", "rnn", "en-fr")
    finally:
        run.write_text(kept, "utf-8")


def test_generations_side_by_side(capsys, tmp_path):
    models = ("rnn", "rnnsearch", "en-fr")
    text = shown(capsys, "compare", "the cat", *models)
    assert text.startswith("the cat\nmodel") and "\nscore: log-probability" in text
    assert text.index("rnn · ") < text.index("rnnsearch · ") < text.index("en-fr · ")
    assert text.count("attention: decoder.attention") == 2
    assert text.count("no attention: the decoder knows the source by one vector") == 1
    found = json.loads(shown(capsys, "compare", "the cat", *models, "--json"))
    assert [answer["model"] for answer in found["answers"]] == [*models]
    expected = shown(capsys, "translate", "rnnsearch", "the cat").rstrip("\n")
    assert found["answers"][1]["translation"] == expected
    assert all(answer["milliseconds"] > 0 and answer["score"] < 0 for answer in found["answers"])
    assert shown(capsys, "compare", "the cat", "rnn", "rnnsearch", "-o", "page.html").endswith("page.html\n")
    assert (tmp_path / "page.html").read_text("utf-8").startswith("<!doctype html>")
