"""Co-occurrence counts:  X_ij = sum of 1 / d over all occurrences of j at distance d <= window from i."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from seqloom.vectors.words import WordCorpus

WORDS_AT_ONCE = 1 << 18  # words counted before equal pairs are summed
Entries = tuple[NDArray[np.int64], NDArray[np.float64]]  # i * V + j, and X


def count_pairs(corpus: WordCorpus, window: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """i, j and X_ij of every pair that occurs, with i <= j, because X is symmetric."""
    V = len(corpus.words)
    parts: list[Entries] = []
    for part in counted_parts(corpus, window):
        parts.append(part)
        # Merge parts of similar size only, so that each entry is sorted a few times, not once per part.
        while len(parts) > 1 and len(parts[-2][0]) < 2 * len(parts[-1][0]):
            parts[-2:] = [add_up(*map(np.concatenate, zip(*parts[-2:], strict=True)))]
    if not parts:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32)
    keys, values = add_up(*map(np.concatenate, zip(*parts, strict=True)))
    return keys // V, keys % V, values.astype(np.float32)


def counted_parts(corpus: WordCorpus, window: int) -> Iterator[Entries]:
    """The counts of one part of the corpus after the other."""
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
            values.append(np.where(a == b, 2 / distance, 1 / distance))  # equal words: X_ii counts both directions
        if keys:
            yield add_up(np.concatenate(keys), np.concatenate(values))


def add_up(keys: NDArray[np.int64], values: NDArray[np.float64]) -> Entries:
    """Each key once, ascending, with the sum of its values."""
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[first], np.add.reduceat(values, first) if len(first) else values
