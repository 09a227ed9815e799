"""How much of the source a hypothesis has looked at:  cp = beta * sum_j log(min(sum_i alpha_ij, 1)).   Wu et al. 2016.

alpha_ij is the attention of target token i to source token j, the EOS of both among them. What nobody looks at costs
much: it was perhaps not translated. The weights come from the trace of each step, whatever the model.
"""

import torch
from torch import Tensor

from seqloom.errors import UsageError
from seqloom.models.api import Memory
from seqloom.models.attention import read_attention
from seqloom.nn.trace import Trace


class Coverage:
    """sum_i alpha_ij for the W live hypotheses of each sentence."""

    def __init__(self, beta: float, memory: Memory, beam: int) -> None:
        self.beta = beta
        self.padding = ~memory.mask[:, None]  # (B, 1, S)
        self.total = torch.zeros(len(memory.mask), beam, memory.mask.shape[1], device=memory.mask.device)  # (B, W, S)

    def add(self, trace: Trace) -> None:
        """What one step looked at."""
        weights = read_attention(trace)
        if weights is None:
            raise UsageError(
                f"coverage_penalty = {self.beta}: this model has no attention, so nobody knows what of the source it "
                "has covered. Use 0, or a model with attention."
            )
        self.total = self.total + weights

    def penalty(self) -> Tensor:
        """cp of each live hypothesis: (B, W), 0 at best."""
        least = torch.finfo(self.total.dtype).tiny  # log 0 is no score
        logs = self.total.clamp(least, 1).log().masked_fill(self.padding, 0)
        return self.beta * logs.sum(-1)

    def select(self, rows: Tensor, parents: Tensor) -> None:
        """Go on with these sentences (B',) and their hypotheses' parents (B', W)."""
        self.padding = self.padding[rows]
        self.total = self.total[rows].take_along_dim(parents[..., None], 1)
