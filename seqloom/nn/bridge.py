"""From the encoder's last states to the decoder's first ones, layer by layer.

s_0 = h_S                  where both are alike                      Sutskever et al. 2014
s_0 = tanh(W h_S + b)      where widths or directions differ         Cho et al. 2014
"""

from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seqloom.nn.cells import CellState
from seqloom.nn.late import unrounded

FirstState = tuple[Float[Tensor, "R D"], ...]  # a CellState of another width than the last one


class Bridge(nn.Module):
    """One map a layer and part of the state (h; an LSTM's c too). The top layers meet when the depths differ.

    Of each state the last `input_size` entries are read: all, or the backward direction's alone, which stands last.
    `copy`: where the widths are alike, states go over as they are.
    """

    def __init__(self, input_size: int, width: int, layers: int, num_states: int, *, copy: bool) -> None:
        super().__init__()
        self.input_size, self.layers, self.copy = input_size, layers, copy and input_size == width
        self.maps: Iterable[Iterable[nn.Linear]] = nn.ModuleList(  # type: ignore[assignment]
            nn.ModuleList(nn.Linear(input_size, width) for _ in range(num_states))
            for _ in range(0 if self.copy else layers)
        )

    def forward(self, last: list[CellState], beams: int) -> list[FirstState]:
        """`beams` rows a sentence."""
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
