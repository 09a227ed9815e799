"""Coverage penalty: punishes source tokens without attention.   Wu et al. 2016.

    cp = beta * sum_j log(min(sum_i alpha_ij, 1))

alpha_ij is the attention of target token i to source token j, including the EOS of both. A source token with little
attention was perhaps not translated. The attention weights come from the trace of each step, for any kind of model.
"""

import torch
from torch import Tensor

from seqloom.errors import UsageError
from seqloom.models.api import Memory
from seqloom.models.traced_attention import read_attention
from seqloom.nn.trace import Trace


class Coverage:
    """Summed attention, sum_i alpha_ij, of the W live hypotheses of each sentence."""

    def __init__(self, beta: float, memory: Memory, beam: int) -> None:
        self.beta = beta
        self.padding = ~memory.mask[:, None]  # (B, 1, S)
        self.total = torch.zeros(len(memory.mask), beam, memory.mask.shape[1], device=memory.mask.device)  # (B, W, S)

    def add(self, trace: Trace) -> None:
        """Add the attention of one step."""
        weights = read_attention(trace)
        if weights is None:
            raise UsageError(
                f"coverage_penalty = {self.beta}: this model has no attention, so its coverage of the source is "
                "unknown. Use 0, or a model with attention."
            )
        self.total = self.total + weights

    def penalty(self) -> Tensor:
        """The coverage penalty cp of each live hypothesis: (B, W), at most 0."""
        least = torch.finfo(self.total.dtype).tiny  # avoids log 0
        logs = self.total.clamp(least, 1).log().masked_fill(self.padding, 0)
        return self.beta * logs.sum(-1)

    def select(self, rows: Tensor, parents: Tensor) -> None:
        """Keep these sentences (B',) and the parents of their hypotheses (B', W)."""
        self.padding = self.padding[rows]
        self.total = self.total[rows].take_along_dim(parents[..., None], 1)
