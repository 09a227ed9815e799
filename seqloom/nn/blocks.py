"""The sublayers of a Transformer and how they are stacked: residual, layer norm, feed-forward.

pre-norm    x <- x + f(norm(x))        trains without care; the default
post-norm   x <- norm(x + f(x))        as published; Vaswani et al. 2017
"""

from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.nn.dropout import Dropout
from seqloom.nn.masks import causal_mask
from seqloom.nn.multihead import KeysValues, MultiHead, Turn
from seqloom.nn.prompted import Past, PromptedHeads
from seqloom.nn.trace import Trace


class Residual(nn.Module):
    """The norm and the dropout around one sublayer f, in either order."""

    def __init__(self, width: int, dropout: float, norm: str) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.dropout = Dropout(dropout)
        self.pre = norm == "pre"

    def forward(self, x: Float[Tensor, "*batch D"], f: Callable[[Tensor], Tensor]) -> Float[Tensor, "*batch D"]:
        if self.pre:
            return x + self.dropout(f(self.norm(x)))
        return self.norm(x + self.dropout(f(x)))


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,  # x Phi(x): BERT
    "gelu_tanh": partial(F.gelu, approximate="tanh"),  # as GPT-2 wrote it
    "silu": F.silu,  # x sigma(x): Marian's swish
}


class FeedForward(nn.Module):
    """f(x) = W_2 phi(W_1 x + b_1) + b_2, each position alone."""

    def __init__(self, width: int, ffn_size: int, dropout: float, activation: str = "relu") -> None:
        super().__init__()
        self.phi = ACTIVATIONS[activation]
        self.W_1 = nn.Linear(width, ffn_size)
        self.W_2 = nn.Linear(ffn_size, width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch D"]:
        return self.W_2(self.dropout(self.phi(self.W_1(x))))


class EncoderBlock(nn.Module):
    """Self-attention over the source, then feed-forward."""

    def __init__(
        self, width: int, heads: int, ffn_size: int, dropout: float, norm: str, activation: str = "relu"
    ) -> None:
        super().__init__()
        self.attention = MultiHead(width, heads)
        self.feed_forward = FeedForward(width, ffn_size, dropout, activation)
        self.around_attention = Residual(width, dropout, norm)
        self.around_feed_forward = Residual(width, dropout, norm)

    def forward(
        self,
        x: Float[Tensor, "B S D"],
        mask: Bool[Tensor, "B 1 1 S"],
        name: str,
        trace: Trace | None = None,
        turn: Turn | None = None,
    ) -> Float[Tensor, "B S D"]:
        def look(y: Tensor) -> Tensor:
            return self.attention(y, self.attention.project_keys(y, turn), mask, name, trace, turn)

        x = self.around_attention(x, look)
        return self.around_feed_forward(x, self.feed_forward)


class DecoderBlock(nn.Module):
    """Masked self-attention, attention to the source, feed-forward."""

    def __init__(
        self, width: int, heads: int, ffn_size: int, dropout: float, norm: str, activation: str = "relu"
    ) -> None:
        super().__init__()
        self.attention = MultiHead(width, heads)
        self.cross = MultiHead(width, heads)
        self.feed_forward = FeedForward(width, ffn_size, dropout, activation)
        self.around_attention = Residual(width, dropout, norm)
        self.around_cross = Residual(width, dropout, norm)
        self.around_feed_forward = Residual(width, dropout, norm)

    def forward(
        self,
        x: Float[Tensor, "R k D"],
        past: Past | None,
        source: KeysValues,
        mask: Bool[Tensor, "B 1 1 S"],
        depth: int,
        trace: Trace | None = None,
        turn: Turn | None = None,
    ) -> tuple[Float[Tensor, "R k D"], Past]:
        """k new positions, the keys and values of earlier ones, those of the source (B rows, R = B * beams)."""
        present: list[Past] = []

        def look_back(y: Tensor) -> Tensor:
            present.append(extend(past, self.attention.project_keys(y, turn)))
            num_queries, num_keys = y.shape[1], present[0][0].shape[2]
            causal = causal_mask(num_queries, num_keys, y.device) if num_queries > 1 else None
            return self.attention(y, present[0], causal, f"decoder.self.{depth}", trace, turn)

        def look_across(y: Tensor) -> Tensor:
            beams = y.unflatten(0, (source[0].shape[0], -1))  # (B, W, k, D): queries to one memory, never copies of it
            return self.cross(beams.flatten(1, 2), source, mask, f"decoder.cross.{depth}", trace).reshape(y.shape)

        x = self.around_attention(x, look_back)
        x = self.around_cross(x, look_across)
        return self.around_feed_forward(x, self.feed_forward), present[0]


class CausalBlock(nn.Module):
    """Masked self-attention and feed-forward, with nobody to look across to: what a GPT is made of.

    What was read before may lie in two places: `past`, a row's own, and `source`, one a sentence that R = B * beams
    rows share (nn/prompted.py). The weights have the names of a DecoderBlock's without its `cross`.
    """

    def __init__(
        self, width: int, heads: int, ffn_size: int, dropout: float, norm: str, activation: str = "relu"
    ) -> None:
        super().__init__()
        self.attention = PromptedHeads(width, heads)
        self.feed_forward = FeedForward(width, ffn_size, dropout, activation)
        self.around_attention = Residual(width, dropout, norm)
        self.around_feed_forward = Residual(width, dropout, norm)

    def forward(
        self,
        x: Float[Tensor, "R k D"],
        past: Past | None,
        depth: int,
        trace: Trace | None = None,
        turn: Turn | None = None,
        source: KeysValues | None = None,
        mask: Bool[Tensor, "B 1 1 S"] | None = None,
        reader: str = "decoder",
    ) -> tuple[Float[Tensor, "R k D"], Past]:
        """k new positions after `past` and, where there is one, after the source; `reader` names what is recorded."""
        present: list[Past] = []

        def look_back(y: Tensor) -> Tensor:
            present.append(extend(past, self.attention.project_keys(y, turn)))
            if source is not None and mask is not None:
                return self.attention.look_at_both(y, source, mask, present[0], depth, trace, turn)
            num_queries, num_keys = y.shape[1], present[0][0].shape[2]
            causal = causal_mask(num_queries, num_keys, y.device) if num_queries > 1 else None
            return self.attention(y, present[0], causal, f"{reader}.self.{depth}", trace, turn)

        x = self.around_attention(x, look_back)
        return self.around_feed_forward(x, self.feed_forward), present[0]


def extend(past: Past | None, new: Past) -> Past:
    """Keys and values of the earlier positions followed by the new ones."""
    if past is None:
        return new
    return torch.cat([past[0], new[0]], 2), torch.cat([past[1], new[1]], 2)
