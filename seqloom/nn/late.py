"""Matrices that every time step multiplies by: the gradient of each is one product at the end, not one a step.

    y_t = x_t M^T  for t = 1..T,        dM = sum_t dy_t^T x_t = [dy_1; ...; dy_T]^T [x_1; ...; x_T]

Autograd alone makes T small products and adds each to a buffer as large as M. M is a weight (O,I), or one matrix a
sentence (B,O,I): the keys and the values of attention. Backpropagation through time: Werbos 1990.

Under autocast a weight is rounded once a loop, and only what is multiplied by it with it: states, sums and attention
stay float32.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

Used = defaultdict[int, list[tuple[Tensor, Tensor]]]  # by backward pass: (x_t, dy_t) of each step, as it meets them
this_pass = torch._C._current_graph_task_id  # a number of its own for each backward pass


@contextmanager
def late_products() -> Iterator[Callable[[Tensor, Tensor], Tensor]]:
    """For a loop over time: a `linear(x, M)` that is what F.linear(x, M) is, gradients included."""
    if not torch.is_autocast_enabled("cpu"):
        yield Late().linear
    else:
        late = Late(torch.get_autocast_dtype("cpu"))
        with torch.autocast("cpu", enabled=False):
            yield late.linear


class Late:
    """The products of one loop; weights, and what they meet, are rounded to `weights_in` where that is given."""

    def __init__(self, weights_in: torch.dtype | None = None) -> None:
        self.weights_in = weights_in
        self.matrices: dict[tuple[Any, ...], tuple[Tensor, Used]] = {}

    def linear(self, x: Float[Tensor, "*batch I"], matrix: Float[Tensor, "*#rows O I"]) -> Float[Tensor, "*batch O"]:
        if not (torch.is_grad_enabled() and matrix.requires_grad and matrix.is_cpu):
            return multiply(x, matrix)
        place = (matrix.data_ptr(), matrix.shape, matrix.stride())  # a slice taken anew in each step is the same matrix
        if place not in self.matrices:
            used: Used = defaultdict(list)
            rounded = matrix.to(self.weights_in) if self.weights_in and matrix.ndim == 2 else matrix
            self.matrices[place] = Collect.apply(rounded, used), used
        return Multiply.apply(x, *self.matrices[place])


def unrounded(x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch D"]:
    """A product of autocast in float32 again, once, for a loop that adds to it in every step."""
    return x.float() if x.dtype == torch.bfloat16 else x


def multiply(x: Float[Tensor, "*batch I"], matrix: Float[Tensor, "*#rows O I"]) -> Float[Tensor, "*batch O"]:
    return F.linear(x, matrix) if matrix.ndim == 2 else x @ matrix.mT


class Multiply(torch.autograd.Function):
    """One step. Its backward pass leaves the matrix' part to `Collect`, which autograd runs after all steps."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, matrix: Tensor, used: Used) -> Tensor:
        rounded = x.to(matrix.dtype)
        ctx.save_for_backward(rounded, matrix)
        ctx.used = used
        return multiply(rounded, matrix).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, None, None]:
        x, matrix = ctx.saved_tensors
        rounded = dy.to(matrix.dtype)
        ctx.used[this_pass()].append((x, rounded))
        return (rounded @ matrix).to(dy.dtype) if ctx.needs_input_grad[0] else None, None, None


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
