"""Recurrent decoder without attention: the encoder's last states are all it knows of the source.

s_0 = bridge(h_S);   s_i = f(s_{i-1}, y_{i-1}),       output from s_i                          Sutskever et al. 2014
feed_context:        s_i = f(s_{i-1}, [y_{i-1}; c]),  output from [y_{i-1}; s_i; c],  c = h_S      Cho et al. 2014
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seqloom.models.api import Memory, State
from seqloom.models.recurrent_decoder import RecurrentSizes
from seqloom.nn.bridge import Bridge
from seqloom.nn.cells import CELLS, Linear
from seqloom.nn.readout import Readout
from seqloom.nn.stack import CellStack
from seqloom.nn.trace import Trace


class FixedVectorDecoder(nn.Module):
    """Recurrent decoder without attention, conditioned on a fixed vector."""

    def __init__(self, sizes: RecurrentSizes) -> None:
        super().__init__()
        width, embed_size = sizes.width, sizes.embed_size
        one_way, num_states = len(sizes.directions) == 1, len(CELLS[sizes.cell].states)
        self.bridge = Bridge(sizes.encoder_width, width, sizes.decoder_layers, num_states, copy=one_way)
        self.feed_context = sizes.feed_context
        context_size = sizes.encoder_width if sizes.feed_context else 0
        self.stack = CellStack(sizes.cell, embed_size + context_size, width, sizes.decoder_layers, sizes.dropout)
        self.readout: nn.Module
        if sizes.feed_context:
            self.readout = Readout(embed_size + width + context_size, sizes.output_size, maxout=bool(sizes.maxout))
        else:
            self.readout = nn.Identity() if width == sizes.output_size else nn.Linear(width, sizes.output_size)

    def project_keys(self, annotations: Float[Tensor, "B S C"]) -> None:
        """No keys: this decoder has no attention."""

    def start(self, memory: Memory, beams: int) -> State:
        cells = self.bridge(memory.last, beams)
        context = memory.last[-1][0].repeat_interleave(beams, 0) if self.feed_context else None
        return {"cells": cells, "context": context}

    def read(
        self, words: Float[Tensor, "R k E"], state: State, memory: Memory, trace: Trace | None
    ) -> tuple[Float[Tensor, "R k D"], State]:
        """Read k words layer by layer: without attention a layer does not depend on the layers above it."""
        if not self.feed_context:
            s, cells = self.stack.scan(words, state["cells"], trace)
            return self.readout(s), {**state, "cells": cells}
        context = state["context"][:, None].expand(-1, words.shape[1], -1)  # (R, k, C)
        s, cells = self.stack.scan(torch.cat([words, context], -1), state["cells"], trace)
        return self.readout(words, s, context), {**state, "cells": cells}

    def step(
        self, word: Float[Tensor, "R E"], y: Float[Tensor, "R GH"], state: State, memory: Memory, linear: Linear
    ) -> tuple[Float[Tensor, "R D"], State]:
        """One step of fast decoding, given a word and the same word projected."""
        context = state["context"]
        cells = self.stack.advance(y, context, state["cells"], linear, None)
        s, after = cells[-1][0], {**state, "cells": cells}
        if isinstance(self.readout, Readout):
            return self.readout(word, s, context, linear=linear), after
        if isinstance(self.readout, nn.Linear):
            return linear(s, self.readout.weight) + self.readout.bias, after
        return s, after
