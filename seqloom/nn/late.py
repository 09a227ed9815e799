"""Matrices that every time step multiplies by: the gradient of each is one product at the end, not one a step.

    y_t = x_t M^T  for t = 1..T,        dM = sum_t dy_t^T x_t = [dy_1; ...; dy_T]^T [x_1; ...; x_T]

Autograd alone makes T small products and adds each to a buffer as large as M. M is a weight (O,I), or one matrix a
sentence (B,O,I): the keys and the values of attention. Backpropagation through time: Werbos 1990.
"""

from collections import defaultdict
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

Used = defaultdict[int, list[tuple[Tensor, Tensor]]]  # by backward pass: (x_t, dy_t) of each step, as it meets them
this_pass = torch._C._current_graph_task_id  # a number of its own for each backward pass


class Late:
    """One for a loop over time: `late.linear(x, M)` in it is what F.linear(x, M) is, gradients included."""

    def __init__(self) -> None:
        self.matrices: dict[tuple[Any, ...], tuple[Tensor, Used]] = {}

    def linear(self, x: Float[Tensor, "*batch I"], matrix: Float[Tensor, "*#rows O I"]) -> Float[Tensor, "*batch O"]:
        if not (torch.is_grad_enabled() and matrix.requires_grad and matrix.is_cpu):
            return multiply(x, matrix)
        place = (matrix.data_ptr(), matrix.shape, matrix.stride())  # a slice taken anew in each step is the same matrix
        if place not in self.matrices:
            used: Used = defaultdict(list)
            self.matrices[place] = Collect.apply(matrix, used), used
        return Multiply.apply(x, *self.matrices[place])


def multiply(x: Float[Tensor, "*batch I"], matrix: Float[Tensor, "*#rows O I"]) -> Float[Tensor, "*batch O"]:
    return F.linear(x, matrix) if matrix.ndim == 2 else x @ matrix.mT


class Multiply(torch.autograd.Function):
    """One step. Its backward pass leaves the matrix' part to `Collect`, which autograd runs after all steps."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, matrix: Tensor, used: Used) -> Tensor:
        ctx.save_for_backward(x, matrix)
        ctx.used = used
        return multiply(x, matrix)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, None, None]:
        x, matrix = ctx.saved_tensors
        ctx.used[this_pass()].append((x, dy))
        return dy @ matrix if ctx.needs_input_grad[0] else None, None, None


class Collect(torch.autograd.Function):
    """The matrix as the steps see it. Its backward pass is given nothing and finds all in `used`."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, used: Used) -> Tensor:
        ctx.set_materialize_grads(False)
        ctx.shared, ctx.used = matrix.ndim == 2, used
        return matrix.view_as(matrix)

    @staticmethod
    def backward(ctx: Any, _: None) -> tuple[Tensor | None, None]:
        steps = ctx.used.pop(this_pass(), [])
        ctx.used.clear()  # of passes that were not asked for this matrix and so never came here
        if not steps:
            return None, None
        x, dy = (torch.cat(parts, -2) for parts in zip(*steps, strict=True))
        if ctx.shared:
            x, dy = x.flatten(0, -2), dy.flatten(0, -2)
        return dy.mT @ x, None
