"""Minimum Bayes risk: of many outputs for one source, the one that all the others are nearest to.

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
    """Their places, the one nearest to all the others first. What comes twice has two votes; equals stay in order."""
    agreement = mean_chrf(candidates).tolist()
    return sorted(range(len(candidates)), key=lambda place: -agreement[place])


def mean_chrf(candidates: Sequence[str]) -> Floats:
    """The mean of sacrebleu's sentence chrF of each candidate with every other one as its reference."""
    votes = Counter(candidates)
    place = {text: row for row, text in enumerate(votes)}
    between = chrf_matrix([*votes])
    sums = between @ np.array([*votes.values()], dtype=np.float64) - between.diagonal()  # nobody votes for itself
    mean: Floats = (sums / max(1, len(candidates) - 1))[[place[text] for text in candidates]]
    return mean


def chrf_matrix(texts: Sequence[str]) -> Floats:
    """chrF of text i with text j as its reference, 0-100, (C, C).

    F = (1 + b^2) P R / (b^2 P + R);  P, R = mean over n of matches / n-grams of text, of reference.    Popovic 2015
    """
    letters = ["".join(text.split()) for text in texts]
    size = len(texts)
    precisions, recalls, orders = np.zeros((size, size)), np.zeros((size, size)), np.zeros((size, size))
    for n in range(1, CHAR_ORDER + 1):
        matches, counts = shared_ngrams(letters, n)
        real = (counts[:, None] > 0) & (
            counts[None, :] > 0
        )  # an order that one of the two is too short for is left out
        precisions += np.divide(matches, counts[:, None], out=np.zeros_like(matches), where=real)
        recalls += np.divide(matches, counts[None, :], out=np.zeros_like(matches), where=real)
        orders += real
    P, R = precisions / np.maximum(orders, 1), recalls / np.maximum(orders, 1)
    below = BETA**2 * P + R
    f_scores: Floats = np.divide(100 * (1 + BETA**2) * P * R, below, out=np.zeros_like(below), where=below > 0)
    return f_scores


def shared_ngrams(letters: Sequence[str], n: int) -> tuple[Floats, Floats]:
    """How many n-grams each two texts share (C, C), and how many each has (C,).

    min(a, b) = sum_k [a >= k][b >= k]: with a column for the first, the second, ... time an n-gram comes, the number
    shared is a product of 0-1 matrices.
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
    rows, places = np.array(rows_of, np.intp), np.array(columns_of, np.intp)
    shared = np.bincount(places, minlength=len(columns)) > 1  # what one text alone has is shared with nobody
    table = np.zeros((len(letters), int(shared.sum())), dtype=np.float32)  # counts far below 2^24 are exact
    kept = shared[places]
    table[rows[kept], (np.cumsum(shared) - 1)[places[kept]]] = 1
    matches = (table @ table.T).astype(np.float64)
    counts = np.array([max(0, len(text) - n + 1) for text in letters], dtype=np.float64)
    np.fill_diagonal(matches, counts)
    return matches, counts
