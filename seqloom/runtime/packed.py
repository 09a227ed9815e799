"""Matrices laid out once for the processor's kernel, for products of few rows.

A plain product rearranges the whole matrix every time, which for a few rows (the beam of one sentence) costs more than
the product itself; with many rows the two come together. A single row needs no rearranging: there the plain one wins.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

Place = tuple[int, torch.Size, tuple[int, ...]]


class PackedMatrices:
    """`packed.linear(x, M)` is x M^T + b; M must stay as it is from its first use on."""

    def __init__(self) -> None:
        self.packed: dict[Place, tuple[Tensor, Tensor]] = {}
        self.usable = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")

    def linear(self, x: Tensor, matrix: Tensor, bias: Tensor | None = None) -> Tensor:
        if matrix.ndim > 2:  # one a sentence: the keys and values of attention
            return x @ matrix.mT
        if not self.usable or x.numel() == x.shape[-1] or not matrix.is_cpu or matrix.dtype != torch.float32:
            return F.linear(x, matrix, bias)
        place = (matrix.data_ptr(), matrix.shape, matrix.stride())  # a slice taken anew in each step is the same matrix
        if place not in self.packed:
            # the matrix is kept beside its packed form: its address must not pass to another one
            self.packed[place] = torch.ops.mkldnn._reorder_linear_weight(matrix.contiguous()), matrix
        return torch.ops.mkldnn._linear_pointwise(x, self.packed[place][0], bias, "none", [], "")
