"""Attention over two pasts as if they were one: a source that all hypotheses of a sentence share, and each one's own.

    softmax over both:  out = g a_source + (1 - g) a_own,     g = Z_source / (Z_source + Z_own)

with a the attention over one of them alone and Z the sum of its exp(scores). So the keys of the source are never
copied per hypothesis. In training there is one hypothesis a sentence, and the fused kernel reads both in one row.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from seqloom.nn.masks import causal_mask
from seqloom.nn.multihead import KeysValues, MultiHead, Turn, fused_attention, rotate
from seqloom.nn.trace import Trace

Past = tuple[Float[Tensor, "R N _ K"], Float[Tensor, "R N _ K"]]  # keys and values of what was read so far


class PromptedHeads(MultiHead):
    def look_at_both(
        self,
        x: Float[Tensor, "R k D"],
        source: KeysValues,
        mask: Bool[Tensor, "B 1 1 S"],
        own: Past,
        depth: int,
        trace: Trace | None = None,
        turn: Turn | None = None,
    ) -> Float[Tensor, "R k D"]:
        """Queries from x against the source (B rows, R = B * beams) and their own past, which ends with x itself.

        Recorded apart, each as it is among its own: decoder.cross (B, N, W*k, S) and decoder.self (R, N, k, t).
        """
        queries = rotate(self.split(self.W_q(x)), turn)
        if trace is None and x.shape[1] > 1 and len(x) == len(mask):
            pooled = attend_in_one_row(queries, source, mask, own)
        else:
            pooled, across, back = attend_apart(queries, source, mask, own)
            if trace is not None:
                trace.record(f"decoder.cross.{depth}", across)
                trace.record(f"decoder.self.{depth}", back)
        return self.W_o(pooled.transpose(1, 2).flatten(-2))  # (R, k, D)


def attend_in_one_row(
    queries: Float[Tensor, "B N k K"], source: KeysValues, mask: Bool[Tensor, "B 1 1 S"], own: Past
) -> Float[Tensor, "B N k K"]:
    num, num_own = queries.shape[2], own[0].shape[2]
    causal = causal_mask(num, num_own, queries.device).expand(len(mask), 1, -1, -1)
    visible = torch.cat([mask.expand(-1, -1, num, -1), causal], -1)  # (B, 1, k, S + t)
    keys, values = (torch.cat(both, 2) for both in zip(source, own, strict=True))
    return fused_attention(queries, keys, values, visible)


def attend_apart(
    queries: Float[Tensor, "R N k K"], source: KeysValues, mask: Bool[Tensor, "B 1 1 S"], own: Past
) -> tuple[Float[Tensor, "R N k K"], Float[Tensor, "B N Wk S"], Float[Tensor, "R N k t"]]:
    """The pooled values, and the weights over the source and over the own past, each summing to 1."""
    num_sentences, num = mask.shape[0], queries.shape[2]
    scaled = queries / queries.shape[-1] ** 0.5
    asked = scaled.unflatten(0, (num_sentences, -1)).transpose(1, 2).flatten(2, 3)  # (B, N, W*k, K)
    across = (asked @ source[0].mT).masked_fill(~mask, float("-inf"))  # (B, N, W*k, S)
    back = (scaled @ own[0].mT).masked_fill(~causal_mask(num, own[0].shape[2], queries.device), float("-inf"))

    def by_row(x: Float[Tensor, "B N Wk J"]) -> Float[Tensor, "R N k J"]:
        return x.unflatten(2, (-1, num)).transpose(1, 2).flatten(0, 1)

    share = torch.sigmoid(by_row(across.logsumexp(-1, keepdim=True)) - back.logsumexp(-1, keepdim=True))  # g
    across, back = across.softmax(-1), back.softmax(-1)
    pooled = share * by_row(across @ source[1]) + (1 - share) * (back @ own[1])
    return pooled, across, back
