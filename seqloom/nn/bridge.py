"""Bridge: computes the decoder's initial states from the encoder's last states, layer by layer.

s_0 = h_S                  same width, one direction                 Sutskever et al. 2014
s_0 = tanh(W h_S + b)      widths or directions differ               Cho et al. 2014
"""

from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seqloom.nn.cells import CellState
from seqloom.nn.late_weight_gradients import unrounded

FirstState = tuple[Float[Tensor, "R D"], ...]  # a CellState whose width may differ from the encoder's


class Bridge(nn.Module):
    """One linear map per decoder layer and per part of its state (h; for an LSTM also c).

    If the depths differ, layers are matched from the top; the lowest encoder layer serves all decoder layers left over.
    A map reads the last `input_size` entries of a state: all of it, or the backward direction, which is stored last.
    `copy`: if the widths are equal, states are copied without a map.
    """

    def __init__(self, input_size: int, width: int, layers: int, num_states: int, *, copy: bool) -> None:
        super().__init__()
        self.input_size, self.layers, self.copy = input_size, layers, copy and input_size == width
        self.maps: Iterable[Iterable[nn.Linear]] = nn.ModuleList(  # type: ignore[assignment]
            nn.ModuleList(nn.Linear(input_size, width) for _ in range(num_states))
            for _ in range(0 if self.copy else layers)
        )

    def forward(self, last: list[CellState], beams: int) -> list[FirstState]:
        """Initial states of the decoder, `beams` rows per sentence."""
        missing = max(0, self.layers - len(last))
        first = [last[0]] * missing + last[-self.layers :]
        if not self.copy:
            first = [
                tuple(
                    torch.tanh(unrounded(linear(s[:, -self.input_size :])))
                    for linear, s in zip(maps, states, strict=True)
                )
                for maps, states in zip(self.maps, first, strict=True)
            ]
        return [tuple(s.repeat_interleave(beams, 0) for s in layer) for layer in first]
