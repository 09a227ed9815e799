"""A sentence as one vector: the mean of what an encoder makes of its places, of length 1.

    v = mean_j h_j,   v / |v|        so that v . w is the cosine of the angle between two sentences

Reimers and Gurevych 2019; models that were trained for it keep close what means the same.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from seqloom.config import DataConfig
from seqloom.errors import ModelError
from seqloom.models.api import Reader
from seqloom.models.readers import mean_over
from seqloom.runtime.folder import load_model, open_run
from seqloom.runtime.inputs import encode_texts
from seqloom.runtime.padding import padded
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import BOS, EOS

ROWS_AT_ONCE = 64


class SentenceVectors:
    def __init__(self, model: Reader, tokenizers: Tokenizers, config: DataConfig) -> None:
        self.model, self.tokenizer, self.config = model.eval(), tokenizers.source, config

    @classmethod
    def load(cls, folder: str | Path) -> "SentenceVectors":
        run = open_run(Path(folder))
        model = load_model(run)
        if not isinstance(model, Reader):
            raise ModelError(f"{folder}: a model for the task {run.config.task.name}, which is no encoder alone")
        return cls(model, run.tokenizers, run.config.data)

    @torch.inference_mode()
    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(texts, D). What is longer than the model reads is cut."""
        encoded = encode_texts(texts, self.tokenizer, self.config.normalise)
        if len(texts) == 0:
            return self.embed([""])[:0]  # no rows, and as wide as any others
        rows = [[BOS, *ids[: self.config.max_tokens], EOS] for ids in encoded]
        found: list[Any] = [None] * len(rows)
        by_length = sorted(range(len(rows)), key=lambda place: len(rows[place]))
        for start in range(0, len(rows), ROWS_AT_ONCE):
            places = by_length[start : start + ROWS_AT_ONCE]
            for place, vector in zip(places, self.embed_batch([rows[place] for place in places]), strict=True):
                found[place] = vector
        return np.array(found, np.float32)

    def embed_batch(self, rows: list[list[int]]) -> NDArray[np.float32]:
        tokens, mask = padded(rows)
        hidden = self.model.hidden(tokens, mask)  # (B, S, D), or (B, 1, D) of a classifier: the mean already
        pooled = mean_over(hidden, mask) if hidden.shape[1] > 1 else hidden
        vectors: NDArray[np.float32] = F.normalize(pooled[:, 0], dim=-1).numpy()
        return vectors
