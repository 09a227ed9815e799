"""Late weight gradients for loops over time: one product after the last step instead of one product per step.

    y_t = x_t M^T  for t = 1..T,        dM = sum_t dy_t^T x_t = [dy_1; ...; dy_T]^T [x_1; ...; x_T]

Plain autograd computes T small products and adds each to a buffer as large as M. M is a weight (O,I), or one matrix per
sentence (B,O,I): the keys and the values of attention. Backpropagation through time: Werbos 1990.

Under autocast, a weight is rounded once per loop, and so are the activations that it multiplies. States, sums and
attention stay float32.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

Used = defaultdict[int, list[tuple[Tensor, Tensor]]]  # by backward pass: (x_t, dy_t) of each step, in backward order
this_pass = torch._C._current_graph_task_id  # a different number for each backward pass


@contextmanager
def late_products() -> Iterator[Callable[[Tensor, Tensor], Tensor]]:
    """Context for one loop over time: gives a `linear(x, M)` with the outputs and gradients of F.linear(x, M)."""
    if not torch.is_autocast_enabled("cpu"):
        yield Late().linear
    else:
        late = Late(torch.get_autocast_dtype("cpu"))
        with torch.autocast("cpu", enabled=False):
            yield late.linear


class Late:
    """The matrices that one loop multiplies by; `weights_in`: weights and their inputs are rounded to this type."""

    def __init__(self, weights_in: torch.dtype | None = None) -> None:
        self.weights_in = weights_in
        self.matrices: dict[tuple[Any, ...], tuple[Tensor, Used]] = {}

    def linear(self, x: Float[Tensor, "*batch I"], matrix: Float[Tensor, "*#rows O I"]) -> Float[Tensor, "*batch O"]:
        if not (torch.is_grad_enabled() and matrix.requires_grad and matrix.is_cpu):
            return multiply(x, matrix)
        key = (matrix.data_ptr(), matrix.shape, matrix.stride())  # equal slices taken in different steps are one matrix
        if key not in self.matrices:
            used: Used = defaultdict(list)
            rounded = matrix.to(self.weights_in) if self.weights_in and matrix.ndim == 2 else matrix
            self.matrices[key] = Collect.apply(rounded, used), used
        return Multiply.apply(x, *self.matrices[key])


def unrounded(x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch D"]:
    """Convert a bfloat16 product of autocast to float32, once, before a loop that adds to it in every step."""
    return x.float() if x.dtype == torch.bfloat16 else x


def multiply(x: Float[Tensor, "*batch I"], matrix: Float[Tensor, "*#rows O I"]) -> Float[Tensor, "*batch O"]:
    return F.linear(x, matrix) if matrix.ndim == 2 else x @ matrix.mT


class Multiply(torch.autograd.Function):
    """The product of one step. Its backward pass leaves dM to `Collect`, which autograd runs after all steps."""

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
    """Identity on the matrix. Its backward pass computes dM from the (x_t, dy_t) that the steps put into `used`."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, used: Used) -> Tensor:
        ctx.set_materialize_grads(False)
        ctx.shared, ctx.used = matrix.ndim == 2, used
        return matrix.view_as(matrix)

    @staticmethod
    def backward(ctx: Any, _: None) -> tuple[Tensor | None, None]:
        steps = ctx.used.pop(this_pass(), [])
        ctx.used.clear()  # leftovers of passes that needed no gradient of this matrix and so did not run this
        if not steps:
            return None, None
        x, dy = (torch.cat(parts, -2) for parts in zip(*steps, strict=True))
        if ctx.shared:
            x, dy = x.flatten(0, -2), dy.flatten(0, -2)
        return dy.mT @ x, None
