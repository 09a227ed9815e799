"""Scheduled sampling: the decoder sometimes reads its own prediction instead of the correct word (teacher forcing).

y~_t = argmax p(y | y_<t, x)     after the correct words, for all t at once and without a gradient
reads y~_t instead of y_t        with probability `share`, independently for each position

A model that was trained only on correct words does not know how to continue after its own mistakes.
Bengio et al. 2015; in two passes, for any decoder: Mihaylova and Martins 2019.
"""

import torch
from torch import Tensor

from seqloom.data.batch import Batch
from seqloom.models.api import Memory, Seq2Seq


@torch.no_grad()
def show_own_words(model: Seq2Seq, memory: Memory, batch: Batch, share: float) -> Tensor:
    """tgt_in (B,T) with about this share of its words replaced by predictions; BOS and padding stay."""
    chosen = torch.rand(batch.tgt_in[:, 1:].shape, device=batch.tgt_in.device) < share
    chosen &= batch.tgt_mask[:, 1:]
    said = model.hidden(batch.tgt_in, memory)[:, :-1]  # position t predicts the input of t + 1
    tgt_in = batch.tgt_in.clone()
    tgt_in[:, 1:][chosen] = model.project(said[chosen]).argmax(-1)
    torch.clear_autocast_cache()  # weights rounded here have no gradient: older versions of torch would use them again
    return tgt_in
