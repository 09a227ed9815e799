"""What of a table a file of vectors can fill: the rows of pieces that are whole words which it knows."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seqloom.errors import UsageError
from seqloom.text.tokenizer import BLANK
from seqloom.vectors.word_vectors import WordVectors


def known_rows(
    vectors: WordVectors, pieces: Sequence[str], width: int, std: float
) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
    """Which of the n pieces have a vector (n,), and their vectors (k, E), scaled to the spread of the model's own.

    Only a piece that begins a word can be one: it has the mark of it, which is no part of the word. "▁king" is the
    word king, "king" the end of "viking". It is looked up as it is, else in lower case.
    """
    if vectors.width != width:
        raise UsageError(
            f"model.vectors: the vectors are {vectors.width} wide, the word vectors of this model {width}. Train "
            f"vectors with --size {width}, or set model.embed_size = {vectors.width} where the model has that setting."
        )
    places = [vectors.place(piece[len(BLANK) :]) if piece.startswith(BLANK) else None for piece in pieces]
    found = np.array([place is not None for place in places], np.bool_)
    known = vectors.matrix[[place for place in places if place is not None]]
    spread = float(known.std()) if len(known) else 0.0
    return found, known * np.float32(std / spread) if spread else known
