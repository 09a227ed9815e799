"""Output layer and cross-entropy with label smoothing in one function, which never holds all logits in float32.

    z_i = W h_i + b,    log p_i = z_i - log sum_v exp z_iv,    loss_i = -(1 - eps) log p_i(y_i) - eps/V sum_v log p_i(v)

Szegedy et al. 2016. The gradient of the logits has a part G and a constant, which needs no matrix of its own:

    d loss_i / d z_i = G_i - eps/V,     G_i = p_i - (1 - eps) onehot(y_i)
    dh_i = G_i W - eps/V sum_v W_v,     dW_v = sum_i G_iv h_i - eps/V sum_i h_i,     db = sum_i G_i - M eps/V

The matrix of tokens x vocabulary is the largest of training. It is computed some rows at a time, so that they stay in
the processor's cache from the product to G; G alone is kept for the backward pass, in the type of the products.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

LOGITS_AT_ONCE = 2**22  # 16 MB in float32


@dataclass(frozen=True)
class Loss:
    """Loss summed over the tokens of a batch; divide by `num_tokens` for the mean."""

    smoothed: Tensor  # with label smoothing; training minimises this
    nll: Tensor  # -log p, without label smoothing; reports show this
    num_tokens: int


class OutputLoss(torch.autograd.Function):
    """The loss of hidden vectors; under autocast the products are rounded, and the rest is float32."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Float[Tensor, "M D"],
        weight: Float[Tensor, "V D"],
        bias: Float[Tensor, " V"],
        targets: Int[Tensor, " M"],
        smoothing: float,
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Sum of the smoothed loss, sum of -log p(y)."""
        device, vocab = hidden.device.type, len(weight)
        ctx.types = hidden.dtype, weight.dtype
        wide = torch.promote_types(weight.dtype, torch.float32)
        if torch.is_autocast_enabled(device):
            hidden, weight = (factor.to(torch.get_autocast_dtype(device)) for factor in (hidden, weight))
        keeps = any(ctx.needs_input_grad)
        kept = hidden.new_empty(len(hidden) if keeps else 0, vocab)
        loss, nll = hidden.new_zeros(2, dtype=wide)
        rows = max(1, LOGITS_AT_ONCE // vocab)
        for start in range(0, len(hidden), rows):
            place, wanted = slice(start, start + rows), targets[start : start + rows, None]
            z = (hidden[place] @ weight.mT).to(wide).add_(bias)
            highest, z_sum, z_wanted = z.amax(-1), z.sum(), z.gather(1, wanted)
            p = z.softmax(-1)
            log_sum = (highest - p.amax(-1).log()).sum()  # torch's logsumexp takes longer than its softmax
            nll += log_sum - z_wanted.sum()
            loss += log_sum - (1 - smoothing) * z_wanted.sum() - smoothing / vocab * z_sum
            if keeps:
                p.scatter_add_(1, wanted, p.new_full(wanted.shape, smoothing - 1))
                kept[place] = p
        ctx.save_for_backward(hidden, weight, kept)
        ctx.even = smoothing / vocab
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    def backward(ctx: Any, d_loss: Tensor, _: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None, None, None]:
        hidden, weight, kept = ctx.saved_tensors
        narrow, wide = ctx.types
        d_hidden = d_weight = d_bias = None
        if ctx.needs_input_grad[0]:
            d_hidden = (kept @ weight).to(narrow).sub_(ctx.even * weight.sum(0, dtype=narrow)).mul_(d_loss)
        if ctx.needs_input_grad[1]:
            d_weight = (kept.mT @ hidden).to(wide).sub_(ctx.even * hidden.sum(0, dtype=wide)).mul_(d_loss)
        if ctx.needs_input_grad[2]:
            d_bias = kept.sum(0).to(wide).sub_(ctx.even * len(kept)).mul_(d_loss)
        return d_hidden, d_weight, d_bias, None, None


def output_loss(
    hidden: Float[Tensor, "M D"],
    weight: Float[Tensor, "V D"],
    bias: Float[Tensor, " V"],
    targets: Int[Tensor, " M"],
    smoothing: float = 0.0,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """(smoothed loss, -log p), each summed over the rows; only the first is differentiable, the second is reported."""
    loss, nll = OutputLoss.apply(hidden, weight, bias, targets, smoothing)
    return loss, nll
