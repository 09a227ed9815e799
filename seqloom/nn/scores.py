"""How well a query fits a key: the scoring functions of attention, and attention pooling over their softmax."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from seqloom.nn.masks import masked_softmax
from seqloom.nn.trace import Trace


class AdditiveScore(nn.Module):
    """score(q, k) = w^T tanh(W_q q + W_k k).   Bahdanau et al. 2015."""

    def __init__(self, query_size: int, key_size: int, width: int) -> None:
        super().__init__()
        self.W_q = nn.Linear(query_size, width, bias=False)
        self.W_k = nn.Linear(key_size, width)
        self.w = nn.Parameter(torch.empty(width).uniform_(-(width**-0.5), width**-0.5))

    def project_keys(self, annotations: Float[Tensor, "B S H"]) -> Float[Tensor, "B S A"]:
        """W_k k, once a sentence."""
        return self.W_k(annotations)

    def forward(self, query: Float[Tensor, "B W H"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B W S"]:
        """Keys are projected ones; W queries a sentence."""
        return torch.tanh(self.W_q(query)[:, :, None] + keys[:, None]) @ self.w


SCORES: dict[str, type[AdditiveScore]] = {"additive": AdditiveScore}


def attend(
    scores: Float[Tensor, "B W S"],
    values: Float[Tensor, "B S H"],
    mask: Bool[Tensor, "B S"],
    trace: Trace | None = None,
) -> Float[Tensor, "B W H"]:
    """c = sum_j alpha_j v_j,  alpha = softmax(scores)."""
    alpha = masked_softmax(scores, mask[:, None])
    if trace is not None:
        trace.record("decoder.attention", alpha)
    return alpha @ values
