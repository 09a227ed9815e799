"""Scores of given targets by teacher forcing: log p(target | source)."""

import torch
from torch import Tensor

from seqloom.models.api import Memory, Seq2Seq


def log_softmax(logits: Tensor) -> Tensor:
    """log p over the last dimension, in float32 at least: sums over a sentence need the precision."""
    return logits.log_softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32))


@torch.inference_mode()
def token_log_probs(model: Seq2Seq, memory: Memory, tgt_in: Tensor, tgt_out: Tensor, tgt_mask: Tensor) -> Tensor:
    """log p(y_t | y_<t, x) of every target token, sentence after sentence: (B,T) inputs, outputs and mask -> (tokens,)

    Padding is not projected. Put the model in eval mode first.
    """
    log_probs = log_softmax(model.project(model.hidden(tgt_in, memory)[tgt_mask]))  # (tokens, V)
    return log_probs.gather(1, tgt_out[tgt_mask][:, None])[:, 0]


def score(model: Seq2Seq, memory: Memory, tgt_in: Tensor, tgt_out: Tensor, tgt_mask: Tensor) -> Tensor:
    """log p(y | x) = sum_t log p(y_t | y_<t, x) of each sentence, including EOS: (B,)."""
    per_token = token_log_probs(model, memory, tgt_in, tgt_out, tgt_mask)
    return per_token.new_zeros(len(tgt_mask)).index_add(0, tgt_mask.nonzero()[:, 0], per_token)
