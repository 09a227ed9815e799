"""From one cell to a network: over time, in both directions, in layers. Padding never moves a state."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from seqloom.nn.cells import CELLS, Cell, CellState
from seqloom.nn.dropout import Dropout
from seqloom.nn.trace import Trace


def scan(
    cell: Cell,
    x: Float[Tensor, "B T E"],
    state: CellState,
    mask: Bool[Tensor, "B T"] | None = None,
    trace: Trace | None = None,
) -> tuple[Float[Tensor, "B T H"], CellState]:
    """h_t = cell(x_t, h_{t-1}) for t = 1..T: all outputs and the last state. Right padding keeps the state.

    A fused kernel where there is one and nothing is traced, else the equation step by step.
    """
    if trace is None and x.shape[1] > 1:
        fused = scan_fused(cell, x, state, mask)
        if fused is not None:
            return fused
    outputs = []
    for t, x_t in enumerate(cell.project(x).unbind(1)):
        new = cell.advance(x_t, state, trace)
        if mask is not None:
            new = tuple(torch.where(mask[:, t, None], after, before) for after, before in zip(new, state, strict=True))
        state = new
        outputs.append(state[0])
    return torch.stack(outputs, 1), state  # (B, T, H)


def scan_fused(
    cell: Cell, x: Float[Tensor, "B T E"], state: CellState, mask: Bool[Tensor, "B T"] | None
) -> tuple[Float[Tensor, "B T H"], CellState] | None:
    """The same through torch's kernel on packed sequences, which skip padding; None where the cell has no kernel."""
    B, T, _ = x.shape
    lengths = mask.sum(1).cpu() if mask is not None else torch.full((B,), T)
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    order, restore = packed.sorted_indices, packed.unsorted_indices
    assert order is not None and restore is not None  # enforce_sorted=False always sets them
    done = cell.fused(packed, tuple(s.index_select(0, order) for s in state))
    if done is None:
        return None
    data, last = done
    outputs, _ = pad_packed_sequence(PackedSequence(data, packed.batch_sizes, order, restore), True, total_length=T)
    return outputs, tuple(s.index_select(0, restore) for s in last)


def reverse_within(x: Float[Tensor, "B T E"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B T E"]:
    """Each sequence back to front, its right padding left where it is."""
    T = x.shape[1]
    positions = torch.arange(T, device=x.device)
    lengths = mask.sum(1, keepdim=True)
    index = torch.where(positions < lengths, lengths - 1 - positions, positions)  # (B, T)
    return x.gather(1, index[..., None].expand_as(x))


class RecurrentLayer(nn.Module):
    """One layer: forward, or forward and backward side by side, h = [h_forward; h_backward]."""

    def __init__(self, cell: str, input_size: int, width: int, bidirectional: bool) -> None:
        super().__init__()
        hidden_size = width // 2 if bidirectional else width
        self.forward_cell = CELLS[cell](input_size, hidden_size)
        self.backward_cell = CELLS[cell](input_size, hidden_size) if bidirectional else None

    def forward(
        self, x: Float[Tensor, "B T E"], mask: Bool[Tensor, "B T"], trace: Trace | None = None
    ) -> tuple[Float[Tensor, "B T H"], CellState]:
        rows = x.shape[0]
        outputs, last = scan(self.forward_cell, x, self.forward_cell.start(rows), mask, trace)
        if self.backward_cell is None:
            return outputs, last
        reversed_x = reverse_within(x, mask)
        back, back_last = scan(self.backward_cell, reversed_x, self.backward_cell.start(rows), mask, trace)
        outputs = torch.cat([outputs, reverse_within(back, mask)], -1)  # (B, T, width)
        return outputs, tuple(torch.cat(pair, -1) for pair in zip(last, back_last, strict=True))


class Recurrent(nn.Module):
    """Layers on top of each other with dropout between: outputs of the top one, last state of each (H = width)."""

    def __init__(
        self, cell: str, input_size: int, width: int, layers: int, bidirectional: bool, dropout: float
    ) -> None:
        super().__init__()
        sizes = [input_size] + [width] * (layers - 1)
        self.layers = nn.ModuleList(RecurrentLayer(cell, size, width, bidirectional) for size in sizes)
        self.dropout = Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "B T E"], mask: Bool[Tensor, "B T"], trace: Trace | None = None
    ) -> tuple[Float[Tensor, "B T H"], list[CellState]]:
        states = []
        for depth, layer in enumerate(self.layers):
            x, last = layer(self.dropout(x) if depth else x, mask, trace)
            states.append(last)
        return x * mask[..., None], states
