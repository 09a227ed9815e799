"""How often words stand near each other: X_ij = sum over places where j is d words from i, d <= window, of 1 / d."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from seqloom.vectors.words import WordCorpus

WORDS_AT_ONCE = 1 << 18  # so many are counted before equal pairs are added up
Entries = tuple[NDArray[np.int64], NDArray[np.float64]]  # i * V + j, and X


def count_pairs(corpus: WordCorpus, window: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """i, j and X_ij of every pair that occurs, i <= j: X is symmetric, so half of it is all."""
    V = len(corpus.words)
    parts: list[Entries] = []
    for part in counted_parts(corpus, window):
        parts.append(part)
        # Like the digits of a number: two parts of about one size become one, so every entry is sorted a few times.
        while len(parts) > 1 and len(parts[-2][0]) < 2 * len(parts[-1][0]):
            parts[-2:] = [add_up(*map(np.concatenate, zip(*parts[-2:], strict=True)))]
    if not parts:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32)
    keys, values = add_up(*map(np.concatenate, zip(*parts, strict=True)))
    return keys // V, keys % V, values.astype(np.float32)


def counted_parts(corpus: WordCorpus, window: int) -> Iterator[Entries]:
    V = len(corpus.words)
    for start in range(0, len(corpus.ids), WORDS_AT_ONCE):
        ids = corpus.ids[start : start + WORDS_AT_ONCE + window].astype(np.int64)
        texts = corpus.text_of[start : start + WORDS_AT_ONCE + window]
        keys, values = [], []
        for distance in range(1, min(window, len(ids) - 1) + 1):
            left = slice(0, min(WORDS_AT_ONCE, len(ids) - distance))
            right = slice(distance, left.stop + distance)
            together = texts[left] == texts[right]
            a, b = ids[left][together], ids[right][together]
            keys.append(np.minimum(a, b) * V + np.maximum(a, b))
            values.append(np.where(a == b, 2 / distance, 1 / distance))  # a word near itself: each is d from the other
        if keys:
            yield add_up(np.concatenate(keys), np.concatenate(values))


def add_up(keys: NDArray[np.int64], values: NDArray[np.float64]) -> Entries:
    """Each key once, rising, with the sum of its values."""
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[first], np.add.reduceat(values, first) if len(first) else values
