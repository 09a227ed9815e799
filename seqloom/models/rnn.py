"""Recurrent encoder-decoder: one network reads the source, another with its own weights writes the target.

encoder    h_j = f(h_{j-1}, dropout(x_j)), in one direction or both, in layers; the decoder attends to dropout(h_j)
decoder    fixed_vector.py (no attention), bahdanau.py or luong.py
output     logits = dropout(t_i) E^T + b,   t_i the decoder's output at position i
"""

import math

from jaxtyping import Bool, Float, Int
from torch import Tensor

from seqloom.models.api import Memory, Seq2Seq, State
from seqloom.models.bahdanau import BahdanauDecoder
from seqloom.models.fixed_vector import FixedVectorDecoder
from seqloom.models.luong import LuongDecoder
from seqloom.models.recurrent_decoder import RecurrentSizes
from seqloom.nn.cells import CELLS
from seqloom.nn.dropout import Dropout
from seqloom.nn.embed import Output, make_table
from seqloom.nn.recurrent import Recurrent
from seqloom.nn.trace import Trace, part_of

RecurrentDecoder = FixedVectorDecoder | BahdanauDecoder | LuongDecoder
DECODERS: dict[str, type[BahdanauDecoder] | type[LuongDecoder]] = {"bahdanau": BahdanauDecoder, "luong": LuongDecoder}


class RecurrentSeq2Seq(Seq2Seq):
    """Recurrent encoder-decoder, with or without attention.

    `scaled`: embeddings are multiplied by sqrt(E). Rows of the table have length 1, because the output layer may share
    it. With the factor, entries are of size 1: cells learn faster at first and reach a worse result in the end.
    """

    def __init__(
        self,
        source_vocab_size: int,
        target_vocab_size: int,
        sizes: RecurrentSizes,
        *,
        joint: bool,
        scaled: bool = True,
    ) -> None:
        super().__init__()
        self.target_vocab_size = target_vocab_size
        self.embed_scale = math.sqrt(sizes.embed_size) if scaled else 1.0
        self.target_table = make_table(target_vocab_size, sizes.embed_size)
        one_table = sizes.tied and joint
        self.source_table = self.target_table if one_table else make_table(source_vocab_size, sizes.embed_size)
        self.encoder = Recurrent(
            sizes.cell, sizes.embed_size, sizes.encoder_width, sizes.encoder_layers, sizes.directions, sizes.dropout
        )
        self.state_parts = ("h", "c")[: len(CELLS[sizes.cell].states)]
        self.key_parts = ("keys", "half_squares")  # of the Gaussian score; the keys of the others are one tensor
        self.attends = sizes.attention != "none"
        make_decoder = DECODERS[sizes.decoder] if self.attends else FixedVectorDecoder
        self.decoder: RecurrentDecoder = make_decoder(sizes)
        self.output = Output(sizes.output_size, target_vocab_size, self.target_table if sizes.tied else None)
        self.dropout = Dropout(sizes.dropout)

    def encode(self, tokens: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"], trace: Trace | None = None) -> Memory:
        embedded = self.dropout(self.source_table(tokens) * self.embed_scale)
        annotations, last = self.encoder(embedded, mask, part_of(trace, "encoder"))
        if self.attends:
            annotations = self.dropout(annotations)
        return Memory(annotations, mask, last, self.decoder.project_keys(annotations))

    def start(self, memory: Memory, beams: int = 1) -> State:
        return self.decoder.start(memory, beams)

    def step(
        self, tokens: Int[Tensor, "R k"], state: State, memory: Memory, trace: Trace | None = None
    ) -> tuple[Float[Tensor, "R k D"], State]:
        words = self.dropout(self.target_table(tokens) * self.embed_scale)
        hidden, state = self.decoder.read(words, state, memory, part_of(trace, "decoder"))
        return self.dropout(hidden), state
