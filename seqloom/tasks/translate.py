"""Translation: the next target token given the source and the target tokens before it.

loss = - sum_t log p(y_t | y_<t, x)     over real target positions only
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from seqloom.data.batch import Batch
from seqloom.models.api import Seq2Seq
from seqloom.nn.loss import cross_entropy
from seqloom.tasks.scheduled_sampling import show_own_words

LOGITS_AT_ONCE = 2**22  # 16 MB of logits stay in the cache from the product to the softmax


@dataclass(frozen=True)
class Loss:
    """Sums over the tokens of a batch; divide by `num_tokens` for the mean."""

    smoothed: Tensor  # what is minimised
    nll: Tensor  # -log p, what is reported
    num_tokens: int


def translation_loss(model: Seq2Seq, batch: Batch, smoothing: float = 0.0, own_share: float = 0.0) -> Loss:
    """Teacher forcing; `own_share` of the words it reads are its own."""
    memory = model.encode(batch.src, batch.src_mask)
    tgt_in = show_own_words(model, memory, batch, own_share) if own_share else batch.tgt_in
    hidden = model.hidden(tgt_in, memory)[batch.tgt_mask]  # (M, D): padding is never projected
    targets = batch.tgt_out[batch.tgt_mask]
    rows = max(1, LOGITS_AT_ONCE // model.target_vocab_size)
    losses = [
        cross_entropy(model.project(part), wanted, smoothing)
        for part, wanted in zip(hidden.split(rows), targets.split(rows), strict=True)
    ]
    smoothed, nll = (torch.stack(sums).sum() for sums in zip(*losses, strict=True))
    return Loss(smoothed, nll, len(targets))
