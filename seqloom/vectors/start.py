"""The table a model starts from, when a file of vectors knows words that its tokenizer has."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seqloom.errors import UsageError
from seqloom.text.tokenizer import BLANK
from seqloom.vectors.word_vectors import WordVectors


def start_table(
    vectors: WordVectors, pieces: Sequence[str], width: int, seed: int, std: float | None = None
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """A row for each piece (n, E), and which of them are from the vectors (n,): the piece as it is, else in lower case.

    The mark of a word's begin is no part of the word. Other rows are drawn at random, as widely spread as the vectors;
    with `std` everything is scaled, so that the spread is that of the model it is for.
    """
    if vectors.width != width:
        raise UsageError(
            f"model.vectors: the vectors are {vectors.width} wide, the word vectors of this model {width}. Train "
            f"vectors with --size {width}, or set model.embed_size = {vectors.width} where the model has that setting."
        )
    places = [vectors.place(piece.removeprefix(BLANK) or piece) for piece in pieces]
    found = np.array([place is not None for place in places], np.bool_)
    known = vectors.matrix[[place for place in places if place is not None]]
    spread = float((known if len(known) else vectors.matrix).std())
    matrix = np.random.default_rng(seed).normal(0, spread, (len(pieces), width)).astype(np.float32)
    matrix[found] = known
    return (matrix if std is None or not spread else matrix * np.float32(std / spread)), found
