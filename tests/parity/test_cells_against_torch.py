"""Our cells against torch.nn.RNN, LSTM and GRU by copying weights: values and gradients, equation and fast paths."""

from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seqloom.nn.cells import CELLS, Cell, CellState, FusedGRUCell, GRUCell, Linear
from seqloom.nn.late_weight_gradients import Late
from seqloom.nn.recurrent import Recurrent, scan, scan_fused, scan_steps
from seqloom.nn.trace import Trace

TORCH = {"rnn": nn.RNN, "rnn_relu": partial(nn.RNN, nonlinearity="relu"), "lstm": nn.LSTM, "gru_fused": nn.GRU}
PATHS = {  # the equation as it stands, with late products, and torch's kernel
    "equation": lambda *given: step_by(F.linear, *given),
    "late": lambda *given: step_by(Late().linear, *given),
    "kernel": scan_fused,
    "chosen": scan,
    "traced": lambda cell, x, start, mask: scan(cell, x, start, mask, Trace()),
}
B, T, E, H = 4, 6, 5, 3
LENGTHS = torch.tensor([4, 6, 1, 3])
MASK = torch.arange(T) < LENGTHS[:, None]


def step_by(linear: Linear, cell: Cell, x: Tensor, start: CellState, mask: Tensor) -> tuple[Tensor, CellState]:
    return scan_steps(cell, cell.project(x.transpose(0, 1)), start, mask, linear, None)


def close(a: Tensor, b: Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-8)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def make_cell(kind: str, input_size: int = E, hidden_size: int = H) -> Cell:
    cell = CELLS[kind](input_size, hidden_size).double()
    for parameter in cell.parameters():
        nn.init.normal_(parameter, std=0.7)  # biases too: a zero hides where it is added
    return cell


def names_in_torch(cell: Cell) -> dict[str, Tensor]:
    """Our weights under torch's names. It has two biases a gate; ours is one, and only r * (h W + b) needs a second."""
    second = torch.zeros_like(cell.b)
    if isinstance(cell, FusedGRUCell):
        second = torch.cat([second[: 2 * cell.hidden_size], cell.b_hh])
    return {"weight_ih": cell.W_x, "weight_hh": cell.W_h, "bias_ih": cell.b, "bias_hh": second}


def copy_into(network: nn.RNNBase, suffix: str, cell: Cell) -> None:
    with torch.no_grad():
        for name, weight in names_in_torch(cell).items():
            getattr(network, name + suffix).copy_(weight)


def check_gradients(network: nn.RNNBase, suffix: str, cell: Cell) -> None:
    got = {"weight_ih": cell.W_x.grad, "weight_hh": cell.W_h.grad, "bias_ih": cell.b.grad}
    for name, gradient in got.items():
        close(gradient, getattr(network, name + suffix).grad)
    if isinstance(cell, FusedGRUCell):
        close(cell.b_hh.grad, getattr(network, "bias_hh" + suffix).grad[2 * cell.hidden_size :])


def run_torch(network: nn.RNNBase, x: Tensor, state: CellState | None = None) -> tuple[Tensor, list[Tensor]]:
    packed = pack_padded_sequence(x, LENGTHS, batch_first=True, enforce_sorted=False)
    start = None
    if state is not None:
        start = tuple(s[None] for s in state) if len(state) > 1 else state[0][None]
    outputs, last = network(packed, start)
    return pad_packed_sequence(outputs, batch_first=True)[0], [*last] if isinstance(last, tuple) else [last]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("kind", TORCH)
def test_one_cell(kind: str, path: str) -> None:
    cell, network = make_cell(kind), TORCH[kind](E, H, batch_first=True).double()
    copy_into(network, "_l0", cell)
    x, x_torch = (torch.randn(B, T, E, dtype=torch.float64, generator=seeded(1)).requires_grad_() for _ in range(2))
    start = tuple(torch.randn(B, H, dtype=torch.float64) for _ in cell.states)
    outputs, last = PATHS[path](cell, x, start, MASK)
    want, want_last = run_torch(network, x_torch, start)
    outputs = outputs * MASK[..., None]
    close(outputs, want)
    for ours, theirs in zip(last, want_last, strict=True):
        close(ours, theirs[0])
    weight = torch.randn(B, T, H, dtype=torch.float64)
    ((outputs * weight).sum() + sum((s**2).sum() for s in last)).backward()
    ((want * weight).sum() + sum((s**2).sum() for s in want_last)).backward()
    close(x.grad, x_torch.grad)
    check_gradients(network, "_l0", cell)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("kind", CELLS)
