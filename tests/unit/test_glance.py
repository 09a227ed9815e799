"""Validation samples: what is counted, what is shown, what changed since the last validation."""

from pathlib import Path

import pytest
import torch

from seqloom.config import DataConfig, load_config
from seqloom.data.corpus import CorpusSpec, read_rows
from seqloom.data.prepare import prepare
from seqloom.models.build import build_model
from seqloom.text.labels import as_written, learn_labels
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers
from seqloom.training.samples import SAMPLES, show_answers

SHAPE_OF = {"pairs": "writes", "labelled": "labels", "tagged": "tags", "stream": "continues"}


@pytest.mark.parametrize("before", [[], ["une ville"], ["un village"]])
def test_each_text_has_a_line_with_its_name(before: list[str]) -> None:
    """The last output is shown only where it was another."""
    (shown,) = show_answers([("source", "a town", "target", "une ville")], before, ["une ville"])
    lines = ["  source  a town", "  target  une ville", "  output  une ville"]
    assert shown.splitlines() == lines + ["  before  un village"] * (before == ["un village"])


@pytest.mark.parametrize(
    ("task", "name", "score"),
    [
        ("translate", "bleu", None),
        ("summarise", "rouge_1", 100 * 2 / 3),
        ("pronounce", "phoneme_error_rate", 100 / 3),
        ("dialogue", "chrf", None),
    ],
)
def test_outputs_are_scored_by_the_measure_of_the_task(
    task: str, name: str, score: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data.tsv").write_text("a\tk ae t\nb\tk ae t\n", "utf-8")
    spec = CorpusSpec.parse(str(tmp_path / "data.tsv"))
    letters = learn_tokenizer("char", [], 260)
    tokenizers = Tokenizers(letters, letters)
    _, valid = prepare(tmp_path / "store", [spec], tokenizers, DataConfig(), 1, [spec])
    config = load_config(None, [f"task.name={task}", "model.kind=rnn", "model.width=4", "model.layers=1"])
    look = SAMPLES["writes"](None, valid, tokenizers, config, torch.device("cpu"))
    monkeypatch.setattr(look, "translate", lambda *_: ["k ae d", "k ae p"])
    scores, answers = look.look()
    assert (list(scores), answers) == ([name], ["k ae d", "k ae p"])
    assert scores[name] == (pytest.approx(score) if score is not None else scores[name])
    assert look.score() == scores


def test_the_score_that_chooses_the_weights_is_of_all_held_out_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seqloom.training.samples.MOST_AT_A_GLANCE", 1)
    (tmp_path / "data.tsv").write_text("a\tk\nb\tae\nc\tt\n", "utf-8")
    spec = CorpusSpec.parse(str(tmp_path / "data.tsv"))
    letters = learn_tokenizer("char", [], 260)
    tokenizers = Tokenizers(letters, letters)
    _, valid = prepare(tmp_path / "store", [spec], tokenizers, DataConfig(), 1, [spec])
    config = load_config(None, ["task.name=pronounce", "model.kind=rnn", "model.width=4", "model.layers=1"])
    glance = SAMPLES["writes"](build_model(config, 260, 260, True), valid, tokenizers, config, torch.device("cpu"))
    seen: list[int] = []
    monkeypatch.setattr(glance, "measure", lambda outputs: seen.append(len(outputs)) or {})
    glance.look()
    glance.score()
    assert seen == [1, 3]


@pytest.mark.parametrize(("form", "task"), [("labelled", "classify"), ("tagged", "tag")])
def test_a_look_at_labels_and_tags(form: str, task: str, tmp_path: Path) -> None:
    """The accuracy counts each label, and the answers are those of the first texts."""
    lines = {
        "labelled": "very good\tfine\nbad\tdull\nbad\tso dull\nbad\tawful\n",
        "tagged": "a b\tX Y\nb\tY\na a\tX X\nb a\tX Y\n",
    }
    (tmp_path / "data.tsv").write_text(lines[form], "utf-8")
    spec = CorpusSpec.parse(str(tmp_path / "data.tsv"), form=form)
    labels = learn_labels([pair.target for pair in read_rows(spec)])
    tokenizers = Tokenizers(learn_tokenizer("word", ["a b fine dull so awful"], 20), labels)
    _, valid = prepare(tmp_path / "store", [spec], tokenizers, DataConfig(), 1, [spec])
    config = load_config(None, [f"task.name={task}", "model.kind=rnn", "model.width=4", "model.layers=1"])
    model = build_model(config, len(tokenizers.source), len(labels), False).eval()
    with torch.no_grad():  # it always says the most frequent one: "bad", or X
        model.output.weight.zero_()
        model.output.bias[4:] = torch.tensor([1.0, 0.0])
    scores, answers = SAMPLES[SHAPE_OF[form]](model, valid, tokenizers, config, torch.device("cpu")).look()
    said = as_written(labels.decode([4]))
    assert answers == ([said] * 3 if form == "labelled" else ["X X", "X", "X X"])
    assert scores == {"accuracy": pytest.approx(75 if form == "labelled" else 100 * 4 / 7)}
    shown = SAMPLES[SHAPE_OF[form]](model, valid, tokenizers, config, torch.device("cpu")).show([], answers)
    assert shown[0].splitlines() == (
        ["  text    fine", "  label   very good", "  output  bad"]
        if form == "labelled"
        else ["  text    a b", "  label   X Y", "  output  X X"]
    )
