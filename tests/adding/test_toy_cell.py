"""Adding a recurrent cell: a class that says what it computes, a row in the registry, a name for the settings."""

import pytest
import torch

from seqloom.config import tables
from seqloom.nn.cells import CELLS, Cell, record
from seqloom.nn.trace import Trace


class LeakyCell(Cell):
    """h = (1 - u) * h + u * tanh(x W_x + h W_h + b),   u = sigmoid(x W_x + h W_h + b)."""

    stacked = ("leak", "candidate")
    has_kernel = False

    def advance(self, x, state, linear=torch.nn.functional.linear, trace=None):
        (h,) = state
        leak, candidate = (x + linear(h, self.W_h)).chunk(2, -1)
        leak, candidate = torch.sigmoid(leak), torch.tanh(candidate)
        h = h + leak * (candidate - h)
        record(trace, "gate", leak=leak, candidate=candidate)
        record(trace, "state", hidden=h)
        return (h,)


@pytest.fixture
def leaky(monkeypatch):
    monkeypatch.setitem(CELLS, "leaky", LeakyCell)
    monkeypatch.setitem(tables.CELLS, "leaky", "a leaky unit")


@pytest.mark.parametrize(
    "decoder",
    [
        pytest.param("attention=none", marks=pytest.mark.slow),
        "decoder=bahdanau",
        pytest.param("decoder=luong", marks=pytest.mark.slow),
    ],
)
def test_a_cell_is_trained_measured_and_served(leaky, through_every_verb, decoder):
    found = through_every_verb("model.kind=rnn", "model.cell=leaky", f"model.{decoder}")
    trace = Trace()
    model = found.model.model
    model.encode(torch.tensor([[5, 6]]), torch.ones(1, 2, dtype=torch.bool), trace)
    assert "encoder.forward.0.gate.leak" in trace.names()


def test_a_form_that_it_lacks_is_named(leaky, through_every_verb, capsys, tmp_path):
    from seqloom.cli.app import main

    found = through_every_verb("model.kind=rnn", "model.cell=leaky")
    assert main(["export", str(found.folder), "--format", "onnx", "--out", str(tmp_path / "onnx")]) == 2
    assert "model.cell = leaky: cannot be exported to ONNX" in capsys.readouterr().err
