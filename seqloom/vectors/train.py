"""Train vectors by any method. The same texts, settings and number of threads give bit-identical vectors."""

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
    """Train word vectors; `progress` gets the number of words read (of epochs * words) and the loss."""
    settings.check()
    if not (np.diff(corpus.text_of) == 0).any():
        raise DataError(
            "no line of the text has two frequent words, so there is nothing to learn from. Give more text, or a "
            "smaller --min-count."
        )
    learn = train_glove if settings.method == "glove" else train_word2vec
    with Team(settings.threads) as team:
        matrix = learn(corpus, settings, team, progress)
    if not np.isfinite(matrix).all():
        raise TrainingError(
            f"training diverged: the vectors are not finite. {settings.method} fails with these settings on this text. "
            "Try a smaller --window or --negative, or give more text."
        )
    return WordVectors(corpus.words, matrix, corpus.counts)
