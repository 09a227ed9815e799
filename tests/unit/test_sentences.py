"""Splitting a text at sentence ends: nothing lost, abbreviations whole, fast on anything."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.runtime.sentences import split_in_two, split_sentences


@pytest.mark.parametrize(
    "parts",
    [
        ["One. ", "Two! ", "Three? ", "Four"],
        ["Mr. Smith met Dr. Who. ", "They left."],
        ["J. S. Bach wrote it. ", "We listened."],
        ["It costs 3.14 on example.org. ", "Cheap!"],
        ["Er kam am 3. Oktober z.B. nach Bonn. ", "Dann ging er."],
        ["See No. 5. "],
        ["He said no. ", "Then he left."],
        ['"Stop!" ', "She stopped."],
        ["« Non. » ", "Il partit."],
        ["Wait... what? ", "Yes."],
        ["Wait... ", "What?"],
        ["今天很好。", "明天呢？", "好"],
        ["line one\n", "line two\u2028", "line three"],
        ["no end at all"],
        ["  leading. ", "Then."],
        [],
    ],
)
def test_sentences(parts):
    assert split_sentences("".join(parts)) == parts


@given(st.text(alphabet=st.sampled_from(" .!?。…\n\"')aB3Mr\u2028") | st.characters(), max_size=200))
def test_nothing_is_lost(text):
    parts = split_sentences(text)
    assert "".join(parts) == text
    assert all(parts)


@pytest.mark.parametrize(
    "text", ["." * 10**6, "a" * 10**6, ".)" * 500_000, "." + ")" * 10**6, "a. " * 300_000, "\n" * 10**6]
)
def test_a_hostile_megabyte_is_split_at_once(text):
    start = time.process_time()
    split_sentences(text)
    assert time.process_time() - start < 3


@pytest.mark.parametrize(
    ("sentence", "halves"),
    [
        ("one two three, four five six", ["one two three,", "four five six"]),
        ("a, one two three four five six", ["a, one two three", "four five six"]),  # the comma stands too early
        ("eins zwei; drei vier: fünf sechs", ["eins zwei;", "drei vier: fünf sechs"]),
        ("一二三四、五六七八", ["一二三四、", "五六七八"]),
        ("一，二三四五六七。", ["一，", "二三四五六七。"]),  # early, but there is no blank
        ("一二三四五，", []),
        ("  one  ", []),
        ("", []),
    ],
)
def test_a_sentence_in_two(sentence, halves):
    assert split_in_two(sentence) == halves


@given(st.text(alphabet=st.sampled_from(" ,;aB"), max_size=60))
def test_two_halves_have_all_the_words(sentence):
    halves = split_in_two(sentence)
    assert not halves or (all(halves) and "".join("".join(halves).split()) == "".join(sentence.split()))
