"""A recurrent layer as one operator of ONNX: what an exported graph has in place of our loop over time.

The operators RNN, LSTM and GRU read right-padded rows of given lengths, forwards, backwards or both, as our layers do.
Only the gates are stacked in another order there.
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
    name: str
    order: tuple[int, ...]  # of our gates, as they are stacked there
    linear_before_reset: int | None = None  # of a GRU: 0 = the reset gate comes before the product
    activation: str = ""  # of a plain network


OPERATORS: dict[type[Cell], Operator] = {
    RNNCell: Operator("RNN", (0,), activation="Tanh"),
    ReLUCell: Operator("RNN", (0,), activation="Relu"),
    LSTMCell: Operator("LSTM", (0, 3, 1, 2)),  # i, o, f, c~
    GRUCell: Operator("GRU", (1, 0, 2), linear_before_reset=0),  # z, r, h~
    FusedGRUCell: Operator("GRU", (1, 0, 2), linear_before_reset=1),
}


class OnnxLayer(nn.Module):
    """In place of a RecurrentLayer while a graph is traced; it computes nothing itself."""

    def __init__(self, layer: RecurrentLayer) -> None:
        super().__init__()
        cells = list(layer.cells)
        self.operator, self.num_states = operator_of(cells[0]), cells[0].num_states
        self.hidden_size = cells[0].hidden_size
        self.direction = DIRECTIONS[tuple(layer.directions)]
        self.W = nn.Parameter(torch.stack([self.reorder(cell.W_x) for cell in cells]))  # (directions, GH, E)
        self.R = nn.Parameter(torch.stack([self.reorder(cell.W_h) for cell in cells]))  # (directions, GH, H)
        self.B = nn.Parameter(torch.stack([self.both_biases(cell) for cell in cells]))  # (directions, 2 GH)

    def reorder(self, stacked: Float[Tensor, "GH ..."]) -> Float[Tensor, "GH ..."]:
        gates = stacked.detach().chunk(len(self.operator.order))
        return torch.cat([gates[place] for place in self.operator.order])

    def both_biases(self, cell: Cell) -> Float[Tensor, " GH2"]:
        """That of x W, then that of h W, which only the fused GRU has."""
        of_h = torch.zeros_like(cell.b)
        if isinstance(cell, FusedGRUCell):
            of_h[-cell.hidden_size :] = cell.b_hh.detach()  # h~ stands last in either order
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
        raise UsageError(f"model.cell = {name}: no ONNX form, as ONNX has an operator for {known} alone.")
    return OPERATORS[type(cell)]


def use_operators(model: nn.Module) -> None:
    """Every recurrent encoder of the model as operators of ONNX."""
    for module in model.modules():
        if isinstance(module, Recurrent):
            module.layers = nn.ModuleList(OnnxLayer(layer) for layer in module.layers)  # type: ignore[arg-type]
