"""Recurrent networks: a cell over time, in one or both directions, in layers. Padding never changes a state.

A layer that reads backwards reverses its input (nn/reversal.py).
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from seqloom.nn.cells import CELLS, Cell, CellState, Linear
from seqloom.nn.dropout import Dropout
from seqloom.nn.late_weight_gradients import late_products
from seqloom.nn.reversal import reverse_within
from seqloom.nn.trace import Trace, part_of


def scan(
    cell: Cell,
    x: Float[Tensor, "B T E"],
    state: CellState,
    mask: Bool[Tensor, "B T"] | None = None,
    trace: Trace | None = None,
) -> tuple[Float[Tensor, "B T H"], CellState]:
    """Run a cell over time, h_t = cell(x_t, h_{t-1}) for t = 1..T; returns all outputs and the last state.

    Right padding keeps the state. The equation runs step by step, except where torch has a kernel for the cell and the
    kernel is faster: on a GPU, and on a CPU when no gradient is needed (with gradients, the steps with the late
    products of nn/late_weight_gradients.py take a third less time than the kernel).
    """
    steps_are_faster = x.is_cpu and torch.is_grad_enabled()
    if cell.has_kernel and trace is None and x.shape[1] > 1 and not steps_are_faster:
        return scan_fused(cell, x, state, mask)
    projected = cell.project(x.transpose(0, 1))
    with late_products() as linear:
        return scan_steps(cell, projected, state, mask, linear, trace)


def scan_steps(
    cell: Cell,
    projected: Float[Tensor, "T B GH"],
    state: CellState,
    mask: Bool[Tensor, "B T"] | None,
    linear: Linear,
    trace: Trace | None,
) -> tuple[Float[Tensor, "B T H"], CellState]:
    """Run the cell's equation step by step over projected inputs."""
    padded = [False] * len(projected) if mask is None else (~mask.all(0)).tolist()  # columns with padding in some row
    outputs = []
    for t, x_t in enumerate(projected.unbind(0)):
        new = cell.advance(x_t, state, linear, trace)
        if mask is not None and padded[t]:
            new = tuple(torch.where(mask[:, t, None], after, before) for after, before in zip(new, state, strict=True))
        state = new
        outputs.append(state[0])
    return torch.stack(outputs, 1), state  # (B, T, H)


def scan_fused(
    cell: Cell, x: Float[Tensor, "B T E"], state: CellState, mask: Bool[Tensor, "B T"] | None
) -> tuple[Float[Tensor, "B T H"], CellState]:
    """Run torch's kernel on packed sequences, which skip padding."""
    B, T, _ = x.shape
    lengths = mask.sum(1).cpu() if mask is not None else torch.full((B,), T)
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    order, restore = packed.sorted_indices, packed.unsorted_indices
    assert order is not None and restore is not None  # enforce_sorted=False always sets them
    data, last = cell.fused(packed, tuple(s.index_select(0, order) for s in state))
    outputs, _ = pad_packed_sequence(PackedSequence(data, packed.batch_sizes, order, restore), True, total_length=T)
    return outputs, tuple(s.index_select(0, restore) for s in last)


class RecurrentLayer(nn.Module):
    """One recurrent layer: one cell per direction, their states concatenated, h = [h_forward; h_backward]."""

    def __init__(self, cell: str, input_size: int, width: int, directions: Sequence[str]) -> None:
        super().__init__()
        self.directions = directions
        hidden_size = width // len(directions)
        self.cells: Sequence[Cell] = nn.ModuleList(CELLS[cell](input_size, hidden_size) for _ in directions)  # type: ignore[assignment]

    def forward(
        self, x: Float[Tensor, "B T E"], mask: Bool[Tensor, "B T"], depth: int, trace: Trace | None = None
    ) -> tuple[Float[Tensor, "B T H"], CellState]:
        outputs, lasts = [], []
        for direction, cell in zip(self.directions, self.cells, strict=True):
            output, last = self.read(cell, x, mask, direction == "backward", part_of(trace, f"{direction}.{depth}"))
            outputs.append(output)
            lasts.append(last)
        return torch.cat(outputs, -1), tuple(torch.cat(parts, -1) for parts in zip(*lasts, strict=True))

    def read(
        self,
        cell: Cell,
        x: Float[Tensor, "B T E"],
        mask: Bool[Tensor, "B T"],
        backward: bool,
        trace: Trace | None,
    ) -> tuple[Float[Tensor, "B T _"], CellState]:
        """Read x in one direction; outputs and trace recordings are in the order of x, recordings are 0 on padding."""

        def reorder(y: Tensor) -> Tensor:
            return reverse_within(y, mask) if backward else y

        steps = trace.steps(x.shape[1], backward) if trace is not None else None
        outputs, last = scan(cell, reorder(x), cell.start(x.shape[0]), mask, steps)
        if trace is not None and steps is not None:
            for name in steps.names():
                trace.record(name, reorder(torch.cat(steps[name], 1)).masked_fill(~mask[..., None], 0.0))
        return reorder(outputs), last


class Recurrent(nn.Module):
    """Stacked recurrent layers with dropout between them; returns the top outputs and every layer's last state."""

    def __init__(
        self, cell: str, input_size: int, width: int, layers: int, directions: Sequence[str], dropout: float
    ) -> None:
        super().__init__()
        sizes = [input_size] + [width] * (layers - 1)
        self.layers = nn.ModuleList(RecurrentLayer(cell, size, width, directions) for size in sizes)
        self.dropout = Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "B T E"], mask: Bool[Tensor, "B T"], trace: Trace | None = None
    ) -> tuple[Float[Tensor, "B T H"], list[CellState]]:
        states = []
        for depth, layer in enumerate(self.layers):
            x, last = layer(self.dropout(x) if depth else x, mask, depth, trace)
            states.append(last)
        return x.masked_fill(~mask[..., None], 0.0), states
