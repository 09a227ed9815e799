"""Recurrent cells (RNN, LSTM, GRU), each written as its equation: one step from (x_t, state) to the next state.

`advance` is the equation; state[0] is h. It takes x already multiplied by W_x: that product does not depend on the
state and is computed for all time steps at once. A loop over time passes in its own `linear`, which computes the
weight gradients of all steps in one product (nn/late_weight_gradients.py).
`fused` is torch's kernel for a whole sequence, for cells that have one; a test proves that both are equal.
Weights have torch's layout (gates stacked, `x W` written `F.linear(x, W)`), so fused kernels use them unchanged.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import PackedSequence

from seqloom.nn.late_weight_gradients import unrounded
from seqloom.nn.tanh import tanh
from seqloom.nn.trace import Trace

CellState = tuple[Float[Tensor, "B H"], ...]
Linear = Callable[[Tensor, Tensor], Tensor]  # (x, W) -> x W^T


class Cell(nn.Module):
    """Base class of the cells: gates stacked in W_x (GH, E), W_h (GH, H) and b (GH)."""

    stacked: tuple[str, ...] = ("hidden",)  # what W_x, W_h and b compute, in the order in which they are stacked
    states: tuple[str, ...] = ("hidden",)  # what a step hands to the next one
    has_kernel = True  # whether torch has a fused kernel for it
    starts_open: tuple[str, ...] = ()  # gates whose bias starts at 1
    starts_as_identity = False  # whether W_h starts as the identity instead of a rotation

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.input_size, self.hidden_size = input_size, hidden_size
        num_gates = len(self.stacked)
        rows = num_gates * hidden_size
        self.W_x = nn.Parameter(torch.empty(rows, input_size))
        self.W_h = nn.Parameter(torch.empty(rows, hidden_size))
        self.b = nn.Parameter(torch.zeros(rows))
        nn.init.xavier_uniform_(self.W_x, gain=math.sqrt(num_gates))
        for gate in self.W_h.data.chunk(num_gates):
            nn.init.orthogonal_(gate)  # preserves |h| over many steps

    def start(self, rows: int) -> CellState:
        """The initial state, all zeros."""
        return tuple(self.b.new_zeros(rows, self.hidden_size) for _ in self.states)

    def project(self, x: Float[Tensor, "*batch E"]) -> Float[Tensor, "*batch GH"]:
        """x W_x + b for any number of time steps."""
        return unrounded(F.linear(x, self.W_x, self.b))

    def advance(
        self, x: Float[Tensor, "B GH"], state: CellState, linear: Linear = F.linear, trace: Trace | None = None
    ) -> CellState:
        """One time step; x is already projected (`project`)."""
        raise NotImplementedError

    def fused(self, packed: PackedSequence, state: CellState) -> tuple[Float[Tensor, "M H"], CellState]:
        """The whole sequence (M positions without padding) in one torch kernel; only if `has_kernel`."""
        raise NotImplementedError


def record(trace: Trace | None, kind: str, **parts: Float[Tensor, "B H"]) -> Iterable[Float[Tensor, "B H"]]:
    """Record one time step of each part in the trace, as (B, 1, H); returns the parts to continue with."""
    if trace is None:
        return parts.values()
    return [trace.record(f"{kind}.{name}", part[:, None])[:, 0] for name, part in parts.items()]


class RNNCell(Cell):
    """Plain (Elman) recurrent cell:  h = phi(x W_x + h W_h + b),  phi = tanh.   Elman 1990."""

    phi: Callable[[Tensor], Tensor] = staticmethod(tanh)
    kernel: Any = staticmethod(torch._VF.rnn_tanh)

    def advance(
        self, x: Float[Tensor, "B GH"], state: CellState, linear: Linear = F.linear, trace: Trace | None = None
    ) -> CellState:
        (h,) = state
        h = self.phi(x + linear(h, self.W_h))
        return tuple(record(trace, "state", hidden=h))

    def fused(self, packed: PackedSequence, state: CellState) -> tuple[Float[Tensor, "M H"], CellState]:
        return run_fused(self.kernel, packed, state[0], self.W_x, self.W_h, self.b, torch.zeros_like(self.b))


class ReLUCell(RNNCell):
    """Plain cell with phi = relu; W_h starts as the identity, so that h sums its inputs.   Le et al. 2015 (IRNN)."""

    starts_as_identity = True
    phi = staticmethod(torch.relu)
    kernel = staticmethod(torch._VF.rnn_relu)

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        nn.init.eye_(self.W_h)


class LSTMCell(Cell):
    """Long short-term memory (LSTM):

        i, f, o = sigmoid(x W_x + h W_h + b)      input, forget and output gate, each with its own W and b
        c~      = tanh(x W_x + h W_h + b)         candidate
        c       = f * c + i * c~
        h       = o * tanh(c)

    Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000.
    """

    stacked = ("input", "forget", "candidate", "output")  # torch's order
    states = ("hidden", "cell")
    starts_open = ("forget",)  # open at first: the gradient does not vanish over time

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.b.data.chunk(4)[1].fill_(1.0)

    def advance(
        self, x: Float[Tensor, "B GH"], state: CellState, linear: Linear = F.linear, trace: Trace | None = None
    ) -> CellState:
        h, c = state
        i, f, candidate, o = (x + linear(h, self.W_h)).chunk(4, -1)
        i, f, o, candidate = torch.sigmoid(i), torch.sigmoid(f), torch.sigmoid(o), tanh(candidate)
        i, f, o, candidate = record(trace, "gate", input=i, forget=f, output=o, candidate=candidate)
        (c,) = record(trace, "state", cell=f * c + i * candidate)
        (h,) = record(trace, "state", hidden=o * tanh(c))
        return h, c

    def fused(self, packed: PackedSequence, state: CellState) -> tuple[Float[Tensor, "M H"], CellState]:
        return run_fused(torch._VF.lstm, packed, state, self.W_x, self.W_h, self.b, torch.zeros_like(self.b))


class GRUCell(Cell):
    """Gated recurrent unit (GRU) with the reset gate before the matrix product, as in the lectures:

        r, z = sigmoid(x W_x + h W_h + b)         reset and update gate, each with its own W and b
        h~   = tanh(x W_xh + (r * h) W_hh + b_h)
        h    = z * h + (1 - z) * h~

    Cho et al. 2014. Torch has no fused kernel for it.
    """

    stacked = ("reset", "update", "candidate")
    has_kernel = False

    def advance(
        self, x: Float[Tensor, "B GH"], state: CellState, linear: Linear = F.linear, trace: Trace | None = None
    ) -> CellState:
        (h,) = state
        H = self.hidden_size
        r, z = torch.sigmoid(x[..., : 2 * H] + linear(h, self.W_h[: 2 * H])).chunk(2, -1)
        r, z = record(trace, "gate", reset=r, update=z)
        (candidate,) = record(trace, "gate", candidate=tanh(x[..., 2 * H :] + linear(r * h, self.W_h[2 * H :])))
        return tuple(record(trace, "state", hidden=candidate + z * (h - candidate)))


class FusedGRUCell(Cell):
    """GRU with the reset gate after the matrix product, as fused kernels compute it:

        h~ = tanh(x W_xh + b_h + r * (h W_hh + b_hh)),   otherwise as `gru`.

    It needs the second bias b_hh, because r scales it.
    """

    stacked = ("reset", "update", "candidate")

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.b_hh = nn.Parameter(torch.zeros(hidden_size))

    def advance(
        self, x: Float[Tensor, "B GH"], state: CellState, linear: Linear = F.linear, trace: Trace | None = None
    ) -> CellState:
        (h,) = state
        x_r, x_z, x_h = x.chunk(3, -1)
        h_r, h_z, h_h = linear(h, self.W_h).chunk(3, -1)
        r, z = record(trace, "gate", reset=torch.sigmoid(x_r + h_r), update=torch.sigmoid(x_z + h_z))
        (candidate,) = record(trace, "gate", candidate=tanh(x_h + r * (h_h + self.b_hh)))
        return tuple(record(trace, "state", hidden=candidate + z * (h - candidate)))

    def fused(self, packed: PackedSequence, state: CellState) -> tuple[Float[Tensor, "M H"], CellState]:
        b_h = F.pad(self.b_hh, (2 * self.hidden_size, 0))
        return run_fused(torch._VF.gru, packed, state[0], self.W_x, self.W_h, self.b, b_h)


def run_fused(
    kernel: Any, packed: PackedSequence, state: Any, *weights: Tensor
) -> tuple[Float[Tensor, "M H"], CellState]:
    """Run torch's C++ kernel for one layer and one direction; its states have a leading layer axis, ours do not."""
    with_layer = tuple(s[None] for s in state) if isinstance(state, tuple) else state[None]
    training = torch.is_grad_enabled()  # cuDNN saves what the backward pass needs only if this is set
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
