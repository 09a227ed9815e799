"""From words to pieces and back: which piece has a word's tag."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.text.learn import learn_tokenizer
from seqloom.text.tags import NO_WORD, last_pieces, number_words, tag_pieces, words_of_pieces
from seqloom.text.vocabulary import PAD

TEXTS = ["the unlikely end", "the end of the end", "un like ly", "naïve 日本 end"]
TOKENIZERS = {
    "bpe": learn_tokenizer("bpe", TEXTS, 280),
    "unigram": learn_tokenizer("unigram", TEXTS, 280),
    "char": learn_tokenizer("char", TEXTS, 280),
    "word": learn_tokenizer("word", TEXTS, 20),
}


def test_the_last_piece_of_a_word_carries_its_tag() -> None:
    """the | un like ly | end"""
    spans = [(0, 3), (3, 6), (6, 10), (10, 12), (12, 16)]
    assert tag_pieces("the unlikely end", spans, [7, 8, 9]) == [7, PAD, PAD, 8, 9]


def test_blanks_of_their_own_have_no_tag() -> None:
    spans = [(0, 1), (1, 3), (3, 5), (5, 6)]
    assert words_of_pieces("a  bb ", spans) == [0, NO_WORD, 1, NO_WORD]
    assert tag_pieces("a  bb ", spans, [7, 8]) == [7, PAD, 8, PAD]


def test_a_word_without_a_piece_is_passed_over() -> None:
    """Some foreign tokenizers throw control characters away."""
    assert last_pieces([0, 2, 2], 3) == [0, None, 2]
    assert tag_pieces("a b cc", [(0, 1), (4, 5), (5, 6)], [7, 8, 9]) == [7, PAD, 9]


def test_a_piece_that_stands_nowhere_has_no_word() -> None:
    assert words_of_pieces("ab", [(0, 0), (0, 2)]) == [NO_WORD, 0]


@given(st.text(max_size=30))
def test_words_are_numbered_as_python_parts_them(text: str) -> None:
    numbers = number_words(text)
    assert len(numbers) == len(text)
    words: dict[int, str] = {}
    for number, letter in zip(numbers, text, strict=True):
        if number != NO_WORD:
            words[number] = words.get(number, "") + letter
    assert [words[number] for number in sorted(words)] == text.split()


@pytest.mark.parametrize("kind", TOKENIZERS)
@given(
    words=st.lists(
        st.sampled_from(["the", "unlikely", "end", "naïve", "日本", "x", "...", "e-mail", "don't"]), min_size=1
    )
)
def test_every_word_has_its_tag_once_and_in_order(kind: str, words: list[str]) -> None:
    tokenizer, text = TOKENIZERS[kind], " ".join(words)
    tags = list(range(4, 4 + len(words)))
    laid = tag_pieces(text, tokenizer.spans_batch([text])[0], tags)
    assert len(laid) == len(tokenizer.encode(text))
    assert [tag for tag in laid if tag != PAD] == tags
