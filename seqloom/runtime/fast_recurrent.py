"""The step of a recurrent model made fast: the same equations and weights, only prepared once.

words     y W_x + b of every word of the vocabulary is computed before the first step: a step looks it up
packed    the matrices of the step and of the output lie as the kernel wants them (runtime/packed.py)
plain     no gradient is kept in mind, no position but the new one is computed

The cells and scores are those of the model. With a trace, or more than one position, the model's own step answers.
"""

from typing import Any

import torch
from torch import Tensor

from seqloom.models.api import Memory, Seq2Seq, State
from seqloom.models.bahdanau import BahdanauDecoder
from seqloom.models.fixed_vector import FixedVectorDecoder
from seqloom.models.luong import LuongDecoder
from seqloom.models.rnn import RecurrentSeq2Seq
from seqloom.nn.trace import Trace
from seqloom.runtime.packed import PackedMatrices

MOST_WORDS = 1 << 26  # numbers in the table of words: 256 MB


class FastRecurrent(Seq2Seq):
    """For translating only: weights must not change after the first step."""

    def __init__(self, model: RecurrentSeq2Seq) -> None:
        super().__init__()
        self.model, self.target_vocab_size = model, model.target_vocab_size
        self.matrices = PackedMatrices()
        self.words: Tensor | None = None  # (V, GH)

    def encode(self, tokens: Tensor, mask: Tensor, trace: Trace | None = None) -> Memory:
        return self.model.encode(tokens, mask, trace)

    def start(self, memory: Memory, beams: int = 1) -> State:
        return self.model.start(memory, beams)

    def hidden(self, tokens: Tensor, memory: Memory, trace: Trace | None = None) -> Tensor:
        return self.model.hidden(tokens, memory, trace)

    def project(self, hidden: Tensor) -> Tensor:
        output = self.model.output
        return self.matrices.linear(hidden, output.weight, output.bias)

    def step(self, tokens: Tensor, state: State, memory: Memory, trace: Trace | None = None) -> tuple[Tensor, State]:
        if trace is not None or tokens.shape[1] > 1 or torch.is_grad_enabled():
            return self.model.step(tokens, state, memory, trace)
        decoder, ids = self.model.decoder, tokens[:, 0]
        if isinstance(decoder, BahdanauDecoder):
            hidden, state = self.step_bahdanau(decoder, ids, state, memory)
        elif isinstance(decoder, LuongDecoder):
            hidden, state = self.step_luong(decoder, ids, state, memory)
        else:
            hidden, state = self.step_fixed_vector(decoder, ids, state)
        return hidden[:, None], state

    def step_bahdanau(
        self, decoder: BahdanauDecoder, ids: Tensor, state: State, memory: Memory
    ) -> tuple[Tensor, State]:
        linear = self.matrices.linear
        c = decoder.look(state[-1][0], memory, linear, None)
        state = decoder.stack.advance(self.project_word(ids), c, state, linear, None)
        return self.read_out(decoder.readout, self.embed(ids), state[-1][0], c), state

    def step_luong(self, decoder: LuongDecoder, ids: Tensor, state: State, memory: Memory) -> tuple[Tensor, State]:
        linear = self.matrices.linear
        cells = decoder.stack.advance(self.project_word(ids), state["fed"], state["cells"], linear, None)
        s = cells[-1][0]
        c = decoder.look(s, memory, linear, None)
        fed = torch.tanh(linear(torch.cat([c, s], -1), decoder.W.weight))
        return fed, {"cells": cells, "fed": fed}

    def step_fixed_vector(self, decoder: FixedVectorDecoder, ids: Tensor, state: State) -> tuple[Tensor, State]:
        linear, context = self.matrices.linear, state["context"]
        if context is not None:
            cells = decoder.stack.advance(self.project_word(ids), context, state["cells"], linear, None)
            return self.read_out(decoder.readout, self.embed(ids), cells[-1][0], context), {**state, "cells": cells}
        x, cells = self.project_word(ids), []
        for depth, (cell, before) in enumerate(zip(decoder.stack.cells, state["cells"], strict=True)):
            if depth:
                x = linear(cells[-1][0], cell.W_x, cell.b)
            cells.append(cell.advance(x, before, linear, None))
        s, readout = cells[-1][0], decoder.readout
        hidden = linear(s, readout.weight, readout.bias) if isinstance(readout, torch.nn.Linear) else s
        return hidden, {**state, "cells": cells}

    def read_out(self, readout: Any, *parts: Tensor) -> Tensor:
        """As nn/readout.py, on packed matrices."""
        t = self.matrices.linear(torch.cat(parts, -1), readout.W.weight, readout.W.bias)
        return t.unflatten(-1, (-1, 2)).amax(-1) if readout.maxout else torch.tanh(t)

    def embed(self, ids: Tensor) -> Tensor:
        return self.model.target_table(ids) * self.model.embed_scale

    def project_word(self, ids: Tensor) -> Tensor:
        """y W_x + b: (R,) -> (R, GH)."""
        first, table = self.model.decoder.stack.cells[0], self.model.target_table.weight
        words_of_W = first.W_x[:, : table.shape[1]]
        if len(table) * len(first.b) > MOST_WORDS:
            return self.matrices.linear(self.embed(ids), words_of_W, first.b)
        if self.words is None:
            self.words = torch.nn.functional.linear(table * self.model.embed_scale, words_of_W, first.b)
        return self.words[ids]
