"""Vocabulary of labels and tags: all labels of the training data, each one token.

Spaces inside a label are stored as "▁".
"""

from collections.abc import Iterable

from seqloom.text.learn import learn_tokenizer
from seqloom.text.tokenizer import BLANK, Tokenizer

MOST_LABELS = 10**5  # more distinct ones are probably texts, not labels


def one_word(label: str) -> str:
    """A label as one word, its spaces replaced by "▁"."""
    return BLANK.join(label.split())


def as_written(label: str) -> str:
    """A label as in the data: the inverse of `one_word`."""
    return label.replace(BLANK, " ")


def learn_labels(labels: Iterable[str]) -> Tokenizer:
    """The vocabulary of these labels."""
    return learn_tokenizer("word", labels, MOST_LABELS)


def shared_labels(new: Tokenizer, old: Tokenizer) -> dict[int, int]:
    """New id -> old id for each label that both vocabularies have, including special tokens."""
    there = {token: index for index, token in enumerate(old.tokens())}
    return {index: there[token] for index, token in enumerate(new.tokens()) if token in there}
