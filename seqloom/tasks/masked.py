"""The masked model: some words of a text are hidden, and the model says which they were. Devlin et al. 2019.

of all words a share is chosen, anew each time a text is read; of these
    80 %  are shown as MASK
    10 %  are shown as any word, so that no word can be trusted blindly
    10 %  are shown as they are, as they will be when the model is used
loss = - sum_i log p(x_i | what is shown)     over the chosen ones
"""

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from seqloom.data.batch import Batch
from seqloom.data.store import Store
from seqloom.nn.loss import Loss
from seqloom.tasks.reading import Reading
from seqloom.text.vocabulary import FIRST_WORD, MASK

AS_MASK, AS_ANY = 0.8, 0.1


class Masked(Reading):
    def __init__(self, share: float) -> None:
        self.share = share

    def answers(self, store: Store, indices: NDArray[np.integer], src: Tensor) -> tuple[Tensor, Tensor]:
        """Any word may be chosen; `hide` chooses."""
        return src, src >= FIRST_WORD

    def loss(self, model: nn.Module, batch: Batch, smoothing: float = 0.0, progress: float = 0.0) -> Loss:
        vocab_size = int(model.target_vocab_size)  # type: ignore[arg-type]
        found = super().loss(model, hide(batch, self.share, vocab_size), smoothing)
        return replace(found, num_tokens=max(1, found.num_tokens))  # of no word at all the mean is 0, not a crash


def hide(batch: Batch, share: float, vocab_size: int) -> Batch:
    """The batch with about this share of its words hidden, one at least, by torch's own random numbers."""
    draws = torch.rand_like(batch.src, dtype=torch.float).masked_fill(~batch.tgt_mask, 2.0)
    chosen = batch.tgt_mask & (draws <= max(share, draws.min().item()))
    fate = torch.rand_like(draws)
    shown = torch.where(fate < AS_MASK, MASK, batch.src)
    anything = torch.randint_like(batch.src, FIRST_WORD, vocab_size)
    shown = torch.where(fate >= 1 - AS_ANY, anything, shown)
    return replace(batch, src=torch.where(chosen, shown, batch.src), tgt_mask=chosen)
