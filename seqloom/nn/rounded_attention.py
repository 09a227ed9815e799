"""Attention of training in bfloat16 on a CPU: products of rounded factors, the softmax in float32.

    P = softmax(Q K^T / sqrt(K)),   O = P V
    dV = P^T dO,   dP = dO V^T,   dS = P * (dP - rowsum(P * dP)) / sqrt(K),   dQ = dS K,   dK = dS^T Q

Torch's fused kernel computes in float32 there (in bfloat16 its backward pass is eight times slower) and takes twice as
long. It never holds P, so it is kept where P is large.
"""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

MOST_WEIGHTS = 2**24  # entries of P: 32 MB in bfloat16 per layer, and two float32 copies for a moment


def suits(queries: Float[Tensor, "B N T K"], keys: Float[Tensor, "B N S K"]) -> bool:
    """Whether a model is being trained in bfloat16 on a CPU here, and P is small enough to be kept."""
    if not (queries.is_cpu and torch.is_autocast_enabled("cpu") and torch.is_grad_enabled()):
        return False
    return queries.shape[:-1].numel() * keys.shape[-2] <= MOST_WEIGHTS


class RoundedAttention(torch.autograd.Function):
    """Attention in the type of autocast; `mask` is True where a key is visible."""

    @staticmethod
    def forward(
        ctx: Any,
        queries: Float[Tensor, "B N T K"],
        keys: Float[Tensor, "B N S K"],
        values: Float[Tensor, "B N S K"],
        mask: Bool[Tensor, "... S"] | None,
    ) -> Float[Tensor, "B N T K"]:
        rounded = torch.get_autocast_dtype("cpu")
        ctx.types = [tensor.dtype for tensor in (queries, keys, values)]
        # heads are views of (B, T, D), which a product copies each time that it reads them
        queries, keys, values = (tensor.to(rounded).contiguous() for tensor in (queries, keys, values))
        scores = (queries @ keys.mT).float().mul_(queries.shape[-1] ** -0.5)
        if mask is not None:
            scores.masked_fill_(~mask, float("-inf"))
        weights = scores.softmax(-1).to(rounded)
        ctx.save_for_backward(queries, keys, values, weights)
        return weights @ values

    @staticmethod
    def backward(ctx: Any, d_out: Float[Tensor, "B N T K"]) -> tuple[Tensor, Tensor, Tensor, None]:
        queries, keys, values, weights = ctx.saved_tensors
        d_out = d_out.to(weights.dtype).contiguous()
        d_weights = (d_out @ values.mT).float()
        d_scores = torch.ops.aten._softmax_backward_data(d_weights, weights.float(), -1, torch.float32)
        d_scores = d_scores.mul_(queries.shape[-1] ** -0.5).to(weights.dtype)
        gradients = d_scores @ keys, d_scores.mT @ queries, weights.mT @ d_out
        d_queries, d_keys, d_values = (part.to(dtype) for part, dtype in zip(gradients, ctx.types, strict=True))
        return d_queries, d_keys, d_values, None
