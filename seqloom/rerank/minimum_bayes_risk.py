"""Minimum Bayes risk (MBR): of many outputs for one source, choose the one most similar to all the others.

choice  =  argmax_i mean_{j != i} chrF(candidate_i, candidate_j)        Kumar and Byrne 2004

chrF is sacrebleu's (a test proves it), computed for all pairs at once.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
CHAR_ORDER, BETA = 6, 2  # sacrebleu's chrF


def rank_by_risk(candidates: Sequence[str]) -> list[int]:
    """Indices of the candidates, the one most similar to the others first; duplicates count, ties stay in order."""
    agreement = mean_chrf(candidates).tolist()
    return sorted(range(len(candidates)), key=lambda index: -agreement[index])


def mean_chrf(candidates: Sequence[str]) -> Floats:
    """Mean sentence chrF (sacrebleu's) of each candidate, with every other candidate as its reference."""
    votes = Counter(candidates)
    row_of = {text: row for row, text in enumerate(votes)}
    between = chrf_matrix([*votes])
    sums = between @ np.array([*votes.values()], dtype=np.float64) - between.diagonal()  # without itself
    mean: Floats = (sums / max(1, len(candidates) - 1))[[row_of[text] for text in candidates]]
    return mean


def chrf_matrix(texts: Sequence[str]) -> Floats:
    """chrF of every text i with every text j as its reference, 0-100, (C, C).

    F = (1 + b^2) P R / (b^2 P + R);  P, R = mean over n of matches / n-grams of text, of reference.    Popovic 2015
    """
    letters = ["".join(text.split()) for text in texts]
    size = len(texts)
    precisions, recalls, orders = np.zeros((size, size)), np.zeros((size, size)), np.zeros((size, size))
    for n in range(1, CHAR_ORDER + 1):
        matches, counts = shared_ngrams(letters, n)
        real = (counts[:, None] > 0) & (counts[None, :] > 0)  # False: one of the two texts is shorter than n
        precisions += np.divide(matches, counts[:, None], out=np.zeros_like(matches), where=real)
        recalls += np.divide(matches, counts[None, :], out=np.zeros_like(matches), where=real)
        orders += real
    P, R = precisions / np.maximum(orders, 1), recalls / np.maximum(orders, 1)
    below = BETA**2 * P + R
    f_scores: Floats = np.divide(100 * (1 + BETA**2) * P * R, below, out=np.zeros_like(below), where=below > 0)
    return f_scores


def shared_ngrams(letters: Sequence[str], n: int) -> tuple[Floats, Floats]:
    """Number of n-grams that each two texts share (C, C), and number of n-grams of each text (C,).

    min(a, b) = sum_k [a >= k][b >= k]: with one column for the first occurrence of an n-gram, one for the second, and
    so on, the numbers of shared n-grams are a product of 0-1 matrices.
    """
    columns: dict[tuple[str, int], int] = {}
    rows_of, columns_of = [], []
    for row, text in enumerate(letters):
        seen: defaultdict[str, int] = defaultdict(int)
        for start in range(len(text) - n + 1):
            ngram = text[start : start + n]
            seen[ngram] += 1
            rows_of.append(row)
            columns_of.append(columns.setdefault((ngram, seen[ngram]), len(columns)))
    rows, entries = np.array(rows_of, np.intp), np.array(columns_of, np.intp)
    shared = np.bincount(entries, minlength=len(columns)) > 1  # columns of a single text contribute nothing
    table = np.zeros((len(letters), int(shared.sum())), dtype=np.float32)  # counts far below 2^24 are exact
    kept = shared[entries]
    table[rows[kept], (np.cumsum(shared) - 1)[entries[kept]]] = 1
    matches = (table @ table.T).astype(np.float64)
    counts = np.array([max(0, len(text) - n + 1) for text in letters], dtype=np.float64)
    np.fill_diagonal(matches, counts)
    return matches, counts
