"""Attention to the source, read from a model's trace; only this file knows the names of these recordings.

decoder.attention     (B, W, S) per position           recurrent decoders, ensembles
decoder.cross.<n>     (B, N, W*k, S) for k positions   each layer of a Transformer
"""

import re

import torch
from jaxtyping import Float
from torch import Tensor

from seqloom.errors import UsageError
from seqloom.models.api import Memory, Seq2Seq
from seqloom.nn.trace import Trace

POOLED = "decoder.attention"
LAYER = re.compile(r"decoder\.cross\.(\d+)")


def read_attention(trace: Trace) -> Float[Tensor, "B Q S"] | None:
    """Attention weights, which sum to 1 over the source; Q = W hypotheses or T positions. None = no attention."""
    names = trace.names()
    if POOLED in names:
        return torch.cat(trace[POOLED], 1)
    depths = sorted(int(match[1]) for name in names if (match := LAYER.fullmatch(name)))
    if not depths:
        return None
    # Mean over the upper half of the layers: attention of the lower layers says little about translation.
    upper = [torch.cat(trace[f"decoder.cross.{depth}"], 2) for depth in depths[len(depths) // 2 :]]
    return torch.stack(upper).mean((0, 2))


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
