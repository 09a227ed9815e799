"""Transformer blocks: attention and feed-forward sublayers with residual connections and layer norm.

pre-norm    x <- x + f(norm(x))        stable in training without tuning; the default
post-norm   x <- norm(x + f(x))        as published; Vaswani et al. 2017

A decoder block takes and returns its key/value cache (`past`, nn/key_value_cache.py), so that a step computes attention
for its new positions only.
"""

from collections.abc import Callable
from functools import partial

from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.nn.dropout import Dropout
from seqloom.nn.key_value_cache import KeysValues, Past, extend
from seqloom.nn.masks import causal_mask
from seqloom.nn.multihead import MultiHead, Rotation
from seqloom.nn.prompted import PromptedHeads
from seqloom.nn.trace import Trace


class Residual(nn.Module):
    """Residual connection with layer norm and dropout around one sublayer f, pre-norm or post-norm."""

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
    "gelu_tanh": partial(F.gelu, approximate="tanh"),  # GPT-2's approximation
    "silu": F.silu,  # x sigma(x): Marian's swish
}


class FeedForward(nn.Module):
    """Position-wise feed-forward layer:  f(x) = W_2 phi(W_1 x + b_1) + b_2."""

    def __init__(self, width: int, ffn_size: int, dropout: float, activation: str = "relu") -> None:
        super().__init__()
        self.phi = ACTIVATIONS[activation]
        self.W_1 = nn.Linear(width, ffn_size)
        self.W_2 = nn.Linear(ffn_size, width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch D"]:
        return self.W_2(self.dropout(self.phi(self.W_1(x))))


class EncoderBlock(nn.Module):
    """Encoder block: self-attention over the source, then feed-forward."""

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
        rotation: Rotation | None = None,
    ) -> Float[Tensor, "B S D"]:
        def look(y: Tensor) -> Tensor:
            return self.attention(y, self.attention.project_keys(y, rotation), mask, name, trace, rotation)

        x = self.around_attention(x, look)
        return self.around_feed_forward(x, self.feed_forward)


class DecoderBlock(nn.Module):
    """Decoder block: causal self-attention, cross-attention to the source, feed-forward."""

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
        rotation: Rotation | None = None,
    ) -> tuple[Float[Tensor, "R k D"], Past]:
        """Read k new positions; returns their outputs and the extended key/value cache.

        `past` is the cache of earlier positions, `source` the keys and values of the source (B rows, R = B * beams).
        """
        present: list[Past] = []

        def look_back(y: Tensor) -> Tensor:
            present.append(extend(past, self.attention.project_keys(y, rotation)))
            num_queries, num_keys = y.shape[1], present[0][0].shape[2]
            causal = causal_mask(num_queries, num_keys, y.device) if num_queries > 1 else None
            return self.attention(y, present[0], causal, f"decoder.self.{depth}", trace, rotation)

        def look_across(y: Tensor) -> Tensor:
            beams = y.unflatten(0, (source[0].shape[0], -1))  # (B, W, k, D): beams share one memory, it is not copied
            return self.cross(beams.flatten(1, 2), source, mask, f"decoder.cross.{depth}", trace).reshape(y.shape)

        x = self.around_attention(x, look_back)
        x = self.around_cross(x, look_across)
        return self.around_feed_forward(x, self.feed_forward), present[0]


class CausalBlock(nn.Module):
    """Decoder-only block, as in GPT: causal self-attention and feed-forward, no cross-attention.

    The key/value cache has two parts: `past`, which belongs to one row, and `source`, the cache of the prompt, one per
    sentence and shared by R = B * beams rows (nn/prompted.py). Weights are named as in DecoderBlock, without `cross`.
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
        rotation: Rotation | None = None,
        source: KeysValues | None = None,
        mask: Bool[Tensor, "B 1 1 S"] | None = None,
        part: str = "decoder",
    ) -> tuple[Float[Tensor, "R k D"], Past]:
        """Read k new positions after `past` and, if given, after the source.

        Returns their outputs and the extended key/value cache. `part` is the first word of the names in the trace.
        """
        present: list[Past] = []

        def look_back(y: Tensor) -> Tensor:
            present.append(extend(past, self.attention.project_keys(y, rotation)))
            if source is not None and mask is not None:
                return self.attention.look_at_both(y, source, mask, present[0], depth, trace, rotation)
            num_queries, num_keys = y.shape[1], present[0][0].shape[2]
            causal = causal_mask(num_queries, num_keys, y.device) if num_queries > 1 else None
            return self.attention(y, present[0], causal, f"{part}.self.{depth}", trace, rotation)

        x = self.around_attention(x, look_back)
        return self.around_feed_forward(x, self.feed_forward), present[0]
