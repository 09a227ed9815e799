"""Embedding table (ids to vectors) and output projection (vectors to logits); both may share one matrix."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F


def make_table(vocab_size: int, width: int) -> nn.Embedding:
    """Embedding table with rows of length about 1: used as a tied output matrix, it gives small logits at first."""
    table = nn.Embedding(vocab_size, width)
    nn.init.normal_(table.weight, std=width**-0.5)
    return table


class Output(nn.Module):
    """Output projection:  logits = h W^T + b;  tied: W is the decoder's embedding table. Press and Wolf 2017."""

    def __init__(self, width: int, vocab_size: int, table: nn.Embedding | None) -> None:
        super().__init__()
        self.weight = table.weight if table is not None else nn.Parameter(torch.randn(vocab_size, width) * width**-0.5)
        self.bias = nn.Parameter(torch.zeros(vocab_size))

    def forward(self, hidden: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch V"]:
        return F.linear(hidden, self.weight, self.bias)
