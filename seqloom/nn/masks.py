"""Attention masks (bool, True = visible): the causal mask, and a softmax that ignores hidden positions and padding."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def causal_mask(num_queries: int, num_keys: int, device: torch.device | None = None) -> Bool[Tensor, "T S"]:
    """Causal attention mask: no query sees a later key. The last query sees every key, the one before it one fewer."""
    return torch.ones(num_queries, num_keys, dtype=torch.bool, device=device).tril(num_keys - num_queries)


def masked_softmax(scores: Float[Tensor, "*batch S"], mask: Bool[Tensor, "*#batch S"]) -> Float[Tensor, "*batch S"]:
    """alpha_i = exp(score_i) / sum_j exp(score_j) over the visible keys; exactly 0 for hidden keys.

    Each row of the mask needs at least one visible key. Every batch has that: each source ends with </s>.
    """
    return scores.masked_fill(~mask, float("-inf")).softmax(-1)
