"""The Transformer, encoder and decoder. Vaswani et al. 2017.

The decoder's state is its key/value cache: `past` holds the self-attention keys and values of all target positions read
so far, one pair per layer. The keys and values of the source are computed once per sentence and are in the memory.
"""

from collections.abc import Sequence

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seqloom.models.api import Memory, Seq2Seq, State
from seqloom.models.transformer_encoder import TransformerEncoder, TransformerSizes, initialise
from seqloom.nn.blocks import DecoderBlock
from seqloom.nn.embed import Output, make_table
from seqloom.nn.trace import Trace


class Transformer(Seq2Seq, TransformerEncoder):
    """Transformer:  x = sqrt(D) E[token] + position;  L_e encoder blocks;  L_d decoder blocks with cross-attention."""

    def __init__(
        self,
        source_vocab_size: int,
        target_vocab_size: int,
        sizes: TransformerSizes,
        *,
        encoder_layers: int,
        decoder_layers: int,
        tied: bool,
        joint: bool,
    ) -> None:
        super().__init__()
        self.target_vocab_size = target_vocab_size
        self.scale = sizes.scale
        self.target_table = make_table(target_vocab_size, sizes.width)
        self.add_encoder(
            sizes,
            self.target_table if tied and joint else make_table(source_vocab_size, sizes.width),
            encoder_layers,
        )
        self.target_positions = sizes.make_positions()
        self.target_norm = sizes.make_embed_norm()
        self.decoder: Sequence[DecoderBlock] = nn.ModuleList(  # type: ignore[assignment]
            DecoderBlock(*sizes.of_block) for _ in range(decoder_layers)
        )
        self.decoder_norm = sizes.make_last_norm()
        self.output = Output(sizes.width, target_vocab_size, self.target_table if tied else None)
        initialise(self, sizes)

    def encode(self, tokens: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"], trace: Trace | None = None) -> Memory:
        return self.remember(self.read_source(tokens, mask, trace), mask)

    def remember(self, annotations: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]) -> Memory:
        """The memory of these annotations, which may come from any encoder layer."""
        return Memory(annotations, mask, keys=[block.cross.project_keys(annotations) for block in self.decoder])

    def start(self, memory: Memory, beams: int = 1) -> State:
        return {"position": 0, "past": [None] * len(self.decoder)}

    def step(
        self, tokens: Int[Tensor, "R k"], state: State, memory: Memory, trace: Trace | None = None
    ) -> tuple[Float[Tensor, "R k D"], State]:
        position = state["position"]
        embedded = self.target_positions.add(self.target_table(tokens) * self.scale, position)  # type: ignore[operator]
        x = self.dropout(self.target_norm(embedded))
        rotation = self.target_positions.rotation(position, tokens.shape[1])  # type: ignore[operator]
        visible = memory.mask[:, None, None]
        present = []
        for depth, block in enumerate(self.decoder):
            x, kept = block(x, state["past"][depth], memory.keys[depth], visible, depth, trace, rotation)
            present.append(kept)
        return self.decoder_norm(x), {"position": position + tokens.shape[1], "past": present}
