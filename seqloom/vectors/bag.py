"""The vectors that nothing has to be learned for: one-hot and bag of words.

    one-hot   e_i = (0, ..., 1, ..., 0), the 1 at place i          any two words are equally far apart
    counts    x = sum over the words i of a text of e_i             order is lost
    tf-idf    x_i = count_i * idf_i,  idf_i = ln((1 + n) / (1 + df_i)) + 1,  then x / |x|    (Spaerck Jones 1972)

n texts, df_i of them with word i. A text is a string, or ids of any tokenizer.
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
    """(n, V): row k has its 1 at ids[k]."""
    places = np.asarray(ids, np.int64)
    for wrong in places[(places < 0) | (places >= num_words)]:
        raise UsageError(f"one-hot: id {wrong}: want 0 to {num_words - 1}, the ids of {num_words:,} words")
    rows = np.zeros((len(places), num_words), np.float32)
    rows[np.arange(len(places)), places] = 1
    return rows


def terms_of(text: Text) -> Sequence[Term]:
    return split_words(text) if isinstance(text, str) else text


@dataclass(frozen=True)
class SparseRows:
    """Rows of which only the entries that are not 0 are kept: row r has those from starts[r] to starts[r + 1]."""

    starts: NDArray[np.int64]  # (rows + 1,)
    columns: NDArray[np.int64]  # (entries,), rising within a row
    values: NDArray[np.float32]  # (entries,)
    width: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    def dense(self, rows: Sequence[int] | NDArray[np.integer] | None = None) -> NDArray[np.float32]:
        """All rows, or the chosen ones in this order, as (rows, V)."""
        chosen = np.arange(len(self)) if rows is None else np.asarray(rows)
        full = np.zeros((len(chosen), self.width), np.float32)
        for place, row in enumerate(chosen):
            entries = slice(self.starts[row], self.starts[row + 1])
            full[place, self.columns[entries]] = self.values[entries]
        return full


@dataclass(frozen=True)
class BagOfWords:
    """Texts -> rows of counts or tf-idf over the words of the texts it was fitted on; other words count nothing."""

    terms: list[Term]  # most frequent first
    idf: NDArray[np.float32]  # (V,)
    weighting: str

    @classmethod
    def fit(
        cls, texts: Iterable[Text], weighting: str = "counts", min_count: int = 1, max_words: int | None = None
    ) -> Self:
        """`min_count`: in how many texts a word occurs at least; `max_words`: only the most frequent ones."""
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
            raise DataError(f"bag of words: of {num_texts:,} texts no word occurs in {min_count} of them.")
        idf = np.log((1 + num_texts) / (1 + np.array([df[term] for term in terms]))) + 1
        return cls(terms, idf.astype(np.float32), weighting)

    def transform(self, texts: Iterable[Text]) -> SparseRows:
        place_of = {term: place for place, term in enumerate(self.terms)}
        lengths, columns, values = [0], [], []
        for text in texts:
            counts = Counter(place_of[term] for term in terms_of(text) if term in place_of)
            places = sorted(counts)
            lengths.append(len(places))
            columns += places
            values += [counts[place] for place in places]
        rows = SparseRows(
            np.cumsum(lengths), np.array(columns, np.int64), np.array(values, np.float32), len(self.terms)
        )
        return rows if self.weighting == "counts" else self.weigh(rows)

    def weigh(self, rows: SparseRows) -> SparseRows:
        values = rows.values * self.idf[rows.columns]
        row_of = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
        lengths = np.sqrt(np.bincount(row_of, values**2, len(rows)))  # none is 0 where there is an entry
        return SparseRows(rows.starts, rows.columns, (values / lengths[row_of]).astype(np.float32), rows.width)
