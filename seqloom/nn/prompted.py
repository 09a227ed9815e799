"""Attention of a decoder-only model to a prompt that hypotheses share, and to each hypothesis's own positions.

The key/value cache has two parts: the source (prompt), one per sentence, and the own past of each hypothesis.

    softmax over both:  out = g a_source + (1 - g) a_own,     g = Z_source / (Z_source + Z_own)

a is the attention over one part alone and Z the sum of its exp(scores). So the keys of the source are not copied per
hypothesis. In training there is one hypothesis per sentence: both parts are concatenated for the fused kernel.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from seqloom.nn.key_value_cache import KeysValues, Past
from seqloom.nn.masks import causal_mask
from seqloom.nn.multihead import MultiHead, Rotation, fused_attention, rotate
from seqloom.nn.trace import Trace


class PromptedHeads(MultiHead):
    """Multi-head attention of a decoder-only model to a shared prompt and to each hypothesis's own past."""

    def look_at_both(
        self,
        x: Float[Tensor, "R k D"],
        source: KeysValues,
        mask: Bool[Tensor, "B 1 1 S"],
        own: Past,
        depth: int,
        trace: Trace | None = None,
        rotation: Rotation | None = None,
    ) -> Float[Tensor, "R k D"]:
        """Attention of queries from x to the source (B rows, R = B * beams) and to their own past, which ends with x.

        The trace gets two recordings, each summing to 1: decoder.cross (B, N, W*k, S) and decoder.self (R, N, k, t).
        """
        queries = rotate(self.split(self.W_q(x)), rotation)
        if trace is None and x.shape[1] > 1 and len(x) == len(mask):
            pooled = attend_concatenated(queries, source, mask, own)
        else:
            pooled = attend_separately(queries, source, mask, own, depth, trace)
        return self.W_o(pooled.transpose(1, 2).flatten(-2))  # (R, k, D)


def attend_concatenated(
    queries: Float[Tensor, "B N k K"], source: KeysValues, mask: Bool[Tensor, "B 1 1 S"], own: Past
) -> Float[Tensor, "B N k K"]:
    """Attention by the fused kernel to source and own past, concatenated; needs one hypothesis per sentence."""
    num, num_own = queries.shape[2], own[0].shape[2]
    causal = causal_mask(num, num_own, queries.device).expand(len(mask), 1, -1, -1)
    visible = torch.cat([mask.expand(-1, -1, num, -1), causal], -1)  # (B, 1, k, S + t)
    keys, values = (torch.cat(both, 2) for both in zip(source, own, strict=True))
    return fused_attention(queries, keys, values, visible)


def attend_separately(
    queries: Float[Tensor, "R N k K"],
    source: KeysValues,
    mask: Bool[Tensor, "B 1 1 S"],
    own: Past,
    depth: int,
    trace: Trace | None,
) -> Float[Tensor, "R N k K"]:
    """Attention to source and own past without concatenating them (the equation above)."""
    num_sentences, num = mask.shape[0], queries.shape[2]
    scaled = queries / queries.shape[-1] ** 0.5
    asked = scaled.unflatten(0, (num_sentences, -1)).transpose(1, 2).flatten(2, 3)  # (B, N, W*k, K)
    across = (asked @ source[0].mT).masked_fill(~mask, float("-inf"))  # (B, N, W*k, S)
    back = (scaled @ own[0].mT).masked_fill(~causal_mask(num, own[0].shape[2], queries.device), float("-inf"))

    def by_row(x: Float[Tensor, "B N Wk J"]) -> Float[Tensor, "R N k J"]:
        return x.unflatten(2, (-1, num)).transpose(1, 2).flatten(0, 1)

    share = torch.sigmoid(by_row(across.logsumexp(-1, keepdim=True)) - back.logsumexp(-1, keepdim=True))  # g
    across, back = across.softmax(-1), back.softmax(-1)
    if trace is not None:
        across, back = trace.record(f"decoder.cross.{depth}", across), trace.record(f"decoder.self.{depth}", back)
    return share * by_row(across @ source[1]) + (1 - share) * (back @ own[1])
