"""The metrics against sacrebleu itself and against numbers worked out by hand."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF, TER

from seqloom.config import TASKS
from seqloom.metrics import measures as metrics
from seqloom.metrics.measures import METRICS, bleu, distinct, error_rate, exact_match, measure, perplexity

WORDS = "the a cat dog sat on mat , . and then it Was there".split()  # noqa: SIM905


def sentences(number, seed, length=12):
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(1, length))) for _ in range(number)]


HYPOTHESES = sentences(60, 1)
ONE = [[reference] for reference in sentences(60, 2)]
VARIED = [
    [first, second] if place % 3 else [first]
    for place, (first, second) in enumerate(zip(sentences(60, 2), sentences(60, 3), strict=True))
]
STREAMS = [[known[0] for known in VARIED], [known[1] if len(known) > 1 else None for known in VARIED]]


@pytest.mark.parametrize(("name", "metric"), [("bleu", BLEU), ("chrf", CHRF), ("ter", TER)])
@pytest.mark.parametrize(("references", "streams"), [(ONE, [[k[0] for k in ONE]]), (VARIED, STREAMS)])
def test_scores_and_signatures_are_those_of_sacrebleu(name, metric, references, streams):
    theirs = metric()
    score = theirs.corpus_score(HYPOTHESES, streams).score
    ours = measure(HYPOTHESES, references)[name]
    assert ours.score == pytest.approx(score, abs=1e-9)
    assert ours.signature == str(theirs.get_signature())


def test_bleu_alone_is_the_same_bleu():
    assert bleu(HYPOTHESES, VARIED) == pytest.approx(measure(HYPOTHESES, VARIED)["bleu"].score, abs=1e-9)
    assert bleu(["a b c d e"], [["a b c d e"]]) == pytest.approx(100)


@pytest.mark.parametrize("task", [name for name, task in TASKS.items() if task.metrics])
def test_every_metric_is_measured_and_perfect_on_the_reference_itself(task):
    references = [[f"{known[0]} and more"] for known in ONE]  # ROUGE-2 of a single word is 0
    found = measure([known[0] for known in references], references, names=TASKS[task].metrics)
    names = [name for name in TASKS[task].metrics if name != "perplexity"]  # that needs the model
    assert list(found) == names
    assert set(names) <= set(METRICS)
    perfect = {name: 0 if METRICS[name].lower_is_better else 100 for name in names}
    assert {name: m.score for name, m in found.items()} == pytest.approx(perfect)


def test_rouge_is_the_mean_of_the_best_references_f1():
    outputs, references = ["the cats sat", "a dog"], [["a cat sat down", "x"], ["dogs a", "no"]]
    found = measure(outputs, references, names=TASKS["summarise"].metrics)
    # 2 of 3 words in 2 of 4 (cats is stemmed): F1 4/7; then 2 of 2 words, but not in their order
    assert found["rouge_1"].score == pytest.approx(100 * (4 / 7 + 1) / 2)
    assert found["rouge_2"].score == pytest.approx(100 * (2 / 5 + 0) / 2)
    assert found["rouge_l"].score == pytest.approx(100 * (4 / 7 + 1 / 2) / 2)


def test_a_word_is_right_when_any_pronunciation_matches():
    references = [["EH B", "AH B"], ["K AE T"], ["D AO G"]]
    found = measure(["AH B", "K  AE T", "D AO"], references, names=TASKS["pronounce"].metrics)
    assert found["word_error_rate"].score == pytest.approx(100 / 3)
    assert found["phoneme_error_rate"].score == pytest.approx(100 * 1 / 8)  # of 2, 3 and 3 phonemes one is wrong
    LOWER = {name for name, metric in METRICS.items() if metric.lower_is_better}
    assert {"word_error_rate", "phoneme_error_rate", "perplexity", "ter"} <= LOWER
    assert not {"bleu", "rouge_1", "exact_match"} & LOWER


def test_perplexity_is_of_all_tokens_together():
    found = perplexity([-2.0, -10.0], [2, 4])
    assert found.score == pytest.approx(np.exp(2.0))
    assert found.score_of(np.array([True, False])) == pytest.approx(np.exp(1.0))
    assert np.isfinite(perplexity([-1e9], [1]).score)


def test_distinct_groups_of_all_groups():
    assert distinct(["a b a", "a b"], 1) == pytest.approx(100 * 2 / 5)
    assert distinct(["a b a", "a b"], 2) == pytest.approx(100 * 2 / 3)  # none over the end of a text
    assert distinct(["a", ""], 2) == 0


def test_token_error_rate_by_hand():
    # 1 substitution of 3 words; 1 deletion of 2; of two references the nearer one: 0 of 1.
    found = error_rate(["a x c", "b", "k"], [["a b c"], ["b c"], ["k k k k", "k"]], str.split, "tok:space")
    assert found.statistics.tolist() == [[1, 3], [1, 2], [0, 1]]
    assert found.score == pytest.approx(100 * 2 / 6)
    assert found.signature == "nrefs:var|case:mixed|tok:space|ref:nearest"


def test_character_error_rate_by_hand():
    found = measure(["abcd", "  xy "], [["abed"], ["xyz"]])["character_error_rate"]
    assert found.score == pytest.approx(100 * (1 + 1) / (4 + 3))


def test_of_two_references_equally_near_the_longer_counts():
    assert error_rate(["a b"], [["a", "a b c"]], str.split, "").statistics.tolist() == [[1, 3]]


def test_exact_match_is_a_percentage_and_any_reference_will_do():
    found = exact_match(["a", "b ", "c", "D"], [["x", "a"], ["b"], ["x"], ["d"]])
    assert found.score == 50
    assert found.signature == "nrefs:var|case:mixed|strip:yes"


def test_empty_texts_are_counted_not_divided_by():
    found = measure(["", "x"], [[""], [""]])
    assert found["token_error_rate"].score == 100
    assert measure([""], [[""]])["token_error_rate"].score == 0
    assert measure([""], [["a"]])["bleu"].score == 0


def test_the_score_of_a_part_is_the_corpus_score_of_that_part():
    rows = np.arange(60) % 2 == 0
    found = measure(HYPOTHESES, VARIED)
    alone = measure(HYPOTHESES[::2], VARIED[::2])
    for name in TASKS["translate"].metrics:
        assert found[name].score_of(rows) == pytest.approx(alone[name].score)
        assert found[name].sentence_scores()[0] == pytest.approx(measure(HYPOTHESES[:1], VARIED[:1])[name].score)


@pytest.mark.parametrize(
    ("language", "tokens"), [("zh", "zh"), ("ja", "char"), ("zh-TW", "zh"), ("de", "13a"), ("", "13a")]
)
def test_bleu_splits_words_as_the_language_does(language, tokens):
    assert f"|tok:{tokens}|" in measure(["今天很好"], [["今天很好"]], language)["bleu"].signature


def test_a_ter_that_would_take_hours_is_left_out(monkeypatch):
    monkeypatch.setattr(metrics, "TER_SECONDS", -1.0)
    found = measure(HYPOTHESES, ONE)
    assert set(TASKS["translate"].metrics) - set(found) == {"ter"}


@pytest.mark.parametrize(("hypotheses", "references"), [([], []), (["a"], []), (["a"], [[]]), (["a"], [["a"], ["b"]])])
def test_sizes_that_do_not_match_are_refused(hypotheses, references):
    with pytest.raises(ValueError, match=r"reference|hypotheses"):
        measure(hypotheses, references)
    with pytest.raises(ValueError, match=r"reference|hypotheses"):
        bleu(hypotheses, references)


@given(
    st.lists(
        st.tuples(st.text(max_size=20), st.lists(st.text(max_size=20), min_size=1, max_size=3)), min_size=1, max_size=4
    )
)
def test_any_text_can_be_scored(pairs):
    hypotheses, references = zip(*pairs, strict=True)
    for name, found in measure(hypotheses, references).items():
        assert np.isfinite(found.score)
        assert found.score >= 0
        assert METRICS[name].lower_is_better or found.score <= 100 + 1e-9


def test_scoring_needs_no_torch(python):
    code = (
        "import sys; from seqloom.metrics.measures import bleu; bleu(['a'], [['a']]); sys.exit('torch' in sys.modules)"
    )
    assert python("-c", code).returncode == 0
