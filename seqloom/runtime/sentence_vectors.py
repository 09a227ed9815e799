"""Sentence vectors and token vectors from the states of any model.

    v = mean_j h_j,   v / |v|        so that v . w is the cosine between two sentences

h_j is the encoder's output for token j; a language model has no encoder, and h_j is its state after token j. A decoder
without attention gets only the last state of the encoder: there v is that state. Reimers and Gurevych 2019; models
trained for it give similar vectors to sentences with similar meaning.
"""

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from seqloom.config import TASKS, DataConfig
from seqloom.models.api import LanguageModel, Reader, Seq2Seq
from seqloom.models.fixed_vector import FixedVectorDecoder
from seqloom.runtime.engine_torch import padded
from seqloom.runtime.folder import load_model, open_latest
from seqloom.runtime.inputs import as_list, encode_texts
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import BOS, EOS

ROWS_AT_ONCE = 64


class SentenceVectors:
    """A model of any task that gives each sentence, or each token in its sentence, a vector."""

    def __init__(
        self, model: Reader | Seq2Seq, tokenizers: Tokenizers, config: DataConfig, *, continues: bool = False
    ) -> None:
        """`continues`: a language model, which reads a text as its own; a decoder-only model may also have a source."""
        self.model, self.tokenizer, self.config, self.continues = model.eval(), tokenizers.source, config, continues
        self.device = next(model.parameters()).device

    @classmethod
    def load(cls, folder: str | Path) -> "SentenceVectors":
        """Load the model in a run folder, of any task."""
        run = open_latest(Path(folder), warnings.warn)
        continues = TASKS[run.config.task.name].shape == "continues"
        return cls(load_model(run), run.tokenizers, run.config.data, continues=continues)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of these texts, of length 1: (texts, D). Texts that are too long for the model are cut."""
        found: NDArray[np.float32] = F.normalize(torch.from_numpy(self.vectors(texts)), dim=-1).numpy()
        return found

    @torch.inference_mode()
    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of these texts in the length that the model gives them: (texts, D)."""
        texts = as_list(texts)
        if not texts:
            return self.vectors([""])[:0]  # an empty matrix of the right width
        found: list[Any] = [None] * len(texts)
        for place, _, states, whole in self.read(texts):
            found[place] = (states.mean(0) if whole is None else whole).cpu().numpy()
        return np.array(found, np.float32)

    @torch.inference_mode()
    def tokens(self, texts: Sequence[str]) -> list[tuple[list[str], NDArray[np.float32]]]:
        """For each text its pieces, special tokens included, and the vector of each in this text: (tokens, D)."""
        texts = as_list(texts)
        found: list[Any] = [None] * len(texts)
        for place, ids, states, _ in self.read(texts):
            found[place] = self.tokenizer.pieces(ids), np.asarray(states.cpu().numpy(), np.float32)
        return found

    def read(self, texts: Sequence[str]) -> Iterator[tuple[int, list[int], Tensor, Tensor | None]]:
        """Of each text its place, ids, states (tokens, D) and, where one vector is all there is, that vector."""
        encoded = encode_texts(texts, self.tokenizer, self.config.normalise)
        rows = [self.framed(ids[: self.longest]) for ids in encoded]
        by_length = sorted(range(len(rows)), key=lambda place: len(rows[place]))
        for start in range(0, len(rows), ROWS_AT_ONCE):
            places = by_length[start : start + ROWS_AT_ONCE]
            states, whole = self.states(*padded((rows[place] for place in places), self.device))
            for number, place in enumerate(places):
                own = states[number, : len(rows[place])]
                yield place, rows[place], own, None if whole is None else whole[number]

    @property
    def longest(self) -> int:
        """The most tokens of a text that the model reads at once."""
        context = self.model.context if isinstance(self.model, LanguageModel) else 0
        return min(self.config.max_tokens, context - 1) if context else self.config.max_tokens

    @property
    def has_fixed_vector(self) -> bool:
        """Whether the last state of the encoder is all that the decoder gets."""
        return isinstance(getattr(self.model, "decoder", None), FixedVectorDecoder)

    def framed(self, ids: list[int]) -> list[int]:
        """The ids with the special tokens that this kind of model reads around a text."""
        if isinstance(self.model, Reader):
            return [BOS, *ids, EOS]
        return [EOS, *ids] if self.continues else [*ids, EOS]

    def states(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor | None]:
        """States (B, S, D), and one vector per text (B, D) where the model has such a vector."""
        if isinstance(self.model, Reader):
            states = self.model.hidden(tokens, mask)
            if states.shape[1] == tokens.shape[1]:
                return states, None
            return states.expand(-1, tokens.shape[1], -1), states[:, 0]  # of a classifier: the mean already
        if self.continues and isinstance(self.model, LanguageModel):
            return self.model.read(tokens, self.model.begin(len(tokens)))[0], None
        memory = self.model.encode(tokens, mask)
        return memory.annotations, memory.last[-1][0] if self.has_fixed_vector else None
