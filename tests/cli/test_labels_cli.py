"""classify, tag and masked from the command line: train, evaluate, translate, doctor, and what is wrong with a file."""

import contextlib
import io
import json
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest
from tokenizers.normalizers import Lowercase

from seqloom.cli.app import main
from seqloom.config import DataConfig
from seqloom.data.corpus import CorpusSpec
from seqloom.data.prepare import prepare
from seqloom.evaluation.labels import find_new_words
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers

GOOD, BAD = ["good", "great", "fine"], ["bad", "dull", "awful"]
TAGS = {"good": "ADJ", "great": "ADJ", "fine": "ADJ", "bad": "ADJ", "dull": "ADJ", "awful": "ADJ",
        "a": "DET", "the": "DET", "film": "NOUN", "story": "NOUN", "very": "ADV"}  # fmt: skip


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]


@pytest.fixture(scope="module")
def seqloom() -> Run:
    """A command line in this process: torch is imported once, and there are many."""

    def run(*words: object, cwd: Path | None = None, stdin: str = "") -> Done:
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
        given = io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin.encode())), "utf-8")
        with (
            contextlib.chdir(cwd or "."),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            mock.patch.object(sys, "stdin", given),
        ):
            code = main([str(word) for word in words])
        for stream in (out, err):
            stream.seek(0)
        return Done(code, out.read(), err.read())

    return run


def sentences(number: int, seed: int) -> list[tuple[str, str]]:
    """(label, text)"""
    draw, found = random.Random(seed), []
    for _ in range(number):
        label = draw.choice(["very good", "bad"])
        words = draw.choices(["a", "the", "film", "story", "very"], k=draw.randint(2, 5))
        words.insert(draw.randrange(len(words)), draw.choice(GOOD if label != "bad" else BAD))
        found.append((label, " ".join(words)))
    return found


WRITE = {
    "classify": lambda label, text: f"{label}\t{text}\n",
    "tag": lambda label, text: f"{text}\t{' '.join(TAGS[word] for word in text.split())}\n",
    "masked": lambda label, text: f"{text}\n",
}


