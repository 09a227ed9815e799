"""Labels of texts and tags of words, from a trained classifier or tagger.

labeller = Labeller.load("runs/x")
labeller.label(["a fine film", "a dull one"])     -> ["pos", "neg"]; a tagger: ["DET ADJ NOUN", ...], one per word
labeller.probabilities(["a fine film"])           -> [(labels,)]; a tagger: [(words, labels)]
labeller.labels                                   -> the names of those columns
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seqloom.config import TASKS
from seqloom.errors import UsageError
from seqloom.runtime.encoder_model import Pieces, ReaderModel
from seqloom.runtime.parts import Translation
from seqloom.text.labels import as_written
from seqloom.text.tags import cut_at_words, last_pieces
from seqloom.text.vocabulary import FIRST_WORD

Probabilities = NDArray[np.float32]


class Labeller(ReaderModel):
    """A trained classifier or tagger. It reads texts that are too long for the model in parts, cut between words."""

    shapes = ("labels", "tags")
    own_names = ("label", "labels", "probabilities")

    @cached_property
    def labels(self) -> list[str]:
        """The names of all labels or tags, in the order of the columns of `probabilities`."""
        target = self.tokenizers.target
        names = [target.decode([index]) for index in range(FIRST_WORD, len(target))]
        return names if self.tags_words else [as_written(name) for name in names]

    @property
    def tags_words(self) -> bool:
        return TASKS[self.config.task.name].shape == "tags"

    def label(self, texts: Sequence[str]) -> list[str]:
        """The label of each text, or the tags of its words separated by spaces; an empty text has no label."""
        return [found[0].text for found in self.hypotheses(texts)]

    def probabilities(self, texts: Sequence[str]) -> list[Probabilities]:
        """The probabilities of all labels for each text, (labels,); from a tagger for each word, (words, labels)."""
        pieces = self.pieces(texts)
        parts = [[text.ids[part] for part in cut_at_words(text.words, self.config.data.max_tokens)] for text in pieces]
        found = iter(self.read([ids for text in parts for ids in text]))
        read = [[next(found) for _ in text] for text in parts]
        if self.tags_words:
            counts = [len(text.split()) for text in texts]
            return [at_words(*text).numpy() for text in zip(read, pieces, counts, strict=True)]
        return [mean_of(*text).numpy() for text in zip(read, parts, strict=True)]

    def answers(self, texts: list[str], n_best: int) -> list[list[Translation]]:
        if n_best > 1 and self.tags_words:
            self.refuse("n_best")
        if not 1 <= n_best <= len(self.labels):
            raise UsageError(f"--n-best {n_best}: the model knows {len(self.labels)} labels")
        return [self.rank(found, n_best) for found in self.probabilities(texts)]

    def rank(self, found: Probabilities, n_best: int) -> list[Translation]:
        """The n_best labels, or the most probable tags as one answer; the score is the (mean) log-probability."""
        if self.tags_words:
            tags = found.argmax(-1)
            log_probs = log_of(found[np.arange(len(tags)), tags])
            text = " ".join(self.labels[tag] for tag in tags)
            return [Translation(text, float(log_probs.mean()), float(log_probs.sum()))]
        best = np.argsort(-found, kind="stable")[:n_best]
        scores = [float(log_of(found[label])) for label in best]
        return [Translation(self.labels[label], score, score) for label, score in zip(best, scores, strict=True)]


def log_of(probability: Any) -> Any:
    """The logarithm; for 0 that of the smallest positive float."""
    return np.log(np.maximum(probability, np.finfo(np.float32).tiny))


def mean_of(read: list[Tensor], parts: list[list[int]]) -> Tensor:
    """The mean over the parts of a long text, weighted by their lengths: (V,)."""
    weights = torch.tensor([len(ids) + 2.0 for ids in parts])
    return (weights[:, None] * torch.cat(read)).sum(0) / weights.sum()


def at_words(read: list[Tensor], pieces: Pieces, num_words: int) -> Tensor:
    """The answer at the last piece of each word, or at the first position for a word without a piece: (words, V)."""
    begin = read[0][:1]
    by_place = torch.cat([begin, *(part[1:-1] for part in read)])  # without BOS and EOS of the parts
    places = last_pieces(pieces.words, num_words)
    return by_place[[0 if place is None else place + 1 for place in places]]
