"""Transformer encoder, used alone (BERT) and in front of a decoder; weight names are the same in both.

x = scale E[token] + position, with layer norm if asked for;  L blocks of self-attention and feed-forward
"""

import math
from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seqloom.nn.blocks import EncoderBlock
from seqloom.nn.dropout import Dropout
from seqloom.nn.positions import POSITIONS
from seqloom.nn.trace import Trace


@dataclass(frozen=True)
class TransformerSizes:
    """Sizes that the encoder and the decoder of one Transformer share."""

    width: int
    heads: int
    ffn_size: int
    dropout: float
    norm: str
    positions: str
    max_length: int
    activation: str = "relu"
    embed_scale: bool = True
    embed_norm: bool = False
    norm_eps: float = 1e-5

    @property
    def scale(self) -> float:
        return math.sqrt(self.width) if self.embed_scale else 1.0

    @property
    def of_block(self) -> tuple[int, int, int, float, str, str]:
        """The arguments of a block (nn/blocks.py)."""
        return self.width, self.heads, self.ffn_size, self.dropout, self.norm, self.activation

    def make_positions(self) -> nn.Module:
        return POSITIONS[self.positions](self.width, self.width // self.heads, self.max_length)

    def make_embed_norm(self) -> nn.Module:
        return nn.LayerNorm(self.width) if self.embed_norm else nn.Identity()

    def make_last_norm(self) -> nn.Module:
        """The layer norm after the last block: pre-norm leaves the sum of all sublayers unnormalised."""
        return nn.LayerNorm(self.width) if self.norm == "pre" else nn.Identity()


class TransformerEncoder(nn.Module):
    """Mixin with the encoder of a Transformer; `add_encoder` creates its parts."""

    def add_encoder(self, sizes: TransformerSizes, table: nn.Embedding, layers: int) -> None:
        self.source_scale = sizes.scale
        self.source_table = table
        self.source_positions = sizes.make_positions()
        self.source_norm = sizes.make_embed_norm()
        self.dropout = Dropout(sizes.dropout)
        self.encoder = nn.ModuleList(EncoderBlock(*sizes.of_block) for _ in range(layers))
        self.encoder_norm = sizes.make_last_norm()

    def read_source(
        self, tokens: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"], trace: Trace | None = None
    ) -> Float[Tensor, "B S D"]:
        """Annotations: the encoder's output for every source position."""
        embedded = self.source_positions.add(self.source_table(tokens) * self.source_scale, 0)  # type: ignore[operator]
        x = self.dropout(self.source_norm(embedded))
        rotation = self.source_positions.rotation(0, tokens.shape[1])  # type: ignore[operator]
        visible = mask[:, None, None]  # (B, 1, 1, S)
        for depth, block in enumerate(self.encoder):
            x = block(x, visible, f"encoder.self.{depth}", trace, rotation)
        return self.encoder_norm(x)


def initialise(model: nn.Module, sizes: TransformerSizes) -> None:
    """Initialise with small matrices and zero biases: each block starts near the identity, so post-norm learns fast.

    An untied output matrix (nn/embed.py) keeps its rows of length 1. At width 256 the standard deviation 0.32 D^-1/2 is
    the 0.02 of BERT and Marian, a third of Glorot's; docs/log.md compares the two.
    """
    for module in model.modules():
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.32 * sizes.width**-0.5)
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)
        if isinstance(module, nn.LayerNorm):
            module.eps = sizes.norm_eps
