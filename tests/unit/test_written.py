"""Streaming decoder: whole characters only, each once, with the spaces between words."""

import pytest

from seqloom.text.learn import learn_tokenizer
from seqloom.text.vocabulary import EOS
from seqloom.text.written import WrittenText

TEXTS = ["the cat sat", "là où ça va", "日本語 and 🙂🙃", "  two  blanks ", "a"]
SIZES = {"char": 262, "bpe": 280, "unigram": 280, "word": 20}


@pytest.mark.parametrize("kind", SIZES)
def test_the_pieces_are_the_text(kind: str) -> None:
    tokenizer = learn_tokenizer(kind, ["the cat sat on the mat, là où ça va and two blanks"], SIZES[kind])
    for text in TEXTS:
        ids = [token for line in (text, "", text) for token in (*tokenizer.encode(line), EOS)]
        written = WrittenText(tokenizer)
        pieces = [written.add(token) for token in ids]
        line = tokenizer.decode(tokenizer.encode(text))
        assert "".join(pieces) == f"{line}\n\n{line}\n"
        assert written.end() == ""
        assert not any("\ufffd" in piece for piece in pieces)


def test_a_character_waits_for_all_its_bytes() -> None:
    tokenizer = learn_tokenizer("char", ["abc"], 262)
    written = WrittenText(tokenizer)
    assert [written.add(token) for token in tokenizer.encode("a🙂b")] == ["a", "", "", "", "🙂", "b"]


def test_what_never_becomes_a_character_is_shown_as_such() -> None:
    tokenizer = learn_tokenizer("char", ["abc"], 262)
    half = tokenizer.encode("🙂")[:2]
    written = WrittenText(tokenizer)
    shown = "".join(written.add(token) for token in [*half, *tokenizer.encode("a"), *half, EOS, *half])
    assert shown.strip("\ufffd") != shown and shown.replace("\ufffd", "") == "a\n"
    assert set(written.end()) == {"\ufffd"}
    shown.encode()


def test_a_word_after_a_prompt_keeps_its_blank() -> None:
    tokenizer = learn_tokenizer("word", ["the cat sat"], 20)
    prompt = tokenizer.encode("the cat")
    assert WrittenText(tokenizer, prompt).add(*tokenizer.encode("sat")) == " sat"
    assert WrittenText(tokenizer).add(*tokenizer.encode("sat")) == "sat"
