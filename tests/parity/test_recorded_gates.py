"""What a cell records in the trace against its equation, gate by gate; padding records nothing."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from seqloom.nn.cells import CELLS, Cell, CellState
from seqloom.nn.recurrent import Recurrent
from seqloom.nn.trace import Trace

B, T, E, H = 3, 4, 5, 2
Parts = dict[str, Tensor]


def sums(cell: Cell, x: Tensor, h: Tensor, *gates: str) -> Parts:
    """x W_x + h W_h + b of each gate, one matrix a gate, in the order in which they are stacked."""
    stacked = zip(*(w.chunk(len(gates)) for w in (cell.W_x, cell.W_h, cell.b)), strict=True)
    return {gate: x @ W_x.T + h @ W_h.T + b for gate, (W_x, W_h, b) in zip(gates, stacked, strict=True)}


def plain(phi: Callable[[Tensor], Tensor]) -> Callable[[Cell, Tensor, CellState], Parts]:
    return lambda cell, x, state: {"state.hidden": phi(sums(cell, x, state[0], "h")["h"])}


def lstm(cell: Cell, x: Tensor, state: CellState) -> Parts:
    h, c = state
    found = sums(cell, x, h, "input", "forget", "candidate", "output")
    gates = {name: torch.tanh(a) if name == "candidate" else torch.sigmoid(a) for name, a in found.items()}
    c = gates["forget"] * c + gates["input"] * gates["candidate"]
    recorded = {f"gate.{name}": gate for name, gate in gates.items()}
    return {**recorded, "state.cell": c, "state.hidden": gates["output"] * torch.tanh(c)}


def gru(cell: Cell, x: Tensor, state: CellState) -> Parts:
    (h,) = state
    found = sums(cell, x, h, "reset", "update", "candidate")
    r, z = torch.sigmoid(found["reset"]), torch.sigmoid(found["update"])
    W_hh = cell.W_h[2 * H :]
    if hasattr(cell, "b_hh"):  # reset after the product
        candidate = torch.tanh(found["candidate"] - h @ W_hh.T + r * (h @ W_hh.T + cell.b_hh))
    else:
        candidate = torch.tanh(found["candidate"] - h @ W_hh.T + (r * h) @ W_hh.T)
    gates = {"gate.reset": r, "gate.update": z, "gate.candidate": candidate}
    return {**gates, "state.hidden": z * h + (1 - z) * candidate}


EQUATIONS = {"rnn": plain(torch.tanh), "rnn_relu": plain(torch.relu), "lstm": lstm, "gru": gru, "gru_fused": gru}


def shake(module: nn.Module) -> None:
    """No zero is left that would hide where it is added."""
    torch.manual_seed(0)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.7)


@pytest.mark.parametrize("kind", CELLS)
def test_every_gate_is_recorded_under_its_own_name(kind: str) -> None:
    assert kind in EQUATIONS, f"a new cell: write the equation of {kind!r} into EQUATIONS of this file"
    cell, trace = CELLS[kind](E, H).double(), Trace()
    shake(cell)
    x = torch.randn(B, E, dtype=torch.float64)
    state = tuple(torch.randn(B, H, dtype=torch.float64) for _ in cell.states)
    cell.advance(cell.project(x), state, trace=trace)
    want = EQUATIONS[kind](cell, x, state)
    assert trace.names() == sorted(want)
    for name, part in want.items():
        (got,) = trace[name]
        torch.testing.assert_close(got, part[:, None])


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("kind", EQUATIONS)
def test_a_layer_records_in_the_order_of_the_source_and_nothing_on_padding(kind: str, direction: str) -> None:
    layer, trace = Recurrent(kind, E, H, layers=1, directions=(direction,), dropout=0.0).double(), Trace()
    shake(layer)
    lengths = [4, 1, 3]
    mask = torch.arange(T) < torch.tensor(lengths)[:, None]
    x = torch.randn(B, T, E, dtype=torch.float64)
    layer(x, mask, trace)
    cell = layer.layers[0].cells[0]
    for row, length in enumerate(lengths):
        state = cell.start(1)
        for t in range(length) if direction == "forward" else reversed(range(length)):
            want = EQUATIONS[kind](cell, x[row : row + 1, t], state)
            for name, part in want.items():
                torch.testing.assert_close(trace[f"{direction}.0.{name}"][0][row, t], part[0])
            state = tuple(want[f"state.{part}"] for part in cell.states)
    for name in trace.names():
        assert not trace[name][0][~mask].any()
