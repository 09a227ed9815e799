"""The Transformer: attention alone, encoder and decoder. Vaswani et al. 2017."""

import math
from collections.abc import Sequence

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seqloom.models.api import Memory, Seq2Seq, State
from seqloom.nn.blocks import DecoderBlock, EncoderBlock
from seqloom.nn.dropout import Dropout
from seqloom.nn.embed import Output, make_table
from seqloom.nn.positions import POSITIONS
from seqloom.nn.trace import Trace


class Transformer(Seq2Seq):
    """x = sqrt(D) E[token] + position; L_e encoder blocks; L_d decoder blocks that look back and across."""

    def __init__(
        self,
        source_vocab_size: int,
        target_vocab_size: int,
        *,
        width: int,
        heads: int,
        ffn_size: int,
        encoder_layers: int,
        decoder_layers: int,
        dropout: float,
        norm: str,
        positions: str,
        max_length: int,
        tied: bool,
        joint: bool,
    ) -> None:
        super().__init__()
        self.target_vocab_size = target_vocab_size
        self.scale = math.sqrt(width)
        self.target_table = make_table(target_vocab_size, width)
        self.source_table = self.target_table if tied and joint else make_table(source_vocab_size, width)
        self.source_positions = POSITIONS[positions](width, width // heads, max_length)
        self.target_positions = POSITIONS[positions](width, width // heads, max_length)
        self.dropout = Dropout(dropout)
        sizes = (width, heads, ffn_size, dropout, norm)
        self.encoder = nn.ModuleList(EncoderBlock(*sizes) for _ in range(encoder_layers))
        self.decoder: Sequence[DecoderBlock] = nn.ModuleList(  # type: ignore[assignment]
            DecoderBlock(*sizes) for _ in range(decoder_layers)
        )
        # Pre-norm leaves the sum of all sublayers unnormalised, so one norm closes each stack.
        self.encoder_norm = nn.LayerNorm(width) if norm == "pre" else nn.Identity()
        self.decoder_norm = nn.LayerNorm(width) if norm == "pre" else nn.Identity()
        self.output = Output(width, target_vocab_size, self.target_table if tied else None)
        self.apply(lambda module: initialise(module, 0.32 * width**-0.5))

    def encode(self, tokens: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"], trace: Trace | None = None) -> Memory:
        x = self.dropout(self.source_positions.add(self.source_table(tokens) * self.scale, 0))
        turn = self.source_positions.turn(0, tokens.shape[1])
        visible = mask[:, None, None]  # (B, 1, 1, S)
        for depth, block in enumerate(self.encoder):
            x = block(x, visible, f"encoder.self.{depth}", trace, turn)
        annotations = self.encoder_norm(x)
        return Memory(annotations, mask, keys=[block.cross.project_keys(annotations) for block in self.decoder])

    def start(self, memory: Memory, beams: int = 1) -> State:
        return {"position": 0, "past": [None] * len(self.decoder)}

    def step(
        self, tokens: Int[Tensor, "R k"], state: State, memory: Memory, trace: Trace | None = None
    ) -> tuple[Float[Tensor, "R k D"], State]:
        position = state["position"]
        x = self.dropout(self.target_positions.add(self.target_table(tokens) * self.scale, position))
        turn = self.target_positions.turn(position, tokens.shape[1])
        visible = memory.mask[:, None, None]
        present = []
        for depth, block in enumerate(self.decoder):
            x, kept = block(x, state["past"][depth], memory.keys[depth], visible, depth, trace, turn)
            present.append(kept)
        return self.decoder_norm(x), {"position": position + tokens.shape[1], "past": present}

    def hidden(
        self, tokens: Int[Tensor, "B={len(memory.mask)} T"], memory: Memory, trace: Trace | None = None
    ) -> Float[Tensor, "B T D"]:
        return self.step(tokens, self.start(memory), memory, trace)[0]

    def project(self, hidden: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch V"]:
        return self.output(hidden)


def initialise(module: nn.Module, std: float) -> None:
    """Small matrices, zero biases: each block begins near the identity, which lets post-norm learn fast.

    0.32 D^-1/2 is the 0.02 of BERT and Marian at the width of 256, a third of Glorot's; docs/log.md has both.
    """
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, std=std)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)
