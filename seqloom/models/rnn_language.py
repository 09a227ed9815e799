"""Recurrent language model: its state summarises everything read so far, for a text of any length.

    h_t = f(h_{t-1}, y_{t-1}) in layers,     p(y_t | y_<t) = softmax(h_t W^T + b)          Mikolov et al. 2010

Its parts are named as in the decoder of an encoder-decoder, so that one can be initialised from the other.
"""

import math

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seqloom.models.api import LanguageModel, Memory, State
from seqloom.nn.cells import CellState
from seqloom.nn.dropout import Dropout
from seqloom.nn.embed import Output, make_table
from seqloom.nn.stack import CellStack
from seqloom.nn.trace import Trace, part_of


class RecurrentLanguageModel(LanguageModel):
    """Recurrent language model. `scaled`: embeddings are multiplied by sqrt(E), as in models/rnn.py."""

    context = 0  # unlimited

    def __init__(
        self,
        vocab_size: int,
        cell: str,
        *,
        width: int,
        embed_size: int,
        layers: int,
        dropout: float,
        tied: bool,
        scaled: bool = True,
    ) -> None:
        super().__init__()
        self.target_vocab_size = vocab_size
        self.embed_scale = math.sqrt(embed_size) if scaled else 1.0
        self.target_table = make_table(vocab_size, embed_size)
        self.decoder = Stack(cell, embed_size, width, layers, dropout)
        self.output = Output(embed_size, vocab_size, self.target_table if tied else None)
        self.dropout = Dropout(dropout)

    def begin(self, rows: int) -> State:
        return [cell.start(rows) for cell in self.decoder.stack.cells]

    def read(
        self, tokens: Int[Tensor, "B T"], state: State, trace: Trace | None = None
    ) -> tuple[Float[Tensor, "B T D"], State]:
        return self.continue_from(tokens, state, None, part_of(trace, "decoder"))

    def encode(self, tokens: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"], trace: Trace | None = None) -> Memory:
        annotations, last = self.continue_from(tokens, self.begin(len(tokens)), mask, part_of(trace, "encoder"))
        return Memory(annotations.masked_fill(~mask[..., None], 0.0), mask, last)

    def start(self, memory: Memory, beams: int = 1) -> State:
        return [tuple(s.repeat_interleave(beams, 0) for s in layer) for layer in memory.last]

    def step(
        self, tokens: Int[Tensor, "R k"], state: State, memory: Memory, trace: Trace | None = None
    ) -> tuple[Float[Tensor, "R k D"], State]:
        return self.read(tokens, state, trace)

    def continue_from(
        self, tokens: Int[Tensor, "R k"], state: State, mask: Bool[Tensor, "R k"] | None, trace: Trace | None
    ) -> tuple[Float[Tensor, "R k D"], State]:
        """Read k tokens, starting from a state; the mask keeps right padding from changing the state."""
        words = self.dropout(self.target_table(tokens) * self.embed_scale)
        outputs, after = self.decoder(words, state, mask, trace)
        return self.dropout(outputs), after


class Stack(nn.Module):
    """Stacked cells, and a linear map from the top layer to the width of the embeddings if the two differ."""

    def __init__(self, cell: str, embed_size: int, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.stack = CellStack(cell, embed_size, width, layers, dropout)
        self.readout: nn.Module = nn.Identity() if width == embed_size else nn.Linear(width, embed_size)

    def forward(
        self,
        words: Float[Tensor, "R k E"],
        state: list[CellState],
        mask: Bool[Tensor, "R k"] | None,
        trace: Trace | None,
    ) -> tuple[Float[Tensor, "R k D"], list[CellState]]:
        top, after = self.stack.scan(words, state, trace, mask)
        return self.readout(top), after
