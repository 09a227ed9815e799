"""Positional encodings: they give attention the order of the tokens, which it would otherwise ignore.

Two ways: added to the embeddings (`add`), or as a rotation of the queries and keys of self-attention (`rotation`).
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seqloom.errors import UsageError
from seqloom.nn.multihead import Rotation

First = int | Int[Tensor, " B"]  # position of the first token: one for all rows, or one per row


class Positions(nn.Module):
    """Base class: adds no position information."""

    def __init__(self, width: int, head_size: int, max_length: int) -> None:
        super().__init__()

    def add(self, x: Float[Tensor, "B T D"], first: First) -> Float[Tensor, "B T D"]:
        """Add the encodings of the positions first .. first + T - 1 to x."""
        return x

    def rotation(self, first: First, num: int) -> Rotation | None:
        """Rotation of the queries and keys at positions first .. first + num - 1; None = no rotation."""
        return None


class NoPositions(Positions):
    """No positional encoding: the encoder sees a bag of words; the decoder knows order only from its causal mask."""


class SinusoidalPositions(Positions):
    """Sinusoidal positional encoding, added to the embeddings.

    p(i, 2j) = sin(i / 10000^(2j/D)),  p(i, 2j+1) = cos(i / 10000^(2j/D)).   Vaswani et al. 2017.
    """

    def __init__(self, width: int, head_size: int, max_length: int) -> None:
        super().__init__(width, head_size, max_length)
        self.table: Tensor
        self.register_buffer("table", sinusoids(max_length, width), persistent=False)

    def add(self, x: Float[Tensor, "B T D"], first: First) -> Float[Tensor, "B T D"]:
        return x + rows(self.table, first, x.shape[1])


class LearnedPositions(Positions):
    """Learned positional embeddings:  p(i) = P_i, one row per position.

    Rows beyond the longest training text are never trained and keep their random values.
    """

    def __init__(self, width: int, head_size: int, max_length: int) -> None:
        super().__init__(width, head_size, max_length)
        self.table = nn.Parameter(torch.randn(max_length, width) * width**-0.5)

    def add(self, x: Float[Tensor, "B T D"], first: First) -> Float[Tensor, "B T D"]:
        end = highest(first) + x.shape[1]
        if end > self.table.shape[0]:
            raise UsageError(
                f"this text needs {end} positions and this model has {self.table.shape[0]}; split the text, "
                "or train with a larger model.max_length and texts of that length, or with model.positions=sinusoidal"
            )
        return x + rows(self.table, first, x.shape[1])


class RotaryPositions(Positions):
    """Rotary positional encoding: entries 2j, 2j+1 of a query or key at position i are rotated by i / 10000^(2j/K).

    The product of a rotated query and a rotated key depends only on their distance.   Su et al. 2021 (RoFormer).
    """

    def __init__(self, width: int, head_size: int, max_length: int) -> None:
        super().__init__(width, head_size, max_length)
        if head_size % 2:
            raise UsageError(
                f"rotary positions rotate pairs of entries, so the width of a head must be even; it is {head_size}. "
                "Change model.width or model.heads."
            )
        self.table: Tensor
        self.register_buffer("table", sinusoids(max_length, head_size), persistent=False)

    def rotation(self, first: First, num: int) -> Rotation:
        angles = rows(self.table, first, num)  # their sines and cosines
        if not isinstance(first, int):
            angles = angles[:, None]  # the same for every head
        sin, cos = angles.unflatten(-1, (-1, 2)).unbind(-1)
        return torch.complex(cos, sin)


def sinusoids(length: int, width: int) -> Float[Tensor, "{length} {width}"]:
    """Table of sines (even columns) and cosines (odd columns), one row per position."""
    i = torch.arange(length, dtype=torch.float64)[:, None]
    j = torch.arange((width + 1) // 2, dtype=torch.float64)
    angles = i / 10000 ** (2 * j / width)  # (length, D/2)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, :width].float()


def rows(table: Float[Tensor, "L D"], first: First, num: int) -> Float[Tensor, "... {num} D"]:
    """Rows first .. first + num - 1 of a table; beyond its end a longer table of sinusoids is computed."""
    end = highest(first) + num
    if end > table.shape[0]:
        table = sinusoids(end, table.shape[1]).to(table)
    if isinstance(first, int):
        return table[first:end]
    return table[first[:, None] + torch.arange(num, device=first.device)]


def reach(model: nn.Module, length: int) -> None:
    """Lengthen the sinusoidal tables to so many positions, for an exported graph, which cannot compute longer ones.

    Learned positions keep their length.
    """
    for module in model.modules():
        if isinstance(module, (SinusoidalPositions, RotaryPositions)):
            module.table = rows(module.table, 0, max(length, module.table.shape[0]))


def highest(first: First) -> int:
    """The highest first position of any row.

    While a graph is traced for export (formats/onnx_contract.py) the value is not known, and 0 is returned: the engine
    that runs the graph keeps to its limits.
    """
    if isinstance(first, int):
        return first
    return 0 if torch.compiler.is_compiling() else int(first.max())


POSITIONS: dict[str, type[Positions]] = {
    "sinusoidal": SinusoidalPositions,
    "learned": LearnedPositions,
    "rotary": RotaryPositions,
    "none": NoPositions,
}