def test_every_path_is_the_equation(kind: str) -> None:
    """With and without padding, from any state, every gradient included; `gru` has no kernel."""
    cell = make_cell(kind)
    start = tuple(torch.randn(B, H, dtype=torch.float64, requires_grad=True) for _ in cell.states)
    for mask in (None, MASK):
        found = {}
        for path, run in PATHS.items():
            x = torch.randn(B, T, E, dtype=torch.float64, generator=seeded(2)).requires_grad_()
            if path == "kernel" and not cell.has_kernel:
                continue
            outputs, last = run(cell, x, start, mask)
            visible = outputs if mask is None else outputs * mask[..., None]
            loss = (visible**3).sum() + sum(s.exp().sum() for s in last)
            found[path] = [visible, *last, *torch.autograd.grad(loss, [x, *start, *cell.parameters()])]
        assert len(found) >= 4
        for parts in zip(*found.values(), strict=True):
            for part in parts[1:]:
                close(part, parts[0])


def test_without_a_gradient_the_kernel_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    cell, used = make_cell("lstm"), []
    fused = cell.fused
    monkeypatch.setattr(cell, "fused", lambda *given: used.append(given) or fused(*given))
    x = torch.randn(B, T, E, dtype=torch.float64)
    want, _ = scan(cell, x, cell.start(B), MASK)
    assert not used
    with torch.no_grad():
        got, _ = scan(cell, x, cell.start(B), MASK)
    assert used
    close(got[MASK], want[MASK])


def test_the_relu_cell_starts_as_a_sum() -> None:
    """W_h = 1 and no bias: positive inputs add up."""
    cell = CELLS["rnn_relu"](E, H).double()
    x = torch.rand(B, H, dtype=torch.float64)
    (h,) = cell.advance(x, cell.advance(x, cell.start(B)))
    close(h, 2 * x)


@pytest.mark.parametrize("kind", TORCH)
def test_layers_in_both_directions(kind: str) -> None:
    ours = Recurrent(kind, E, 2 * H, layers=2, directions=("forward", "backward"), dropout=0.0).double()
    network = TORCH[kind](E, H, num_layers=2, bidirectional=True, batch_first=True).double()
    cells = {}
    for depth, layer in enumerate(ours.layers):
        cells |= {f"_l{depth}": layer.cells[0], f"_l{depth}_reverse": layer.cells[1]}
    for suffix, cell in cells.items():
        for parameter in cell.parameters():
            nn.init.normal_(parameter, std=0.7)
        copy_into(network, suffix, cell)
    x = torch.randn(B, T, E, dtype=torch.float64)
    outputs, states = ours(x, MASK)
    want, want_last = run_torch(network, x)
    close(outputs, want)
    for part, theirs in enumerate(want_last):  # (2 layers * 2 directions, B, H)
        for depth, state in enumerate(states):
            close(state[part], torch.cat([theirs[2 * depth], theirs[2 * depth + 1]], -1))
    (outputs**2).sum().backward()
    (want**2).sum().backward()
    for suffix, cell in cells.items():
        check_gradients(network, suffix, cell)


@pytest.mark.parametrize("kind", CELLS)
def test_read_back_to_front(kind: str) -> None:
    """Each annotation stands at its word; the last state is the one after the first word; recordings likewise."""
    ours = Recurrent(kind, E, H, layers=1, directions=("backward",), dropout=0.0).double()
    x, trace = torch.randn(B, T, E, dtype=torch.float64), Trace()
    outputs, ((h, *_),) = ours(x, MASK, trace)
    close(outputs, ours(x, MASK)[0])
    for row, length in enumerate(LENGTHS.tolist()):
        backwards = x[row : row + 1, :length].flip(1)
        want, _ = scan(ours.layers[0].cells[0], backwards, ours.layers[0].cells[0].start(1))
        close(outputs[row, :length], want[0].flip(0))
        close(h[row], outputs[row, 0])
        close(trace["backward.0.state.hidden"][0][row, :length], outputs[row, :length])


def test_gru_resets_before_the_product() -> None:
    """h~ = tanh(x W_xh + (r * h) W_hh + b_h), written out with one matrix a gate; and it is not the fused GRU."""
    cell = make_cell("gru")
    assert isinstance(cell, GRUCell)
    x, h = torch.randn(B, E, dtype=torch.float64), torch.randn(B, H, dtype=torch.float64)
    (W_xr, W_xz, W_xh), (W_hr, W_hz, W_hh), (b_r, b_z, b_h) = (w.chunk(3) for w in (cell.W_x, cell.W_h, cell.b))
    r = torch.sigmoid(x @ W_xr.T + h @ W_hr.T + b_r)
    z = torch.sigmoid(x @ W_xz.T + h @ W_hz.T + b_z)
    candidate = torch.tanh(x @ W_xh.T + (r * h) @ W_hh.T + b_h)
    (got,) = cell.advance(cell.project(x), (h,))
    close(got, z * h + (1 - z) * candidate)
    fused = FusedGRUCell(E, H).double()
    fused.load_state_dict({**cell.state_dict(), "b_hh": torch.zeros(H)})
    assert not torch.allclose(fused.advance(fused.project(x), (h,))[0], got, atol=1e-3)
