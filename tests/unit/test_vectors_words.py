"""Texts become words and ids; one-hot and bag of words need no learning."""

import numpy as np
import pytest

from seqloom.errors import DataError, UsageError
from seqloom.vectors.bag import BagOfWords, one_hot
from seqloom.vectors.words import read_corpus, split_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The cat, the CAT.", ["the", "cat", "the", "cat"]),
        ("don’t -- re-open 'it' (1,234)", ["don't", "re-open", "it", "1", "234"]),
        ("हिन्दी में", ["हिन्दी", "में"]),  # vowel signs are marks, and part of the word
        ("a_b c/d e—f", ["a", "b", "c", "d", "e", "f"]),
        ("... -- '' ", []),
    ],
)
def test_words_are_letters_marks_and_digits(text, words):
    assert split_words(text) == words


def test_case_and_signs_stay_when_asked_for():
    assert split_words("The cat.", keep_case=True) == ["The", "cat"]
    assert split_words("The cat.", spaces=True) == ["the", "cat."]
    assert split_words("The cat.", keep_case=True, spaces=True) == ["The", "cat."]


def test_a_corpus_is_ids_by_frequency_without_the_rare():
    texts = [["b", "a", "x"], ["c", "a", "b"], [], ["a", "c"]]
    corpus = read_corpus(texts, 2, "t")
    assert corpus.words == ["a", "b", "c"]  # b and c are as frequent: by their letters
    assert corpus.counts.tolist() == [3, 2, 2]
    assert corpus.ids.tolist() == [1, 0, 2, 0, 1, 0, 2]
    assert corpus.text_of.tolist() == [0, 0, 1, 1, 1, 3, 3]
    assert (corpus.num_words, corpus.num_texts) == (8, 4)


@pytest.mark.parametrize(
    ("texts", "said"),
    [([], "t: has no words"), ([[]], "no word"), ([["a", "a"], ["b"]], "'a' is the most frequent, 2")],
)
def test_too_little_text_is_refused(texts, said):
    with pytest.raises(DataError, match=said):
        read_corpus(texts, 2, "t")


def test_a_bag_of_words_is_the_sum_of_its_one_hot_vectors():
    bag = BagOfWords.fit(["a b a", "b c", "b"])
    assert bag.terms == ["b", "a", "c"]
    rows = bag.transform(["a b a zebra", ""])
    ids = [bag.terms.index(word) for word in "aba"]
    assert one_hot([2, 0], 3).tolist() == [[0, 0, 1], [1, 0, 0]]
    np.testing.assert_array_equal(rows.dense(), [one_hot(ids, 3).sum(0), [0, 0, 0]])
    np.testing.assert_array_equal(rows.dense([1, 0, 0])[1:], rows.dense()[[0, 0]])
    assert (len(rows), rows.width) == (2, 3)


def test_one_hot_vectors_of_a_large_vocabulary_take_a_row_each():
    rows = one_hot([0, 10**6 - 1], 10**6)  # the matrix of all of them would be four terabytes
    assert rows.shape == (2, 10**6)
    assert rows.dtype == np.float32
    assert rows[0, 0] == rows[1, -1] == rows.sum() / 2 == 1
    assert one_hot([], 3).shape == (0, 3)


@pytest.mark.parametrize("wrong", [-1, 3])
def test_an_id_that_no_word_has_is_refused(wrong):
    with pytest.raises(UsageError, match=rf"id {wrong}: want 0 to 2"):
        one_hot([0, wrong], 3)


def test_tf_idf_by_hand():
    bag = BagOfWords.fit(["a b a", "b c", "b"], "tf-idf")
    b, a = np.log(4 / 4) + 1, 2 * (np.log(4 / 2) + 1)
    length = np.hypot(a, b)
    np.testing.assert_allclose(
        bag.transform(["a b a", "zebra"]).dense(), [[b / length, a / length, 0], [0, 0, 0]], 1e-6
    )


def test_a_bag_takes_ids_of_any_tokenizer_and_only_the_frequent():
    bag = BagOfWords.fit([[7, 7, 5], [5, 9], [9, 5]], min_count=2, max_words=1)
    assert bag.terms == [5]
    assert bag.transform([[5, 5, 9]]).dense().tolist() == [[2]]


def test_a_bag_of_nothing_or_of_a_wrong_kind_is_refused():
    with pytest.raises(DataError, match="texts occurs in 3"):
        BagOfWords.fit(["a", "a"], min_count=3)
    with pytest.raises(UsageError, match="Did you mean 'tf-idf'"):
        BagOfWords.fit(["a"], "tfidf")