@pytest.fixture(scope="module")
def folder(seqloom: Run, tiny_settings: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """classify, tag, masked: trained models; train-TASK.tsv and test-TASK.tsv: their data."""
    place = tmp_path_factory.mktemp("labels")
    for task, line in WRITE.items():
        for part, number in (("train", 200), ("test", 60)):
            (place / f"{part}-{task}.tsv").write_text(
                "".join(line(*row) for row in sentences(number, len(part))), "utf-8"
            )
        settings = [*tiny_settings, "--set", "text.tokenizer=word", "--set", "model.cell=lstm", "--task", task]
        if task != "masked":
            settings += ["--set", "train.max_steps=40", "--set", "train.learning_rate=0.03"]
        done = seqloom("train", f"train-{task}.tsv", "--out", task, *settings, cwd=place)
        assert done.returncode == 0, done.stderr
        assert ("accuracy" in done.stderr) == (task != "masked")
        assert ("(accuracy: last " in done.stderr) == (task != "masked")  # it chose the weights
    return place


def test_evaluate_a_classifier(folder: Path, seqloom: Run) -> None:
    done = seqloom("evaluate", "classify", "test-classify.tsv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "60 texts" in done.stdout and "accuracy (+)" in done.stdout and "macro F1 (+)" in done.stdout
    assert "very good" in done.stdout
    found = json.loads(seqloom("evaluate", "classify", "test-classify.tsv", "--json", cwd=folder).stdout)
    assert found["accuracy"]["score"] > 90
    assert found["accuracy"]["low"] <= found["accuracy"]["score"] <= found["accuracy"]["high"]
    assert (found["task"], found["texts"], found["excluded"]) == ("classify", 60, {})
    assert {row["label"] for row in found["labels"]} == {"very good", "bad"}


def test_labels_may_be_piped_in(folder: Path, seqloom: Run) -> None:
    tabbed = (folder / "test-classify.tsv").read_text("utf-8")
    done = seqloom("evaluate", "classify", "-", "--json", cwd=folder, stdin=tabbed)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["texts"] == 60
    blanks = tabbed.replace("very good", "good").replace("\t", " ")
    done = seqloom("doctor", "-", "--task", "classify", "--json", stdin=blanks)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["corpora"][0]["kept"] == 60


def test_evaluate_a_tagger_against_itself(folder: Path, seqloom: Run) -> None:
    words = ("evaluate", "tag", "test-tag.tsv", "--against", "tag")
    found = json.loads(seqloom(*words, "--json", cwd=folder).stdout)
    assert found["accuracy"]["score"] > 90 and found["whole_texts"]["score"] <= found["accuracy"]["score"]
    assert found["against"]["differences"]["accuracy"]["difference"] == 0
    assert found["against"]["differences"]["accuracy"]["p_value"] == 1
    assert found["places"] == sum(row["wanted"] for row in found["labels"])
    text = seqloom(*words, cwd=folder).stdout
    assert "whole texts right (+)" in text and "difference" in text


@pytest.mark.parametrize("task", ["classify", "tag"])
def test_labels_are_written_beside_the_records(task: str, folder: Path, seqloom: Run, tmp_path: Path) -> None:
    assert seqloom("evaluate", task, f"test-{task}.tsv", "--outputs", tmp_path / "o", cwd=folder).returncode == 0
    rows = [line.split("\t") for line in (folder / f"test-{task}.tsv").read_text("utf-8").splitlines()]
    texts = "".join(f"{row[1] if task == 'classify' else row[0]}\n" for row in rows)
    assert (tmp_path / "o").read_text("utf-8") == seqloom("translate", task, cwd=folder, stdin=texts).stdout


@pytest.mark.parametrize("task", ["classify", "tag"])
def test_labels_of_another_system_are_measured_and_compared(
    task: str, folder: Path, seqloom: Run, tmp_path: Path
) -> None:
    file = tmp_path / "labels.txt"
    words = ("evaluate", task, f"test-{task}.tsv", "--json")
    model = json.loads(seqloom(*words, "--outputs", file, cwd=folder).stdout)
    alone = seqloom("evaluate", file, f"test-{task}.tsv", "--task", task, "--json", cwd=folder)
    found = json.loads(alone.stdout)
    assert found["accuracy"] == model["accuracy"]
    assert (found["labels"], found["outputs_of"]) == (model["labels"], str(file))
    for pair in (
        ("evaluate", task, f"test-{task}.tsv", "--against", file),
        ("evaluate", file, words[2], "--against", task),
    ):
        rival = json.loads(seqloom(*pair, "--json", cwd=folder).stdout)["against"]
        assert rival["scores"]["accuracy"] == model["accuracy"]
        assert rival["differences"]["accuracy"]["p_value"] == 1
    text = seqloom("evaluate", file, f"test-{task}.tsv", "--task", task, cwd=folder).stdout
    assert f", labels of {file}" in text.splitlines()[0]


def test_a_line_of_tags_must_have_one_per_word(folder: Path, seqloom: Run, tmp_path: Path) -> None:
    (tmp_path / "o").write_text("X\n" * 60, "utf-8")
    done = seqloom("evaluate", tmp_path / "o", "test-tag.tsv", "--task", "tag", cwd=folder)
    assert done.returncode == 3
    assert f"{tmp_path / 'o'}, line 1: 1 tags for the " in done.stderr
    assert "want one tag per word" in done.stderr


def test_outputs_of_a_task_without_any_are_refused(folder: Path, seqloom: Run, tmp_path: Path) -> None:
    done = seqloom("evaluate", "masked", "test-masked.tsv", "--outputs", tmp_path / "o", cwd=folder)
    assert done.returncode == 2
    assert "masked was trained for 'masked'; --outputs writes the outputs of: translate, summarise" in done.stderr


def test_words_that_the_training_data_lacks_are_told_apart(folder: Path, seqloom: Run, tmp_path: Path) -> None:
    (tmp_path / "new.tsv").write_text("a zebra\tDET NOUN\nthe film\tDET NOUN\n")
    found = json.loads(seqloom("evaluate", "tag", tmp_path / "new.tsv", "--json", cwd=folder).stdout)
    assert found["new_words"]["score"] in (0, 100)  # one word
    (tmp_path / "old.tsv").write_text("the film\tDET NOUN\n")
    assert "new_words" not in json.loads(seqloom("evaluate", "tag", tmp_path / "old.tsv", "--json", cwd=folder).stdout)


@pytest.mark.parametrize(
    ("kind", "size", "want"),
    [
        ("bpe", 300, [[False, False], [False, True]]),
        ("word", 50, [[True, False], [True, True]]),  # The is not the: to this vocabulary another word
        ("lower", 50, [[False, False], [False, True]]),  # to this one the same
        ("word", 6, None),  # cut off: an unknown word may have been there
    ],
)
def test_new_words_are_those_that_the_tokenizer_can_tell_from_old_ones(
    kind: str, size: int, want: list[list[bool]] | None, tmp_path: Path
) -> None:
    texts = ["the film", "the story", "a film"] * 10
    tokenizer = learn_tokenizer("word" if kind == "lower" else kind, texts, size)
    if kind == "lower":
        tokenizer.engine.normalizer = Lowercase()
    if kind == "bpe":
        texts += ["The film"] * 3
    (tmp_path / "a.txt").write_text("".join(f"{text}\n" for text in texts), "utf-8")
    spec = CorpusSpec.parse(str(tmp_path / "a.txt"), form="text")
    prepare(tmp_path / "store", [spec], Tokenizers(tokenizer, tokenizer), DataConfig(), 1, [spec])
    assert find_new_words(tmp_path, tokenizer, ["The film", "The zebra"]) == want


def test_evaluate_a_masked_model_twice_alike(folder: Path, seqloom: Run) -> None:
    one, other = (
        json.loads(seqloom("evaluate", "masked", "test-masked.tsv", "--json", cwd=folder).stdout) for _ in "ab"
    )
    assert one["loss"] == other["loss"] and one["accuracy"] == other["accuracy"]
    assert 0 < one["loss"]["score"] < 10 and one["places"] >= 1
    done = seqloom("evaluate", "masked", "test-masked.tsv", "--against", "masked", cwd=folder)
    assert done.returncode == 2 and "--against compares models of: translate" in done.stderr


def test_translate_is_one_line_in_one_line_out(folder: Path, seqloom: Run) -> None:
    text = "a good film\n\nthe awful story\n"
    assert seqloom("translate", "classify", cwd=folder, stdin=text).stdout == "very good\n\nbad\n"
    assert seqloom("translate", "tag", cwd=folder, stdin=text).stdout == "DET ADJ NOUN\n\nDET ADJ NOUN\n"
    filled = seqloom("translate", "masked", cwd=folder, stdin="a ___ film\nthe story\n").stdout.splitlines()
    assert len(filled) == 2 and filled[1] == "the story" and "___" not in filled[0]
    ranked = seqloom("translate", "classify", "--n-best", "2", "--scores", cwd=folder, stdin="a good film\n").stdout
    assert [line.split("\t")[0::2] for line in ranked.splitlines()] == [["1", "very good"], ["1", "bad"]]
    refused = seqloom("translate", "tag", "--beam", "3", cwd=folder, stdin=text)
    assert refused.returncode == 2 and "--beam is for models that write" in refused.stderr


def test_info_checks_the_golden_answers(folder: Path, seqloom: Run) -> None:
    for task in WRITE:
        done = seqloom("info", task, "--check", cwd=folder)
        assert done.returncode == 0, done.stderr
    asked = json.loads((folder / "masked" / "golden.json").read_text("utf-8"))
    assert asked and all("___" in pair["source"] and "___" not in pair["target"] for pair in asked)


def test_labels_that_the_model_does_not_know(folder: Path, seqloom: Run, tmp_path: Path) -> None:
    good = (folder / "test-classify.tsv").read_text("utf-8")
    (tmp_path / "one.tsv").write_text(good + "fair\ta film\n", "utf-8")
    done = seqloom("evaluate", "classify", tmp_path / "one.tsv", "--json", cwd=folder)
    assert "unknown label" in done.stderr and "line 61: fair" in done.stderr and "counts as wrong" in done.stderr
    assert json.loads(done.stdout)["texts"] == 61
    (tmp_path / "all.tsv").write_text(good.replace("very good", "pos").replace("bad", "neg"), "utf-8")
    done = seqloom("evaluate", "classify", tmp_path / "all.tsv", cwd=folder)
    assert done.returncode == 3 and "60 of 60 lines have a label that the model does not know" in done.stderr
    assert "It knows: " in done.stderr and "Traceback" not in done.stderr
    assert seqloom("evaluate", "classify", tmp_path / "all.tsv", "--allow-loss", cwd=folder).returncode == 0


@pytest.mark.parametrize(
    ("task", "bad", "said"),
    [
        ("tag", "a film\tDET\n", "line 61: 2 word(s), 1 tag(s)"),
        ("tag", "a film\n", "line 61: 1 column, want 2"),
        ("classify", "bad\t \n", "line 61: text"),
        ("classify", "\n", "line 61: a blank line"),
    ],
)
def test_lines_that_do_not_fit_are_named(
    task: str, bad: str, said: str, folder: Path, seqloom: Run, tmp_path: Path
) -> None:
    file = tmp_path / "bad.tsv"
    file.write_text((folder / f"test-{task}.tsv").read_text("utf-8") + bad, "utf-8")
    done = seqloom("evaluate", task, file, cwd=folder)
    assert done.returncode == 0 and said in done.stderr
    report = seqloom("doctor", file, "--task", task)
    assert report.returncode == 0 and said in report.stdout and "kept 60 of 61" in report.stdout
    file.write_text(bad * 3, "utf-8")
    for words in (
        ("evaluate", task, file),
        ("doctor", file, "--task", task),
        ("train", file, "--task", task, "--out", "x"),
    ):
        done = seqloom(*words, cwd=folder)
        assert done.returncode == 3 and "Traceback" not in done.stderr


def test_the_doctor_knows_files_of_labels(seqloom: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "test.tsv").write_text("fair\tx\nbad\ty\nfair\tz\n")
    done = seqloom(
        "doctor", folder / "train-classify.tsv", "--task", "classify", "--test", tmp_path / "test.tsv", "--json"
    )
    about = json.loads(done.stdout)["corpora"][0]["test"]
    (finding,) = [one for one in about["findings"] if one["kind"] == "unknown label"]
    assert (finding["count"], finding["lines"], finding["severity"]) == (2, [1], "kept")
    swapped = tmp_path / "swapped.tsv"
    swapped.write_text("".join(f"this is text {n}\t{'bad' if n % 2 else 'good'}\n" for n in range(60)))
    done = seqloom("doctor", swapped, "--task", "classify")
    assert done.returncode == 3 and "labels never repeat" in done.stdout and "--columns 2,1" in done.stdout
    assert seqloom("doctor", swapped, "--task", "classify", "--columns", "2,1").returncode == 0
    done = seqloom("doctor", "-", "--task", "classify", stdin="bad\tx\nbad\ty\n")
    assert done.returncode == 3 and "every line has bad: nothing to distinguish" in done.stdout
    assert seqloom("doctor", "-", "--task", "masked", stdin="one\n\ntwo\n").returncode == 0
    done = seqloom("doctor", swapped, "--task", "clasify")
    assert done.returncode == 2 and "Did you mean 'classify'?" in done.stderr


def test_a_rival_for_another_task_is_refused(folder: Path, seqloom: Run) -> None:
    done = seqloom("evaluate", "classify", "test-classify.tsv", "--against", "tag", cwd=folder)
    assert done.returncode == 2 and "trained for 'tag'; compare with a model trained for 'classify'" in done.stderr


def test_the_rival_has_as_many_threads(folder: Path, seqloom: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from seqloom.runtime.labeller import Labeller

    asked, load = [], Labeller.load
    monkeypatch.setattr(Labeller, "load", lambda folder, threads=None: asked.append(threads) or load(folder, threads))
    words = ("evaluate", "classify", "test-classify.tsv", "--against", "classify", "--threads", 1)
    assert seqloom(*words, cwd=folder).returncode == 0
    assert asked == [1, 1]
