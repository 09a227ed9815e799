"""The recurrent encoder-decoder, with a fixed context vector or with attention.

attention = none        s_0 = bridge(h_S): all the decoder knows of the source     Sutskever et al. 2014
attention = additive    c_i = sum_j alpha_ij h_j,  alpha_i = softmax(score(s_{i-1}, h))   Bahdanau et al. 2015
                        s_i = f(s_{i-1}, y_{i-1}, c_i)
output                  t_i = tanh(W [y_{i-1}; s_i; c_i]),  logits = t_i E^T
"""

from collections.abc import Iterable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seqloom.models.api import Memory, Seq2Seq, State
from seqloom.nn.cells import CELLS, Cell, CellState
from seqloom.nn.dropout import Dropout
from seqloom.nn.embed import Output, make_table
from seqloom.nn.recurrent import Recurrent, scan
from seqloom.nn.scores import SCORES, attend
from seqloom.nn.trace import Trace


class RecurrentSeq2Seq(Seq2Seq):
    def __init__(
        self,
        source_vocab_size: int,
        target_vocab_size: int,
        *,
        cell: str,
        attention: str,
        width: int,
        embed_size: int,
        encoder_layers: int,
        decoder_layers: int,
        bidirectional: bool,
        dropout: float,
        tied: bool,
        joint: bool,
    ) -> None:
        super().__init__()
        self.target_vocab_size = target_vocab_size
        self.target_table = make_table(target_vocab_size, embed_size)
        self.source_table = self.target_table if tied and joint else make_table(source_vocab_size, embed_size)
        self.encoder = Recurrent(cell, embed_size, width, encoder_layers, bidirectional, dropout)
        self.bridge = Bridge(width, decoder_layers, CELLS[cell].num_states)
        self.score = SCORES[attention](width, width, width) if attention != "none" else None
        context_size = width if self.score is not None else 0
        sizes = [embed_size + context_size] + [width] * (decoder_layers - 1)
        self.cells: Iterable[Cell] = nn.ModuleList(CELLS[cell](size, width) for size in sizes)  # type: ignore[assignment]
        self.readout = nn.Linear(embed_size + width + context_size, embed_size)
        self.output = Output(embed_size, target_vocab_size, self.target_table if tied else None)
        self.dropout = Dropout(dropout)

    def encode(self, tokens: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"], trace: Trace | None = None) -> Memory:
        embedded = self.dropout(self.source_table(tokens) * self.embed_scale)
        annotations, last = self.encoder(embedded, mask, trace)
        keys = self.score.project_keys(annotations) if self.score is not None else None
        return Memory(annotations, mask, last, keys)

    @property
    def embed_scale(self) -> float:
        """sqrt(E): the table's rows have length 1 for the output's sake; a cell wants entries of size 1."""
        return self.target_table.embedding_dim**0.5

    def start(self, memory: Memory, beams: int = 1) -> State:
        return [tuple(s.repeat_interleave(beams, 0) for s in layer) for layer in self.bridge(memory.last)]

    def step(
        self, tokens: Int[Tensor, "R k"], state: State, memory: Memory, trace: Trace | None = None
    ) -> tuple[Float[Tensor, "R k D"], State]:
        embedded = self.dropout(self.target_table(tokens) * self.embed_scale)  # (R, k, E)
        if self.score is None:
            return self.read_fixed(embedded, state, trace)
        return self.read_attentive(embedded, state, memory, trace)

    def hidden(
        self, tokens: Int[Tensor, "B={len(memory.mask)} T"], memory: Memory, trace: Trace | None = None
    ) -> Float[Tensor, "B T D"]:
        return self.step(tokens, self.start(memory), memory, trace)[0]

    def read_fixed(
        self, embedded: Float[Tensor, "R k E"], state: State, trace: Trace | None
    ) -> tuple[Float[Tensor, "R k D"], State]:
        """Without attention no step waits for the one before it in a higher layer: each layer scans all k at once."""
        h, after = embedded, []
        for depth, (cell, layer_state) in enumerate(zip(self.cells, state, strict=True)):
            h, last = scan(cell, self.dropout(h) if depth else h, layer_state, None, trace)
            after.append(last)
        return self.read_out(embedded, h), after

    def read_attentive(
        self, embedded: Float[Tensor, "R k E"], state: State, memory: Memory, trace: Trace | None
    ) -> tuple[Float[Tensor, "R k D"], State]:
        """s_i needs c_i, which needs s_{i-1}: one position after the other."""
        E = embedded.shape[-1]
        first = next(iter(self.cells))
        from_words = nn.functional.linear(embedded, first.W_x[:, :E], first.b)  # y W_x + b for all k at once
        states, contexts = [], []
        for y in from_words.unbind(1):
            c = self.look(state[-1][0], memory, trace)
            state = self.advance(y + nn.functional.linear(c, first.W_x[:, E:]), state, trace)
            states.append(state[-1][0])
            contexts.append(c)
        return self.read_out(embedded, torch.stack(states, 1), torch.stack(contexts, 1)), state

    def look(self, s: Float[Tensor, "R H"], memory: Memory, trace: Trace | None) -> Float[Tensor, "R H"]:
        """c_i for every row: the beams of a sentence are queries to one memory, never copies of it."""
        assert self.score is not None
        query = s.view(memory.mask.shape[0], -1, s.shape[-1])  # (B, W, H)
        return attend(self.score(query, memory.keys), memory.annotations, memory.mask, trace).flatten(0, 1)

    def advance(self, x: Float[Tensor, "R GH"], state: State, trace: Trace | None) -> State:
        """One position up through the layers; x is already multiplied by the first layer's W_x."""
        after: list[CellState] = []
        for depth, (cell, layer_state) in enumerate(zip(self.cells, state, strict=True)):
            if depth:
                x = cell.project(self.dropout(after[-1][0]))
            after.append(cell.advance(x, layer_state, trace))
        return after

    def read_out(self, *parts: Float[Tensor, "R k _"]) -> Float[Tensor, "R k D"]:
        return self.dropout(torch.tanh(self.readout(torch.cat(parts, -1))))

    def project(self, hidden: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch V"]:
        return self.output(hidden)


class Bridge(nn.Module):
    """s_0 = tanh(W h_S) for each layer and each part of the state; the top layers meet when the depths differ."""

    def __init__(self, width: int, layers: int, num_states: int) -> None:
        super().__init__()
        self.layers = layers
        self.maps: Iterable[Iterable[nn.Linear]] = nn.ModuleList(  # type: ignore[assignment]
            nn.ModuleList(nn.Linear(width, width) for _ in range(num_states)) for _ in range(layers)
        )

    def forward(self, last: list[CellState]) -> list[CellState]:
        missing = max(0, self.layers - len(last))
        aligned = [last[0]] * missing + last[-self.layers :]
        return [
            tuple(torch.tanh(linear(s)) for linear, s in zip(maps, states, strict=True))
            for maps, states in zip(self.maps, aligned, strict=True)
        ]
