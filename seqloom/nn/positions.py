"""Where a token stands, told to a network that would otherwise see a bag.

Two ways: added to the embeddings (`add`), or turned into the queries and keys of self-attention (`turn`).
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seqloom.errors import UsageError
from seqloom.nn.multihead import Turn

First = int | Int[Tensor, " B"]  # the place of the first token: of all rows, or of each


class Positions(nn.Module):
    """Nothing is told, unless a way of telling says otherwise."""

    def __init__(self, width: int, head_size: int, max_length: int) -> None:
        super().__init__()

    def add(self, x: Float[Tensor, "B T D"], first: First) -> Float[Tensor, "B T D"]:
        """x with the places first .. first + T - 1 added to it."""
        return x

    def turn(self, first: First, num: int) -> Turn | None:
        """What turns the queries and keys of these places; None = nothing does."""
        return None


class NoPositions(Positions):
    """The encoder sees a bag of words, the decoder only who comes before whom (its mask)."""


class SinusoidalPositions(Positions):
    """p(i, 2j) = sin(i / 10000^(2j/D)),  p(i, 2j+1) = cos(i / 10000^(2j/D)).   Vaswani et al. 2017."""

    def __init__(self, width: int, head_size: int, max_length: int) -> None:
        super().__init__(width, head_size, max_length)
        self.table: Tensor
        self.register_buffer("table", sinusoids(max_length, width), persistent=False)

    def add(self, x: Float[Tensor, "B T D"], first: First) -> Float[Tensor, "B T D"]:
        return x + rows(self.table, first, x.shape[1])


class LearnedPositions(Positions):
    """p(i) = P_i, a row a place. Rows beyond the longest text it was trained on stay as they began: by chance."""

    def __init__(self, width: int, head_size: int, max_length: int) -> None:
        super().__init__(width, head_size, max_length)
        self.table = nn.Parameter(torch.randn(max_length, width) * width**-0.5)

    def add(self, x: Float[Tensor, "B T D"], first: First) -> Float[Tensor, "B T D"]:
        end = last_place(first) + x.shape[1]
        if end > self.table.shape[0]:
            raise UsageError(
                f"position {end} is beyond the {self.table.shape[0]} that this model has; split the text, "
                "or train with a larger model.max_length and texts of that length, or model.positions=sinusoidal"
            )
        return x + rows(self.table, first, x.shape[1])


class RotaryPositions(Positions):
    """Entries 2j, 2j+1 of a query or key at place i are turned by the angle i / 10000^(2j/K).

    A turned query times a turned key depends on how far apart they stand, not on where.   Su et al. 2021 (RoFormer).
    """

    def __init__(self, width: int, head_size: int, max_length: int) -> None:
        super().__init__(width, head_size, max_length)
        if head_size % 2:
            raise UsageError(f"rotary positions turn pairs of entries, and a head has {head_size}: use an even width")
        self.table: Tensor
        self.register_buffer("table", sinusoids(max_length, head_size), persistent=False)

    def turn(self, first: First, num: int) -> Turn:
        places = rows(self.table, first, num)
        if not isinstance(first, int):
            places = places[:, None]  # the same for every head
        sin, cos = places.unflatten(-1, (-1, 2)).unbind(-1)
        return torch.complex(cos, sin)


def sinusoids(length: int, width: int) -> Float[Tensor, "{length} {width}"]:
    i = torch.arange(length, dtype=torch.float64)[:, None]
    j = torch.arange((width + 1) // 2, dtype=torch.float64)
    angles = i / 10000 ** (2 * j / width)  # (length, D/2)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, :width].float()


def rows(table: Float[Tensor, "L D"], first: First, num: int) -> Float[Tensor, "... {num} D"]:
    """The rows first .. first + num - 1. Longer than the table: computed anew, sinusoids know no end."""
    end = last_place(first) + num
    if end > table.shape[0]:
        table = sinusoids(end, table.shape[1]).to(table)
    if isinstance(first, int):
        return table[first:end]
    return table[first[:, None] + torch.arange(num, device=first.device)]


def reach(model: nn.Module, places: int) -> None:
    """Tables for so many places, for a graph that cannot compute them anew; what was learned has the places it has."""
    for module in model.modules():
        if isinstance(module, (SinusoidalPositions, RotaryPositions)):
            module.table = rows(module.table, 0, max(places, module.table.shape[0]))


def last_place(first: First) -> int:
    """A graph that is being traced for export (models/graphs.py) cannot ask: whoever runs it keeps to its limits."""
    if isinstance(first, int):
        return first
    return 0 if torch.compiler.is_compiling() else int(first.max())


POSITIONS: dict[str, type[Positions]] = {
    "sinusoidal": SinusoidalPositions,
    "learned": LearnedPositions,
    "rotary": RotaryPositions,
    "none": NoPositions,
}
