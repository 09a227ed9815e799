"""ROUGE in any script; English as rouge-score has it, to the last bit."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenizers import DefaultTokenizer

from seqloom.config import TASKS
from seqloom.metrics.measures import measure
from seqloom.metrics.rouge_words import RougeWords

TYPES = ["rouge1", "rouge2", "rougeL"]
ENGLISH = [
    "The quick brown foxes were jumping over 12 lazy dogs.",
    "Police killed the gunman; the gunman's victims (3 of them) aren't named.",
    "A state-of-the-art summariser: it summarises running summaries' summary, relationally!",
    "“Don’t,” she said – £5,000 … was flying dying tying 4ths x² ½ 100% ❤️ 1️⃣ under_scored",
    "",
]
PERFECT = {
    "Greek": "Η γρήγορη αλεπού κοιμάται",
    "Russian": "Быстрая лиса прыгает через собаку",
    "Arabic": "الثعلب السريع يقفز",
    "Hindi": "तेज़ लोमड़ी कूदती है",
    "Korean": "빠른 여우가 뛴다",
    "Chinese": "今天天气很好。",
    "Japanese": "東京タワーへ行きました。",
    "Thai": "วันนี้อากาศดี",
    "Burmese": "ယနေ့ရာသီဥတု",
    "German": "Viele Grüße aus Köln",
}


@pytest.mark.parametrize("text", PERFECT.values(), ids=PERFECT)
def test_a_perfect_summary_is_perfect_in_any_script(text):
    found = measure([text], [[text]], names=TASKS["summarise"].metrics)
    assert [found[name].score for name in ("rouge_1", "rouge_2", "rouge_l")] == [100, 100, 100]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Viele GRÜSSE, naïve Köche's", ["viel", "grüsse", "naïve", "köche", "s"]),
        ("ΟΔΟΣ και Ѐ-Ё", ["οδος", "και", "ѐ", "ё"]),
        ("2024年に東京タワーへ。AI技術", ["2024", *"年に東京タワーへ", "ai", "技", "術"]),
        ("二〇二四・時々", list("二〇二四時々")),
        ("अंतरराष्ट्रीय है।", ["अंतरराष्ट्रीय", "है"]),
        ("दिल्ली १२३", ["दिल्ली", "१२३"]),
        ("ที่", list("ที่")),
        ("❤️ 1️⃣ x² 🇩🇪 \ud800", ["1", "x"]),
    ],
)
def test_words_are_letters_marks_and_digits(text, words):
    assert RougeWords().tokenize(text) == words


def test_an_accent_counts_the_same_however_it_is_written():
    parts = unicodedata.normalize("NFD", "Été à Köln")
    assert parts != "Été à Köln"
    assert RougeWords().tokenize(parts) == RougeWords().tokenize("Été à Köln") == ["été", "à", "köln"]


def test_one_of_two_accented_words_is_half():
    """By the words of rouge-score two of three: `gr e sterreich` and `gr e bermut`."""
    assert measure(["Grüße Österreich"], [["Grüße Übermut"]], names=TASKS["summarise"].metrics)[
        "rouge_1"
    ].score == pytest.approx(50)


def test_english_scores_are_those_of_rouge_score_to_the_last_bit():
    theirs, ours = RougeScorer(TYPES, use_stemmer=True), RougeScorer(TYPES, tokenizer=RougeWords())
    for target in ENGLISH:
        assert RougeWords().tokenize(target) == DefaultTokenizer(use_stemmer=True).tokenize(target)
        for output in ENGLISH:
            assert ours.score(target, output) == theirs.score(target, output)


@given(st.text(st.characters(max_codepoint=127)))
def test_any_ascii_text_has_the_words_that_rouge_score_finds(text):
    assert RougeWords().tokenize(text) == DefaultTokenizer(use_stemmer=True).tokenize(text)


def test_the_signature_names_the_words():
    found = measure(["a"], [["a"]], names=TASKS["summarise"].metrics)["rouge_1"]
    assert found.signature == "nrefs:1|case:lc|tok:unicode-words|stem:porter|f1:mean|rouge-score"
