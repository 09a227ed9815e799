"""Recurrent cells, each as its equation: one step from (x_t, state) to the next state. state[0] is h.

`advance` is the equation. It takes x already multiplied by W_x, because that product needs no state and is done for
all time steps at once; a loop over time hands it a `linear` that is kinder to the gradient (nn/late.py).
`fused` is torch's kernel for a whole sequence, where there is one; a test proves both equal.
Weights lie as torch lays them (gates stacked, `x W` written `F.linear(x, W)`), so fused kernels take them as they are.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import PackedSequence

from seqloom.nn.late import unrounded
from seqloom.nn.tanh import tanh
from seqloom.nn.trace import Trace

CellState = tuple[Float[Tensor, "B H"], ...]
Linear = Callable[[Tensor, Tensor], Tensor]  # (x, W) -> x W^T


class Cell(nn.Module):
    """What all cells share: gates stacked in W_x (GH, E), W_h (GH, H) and b (GH)."""

    num_gates = 1
    num_states = 1
    has_kernel = True

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.input_size, self.hidden_size = input_size, hidden_size
        rows = self.num_gates * hidden_size
        self.W_x = nn.Parameter(torch.empty(rows, input_size))
        self.W_h = nn.Parameter(torch.empty(rows, hidden_size))
        self.b = nn.Parameter(torch.zeros(rows))
        nn.init.xavier_uniform_(self.W_x, gain=math.sqrt(self.num_gates))
        for gate in self.W_h.data.chunk(self.num_gates):
            nn.init.orthogonal_(gate)  # keeps |h| over many steps

    def start(self, rows: int) -> CellState:
        return tuple(self.b.new_zeros(rows, self.hidden_size) for _ in range(self.num_states))

    def project(self, x: Float[Tensor, "*batch E"]) -> Float[Tensor, "*batch GH"]:
        """x W_x + b for any number of time steps."""
        return unrounded(F.linear(x, self.W_x, self.b))

    def advance(
        self, x: Float[Tensor, "B GH"], state: CellState, linear: Linear = F.linear, trace: Trace | None = None
    ) -> CellState:
        raise NotImplementedError

    def fused(self, packed: PackedSequence, state: CellState) -> tuple[Float[Tensor, "M H"], CellState]:
        """The whole sequence (its M real positions) in one kernel, where torch has one for this cell."""
        raise NotImplementedError


def record(trace: Trace | None, kind: str, **parts: Float[Tensor, "B H"]) -> None:
    """One time step of each part, as (B, 1, H)."""
    if trace is not None:
        for name, part in parts.items():
            trace.record(f"{kind}.{name}", part[:, None])


class RNNCell(Cell):
    """The plain recurrent network:  h = phi(x W_x + h W_h + b),  phi = tanh.   Elman 1990."""

    phi: Callable[[Tensor], Tensor] = staticmethod(tanh)
    kernel: Any = staticmethod(torch._VF.rnn_tanh)

    def advance(
        self, x: Float[Tensor, "B GH"], state: CellState, linear: Linear = F.linear, trace: Trace | None = None
    ) -> CellState:
        (h,) = state
        h = self.phi(x + linear(h, self.W_h))
        record(trace, "state", hidden=h)
        return (h,)

    def fused(self, packed: PackedSequence, state: CellState) -> tuple[Float[Tensor, "M H"], CellState]:
        return run_fused(self.kernel, packed, state[0], self.W_x, self.W_h, self.b, torch.zeros_like(self.b))


class ReLUCell(RNNCell):
    """The same with phi = relu, started as the identity: h is the sum of what was read.   Le et al. 2015 (IRNN)."""

    phi = staticmethod(torch.relu)
    kernel = staticmethod(torch._VF.rnn_relu)

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        nn.init.eye_(self.W_h)


class LSTMCell(Cell):
    """Long short-term memory:

        i, f, o = sigmoid(x W_x + h W_h + b)      input, forget and output gate, each with its own W and b
        c~      = tanh(x W_x + h W_h + b)         candidate
        c       = f * c + i * c~
        h       = o * tanh(c)

    Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000.
    """

    num_gates = 4  # i, f, c~, o: torch's order
    num_states = 2  # h, c

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.b.data.chunk(4)[1].fill_(1.0)  # an open forget gate lets the gradient through from the first step on

    def advance(
        self, x: Float[Tensor, "B GH"], state: CellState, linear: Linear = F.linear, trace: Trace | None = None
    ) -> CellState:
        h, c = state
        i, f, candidate, o = (x + linear(h, self.W_h)).chunk(4, -1)
        i, f, o, candidate = torch.sigmoid(i), torch.sigmoid(f), torch.sigmoid(o), tanh(candidate)
        c = f * c + i * candidate
        h = o * tanh(c)
        record(trace, "gate", input=i, forget=f, output=o, candidate=candidate)
        record(trace, "state", hidden=h, cell=c)
        return h, c

    def fused(self, packed: PackedSequence, state: CellState) -> tuple[Float[Tensor, "M H"], CellState]:
        return run_fused(torch._VF.lstm, packed, state, self.W_x, self.W_h, self.b, torch.zeros_like(self.b))


class GRUCell(Cell):
    """Gated recurrent unit, the reset gate before the product, as the lectures write it:

        r, z = sigmoid(x W_x + h W_h + b)         reset and update gate, each with its own W and b
        h~   = tanh(x W_xh + (r * h) W_hh + b_h)
        h    = z * h + (1 - z) * h~

    Cho et al. 2014. No fused kernel computes this one.
    """

    num_gates = 3  # r, z, h~
    has_kernel = False

    def advance(
        self, x: Float[Tensor, "B GH"], state: CellState, linear: Linear = F.linear, trace: Trace | None = None
    ) -> CellState:
        (h,) = state
        H = self.hidden_size
        r, z = torch.sigmoid(x[..., : 2 * H] + linear(h, self.W_h[: 2 * H])).chunk(2, -1)
        candidate = tanh(x[..., 2 * H :] + linear(r * h, self.W_h[2 * H :]))
        h = candidate + z * (h - candidate)
        record(trace, "gate", reset=r, update=z, candidate=candidate)
        record(trace, "state", hidden=h)
        return (h,)


class FusedGRUCell(Cell):
    """The GRU that fused kernels compute, the reset gate after the product:

        h~ = tanh(x W_xh + b_h + r * (h W_hh + b_hh)),   else as `gru`.

    Needs the second bias b_hh, because r scales it.
    """

    num_gates = 3

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.b_hh = nn.Parameter(torch.zeros(hidden_size))

    def advance(
        self, x: Float[Tensor, "B GH"], state: CellState, linear: Linear = F.linear, trace: Trace | None = None
    ) -> CellState:
        (h,) = state
        x_r, x_z, x_h = x.chunk(3, -1)
        h_r, h_z, h_h = linear(h, self.W_h).chunk(3, -1)
        r, z = torch.sigmoid(x_r + h_r), torch.sigmoid(x_z + h_z)
        candidate = tanh(x_h + r * (h_h + self.b_hh))
        h = candidate + z * (h - candidate)
        record(trace, "gate", reset=r, update=z, candidate=candidate)
        record(trace, "state", hidden=h)
        return (h,)

    def fused(self, packed: PackedSequence, state: CellState) -> tuple[Float[Tensor, "M H"], CellState]:
        b_h = F.pad(self.b_hh, (2 * self.hidden_size, 0))
        return run_fused(torch._VF.gru, packed, state[0], self.W_x, self.W_h, self.b, b_h)


def run_fused(
    kernel: Any, packed: PackedSequence, state: Any, *weights: Tensor
) -> tuple[Float[Tensor, "M H"], CellState]:
    """One layer, one direction of torch's C++ kernel; its states carry a leading layer axis, ours do not."""
    with_layer = tuple(s[None] for s in state) if isinstance(state, tuple) else state[None]
    training = torch.is_grad_enabled()  # cuDNN keeps what the backward pass needs only then
    has_bias, num_layers, dropout, bidirectional = True, 1, 0.0, False
    data, *last = kernel(
        packed.data, packed.batch_sizes, with_layer, weights, has_bias, num_layers, dropout, training, bidirectional
    )
    return data, tuple(s[0] for s in last)


CELLS: dict[str, type[Cell]] = {
    "rnn": RNNCell,
    "rnn_relu": ReLUCell,
    "lstm": LSTMCell,
    "gru": GRUCell,
    "gru_fused": FusedGRUCell,
}
