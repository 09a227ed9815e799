"""Readout: combines previous word, decoder state and context into the vector that the output layer turns into logits.

tanh      t = tanh(W [y; s; c] + b)
maxout    t_j = max(t~_{2j-1}, t~_{2j}),   t~ = W [y; s; c] + b        Goodfellow et al. 2013, Bahdanau et al. 2015
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F


class Readout(nn.Module):
    """Readout layer of concatenated parts: y the embedded previous word, s the state, c the context."""

    def __init__(self, input_size: int, width: int, *, maxout: bool) -> None:
        super().__init__()
        self.maxout = maxout
        self.W = nn.Linear(input_size, 2 * width if maxout else width)

    def forward(
        self, *parts: Float[Tensor, "*rows _"], linear: Callable[..., Tensor] = F.linear
    ) -> Float[Tensor, "*rows D"]:
        t = linear(torch.cat(parts, -1), self.W.weight, self.W.bias)
        return t.unflatten(-1, (-1, 2)).amax(-1) if self.maxout else torch.tanh(t)
