"""Maps of gates equal the equations of the cells, recomputed from the weights with NumPy."""

import numpy as np
import pytest

from seqloom.errors import UsageError
from seqloom.text.vocabulary import EOS

TEXT = "a cat sat"


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(x, state, W_x, W_h, b):
    h, c = state
    i, f, candidate, o = np.split(x @ W_x.T + h @ W_h.T + b, 4)
    i, f, o, candidate = sigmoid(i), sigmoid(f), sigmoid(o), np.tanh(candidate)
    c = f * c + i * candidate
    h = o * np.tanh(c)
    return (h, c), {
        "gate.input": i, "gate.forget": f, "gate.output": o, "gate.candidate": candidate,
        "state.cell": c, "state.hidden": h,
    }  # fmt: skip


def gru(x, state, W_x, W_h, b):
    (h,) = state
    (x_r, x_z, x_h), (W_r, W_z, W_hh) = np.split(x @ W_x.T + b, 3), np.split(W_h, 3)
    r, z = sigmoid(x_r + h @ W_r.T), sigmoid(x_z + h @ W_z.T)
    candidate = np.tanh(x_h + (r * h) @ W_hh.T)
    h = z * h + (1 - z) * candidate
    return (h,), {"gate.reset": r, "gate.update": z, "gate.candidate": candidate, "state.hidden": h}


CELLS = {"lstm": (lstm, 2), "gru": (gru, 1)}


def run(cell, inputs):
    """Run a cell over inputs (T, E) from zero states; what it computes, by name, (T, H)."""
    advance, num_states = CELLS["lstm" if cell.states == ("hidden", "cell") else "gru"]
    weights = [part.detach().numpy() for part in (cell.W_x, cell.W_h, cell.b)]
    state, rows = tuple(np.zeros(cell.hidden_size) for _ in range(num_states)), []
    for x in inputs:
        state, found = advance(x, state, *weights)
        rows.append(found)
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}


def same(found, want):
    """Equal up to a byte: maps of gates have 255 steps between their lowest and highest value."""
    return np.abs(found.values - want).max() <= (found.high - found.low) / 255 / 2 + 1e-5


@pytest.mark.parametrize("cell", CELLS)
def test_the_encoder_in_both_directions_and_layers(load, cell):
    model = load("rnn", f"model.cell={cell}")
    (lane,) = model.explain(TEXT, target="le", views=["gates"]).lanes
    network = model.model
    ids = [*model.tokenizers.source.encode(TEXT), EOS]
    x = network.source_table.weight.detach().numpy()[ids] * network.embed_scale
    for depth, layer in enumerate(network.encoder.layers):
        outputs = []
        for direction, one in zip(layer.directions, layer.cells, strict=True):
            turn = slice(None, None, -1 if direction == "backward" else 1)
            found = {name: rows[turn] for name, rows in run(one, x[turn]).items()}
            for name, rows in found.items():
                recorded = lane.map(f"encoder.{direction}.{depth}.{name}")
                assert recorded.axes == ["source", "unit"]
                assert recorded.dtype == "uint8"
                assert same(recorded, rows), name
            outputs.append(found["state.hidden"])
        x = np.concatenate(outputs, 1)


@pytest.mark.parametrize("cell", CELLS)
def test_a_language_model(load, cell):
    model = load("rnn language", f"model.cell={cell}")
    (lane,) = model.explain(TEXT, views=["gates"]).lanes
    network = model.model
    x = network.target_table.weight.detach().numpy()[model.encode(TEXT)[:-1]] * network.embed_scale
    for depth, one in enumerate(network.decoder.stack.cells):
        found = run(one, x)
        for name, rows in found.items():
            recorded = lane.map(f"decoder.{depth}.{name}")
            assert recorded.axes == ["target", "unit"]
            assert same(recorded, rows), name
        x = found["state.hidden"]


@pytest.mark.parametrize("family", ["rnn", "luong", "fixed", "classifier", "rnn tagger"])
def test_every_layer_direction_and_side_is_there_in_order(load, family):
    (lane,) = load(family).explain(TEXT, views=["gates"]).lanes
    names = [found.name for found in lane.maps]
    parts = [*dict.fromkeys(name.rpartition(".")[0].rpartition(".")[0] for name in names)]
    directions = ["forward"] if family == "fixed" else ["forward", "backward"]
    want = [f"encoder.{direction}.{layer}" for layer in (0, 1) for direction in directions]
    want += ["decoder.0", "decoder.1"] if lane.target else []
    assert parts == want
    if family in ("luong", "fixed"):
        assert [name.removeprefix("encoder.forward.0.") for name in names][:6] == [
            "gate.input", "gate.forget", "gate.output", "gate.candidate", "state.cell", "state.hidden",
        ]  # fmt: skip
    tokens = {"source": lane.source.tokens, "target": lane.target.tokens if lane.target else []}
    assert all(found.shape[0] == len(tokens[found.axes[0]]) for found in lane.maps)


def test_who_has_no_gates_says_so(load):
    with pytest.raises(UsageError, match=r"model\.cell = lstm, gru or gru_fused have them"):
        load("rnn", "model.cell=rnn").explain(TEXT, views=["gates"])
    with pytest.raises(UsageError, match="models of kind rnn have it"):
        load("transformer").explain(TEXT, views=["gates"])
