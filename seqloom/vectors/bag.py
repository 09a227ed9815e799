"""Vectors without training: one-hot and bag of words (counts, tf-idf).

    one-hot   e_i = (0, ..., 1, ..., 0), with the 1 at index i      any two words are equally far apart
    counts    x = sum over the words i of a text of e_i             order is lost
    tf-idf    x_i = count_i * idf_i,  idf_i = ln((1 + n) / (1 + df_i)) + 1,  then x / |x|    (Spaerck Jones 1972)

There are n texts, df_i of them contain word i. A text is a string, or a list of ids of any tokenizer.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from seqloom.errors import DataError, UsageError, did_you_mean
from seqloom.vectors.words import split_words

WEIGHTINGS = ("counts", "tf-idf")
Text = str | Sequence[int]
Term = str | int


def one_hot(ids: Sequence[int] | NDArray[np.integer], num_words: int) -> NDArray[np.float32]:
    """One-hot rows (n, V): row k has its 1 at ids[k]."""
    columns = np.asarray(ids, np.int64)
    for wrong in columns[(columns < 0) | (columns >= num_words)]:
        raise UsageError(f"one-hot: id {wrong}: want 0 to {num_words - 1}, the ids of {num_words:,} words")
    rows = np.zeros((len(columns), num_words), np.float32)
    rows[np.arange(len(columns)), columns] = 1
    return rows


def terms_of(text: Text) -> Sequence[Term]:
    return split_words(text) if isinstance(text, str) else text


@dataclass(frozen=True)
class SparseRows:
    """Sparse matrix (CSR): row r has the non-zero entries from starts[r] to starts[r + 1]."""

    starts: NDArray[np.int64]  # (rows + 1,)
    columns: NDArray[np.int64]  # (entries,), ascending within a row
    values: NDArray[np.float32]  # (entries,)
    width: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    def dense(self, rows: Sequence[int] | NDArray[np.integer] | None = None) -> NDArray[np.float32]:
        """All rows, or these rows in this order, as a dense matrix (rows, V)."""
        chosen = np.arange(len(self)) if rows is None else np.asarray(rows)
        full = np.zeros((len(chosen), self.width), np.float32)
        for number, row in enumerate(chosen):
            entries = slice(self.starts[row], self.starts[row + 1])
            full[number, self.columns[entries]] = self.values[entries]
        return full


@dataclass(frozen=True)
class BagOfWords:
    """Bag of words: texts -> rows of counts or tf-idf over the words it was fitted on; other words are ignored."""

    terms: list[Term]  # most frequent first
    idf: NDArray[np.float32]  # (V,)
    weighting: str

    @classmethod
    def fit(
        cls, texts: Iterable[Text], weighting: str = "counts", min_count: int = 1, max_words: int | None = None
    ) -> Self:
        """Choose words, compute idf. words in fewer than `min_count` texts are dropped; `max_words`: only as many."""
        if weighting not in WEIGHTINGS:
            raise UsageError(
                f"weighting {weighting!r}: want {' or '.join(WEIGHTINGS)}.{did_you_mean(weighting, WEIGHTINGS)}"
            )
        num_texts, df = 0, Counter[Term]()
        for text in texts:
            num_texts += 1
            df.update(set(terms_of(text)))
        terms = sorted((term for term in df if df[term] >= min_count), key=lambda term: (-df[term], term))[:max_words]
        if not terms:
            raise DataError(f"bag of words: none of the words of {num_texts:,} texts occurs in {min_count} of them.")
        idf = np.log((1 + num_texts) / (1 + np.array([df[term] for term in terms]))) + 1
        return cls(terms, idf.astype(np.float32), weighting)

    def transform(self, texts: Iterable[Text]) -> SparseRows:
        """One row per text."""
        column_of = {term: column for column, term in enumerate(self.terms)}
        lengths, columns, values = [0], [], []
        for text in texts:
            counts = Counter(column_of[term] for term in terms_of(text) if term in column_of)
            found = sorted(counts)
            lengths.append(len(found))
            columns += found
            values += [counts[column] for column in found]
        rows = SparseRows(
            np.cumsum(lengths), np.array(columns, np.int64), np.array(values, np.float32), len(self.terms)
        )
        return rows if self.weighting == "counts" else self.weigh(rows)

    def weigh(self, rows: SparseRows) -> SparseRows:
        """tf-idf from counts, each row normalised to length 1."""
        values = rows.values * self.idf[rows.columns]
        row_of = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
        lengths = np.sqrt(np.bincount(row_of, values**2, len(rows)))  # positive for every row with an entry
        return SparseRows(rows.starts, rows.columns, (values / lengths[row_of]).astype(np.float32), rows.width)
