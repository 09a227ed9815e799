"""Bahdanau's decoder (RNNsearch): attention before each step, with the previous decoder state as the query.

c_i = sum_j alpha_ij h_j,   alpha_i = softmax(score(s_{i-1}, h))
s_i = f(s_{i-1}, [y_{i-1}; c_i]),   s_0 = tanh(W h<-_1): the backward direction's state at the first word
output from [y_{i-1}; s_i; c_i]

Bahdanau et al. 2015.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from seqloom.models.api import Memory, State
from seqloom.models.recurrent_decoder import AttentiveDecoder, RecurrentSizes
from seqloom.nn.bridge import Bridge
from seqloom.nn.cells import CELLS, Linear
from seqloom.nn.late_weight_gradients import late_products
from seqloom.nn.readout import Readout
from seqloom.nn.stack import CellStack
from seqloom.nn.trace import Trace


class BahdanauDecoder(AttentiveDecoder):
    """Recurrent decoder that attends before each step and reads the context as part of its input."""

    def __init__(self, sizes: RecurrentSizes) -> None:
        super().__init__(sizes)
        one_direction, num_states = sizes.encoder_width // len(sizes.directions), len(CELLS[sizes.cell].states)
        self.bridge = Bridge(one_direction, sizes.width, sizes.decoder_layers, num_states, copy=False)
        input_size = sizes.embed_size + sizes.encoder_width
        self.stack = CellStack(sizes.cell, input_size, sizes.width, sizes.decoder_layers, sizes.dropout)
        self.readout = Readout(input_size + sizes.width, sizes.output_size, maxout=bool(sizes.maxout))

    def start(self, memory: Memory, beams: int) -> State:
        return self.bridge(memory.last, beams)

    def read(
        self, words: Float[Tensor, "R k E"], state: State, memory: Memory, trace: Trace | None
    ) -> tuple[Float[Tensor, "R k D"], State]:
        """Read k words one by one: s_i needs c_i, which needs s_{i-1}."""
        states, contexts = [], []
        projected = self.stack.project_words(words)
        with late_products() as linear:
            for y in projected:
                c, state = self.advance(y, state, memory, linear, trace)
                states.append(state[-1][0])
                contexts.append(c)
        return self.readout(words, torch.stack(states, 1), torch.stack(contexts, 1)), state

    def advance(
        self, y: Float[Tensor, "R GH"], state: State, memory: Memory, linear: Linear, trace: Trace | None
    ) -> tuple[Float[Tensor, "R C"], State]:
        """One step: returns c_i and s_i; y is the projected word."""
        c = self.look(state[-1][0], memory, linear, trace)
        return c, self.stack.advance(y, c, state, linear, trace)

    def step(
        self, word: Float[Tensor, "R E"], y: Float[Tensor, "R GH"], state: State, memory: Memory, linear: Linear
    ) -> tuple[Float[Tensor, "R D"], State]:
        """One step of fast decoding, given a word and the same word projected."""
        c, state = self.advance(y, state, memory, linear, None)
        return self.readout(word, state[-1][0], c, linear=linear), state
