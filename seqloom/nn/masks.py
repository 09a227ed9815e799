"""Who may look at whom: bool masks, True = may look, and the softmax that obeys them."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def causal_mask(num_queries: int, num_keys: int, device: torch.device | None = None) -> Bool[Tensor, "T S"]:
    """The last query sees every key, each one before it sees one key less."""
    return torch.ones(num_queries, num_keys, dtype=torch.bool, device=device).tril(num_keys - num_queries)


def masked_softmax(scores: Float[Tensor, "*batch S"], mask: Bool[Tensor, "*#batch S"]) -> Float[Tensor, "*batch S"]:
    """alpha_i = exp(score_i) / sum_j exp(score_j) over the visible keys; exactly 0 elsewhere.

    Each row of the mask must have one visible key (a batch guarantees it: every source ends with </s>).
    """
    return scores.masked_fill(~mask, float("-inf")).softmax(-1)
