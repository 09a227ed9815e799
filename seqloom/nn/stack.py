"""Stacked cells of a recurrent decoder: the output of one layer is the input of the next.

`scan` goes layer by layer, if all inputs are known (teacher forcing). `advance` goes position by position, if the input
of a step depends on the top layer's previous step: the lowest layer reads x = [y; c], a word y and a context c (from
attention, or the vector that is fed back).
"""

from collections.abc import Sequence

from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.nn.cells import CELLS, Cell, CellState, Linear
from seqloom.nn.dropout import Dropout
from seqloom.nn.late_weight_gradients import unrounded
from seqloom.nn.recurrent import scan
from seqloom.nn.trace import Trace, part_of


class CellStack(nn.Module):
    """Recurrent cells stacked in layers, with dropout between them."""

    def __init__(self, cell: str, input_size: int, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        sizes = [input_size] + [width] * (layers - 1)
        self.cells: Sequence[Cell] = nn.ModuleList(CELLS[cell](size, width) for size in sizes)  # type: ignore[assignment]
        self.dropout = Dropout(dropout)

    def scan(
        self,
        x: Float[Tensor, "R k I"],
        state: list[CellState],
        trace: Trace | None,
        mask: Bool[Tensor, "R k"] | None = None,
    ) -> tuple[Float[Tensor, "R k H"], list[CellState]]:
        """Read all k positions, layer by layer; right padding (mask = False) does not change a state."""
        after = []
        for depth, (cell, before) in enumerate(zip(self.cells, state, strict=True)):
            x, last = scan(cell, self.dropout(x) if depth else x, before, mask, part_of(trace, str(depth)))
            after.append(last)
        return x, after

    def project_words(self, words: Float[Tensor, "R k E"]) -> Float[Tensor, "k R GH"]:
        """y W_x + b for all k words at once: it does not depend on the state."""
        first = self.cells[0]
        return unrounded(F.linear(words.transpose(0, 1), first.W_x[:, : words.shape[-1]], first.b))

    def advance(
        self,
        y: Float[Tensor, "R GH"],
        c: Float[Tensor, "R C"] | None,
        state: list[CellState],
        linear: Linear,
        trace: Trace | None,
    ) -> list[CellState]:
        """Read one position through all layers; y is a projected word, c the context beside it, if there is one."""
        x = y if c is None else y + linear(c, self.cells[0].W_x[:, -c.shape[-1] :])
        after: list[CellState] = []
        for depth, (cell, before) in enumerate(zip(self.cells, state, strict=True)):
            if depth:
                x = linear(self.dropout(after[-1][0]), cell.W_x) + cell.b
            after.append(cell.advance(x, before, linear, part_of(trace, str(depth))))
        return after
