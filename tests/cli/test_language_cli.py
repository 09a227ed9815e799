"""generate and evaluate of language models, by the command line."""

import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LANGUAGE = ("task.name=language", "task.window=16", "train.batch_tokens=64")
TEXT = "the cat sat on the mat\n\na small dog ran\nle chat dort là\n"


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 32 tokens in place of 256: a text of ten times TEXT is long enough for intervals."""
    monkeypatch.setattr("seqloom.evaluation.language_report.BLOCK_TOKENS", 32)


@pytest.fixture(scope="module", params=["gpt", "rnn"])
def folder(request: pytest.FixtureRequest, random_model: Callable[..., Path]) -> Path:
    return random_model(*LANGUAGE, f"model.kind={request.param}")


def call(*words: object) -> int:
    from seqloom.cli.app import main

    return main([str(word) for word in words])


def test_generate_prints_the_prompt_and_what_follows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("generate", folder, "--prompt", "the cat", "--tokens", 20, "--seed", 3) == 0
    text = capsys.readouterr().out
    assert text.startswith("the cat") and text.endswith("\n") and len(text) > 12
    assert call("generate", folder, "--prompt", "the cat", "--tokens", 20, "--seed", 3, "--num", 2) == 0
    first, second = capsys.readouterr().out.split("\n---\n")
    assert first == text[:-1] and second.startswith("the cat") and second[:-1] != first


def test_the_logits_of_a_text_are_never_all_there_at_once(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "text.txt"
    file.write_text(TEXT * 5, "utf-8")
    found = []
    for most in (2**22, 1000):  # a thousand numbers: three tokens of some three hundred
        monkeypatch.setattr("seqloom.evaluation.language.LOGITS_AT_ONCE", most)
        sizes = []
        monkeypatch.setattr(
            "seqloom.evaluation.language.log_softmax",
            lambda logits, sizes=sizes: sizes.append(logits.numel()) or logits.log_softmax(-1),
        )
        assert call("evaluate", folder, file, "--json") == 0
        assert max(sizes) <= most
        found.append(json.loads(capsys.readouterr().out)["perplexity"]["score"])
    assert len(sizes) > 5
    assert found[0] == pytest.approx(found[1], rel=1e-5)


def test_generate_from_a_file_and_from_nothing(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "prompt.txt"
    file.write_bytes(b"\xef\xbb\xbfthe cat\r\nsat\n")
    assert call("generate", folder, "--prompt-file", file, "--tokens", 5) == 0
    assert capsys.readouterr().out.startswith("the cat\nsat")
    assert call("generate", folder, "--tokens", 5, "--top-k", 3, "--top-p", 0.9, "--temperature", 0.5) == 0
    assert capsys.readouterr().out.endswith("\n")
    file.write_bytes(b"a\xff")
    assert call("generate", folder, "--prompt-file", file) == 2
    assert "no UTF-8 at byte 1" in capsys.readouterr().err


def test_a_prompt_may_be_piped_in(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"the cat"))))
    assert call("generate", folder, "--prompt-file", "-", "--tokens", 5) == 0
    assert capsys.readouterr().out.startswith("the cat")


def test_two_models_with_other_tokens_are_compared_by_bits_a_character(
    random_model: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "text.txt"
    file.write_text(TEXT * 10, "utf-8")
    gpt, rnn = (random_model(*LANGUAGE, f"model.kind={kind}") for kind in ("gpt", "rnn"))
    assert call("evaluate", gpt, file, "--against", rnn, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert call("evaluate", rnn, file, "--against", gpt, "--json") == 0
    other = json.loads(capsys.readouterr().out)
    ours, theirs = found["with_context"]["bits_per_character"]["score"], other["bits_per_character"]["score"]
    assert found["against"]["bits_per_character"] == pytest.approx(theirs)
    assert found["against"]["difference"]["difference"] == pytest.approx(ours - theirs)
    assert other["against"]["difference"]["difference"] == pytest.approx(theirs - ours)
    assert found["against"]["difference"]["low"] < ours - theirs < found["against"]["difference"]["high"]
    assert call("evaluate", gpt, file, "--against", rnn) == 0
    assert f"against {rnn}" in capsys.readouterr().out
    assert call("evaluate", gpt, file, "--against", random_model()) == 2
    assert "compare with a language model" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("task", "kind", "said"),
    [("language", "gpt", "1 of 2 lines of 20 tokens or more"), ("denoise", "transformer", "1 of 3 texts")],
)
def test_what_it_was_trained_on_is_counted(
    task: str, kind: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"the line number {number} of a text that is long enough" for number in range(40)]
    (tmp_path / "text.txt").write_text("".join(f"{line}\n\n" for line in lines), "utf-8")
    settings = f"model.kind={kind} model.layers=1 model.width=8 model.heads=2 text.tokenizer=char train.max_steps=2"
    words = [word for setting in settings.split() for word in ("--set", setting)]
    assert call("train", tmp_path / "text.txt", "--task", task, "--out", tmp_path / "run", *words) == 0
    (tmp_path / "test.txt").write_text(f"{lines[3]}\n\nthis line is new to it, and is as long\nshort\n", "utf-8")
    capsys.readouterr()
    assert call("evaluate", tmp_path / "run", tmp_path / "test.txt") == 0
    assert f"{said} were also in the training data" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--prompt", "a", "--prompt-file", "b"), "give one of them"),
        (("--num", "0"), "at least 1"),
        (("--tokens", "0"), "at least 1 token"),
        (("--temperature", "0"), "temperature"),
        (("--seed", "-1"), "seed"),
        (("--prompt-file", "nowhere.txt"), "no such file"),
        (("--threads", "0"), "threads"),
    ],
)
def test_generate_refuses(
    words: tuple[str, ...], said: str, random_model: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("generate", random_model(*LANGUAGE, "model.kind=rnn"), *words) == 2
    shown = capsys.readouterr()
    assert said in shown.err and shown.out == ""


def test_each_verb_names_the_other(
    random_model: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("generate", random_model("model.kind=rnn"), "--prompt", "a") == 2
    assert "seqloom translate" in capsys.readouterr().err
    (tmp_path / "a.txt").write_text("a\n")
    assert call("translate", random_model(*LANGUAGE, "model.kind=rnn"), tmp_path / "a.txt") == 2
    assert "seqloom generate" in capsys.readouterr().err


def evaluate(folder: Path, text: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert call("evaluate", folder, text, "--json") == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_evaluate_tells_perplexity_and_bits(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "text.txt"
    text.write_text(TEXT * 10, "utf-8")
    found = evaluate(folder, text, capsys)
    names = ("perplexity", "nats_per_token", "nats_per_character", "bits_per_character")
    scores = {name: found[name]["score"] for name in names}
    assert found["lines"] == 40 and found["characters"] == found["tokens"] == 10 * len(TEXT)
    assert scores["perplexity"] == pytest.approx(math.exp(scores["nats_per_token"]))
    assert scores["bits_per_character"] == pytest.approx(scores["nats_per_character"] / math.log(2))
    assert scores["nats_per_token"] == pytest.approx(foreseen(folder, text), rel=1e-4)
    for name in names:
        assert found[name]["low"] < scores[name] < found[name]["high"]
    gpt = "gpt" in (folder / "config.toml").read_text()
    assert bool(found["with_context"]) == gpt
    assert call("evaluate", folder, text) == 0
    shown = capsys.readouterr().out
    assert f"{scores['bits_per_character']:.4f}" in shown and ("tokens of context each" in shown) == gpt


def foreseen(folder: Path, text: Path) -> float:
    """The same by hand, in windows of 16 read from nothing (gpt), or all in one go (rnn)."""
    import torch

    from seqloom.data.language_windows import as_stream
    from seqloom.runtime.generator import Generator

    generator = Generator.load(folder)
    encoded = [generator.tokenizer.encode(line) for line in text.read_text("utf-8").split("\n")[:-1]]
    stream, model, total = torch.from_numpy(as_stream(encoded))[None], generator.model, 0.0
    num_tokens = stream.shape[1] - 1
    for begin in range(0, num_tokens, 16 if model.context else num_tokens):
        end = min(begin + 16, num_tokens) if model.context else num_tokens
        with torch.no_grad():
            log_probs = model.project(model.read(stream[:, begin:end], model.begin(1))[0]).log_softmax(-1)
        total -= float(log_probs.gather(-1, stream[:, begin + 1 : end + 1, None]).sum())
    return total / num_tokens


def test_what_a_model_foresees_does_not_depend_on_the_batches_of_its_training(
    random_model: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text.txt"
    text.write_text(TEXT * 10, "utf-8")
    window = ("task.name=language", "task.window=16", "model.kind=rnn")
    few, many = (random_model(*window, f"train.batch_tokens={size}") for size in (64, 4096))
    assert evaluate(few, text, capsys)["perplexity"]["score"] == pytest.approx(
        evaluate(many, text, capsys)["perplexity"]["score"], rel=1e-6
    )


def test_a_model_that_foresees_unknown_words_is_not_compared(
    random_model: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text.txt"
    text.write_text(TEXT.replace("dog", "zebra") * 10, "utf-8")
    letters, words = (random_model(*LANGUAGE, "model.kind=rnn", f"text.tokenizer={kind}") for kind in ("char", "word"))
    for ours, theirs in ((letters, words), (words, letters)):
        assert call("evaluate", ours, text, "--against", theirs, "--json") == 0
        found = json.loads(capsys.readouterr().out)
        assert found["against"]["difference"] is None
        assert "<unk>" in found["against"]["why_not"]
        assert [warning for warning in found["warnings"] if f"10 tokens are unknown words to {words}" in warning]
    assert call("evaluate", letters, text, "--against", words) == 0
    shown = capsys.readouterr().out
    assert "not compared" in shown and f"unknown words to {words}" in shown and "p = " not in shown


def test_a_text_on_one_line_has_no_interval(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "text.txt"
    text.write_text(TEXT.replace("\n", " ") * 10, "utf-8")
    assert call("evaluate", folder, text, "--against", folder, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["perplexity"]["score"] > 1
    assert found["perplexity"]["low"] is None and found["perplexity"]["high"] is None
    assert found["against"]["difference"]["difference"] == 0
    assert found["against"]["difference"]["p_value"] is None
    assert "blocks of whole lines" in found["warnings"][-1]
    assert call("evaluate", folder, text, "--against", folder) == 0
    shown = capsys.readouterr().out
    assert "nan" not in shown and "[" not in shown and "p = " not in shown and "blocks of whole lines" in shown


def test_the_rival_has_as_many_threads(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from seqloom.runtime.generator import Generator

    text, asked, load = tmp_path / "text.txt", [], Generator.load
    text.write_text(TEXT, "utf-8")
    monkeypatch.setattr(Generator, "load", lambda folder, threads=None: asked.append(threads) or load(folder, threads))
    assert call("evaluate", folder, text, "--against", folder, "--threads", 1) == 0
    assert asked == [1, 1]


def test_unknown_words_of_a_prompt_are_told_and_the_next_word_stands_apart(
    random_model: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    words = random_model(*LANGUAGE, "model.kind=rnn", "text.tokenizer=word")
    for prompt, unknown in (("hello", "hello"), ("the zebra\nhello zebra", "zebra, hello"), ("the cat", "")):
        assert call("generate", words, "--prompt", prompt, "--tokens", 5, "--num", 2) == 0
        shown = capsys.readouterr()
        assert shown.out.startswith(prompt) and shown.out.removeprefix(prompt)[0] in " \n"
        assert shown.err.count("does not know") == bool(unknown)
        assert unknown in shown.err


def test_evaluate_refuses_what_is_for_translations(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text.txt"
    text.write_text(TEXT)
    assert call("evaluate", folder, text, "--beam", 3) == 2
    assert "measured without ensembles and search: leave" in capsys.readouterr().err
    text.write_bytes(b"")
    assert call("evaluate", folder, text) == 3
    capsys.readouterr()
    text.write_bytes(b"a\xff\nb\n")
    assert call("evaluate", folder, text) == 3
    assert "line" in capsys.readouterr().err
