"""Words with their vectors: nearest neighbours, similarity and analogies.

cosine    cos(x, y) = x . y / (|x| |y|)
analogy   argmax over d not in {a, b, c} of cos(d, b - a + c), all scaled to length 1     3CosAdd (Mikolov et al. 2013)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from seqloom.errors import UsageError, did_you_mean

Matrix = NDArray[np.float32]
Neighbours = list[tuple[str, float]]  # with their cosines, nearest first
MOST_SUGGESTED = 200_000  # only the most frequent words are suggested, so that a huge file does not take long


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words and their vectors; word i has row i, frequent words first, as in vector files."""

    words: list[str]
    matrix: Matrix  # (V, E)
    counts: NDArray[np.int64] | None = None  # (V,), if known

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or len(self.words) != len(self.matrix):
            raise ValueError(f"{len(self.words)} words for a matrix of shape {self.matrix.shape}")

    def __dir__(self) -> list[str]:
        return ["analogy", "counts", "matrix", "nearest", "similarity", "width", "words"]

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return self.place(word) is not None

    def __getitem__(self, word: str) -> NDArray[np.float32]:
        return self.matrix[self.find(word)]

    @property
    def width(self) -> int:
        return int(self.matrix.shape[1])

    @cached_property
    def place_of(self) -> dict[str, int]:
        """Word -> row."""
        return {word: row for row, word in enumerate(self.words)}

    @cached_property
    def unit(self) -> Matrix:
        """The vectors scaled to length 1; vectors of zeros are unchanged."""
        lengths = np.linalg.norm(self.matrix, axis=1, keepdims=True)
        return self.matrix / np.maximum(lengths, np.finfo(np.float32).tiny)

    def place(self, word: str) -> int | None:
        """The row of a word as written, otherwise in lower case; None if the word has no vector."""
        exact = self.place_of.get(word)
        return self.place_of.get(word.lower()) if exact is None else exact

    def find(self, word: str) -> int:
        """The row of a word; UsageError with a suggestion if it has no vector."""
        place = self.place(word)
        if place is None:
            raise UsageError(f"{word!r} is not among the {len(self):,} words.{self.suggest(word)}")
        return place

    def suggest(self, word: str) -> str:
        """` Did you mean 'x'?` if a similar word exists, otherwise empty."""
        from rapidfuzz import process  # far faster than difflib over a whole vocabulary

        near = process.extract(word.lower(), self.words[:MOST_SUGGESTED], limit=5, score_cutoff=60)
        return did_you_mean(word.lower(), [found for found, _, _ in near])

    def similarity(self, a: str, b: str) -> float:
        """cos(a, b)."""
        return float(self.unit[self.find(a)] @ self.unit[self.find(b)])

    def nearest(self, word: str, k: int = 10) -> Neighbours:
        """The k nearest neighbours of a word."""
        place = self.find(word)
        return self.ranked(self.unit[place], k, without=[place])

    def analogy(self, a: str, b: str, c: str, k: int = 1) -> Neighbours:
        """The k best answers to "a is to b as c is to what?": man, king, woman gives queen if the vectors are good."""
        places = [self.find(word) for word in (a, b, c)]
        from_a, from_b, from_c = self.unit[places]
        target = from_b - from_a + from_c
        return self.ranked(target / max(float(np.linalg.norm(target)), 1e-12), k, without=places)

    def ranked(self, query: NDArray[np.float32], k: int, without: Sequence[int]) -> Neighbours:
        """The k words with the highest cosine to a query of length 1; ties in the order of the file."""
        scores = self.unit @ query
        scores[list(without)] = -np.inf
        k = min(k, len(self) - len(set(without)))
        if k < 1:
            return []
        bar = np.partition(scores, -k)[-k]  # faster than sorting a million words
        places = np.flatnonzero(scores >= bar)
        best = places[np.argsort(-scores[places], kind="stable")][:k]
        return [(self.words[place], float(scores[place])) for place in best]
