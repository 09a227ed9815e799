"""What a forward pass records under which name: sides, directions and layers differ, time is axis 1."""

import pytest
import torch

from seqloom.config import load_config
from seqloom.models.build import build_model
from seqloom.nn.cells import CELLS
from seqloom.nn.trace import Trace, part_of
from seqloom.text.vocabulary import BOS, EOS

SOURCE, TARGET = torch.tensor([[5, 6, 7, EOS]]), torch.tensor([[BOS, 5, 8]])


def parts_of(cell: str) -> set[str]:
    """What a cell says that it computes."""
    kind = CELLS[cell]
    gates = {f"gate.{part}" for part in kind.stacked if part not in kind.states}
    return gates | {f"state.{part}" for part in kind.states}


def test_the_gates_of_the_lectures() -> None:
    assert parts_of("rnn") == parts_of("rnn_relu") == {"state.hidden"}
    assert parts_of("gru") == parts_of("gru_fused") == {"gate.reset", "gate.update", "gate.candidate", "state.hidden"}
    lstm = {"gate.input", "gate.forget", "gate.output", "gate.candidate", "state.hidden", "state.cell"}
    assert parts_of("lstm") == lstm


def traced(*settings: str) -> Trace:
    torch.manual_seed(0)
    sizes = ["model.kind=rnn", "model.width=6", "model.layers=2", "model.dropout=0.0"]
    model = build_model(load_config(None, [*sizes, *settings]), 9, 9, True).eval()
    trace = Trace()
    model.hidden(TARGET, model.encode(SOURCE, torch.ones_like(SOURCE, dtype=torch.bool), trace), trace)
    return trace


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("attention", ["none", "additive"])
def test_every_cell_tells_its_gates_and_states_over_time(cell: str, attention: str) -> None:
    trace = traced(f"model.cell={cell}", f"model.attention={attention}")
    places = [f"encoder.{direction}.{depth}" for direction in ("forward", "backward") for depth in (0, 1)]
    places += ["decoder.0", "decoder.1"]
    want = {f"{place}.{part}" for place in places for part in parts_of(cell)}
    assert set(trace.names()) == want | ({"decoder.attention"} if attention != "none" else set())
    for name in want:
        over_time = torch.cat(trace[name], 1)
        assert over_time.shape == ((1, 4, 3) if name.startswith("encoder") else (1, 3, 6))
        if ".gate." in name and "candidate" not in name:
            assert (over_time > 0).all() and (over_time < 1).all()


def test_a_part_records_under_its_name() -> None:
    trace = Trace()
    part = part_of(part_of(trace, "decoder"), "0")
    part.record("gate.reset", torch.ones(1))
    assert trace.names() == ["decoder.0.gate.reset"] == part.names()
    assert trace["decoder.0.gate.reset"] == part["gate.reset"]
    assert part_of(None, "decoder") is None


def test_to_ask_for_what_was_not_recorded_records_nothing() -> None:
    trace = Trace()
    assert trace["decoder.attention"] == []
    assert trace.names() == []
