"""Luong's decoder: attention after each step, with the result fed back as input of the next step (input feeding).

s_i  = f(s_{i-1}, [y_{i-1}; h~_{i-1}]),   s_0 = bridge(h_S),  h~_0 = 0
c_i  = sum_j alpha_ij h_j,   alpha_i = softmax(score(s_i, h))
h~_i = tanh(W [c_i; s_i]),   output from h~_i

Luong et al. 2015, global attention with input feeding.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seqloom.models.api import Memory, State
from seqloom.models.recurrent_decoder import AttentiveDecoder, RecurrentSizes
from seqloom.nn.bridge import Bridge
from seqloom.nn.cells import CELLS, Linear
from seqloom.nn.late_weight_gradients import late_products
from seqloom.nn.stack import CellStack
from seqloom.nn.tanh import tanh
from seqloom.nn.trace import Trace


class LuongDecoder(AttentiveDecoder):
    """Recurrent decoder that attends after each step, with input feeding."""

    def __init__(self, sizes: RecurrentSizes) -> None:
        super().__init__(sizes)
        width, annotation_size = sizes.width, sizes.encoder_width
        one_way, num_states = len(sizes.directions) == 1, len(CELLS[sizes.cell].states)
        self.bridge = Bridge(annotation_size, width, sizes.decoder_layers, num_states, copy=one_way)
        fed_size = sizes.output_size
        self.stack = CellStack(sizes.cell, sizes.embed_size + fed_size, width, sizes.decoder_layers, sizes.dropout)
        self.W = nn.Linear(annotation_size + width, fed_size, bias=False)

    def start(self, memory: Memory, beams: int) -> State:
        cells = self.bridge(memory.last, beams)
        return {"cells": cells, "fed": cells[0][0].new_zeros(cells[0][0].shape[0], self.W.out_features)}

    def read(
        self, words: Float[Tensor, "R k E"], state: State, memory: Memory, trace: Trace | None
    ) -> tuple[Float[Tensor, "R k D"], State]:
        """Read k words one by one: each step needs h~ of the step before, which needs its attention."""
        outputs = []
        projected = self.stack.project_words(words)
        with late_products() as linear:
            for y in projected:
                state = self.advance(y, state, memory, linear, trace)
                outputs.append(state["fed"])
        return torch.stack(outputs, 1), state

    def advance(
        self, y: Float[Tensor, "R GH"], state: State, memory: Memory, linear: Linear, trace: Trace | None
    ) -> State:
        """One step: returns s_i and h~_i; y is the projected word."""
        cells = self.stack.advance(y, state["fed"], state["cells"], linear, trace)
        s = cells[-1][0]
        c = self.look(s, memory, linear, trace)
        return {"cells": cells, "fed": tanh(linear(torch.cat([c, s], -1), self.W.weight))}

    def step(
        self, word: Float[Tensor, "R E"], y: Float[Tensor, "R GH"], state: State, memory: Memory, linear: Linear
    ) -> tuple[Float[Tensor, "R D"], State]:
        """One step of fast decoding, given a word (not used here) and the same word projected."""
        state = self.advance(y, state, memory, linear, None)
        return state["fed"], state
