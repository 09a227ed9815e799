"""Labels as a vocabulary: every label of the data, exactly as written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.text.labels import as_written, learn_labels, one_word, shared_labels
from seqloom.text.vocabulary import FIRST_WORD, UNK


@pytest.mark.parametrize(("label", "kept"), [("very good", "very▁good"), (" a  b\tc ", "a▁b▁c"), ("x", "x")])
def test_a_label_of_several_words_is_one_word(label: str, kept: str) -> None:
    assert one_word(label) == kept
    assert as_written(kept) == " ".join(label.split())


def test_each_label_is_one_token_and_comes_back() -> None:
    labels = ["very good", "</s>", "<pad>", "1", "bad", "日本", "bad"]
    vocabulary = learn_labels(map(one_word, labels))
    assert len(vocabulary) == FIRST_WORD + 6
    for label in labels:
        ids = vocabulary.encode(one_word(label))
        assert len(ids) == 1 and ids[0] >= FIRST_WORD
        assert as_written(vocabulary.decode(ids)) == label


def test_a_label_that_no_line_has_is_unknown() -> None:
    assert learn_labels(["a", "b"]).encode("c") == [UNK]


def test_which_rows_of_two_lists_are_the_same_label() -> None:
    new, old = learn_labels(["a", "b", "b", "c"]), learn_labels(["c", "a", "a", "d"])
    rows = shared_labels(new, old)
    assert {new.decode([here]): old.decode([there]) for here, there in rows.items()} == {"": "", "a": "a", "c": "c"}
    assert [rows[special] for special in range(FIRST_WORD)] == [*range(FIRST_WORD)]
    assert len(rows) == FIRST_WORD + 2


def test_tags_of_a_text_are_tokens_in_their_order() -> None:
    vocabulary = learn_labels(["DET NOUN", "VERB"])
    ids = vocabulary.encode("VERB DET NOUN DET")
    assert [vocabulary.decode([index]) for index in ids] == ["VERB", "DET", "NOUN", "DET"]


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="▁"), min_size=1).filter(str.strip))
)
def test_any_label_survives(labels: list[str]) -> None:
    vocabulary = learn_labels([*map(one_word, labels), "x"])
    for label in labels:
        assert as_written(vocabulary.decode(vocabulary.encode(one_word(label)))) == " ".join(label.split())
