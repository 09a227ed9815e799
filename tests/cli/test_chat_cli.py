"""`seqloom chat`: one answer per line, earlier turns for models that read them, and refusal of other models."""

import io
import sys

import pytest

from seqloom.cli.app import main
from seqloom.runtime.parts import Translation
from seqloom.runtime.translator import Translator
from seqloom.workflows.chat import join_turns


@pytest.fixture
def chat(monkeypatch, capsys):
    def run(folder, stdin, *words):
        content = stdin if isinstance(stdin, bytes) else stdin.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        code = main(["chat", str(folder), *words])
        out, err = capsys.readouterr()
        return code, out.split("\n")[:-1], err

    return run


@pytest.fixture
def asked(monkeypatch):
    """The sources that a model is given."""
    seen = []
    answer = Translator.answer

    def spy(self, texts, *rest, **about):
        seen.extend(texts)
        return answer(self, texts, *rest, **about)

    monkeypatch.setattr(Translator, "answer", spy)
    return seen


def test_a_model_of_single_turns_is_asked_the_last_line_alone(chat, random_model, asked):
    folder = random_model("task.name=dialogue")
    code, answers, err = chat(folder, "a cat\n\n  the mat \r\n")
    assert code == 0
    assert asked == ["a cat", "the mat"]
    cat, mat = (" ".join(text.splitlines()) for text in Translator.load(folder).translate(["a cat", "the mat"]))
    assert answers == [cat, "", mat]  # a line for every line, as programs count on
    assert err == ""


def test_a_model_of_turns_is_told_what_was_said_before(chat, random_model, monkeypatch):
    asked = []

    def answer(self, texts, *rest, **about):
        asked.extend(texts)
        return [[Translation(f"answer {len(asked)}", 0.0, 0.0)]]

    monkeypatch.setattr(Translator, "answer", answer)
    _, answers, _ = chat(random_model("task.name=dialogue", "task.turns=3", "data.max_tokens=100"), "a\nb\nc\n")
    assert asked == ["a", "a <turn> answer 1 <turn> b", "b <turn> answer 2 <turn> c"]
    assert answers == ["answer 1", "answer 2", "answer 3"]


def test_turns_that_do_not_fit_are_forgotten_oldest_first():
    assert join_turns(["a", "b", "c"], lambda text: True) == "a <turn> b <turn> c"
    assert join_turns(["a", "b", "c"], lambda text: len(text) < 14) == "b <turn> c"
    assert join_turns(["long"], lambda text: False) == "long"


def test_by_chance_the_same_seed_says_the_same(chat, random_model):
    folder = random_model("task.name=dialogue")
    lines = "a cat\nthe mat\n"
    first, again, other = (chat(folder, lines, "--temperature", "1", "--seed", seed)[1] for seed in ("3", "3", "4"))
    assert first == again
    assert first != other


def test_what_is_wrong_is_said(chat, random_model):
    code, _, err = chat(random_model("task.name=language", "model.kind=gpt"), "a\n")
    assert code == 2
    assert "this model was trained for 'language' and holds no dialogue; try `seqloom generate" in err
    code, _, err = chat(random_model("task.name=dialogue"), "a\n", "--beam", "3", "--seed", "1")
    assert code == 2
    assert "--beam" in err
    code, answers, _ = chat(random_model("task.name=dialogue"), b"caf\xe9\n")
    assert code == 0
    assert len(answers) == 1


def test_typed_lines_end_with_ctrl_d(random_model, monkeypatch, capsys):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    lines = iter(["", "a cat", " "])

    def ask(prompt):
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr("builtins.input", ask)
    assert main(["chat", str(random_model("task.name=dialogue"))]) == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 1
    assert err == "Type a line; Ctrl-D ends.\n\n"


def test_an_answer_by_chance_has_no_beam(chat, random_model):
    code, answers, err = chat(random_model("task.name=dialogue"), "a\n", "--temperature", "0.5", "--beam", "3")
    assert (code, answers) == (2, [])
    assert "--beam: sampling (--temperature, --top-p, --seed) uses no beam" in err


def test_what_the_fast_engine_lacks_is_told_in_a_sentence(chat, random_model, monkeypatch):
    """No warning of Python's with a file and a line."""
    load = Translator.load.__func__

    def tell(cls, *words, notice, **options):
        notice("the engine has no samples")
        return load(cls, *words, notice=notice, **options)

    monkeypatch.setattr(Translator, "load", classmethod(tell))
    _, _, err = chat(random_model("task.name=dialogue"), "a\n")
    assert err == "the engine has no samples\n"
