"""A faster tanh for training on a CPU, used by the additive score and by every step of a recurrent cell.

    tanh(x) = 2 sigmoid(2x) - 1,      d tanh = 1 - tanh^2

Torch's kernel for tanh takes six times as long as its kernel for the sigmoid (CPU, AVX-512).
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor


def tanh(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """tanh(x), equal to torch.tanh within 1e-6; without gradients (search, export) it is torch.tanh."""
    return Tanh.apply(x) if x.is_cpu and torch.is_grad_enabled() and x.requires_grad else torch.tanh(x)


class Tanh(torch.autograd.Function):
    """tanh by way of the sigmoid, with its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = (2 * x).sigmoid_().mul_(2).sub_(1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return torch.ops.aten.tanh_backward(dy, y)
