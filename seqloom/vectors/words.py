"""Corpus for word vectors: texts -> words -> ids.

A word is a sequence of letters, combining marks and digits, with apostrophes and hyphens inside. Other characters
separate words and are dropped. For text that is already tokenised, `spaces=True` splits at spaces only.
"""

import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

from seqloom.errors import DataError

JOINERS = "'-"  # inside a word, not at its ends


class Signs(dict[int, int]):
    """Table for str.translate: punctuation becomes a space, a typographic apostrophe or hyphen a plain one."""

    def __missing__(self, code: int) -> int:
        letter = chr(code)
        keep = letter in JOINERS or unicodedata.category(letter)[0] in "LMN"
        self[code] = code if keep else ord(" ")
        return self[code]


SIGNS = Signs({0x2019: ord("'"), 0x2010: ord("-"), 0x2011: ord("-")})


def split_words(text: str, keep_case: bool = False, spaces: bool = False) -> list[str]:
    """The words of a text, in lower case unless `keep_case`; with `spaces`, split at spaces only."""
    text = text if keep_case else text.lower()
    if spaces:
        return text.split()
    return [word for part in text.translate(SIGNS).split() if (word := part.strip(JOINERS))]


@dataclass(frozen=True)
class WordCorpus:
    """The frequent words, most frequent first, and all texts as ids of these words, concatenated."""

    words: list[str]
    counts: NDArray[np.int64]  # (V,)
    ids: NDArray[np.int32]  # (n,)
    text_of: NDArray[np.int32]  # (n,) the text of each id: windows end at the ends of texts
    num_words: int  # words of the texts, before rare ones were dropped
    num_texts: int


def read_corpus(texts: Iterable[list[str]], min_count: int, name: str) -> WordCorpus:
    """Make the corpus from texts, each a list of words. DataError if fewer than two words occur `min_count` times."""
    number_of: defaultdict[str, int] = defaultdict(count().__next__)
    ids, lengths = array("i"), array("i")
    for words in texts:
        ids.extend(map(number_of.__getitem__, words))
        lengths.append(len(words))
    found = np.frombuffer(ids, np.int32) if ids else np.zeros(0, np.int32)
    counts = np.bincount(found, minlength=len(number_of))
    # Equally frequent words in alphabetical order, so that the order of the texts does not matter.
    ranked = sorted(zip((-counts).tolist(), number_of, strict=True))
    words = [word for less, word in ranked if -less >= min_count]
    if len(words) < 2:
        raise DataError(too_few(name, len(found), ranked, min_count))
    new_number = np.full(len(number_of), -1, np.int32)
    new_number[[number_of[word] for word in words]] = np.arange(len(words), dtype=np.int32)
    renumbered = new_number[found]
    frequent = renumbered >= 0
    text_of = np.repeat(np.arange(len(lengths), dtype=np.int32), np.frombuffer(lengths, np.int32))
    ordered = -np.array([less for less, _ in ranked[: len(words)]], np.int64)
    return WordCorpus(words, ordered, renumbered[frequent], text_of[frequent], len(found), len(lengths))


def too_few(name: str, num_words: int, ranked: list[tuple[int, str]], min_count: int) -> str:
    """The error for a text with fewer than two frequent words."""
    if not num_words:
        return f"{name}: has no words. Want text, one sentence per line."
    most, word = -ranked[0][0], ranked[0][1]
    return (
        f"{name}: fewer than two words occur {min_count} times. The text has {num_words:,} words; {word!r} is the most "
        f"frequent, {most:,} times. Give more text, or a smaller --min-count."
    )
