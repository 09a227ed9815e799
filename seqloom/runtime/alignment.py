"""Which source tokens a model looked at while writing each target token, read from its cross-attention."""

import torch
from torch import Tensor

from seqloom.errors import UsageError
from seqloom.models.api import Memory, Seq2Seq
from seqloom.models.attention import read_attention
from seqloom.nn.trace import Trace


@torch.inference_mode()
def cross_attention(model: Seq2Seq, src: Tensor, tgt_in: Tensor) -> Tensor:
    """Teacher forcing of one pair, src (1,S) and tgt_in (1,T) -> weights (T,S); each row sums to 1."""
    return forced_attention(model, model.encode(src, torch.ones_like(src, dtype=torch.bool)), tgt_in)[0]


def forced_attention(model: Seq2Seq, memory: Memory, tgt_in: Tensor) -> Tensor:
    """Where the model looks to write each target token: (B,T) -> (B,T,S)."""
    trace = Trace()
    model.hidden(tgt_in, memory, trace)
    weights = read_attention(trace)
    if weights is None:
        raise UsageError(
            "this model has no attention, so there are no alignments: all it knows of the source is one vector. "
            "Train with model.attention=additive or model.kind=transformer."
        )
    return weights
