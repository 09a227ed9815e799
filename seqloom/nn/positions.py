"""Where a token stands, told to a network that would otherwise see a bag: added to the embeddings."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seqloom.errors import UsageError


class SinusoidalPositions(nn.Module):
    """p(i, 2j) = sin(i / 10000^(2j/D)),  p(i, 2j+1) = cos(i / 10000^(2j/D)).   Vaswani et al. 2017."""

    def __init__(self, width: int, max_length: int) -> None:
        super().__init__()
        self.width = width
        self.table: Tensor
        self.register_buffer("table", sinusoids(max_length, width), persistent=False)

    def forward(self, first: int, num: int) -> Float[Tensor, "{num} D"]:
        """The rows first .. first + num - 1. Longer than the table: computed anew, sinusoids know no end."""
        if first + num > self.table.shape[0]:
            return sinusoids(first + num, self.width)[first:].to(self.table)
        return self.table[first : first + num]


def sinusoids(length: int, width: int) -> Float[Tensor, "{length} {width}"]:
    i = torch.arange(length, dtype=torch.float64)[:, None]
    j = torch.arange((width + 1) // 2, dtype=torch.float64)
    angles = i / 10000 ** (2 * j / width)  # (length, D/2)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, :width].float()


class LearnedPositions(nn.Module):
    """p(i) = P_i, a row a place. Knows only the places it was trained on."""

    def __init__(self, width: int, max_length: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(max_length, width) * width**-0.5)

    def forward(self, first: int, num: int) -> Float[Tensor, "{num} D"]:
        if first + num > self.table.shape[0]:
            raise UsageError(
                f"position {first + num} is beyond the {self.table.shape[0]} that this model learned; "
                "split the text, or train with a larger data.max_tokens or model.positions=sinusoidal"
            )
        return self.table[first : first + num]


POSITIONS: dict[str, type[nn.Module]] = {"sinusoidal": SinusoidalPositions, "learned": LearnedPositions}
