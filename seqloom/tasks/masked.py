"""Masked language modelling: some words of a text are hidden, and the model predicts them. Devlin et al. 2019 (BERT).

Each time a text is read, a share of its words is chosen at random. Of these
    80 %  are replaced by MASK
    10 %  are replaced by a random word, so the model cannot trust the words that it sees
    10 %  stay unchanged, as all words will when the model is used
loss = - sum_i log p(x_i | text with hidden words)     over the chosen words
"""

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from seqloom.data.batch import Batch
from seqloom.data.store import Store
from seqloom.nn.loss import Loss
from seqloom.tasks.encoder_task import EncoderTask
from seqloom.text.vocabulary import FIRST_WORD, MASK

AS_MASK, AS_ANY = 0.8, 0.1


class Masked(EncoderTask):
    def __init__(self, share: float) -> None:
        self.share = share

    def answers(self, store: Store, indices: NDArray[np.integer], src: Tensor) -> tuple[Tensor, Tensor]:
        """Every word is an answer until `hide` chooses some of them."""
        return src, src >= FIRST_WORD

    def loss(self, model: nn.Module, batch: Batch, smoothing: float = 0.0, progress: float = 0.0) -> Loss:
        vocab_size = int(model.target_vocab_size)  # type: ignore[arg-type]
        found = super().loss(model, hide(batch, self.share, vocab_size), smoothing)
        return replace(found, num_tokens=max(1, found.num_tokens))  # a batch without words has mean 0; avoids 0 / 0


def hide(batch: Batch, share: float, vocab_size: int) -> Batch:
    """The batch with about this share of its words hidden, at least one, drawn with torch's random numbers."""
    draws = torch.rand_like(batch.src, dtype=torch.float).masked_fill(~batch.tgt_mask, 2.0)
    chosen = batch.tgt_mask & (draws <= max(share, draws.min().item()))
    fate = torch.rand_like(draws)
    shown = torch.where(fate < AS_MASK, MASK, batch.src)
    anything = torch.randint_like(batch.src, FIRST_WORD, vocab_size)
    shown = torch.where(fate >= 1 - AS_ANY, anything, shown)
    return replace(batch, src=torch.where(chosen, shown, batch.src), tgt_mask=chosen)
