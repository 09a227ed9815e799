"""Dropout that draws eight decisions from each 64-bit random number.

    y = x * m / (1 - p),   m ~ Bernoulli(1 - p)

Torch's dropout draws one random number per element: a tenth of the time of a training step on a CPU. Here p is
rounded to a multiple of 1/256, and the scale uses the rounded p, so the expectation is exact.
Srivastava et al. 2014, Dropout: a simple way to prevent neural networks from overfitting.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Dropout(nn.Module):
    """Dropout with p rounded to a multiple of 1/256; the identity in evaluation."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.dropped_of_256 = round(probability * 256)

    def forward(self, x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch D"]:
        if not self.training or self.dropped_of_256 == 0:
            return x
        scale = 256 / (256 - self.dropped_of_256)  # 1 / (1 - p)
        if x.dtype == torch.bfloat16:
            return x * self.keep(x) * scale  # a bfloat16 mask times scale would round the scale to eight bits
        return x * self.keep(x).mul_(scale)

    def keep(self, x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch D"]:
        """The dropout mask: 0 = dropped, 1 = kept."""
        draws = torch.empty((x.numel() + 7) // 8, dtype=torch.int64, device=x.device).random_(-(2**63), None)
        drawn = draws.view(torch.int8)[: x.numel()].view(x.shape)  # -128 .. 127
        least_kept = self.dropped_of_256 - 128
        # drawn >= least_kept, computed by arithmetic on bytes: a comparison to bools takes three times as long
        return drawn.clamp_(least_kept - 1, least_kept).sub_(least_kept - 1).to(x.dtype)

    def extra_repr(self) -> str:
        return f"p={self.dropped_of_256 / 256:.4f}"
