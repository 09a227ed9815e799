"""The step of a recurrent model made fast: the same equations and weights, only prepared once.

words     y W_x + b of every word of the vocabulary is computed before the first step: a step looks it up
packed    the matrices of the step and of the output lie as the kernel wants them (runtime/packed.py)
plain     no gradient is kept in mind, no position but the new one is computed

The step is that of the model's decoder. With a trace, or more than one position, the model's own step answers.
"""

import torch
from torch import Tensor

from seqloom.models.api import Memory, Seq2Seq, State
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
        ids = tokens[:, 0]
        word, projected = self.embed(ids), self.project_word(ids)
        hidden, state = self.model.decoder.step(word, projected, state, memory, self.matrices.linear)
        return hidden[:, None], state

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
