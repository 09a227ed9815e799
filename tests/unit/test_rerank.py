"""Minimum Bayes risk by chrF: the numbers are sacrebleu's, repeats are votes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import CHRF

from seqloom.rerank.minimum_bayes_risk import chrf_matrix, mean_chrf, rank_by_risk

WORDS = [
    "the cat",
    "the cat sat",
    "a cat sat down",
    "dogs",
    "",
    " ",
    "a",
    "aaaaaaaa aaa",
    "ab ab ab",
    "la là où",
    "🙂 x",
]
texts = st.lists(st.sampled_from(WORDS) | st.text("ab é\t", max_size=12), min_size=1, max_size=6)


def by_sacrebleu(candidates):
    """Each candidate against every other one, one call a pair."""
    metric = CHRF()
    means = []
    for i, text in enumerate(candidates):
        others = [other for j, other in enumerate(candidates) if j != i]
        means.append(sum(metric.sentence_score(text, [other]).score for other in others) / max(1, len(others)))
    return means


@settings(max_examples=50)
@given(texts)
def test_the_mean_is_that_of_sacrebleu(candidates):
    assert mean_chrf(candidates).tolist() == pytest.approx(by_sacrebleu(candidates), abs=1e-9)


def test_the_whole_matrix_is_that_of_sacrebleu():
    metric = CHRF()
    expected = [[metric.sentence_score(text, [reference]).score for reference in WORDS] for text in WORDS]
    np.testing.assert_allclose(chrf_matrix(WORDS), expected, atol=1e-9)


def test_the_candidate_that_the_others_are_nearest_to():
    candidates = ["a dog runs over the field", "a dog runs in a field", "the dog runs in the field", "nothing of this"]
    assert rank_by_risk(candidates)[0] == int(np.argmax(by_sacrebleu(candidates))) == 2


def test_repeats_are_votes():
    assert rank_by_risk(["ab", "cd", "cd"]) == [1, 2, 0]
    assert rank_by_risk(["ab", "cd", "cd", "ab", "ab"]) == [0, 3, 4, 1, 2]
    assert mean_chrf(["cd", "cd", "ab"]).tolist() == [50.0, 50.0, 0.0]


def test_the_first_of_equals_and_a_single_one():
    assert rank_by_risk(["ab", "cd"]) == [0, 1]
    assert rank_by_risk(["ab"]) == [0]
    assert rank_by_risk(["", ""]) == [0, 1]
    assert rank_by_risk([]) == []
