"""Translation: predict the next target token from the source and the target tokens before it.

    loss = - sum_t log p(y_t | y_<t, x)     over real target positions only

Summaries, answers and pronunciations are learned the same way; they differ in how they are measured.
"""

from typing import Any

from torch import nn

from seqloom.data.batch import Batch, collate
from seqloom.data.store import Store
from seqloom.models.api import Seq2Seq
from seqloom.nn.loss import Loss
from seqloom.tasks.api import Task, token_loss
from seqloom.tasks.scheduled_sampling import show_own_words


class Translate(Task):
    def __init__(self, scheduled_sampling: float = 0.0) -> None:
        self.scheduled_sampling = scheduled_sampling

    def load(self, store: Store, indices: Any) -> Batch:
        return collate(store, indices)

    def loss(self, model: nn.Module, batch: Batch, smoothing: float = 0.0, progress: float = 0.0) -> Loss:
        assert isinstance(model, Seq2Seq)
        return translation_loss(model, batch, smoothing, progress * self.scheduled_sampling)


def translation_loss(model: Seq2Seq, batch: Batch, smoothing: float = 0.0, own_share: float = 0.0) -> Loss:
    """Loss with teacher forcing; `own_share` of the decoder's inputs are its own predictions (scheduled sampling)."""
    memory = model.encode(batch.src, batch.src_mask)
    tgt_in = show_own_words(model, memory, batch, own_share) if own_share else batch.tgt_in
    hidden = model.hidden(tgt_in, memory)[batch.tgt_mask]  # (M, D): padding is never projected
    return token_loss(model, hidden, batch.tgt_out[batch.tgt_mask], smoothing)
