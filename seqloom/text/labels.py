"""Labels and tags as a vocabulary: every one that the training data has, and no other.

A label is one token, whatever it is spelled; blanks in it are kept as the sign for a blank.
"""

from collections.abc import Iterable

from seqloom.text.learn import learn_tokenizer
from seqloom.text.tokenizer import BLANK, Tokenizer

MOST_LABELS = 10**5  # more are texts, not labels


def one_word(label: str) -> str:
    return BLANK.join(label.split())


def as_written(label: str) -> str:
    return label.replace(BLANK, " ")


def learn_labels(labels: Iterable[str]) -> Tokenizer:
    return learn_tokenizer("word", labels, MOST_LABELS)


def shared_labels(new: Tokenizer, old: Tokenizer) -> dict[int, int]:
    """The id here -> the id there of each label that both know, the special tokens included."""
    there = {token: index for index, token in enumerate(old.tokens())}
    return {index: there[token] for index, token in enumerate(new.tokens()) if token in there}
