"""Texts -> vectors, by any method. The same texts, settings and threads give the same vectors, bit for bit."""

import numpy as np

from seqloom.errors import DataError, TrainingError
from seqloom.vectors.glove import train_glove
from seqloom.vectors.settings import Progress, VectorSettings
from seqloom.vectors.team import Team
from seqloom.vectors.train_word2vec import train_word2vec
from seqloom.vectors.word_vectors import WordVectors
from seqloom.vectors.words import WordCorpus


def train_vectors(
    corpus: WordCorpus, settings: VectorSettings, progress: Progress = lambda done, shown: None
) -> WordVectors:
    """`progress` is told the number of words read, of epochs * words, with the loss."""
    settings.check()
    if not (np.diff(corpus.text_of) == 0).any():
        raise DataError("no two frequent words stand in one line of the text: there is nothing to learn from.")
    learn = train_glove if settings.method == "glove" else train_word2vec
    with Team(settings.threads) as team:
        matrix = learn(corpus, settings, team, progress)
    if not np.isfinite(matrix).all():
        raise TrainingError(
            f"the vectors are no longer finite: {settings.method} with these settings diverges on this text. "
            "Try a smaller --window or --negative, or give more text."
        )
    return WordVectors(corpus.words, matrix, corpus.counts)
