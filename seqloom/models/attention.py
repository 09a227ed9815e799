"""Where a model looked in the source, read from its trace: the one place that knows the names of those recordings.

decoder.attention     (B, W, S) a position             recurrent decoders, ensembles
decoder.cross.<n>     (B, N, W*k, S) for k positions   each layer of a Transformer
"""

import re

import torch
from jaxtyping import Float
from torch import Tensor

from seqloom.nn.trace import Trace

POOLED = "decoder.attention"
LAYER = re.compile(r"decoder\.cross\.(\d+)")


def read_attention(trace: Trace) -> Float[Tensor, "B Q S"] | None:
    """Weights that sum to 1 over the source, Q = W hypotheses or T positions; None for a model without attention."""
    names = trace.names()
    if POOLED in names:
        return torch.cat(trace[POOLED], 1)
    depths = sorted(int(match[1]) for name in names if (match := LAYER.fullmatch(name)))
    if not depths:
        return None
    # The upper half: lower layers still look around rather than translate.
    upper = [torch.cat(trace[f"decoder.cross.{depth}"], 2) for depth in depths[len(depths) // 2 :]]
    return torch.stack(upper).mean((0, 2))
