"""Recurrent layers as ONNX operators: an exported graph uses them in place of our loop over time.

The ONNX operators RNN, LSTM and GRU read right-padded rows of given lengths, forwards, backwards or both, as our layers
do. Only the gates are stacked in a different order.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from seqloom.errors import UsageError
from seqloom.nn.cells import CELLS, Cell, CellState, FusedGRUCell, GRUCell, LSTMCell, ReLUCell, RNNCell
from seqloom.nn.recurrent import Recurrent, RecurrentLayer
from seqloom.nn.trace import Trace

DIRECTIONS = {("forward",): "forward", ("backward",): "reverse", ("forward", "backward"): "bidirectional"}


@dataclass(frozen=True)
class Operator:
    """The ONNX operator that computes a cell."""

    name: str
    order: tuple[int, ...]  # the indices of our gates in ONNX's order
    linear_before_reset: int | None = None  # GRU only: 0 = reset gate before the matrix product, 1 = after it
    activation: str = ""  # plain RNN only


OPERATORS: dict[type[Cell], Operator] = {
    RNNCell: Operator("RNN", (0,), activation="Tanh"),
    ReLUCell: Operator("RNN", (0,), activation="Relu"),
    LSTMCell: Operator("LSTM", (0, 3, 1, 2)),  # i, o, f, c~
    GRUCell: Operator("GRU", (1, 0, 2), linear_before_reset=0),  # z, r, h~
    FusedGRUCell: Operator("GRU", (1, 0, 2), linear_before_reset=1),
}


class OnnxLayer(nn.Module):
    """Stand-in for a RecurrentLayer while a graph is traced: it only adds the operator and computes nothing itself."""

    def __init__(self, layer: RecurrentLayer) -> None:
        super().__init__()
        cells = list(layer.cells)
        self.operator, self.num_states = operator_of(cells[0]), len(cells[0].states)
        self.hidden_size = cells[0].hidden_size
        self.direction = DIRECTIONS[tuple(layer.directions)]
        self.W = nn.Parameter(torch.stack([self.reorder(cell.W_x) for cell in cells]))  # (directions, GH, E)
        self.R = nn.Parameter(torch.stack([self.reorder(cell.W_h) for cell in cells]))  # (directions, GH, H)
        self.B = nn.Parameter(torch.stack([self.both_biases(cell) for cell in cells]))  # (directions, 2 GH)

    def reorder(self, stacked: Float[Tensor, "GH ..."]) -> Float[Tensor, "GH ..."]:
        gates = stacked.detach().chunk(len(self.operator.order))
        return torch.cat([gates[index] for index in self.operator.order])

    def both_biases(self, cell: Cell) -> Float[Tensor, " GH2"]:
        """The bias of x W followed by the bias of h W, which is zero except in the fused GRU."""
        of_h = torch.zeros_like(cell.b)
        if isinstance(cell, FusedGRUCell):
            of_h[-cell.hidden_size :] = cell.b_hh.detach()  # h~ is last in both orders
        return torch.cat([self.reorder(cell.b), of_h])

    def attributes(self) -> dict[str, Any]:
        found: dict[str, Any] = {"hidden_size": self.hidden_size, "direction": self.direction}
        if self.operator.linear_before_reset is not None:
            found["linear_before_reset"] = self.operator.linear_before_reset
        if self.operator.activation:
            found["activations"] = [self.operator.activation] * len(self.W)
        return found

    def forward(
        self, x: Float[Tensor, "B T E"], mask: Bool[Tensor, "B T"], depth: int, trace: Trace | None = None
    ) -> tuple[Float[Tensor, "B T H"], CellState]:
        B, T, _ = x.shape
        last_shape = (len(self.W), B, self.hidden_size)
        outputs, *last = torch.onnx.ops.symbolic_multi_out(
            self.operator.name,
            (x.transpose(0, 1), self.W, self.R, self.B, mask.sum(1, dtype=torch.int32)),
            self.attributes(),
            dtypes=[x.dtype] * (1 + self.num_states),
            shapes=[(T, *last_shape), *[last_shape] * self.num_states],
        )
        return outputs.permute(2, 0, 1, 3).flatten(2), tuple(s.transpose(0, 1).flatten(1) for s in last)


def operator_of(cell: Cell) -> Operator:
    if type(cell) not in OPERATORS:
        name, *_ = [name for name, kind in CELLS.items() if kind is type(cell)]
        known = ", ".join(name for name, kind in CELLS.items() if kind in OPERATORS)
        raise UsageError(f"model.cell = {name}: cannot be exported to ONNX, which has operators only for {known}.")
    return OPERATORS[type(cell)]


def use_operators(model: nn.Module) -> None:
    """Replace every recurrent encoder layer of the model by its ONNX operator."""
    for module in model.modules():
        if isinstance(module, Recurrent):
            module.layers = nn.ModuleList(OnnxLayer(layer) for layer in module.layers)  # type: ignore[arg-type]
