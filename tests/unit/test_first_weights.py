"""Initial weights by their statistics: a slightly wrong start would train too, only worse, and go unnoticed."""

import math

import pytest
import torch
from torch import Tensor, nn

from seqloom.config import load_config
from seqloom.models.build import build_model
from seqloom.nn.cells import CELLS, Cell
from seqloom.nn.embed import Output, make_table
from seqloom.nn.positions import POSITIONS
from seqloom.nn.scores import AdditiveScore

E, H = 40, 30
SIZES = ["model.width=32", "model.heads=4", "model.layers=2", "model.embed_size=24", "model.bidirectional=false"]


def assert_even(weight: Tensor, bound: float) -> None:
    """Drawn evenly from -bound to bound."""
    assert weight.abs().max().item() <= bound
    assert weight.abs().max().item() > 0.9 * bound
    assert weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.1)


def make(kind: str) -> Cell:
    torch.manual_seed(1)
    return CELLS[kind](E, H)


@pytest.mark.parametrize("kind", CELLS)
def test_a_cell(kind: str) -> None:
    """W_x: Glorot's for each gate by itself, summed over gates; W_h: each gate a rotation, which keeps |h|."""
    cell = make(kind)
    gates = len(cell.stacked)
    assert_even(cell.W_x, math.sqrt(gates) * math.sqrt(6 / (E + gates * H)))
    for gate in cell.W_h.chunk(gates):
        torch.testing.assert_close(gate @ gate.T, torch.eye(H), atol=1e-5, rtol=0)
    assert torch.equal(cell.W_h, torch.eye(H)) == cell.starts_as_identity


@pytest.mark.parametrize("kind", CELLS)
def test_biases_are_zero_but_the_forget_gate_is_open(kind: str) -> None:
    cell = make(kind)
    biases = {name: parameter for name, parameter in cell.named_parameters() if name.startswith("b")}
    want = torch.cat([torch.full((H,), float(part in cell.starts_open)) for part in cell.stacked])
    assert torch.equal(biases.pop("b"), want)
    assert not any(further.any() for further in biases.values())
    assert (kind == "lstm") == ("forget" in cell.starts_open)


def test_word_vectors_and_the_output_have_rows_of_length_one() -> None:
    torch.manual_seed(1)
    for matrix in (make_table(500, 64).weight, Output(64, 500, None).weight):
        assert matrix.std().item() == pytest.approx(1 / 8, rel=0.03)
        assert matrix.norm(dim=1).mean().item() == pytest.approx(1.0, rel=0.03)
    table = make_table(500, 64)
    assert Output(64, 500, table).weight is table.weight
    assert not Output(64, 500, table).bias.any()


def test_learned_positions_and_the_additive_score() -> None:
    torch.manual_seed(1)
    positions = POSITIONS["learned"](64, 16, 300)
    assert positions.table.std().item() == pytest.approx(1 / 8, rel=0.03)
    assert_even(AdditiveScore(8, 8, 400).w, 1 / 20)


@pytest.mark.parametrize("task", ["translate", "language", "tag"])
def test_a_recurrent_model_scales_its_word_vectors_when_asked_and_draws_its_weights_alike(task: str) -> None:
    settings = [*SIZES, "model.kind=rnn", "model.cell=lstm", "model.attention=none", "model.tied=false"]
    torch.manual_seed(1)
    usual = build_model(load_config(None, [*settings, f"task.name={task}"]), 90, 90, False)
    published = ["model.init_range=0.08", "model.embed_scale=false"]  # Sutskever et al. 2014
    alike = build_model(load_config(None, [*settings, f"task.name={task}", *published]), 90, 90, False)
    assert usual.embed_scale == pytest.approx(math.sqrt(24))
    assert alike.embed_scale == 1.0
    for parameter in alike.parameters():
        assert parameter.abs().max().item() <= 0.08
        if parameter.numel() > 500:
            assert_even(parameter, 0.08)
        assert parameter.any()  # biases too
    assert max(p.abs().max().item() for p in usual.parameters()) > 0.9  # the forget gate's bias among them


@pytest.mark.parametrize("kind", ["transformer", "gpt"])
@pytest.mark.parametrize("tied", ["true", "false"])
def test_a_transformer_begins_small(kind: str, tied: str) -> None:
    """0.32 D^-1/2 for every matrix, no bias, norms that change nothing."""
    settings = ["model.width=64", "model.layers=2", f"model.kind={kind}", f"model.tied={tied}"]
    torch.manual_seed(1)
    model = build_model(load_config(None, settings), 200, 200, tied == "true" or kind == "gpt")
    for name, module in model.named_modules():
        if isinstance(module, nn.LayerNorm):
            assert (module.weight == 1).all() and not module.bias.any()
        elif isinstance(module, (nn.Linear, nn.Embedding)):
            assert module.weight.std().item() == pytest.approx(0.32 / 8, rel=0.05), name
            assert not (isinstance(module, nn.Linear) and module.bias.any())
    assert model.scale == 8.0
    assert model.output.weight.std().item() == pytest.approx(0.32 / 8 if tied == "true" else 1 / 8, rel=0.05)
    assert not model.output.bias.any()
