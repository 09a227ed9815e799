"""Cross-entropy with label smoothing, its gradient made in the place of the logits.

    loss_i = -(1 - eps) log p(y_i) - eps/V sum_v log p(v),      d loss_i / d z = p - (1 - eps) onehot(y_i) - eps/V

Szegedy et al. 2016. The logits are the largest tensor of training (tokens x vocabulary); one copy of it is enough.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True)
class Loss:
    """Sums over the tokens of a batch; divide by `num_tokens` for the mean."""

    smoothed: Tensor  # what is minimised
    nll: Tensor  # -log p, what is reported
    num_tokens: int


class SmoothedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, logits: Float[Tensor, "M V"], targets: Int[Tensor, " M"], smoothing: float
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Sum of the smoothed loss, sum of -log p(y)."""
        log_probs = logits.log_softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32))  # of rounded logits
        nll = -log_probs.gather(1, targets[:, None]).sum()
        loss = (1 - smoothing) * nll
        if smoothing:
            loss = loss - smoothing / logits.shape[1] * log_probs.sum()
        if ctx.needs_input_grad[0]:
            gradient = log_probs.exp_()
            gradient.scatter_add_(1, targets[:, None], gradient.new_full((len(targets), 1), smoothing - 1))
            if smoothing:
                gradient.sub_(smoothing / logits.shape[1])
            ctx.save_for_backward(gradient)
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    def backward(ctx: Any, d_loss: Float[Tensor, ""], _: Float[Tensor, ""]) -> tuple[Float[Tensor, "M V"], None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient.mul_(d_loss), None, None  # in place: nobody reads it again


def cross_entropy(
    logits: Float[Tensor, "M V"], targets: Int[Tensor, " M"], smoothing: float = 0.0
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """(smoothed loss, -log p) summed over the rows; the first has a gradient, the second is for reporting."""
    loss, nll = SmoothedCrossEntropy.apply(logits, targets, smoothing)
    return loss, nll
