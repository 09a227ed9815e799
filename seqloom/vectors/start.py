"""Initialise an embedding table from word vectors: finds the subwords that are whole words with a vector."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seqloom.errors import UsageError
from seqloom.text.tokenizer import BLANK
from seqloom.vectors.word_vectors import WordVectors


def known_rows(
    vectors: WordVectors, pieces: Sequence[str], width: int, std: float
) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
    """Which of the n pieces have a vector (n,), and these vectors (k, E), scaled to the standard deviation `std`.

    Only a piece that begins a word (marked by "▁") can be a whole word: "▁king" is the word king, "king" the end of
    "viking". A word is looked up as it is, and otherwise in lower case.
    """
    if vectors.width != width:
        raise UsageError(
            f"model.vectors: the file's vectors are {vectors.width} wide, the embeddings of this model {width}. Train "
            f"vectors with --size {width}, or set model.embed_size = {vectors.width} if the model has that setting."
        )
    rows = [vectors.place(piece[len(BLANK) :]) if piece.startswith(BLANK) else None for piece in pieces]
    found = np.array([row is not None for row in rows], np.bool_)
    known = vectors.matrix[[row for row in rows if row is not None]]
    spread = float(known.std()) if len(known) else 0.0
    return found, known * np.float32(std / spread) if spread else known
