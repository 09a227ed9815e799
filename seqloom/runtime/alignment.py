"""Which source tokens a model looked at while writing each target token, read from its cross-attention."""

import re

import torch
from torch import Tensor

from seqloom.errors import UsageError
from seqloom.models.api import Seq2Seq
from seqloom.nn.trace import Trace

RECURRENT = "decoder.attention"  # (1, 1, S) a step
TRANSFORMER = re.compile(r"decoder\.cross\.(\d+)")  # (1, N, T, S)


@torch.inference_mode()
def cross_attention(model: Seq2Seq, src: Tensor, tgt_in: Tensor) -> Tensor:
    """Teacher forcing of one pair, src (1,S) and tgt_in (1,T) -> weights (T,S); each row sums to 1."""
    memory = model.encode(src, torch.ones_like(src, dtype=torch.bool))
    trace = Trace()
    model.hidden(tgt_in, memory, trace)
    names = trace.names()
    if RECURRENT in names:
        return torch.cat(trace[RECURRENT], 1)[0]
    depths = sorted(int(match[1]) for name in names if (match := TRANSFORMER.fullmatch(name)))
    if not depths:
        raise UsageError(
            "this model has no attention, so there is no alignment to show: all it knows of the source is one vector. "
            "Train with model.attention=additive or model.kind=transformer."
        )
    # The upper half: lower layers still look around rather than translate.
    upper = [torch.cat(trace[f"decoder.cross.{depth}"], 2) for depth in depths[len(depths) // 2 :]]
    return torch.stack(upper).mean((0, 2))[0]
