"""Cross-entropy with label smoothing; the gradient overwrites the log-probabilities, to save memory.

    loss_i = -(1 - eps) log p(y_i) - eps/V sum_v log p(v),      d loss_i / d z = p - (1 - eps) onehot(y_i) - eps/V

Szegedy et al. 2016. The logits (tokens x vocabulary) are the largest tensor of training: extra copies cost memory.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True)
class Loss:
    """Loss summed over the tokens of a batch; divide by `num_tokens` for the mean."""

    smoothed: Tensor  # with label smoothing; training minimises this
    nll: Tensor  # -log p, without label smoothing; reports show this
    num_tokens: int


class SmoothedCrossEntropy(torch.autograd.Function):
    """Autograd function that computes the loss and, in the same pass, the gradient of the logits."""

    @staticmethod
    def forward(
        ctx: Any, logits: Float[Tensor, "M V"], targets: Int[Tensor, " M"], smoothing: float
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Sum of the smoothed loss, sum of -log p(y)."""
        log_probs = logits.log_softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32))  # not in bfloat16
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
        return gradient.mul_(d_loss), None, None  # in place: it is not needed again


def cross_entropy(
    logits: Float[Tensor, "M V"], targets: Int[Tensor, " M"], smoothing: float = 0.0
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """(smoothed loss, -log p), each summed over the rows; only the first is differentiable, the second is reported."""
    loss, nll = SmoothedCrossEntropy.apply(logits, targets, smoothing)
    return loss, nll
