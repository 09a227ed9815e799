"""A faster step for recurrent models: the same equations and weights, prepared once before the first step.

words     y W_x + b is computed for every word of the vocabulary before the first step; a step looks it up
packed    the matrices of the step and of the output are stored in the layout of the kernel (PackedMatrices)
plain     no gradients, and only the new position is computed

The equations are those of the model's decoder. With a trace, or several positions, the model's own step is used.
"""

import torch
from torch import Tensor, nn

from seqloom.models.api import Memory, Seq2Seq, State
from seqloom.models.rnn import RecurrentSeq2Seq
from seqloom.nn.trace import Trace

MOST_WORDS = 1 << 26  # most numbers in the table of words: 256 MB
Place = tuple[int, torch.Size, tuple[int, ...]]


class PackedMatrices:
    """Matrices laid out once for the processor's kernel: `packed.linear(x, M)` is x M^T + b.

    A plain product rearranges the whole matrix every time. For a few rows (the beam of one sentence) that costs more
    than the product itself; for many rows it hardly matters. A single row needs no rearranging, so the plain product
    is used. M must not change after its first use.
    """

    def __init__(self) -> None:
        self.packed: dict[Place, tuple[Tensor, Tensor]] = {}
        self.usable = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")

    def linear(self, x: Tensor, matrix: Tensor, bias: Tensor | None = None) -> Tensor:
        if matrix.ndim > 2:  # one per sentence: the keys and values of attention
            return x @ matrix.mT
        if not self.usable or x.numel() == x.shape[-1] or not matrix.is_cpu or matrix.dtype != torch.float32:
            return nn.functional.linear(x, matrix, bias)
        place = (matrix.data_ptr(), matrix.shape, matrix.stride())  # equal slices of different steps are one
        if place not in self.packed:
            # the matrix is kept too, so that no other matrix can get its address
            self.packed[place] = torch.ops.mkldnn._reorder_linear_weight(matrix.contiguous()), matrix
        return torch.ops.mkldnn._linear_pointwise(x, self.packed[place][0], bias, "none", [], "")


class FastRecurrent(Seq2Seq):
    """A recurrent model with the faster step, for translating only: weights must not change after the first step."""

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
        """y W_x + b of each row's word: (R,) -> (R, GH)."""
        first, table = self.model.decoder.stack.cells[0], self.model.target_table.weight
        words_of_W = first.W_x[:, : table.shape[1]]
        if len(table) * len(first.b) > MOST_WORDS:
            return self.matrices.linear(self.embed(ids), words_of_W, first.b)
        if self.words is None:
            self.words = nn.functional.linear(table * self.model.embed_scale, words_of_W, first.b)
        return self.words[ids]
