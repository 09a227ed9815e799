"""Compact weights: 8 bits per number and a scale per row; what is read back is at most half a step away."""

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file
from torch import nn

from seqloom.errors import ModelError
from seqloom.models.compact_weights import compacted, in_eight_bits, is_compact, read_arrays
from seqloom.models.stored_shapes import read_shapes
from seqloom.models.weights import load_weights, save_weights

MATRIX = np.random.default_rng(1).normal(size=(5, 40)).astype(np.float32)


@pytest.fixture
def model():
    torch.manual_seed(2)
    return nn.Linear(7, 4)


@pytest.fixture
def file(model, tmp_path):
    save_weights(model, tmp_path / "whole.safetensors")
    save_file(compacted(read_arrays(tmp_path / "whole.safetensors")), tmp_path / "small.safetensors")
    return tmp_path / "small.safetensors"


def test_a_number_moves_by_half_a_step_at_most():
    bits, scale = in_eight_bits(MATRIX)
    assert (bits.dtype, np.abs(bits).max(1).tolist()) == (np.int8, [127] * 5)
    assert (np.abs(bits * scale[:, None] - MATRIX) <= scale[:, None] * 0.5001).all()


def test_rounding_twice_changes_nothing():
    bits, scale = in_eight_bits(MATRIX)
    again, same = in_eight_bits(bits * scale[:, None])
    assert np.array_equal(again, bits)
    assert same == pytest.approx(scale)


def test_a_row_of_zeros_stays_zero():
    bits, scale = in_eight_bits(np.zeros((2, 3), np.float32))
    assert (bits.tolist(), scale.tolist()) == ([[0] * 3] * 2, [1, 1])
    assert in_eight_bits(np.zeros((2, 0), np.float32))[0].shape == (2, 0)


def test_torch_and_numpy_read_the_same_weights(model, file):
    found = read_arrays(file)
    assert is_compact(file)
    assert not is_compact(file.with_name("whole.safetensors"))
    assert not is_compact(file.with_name("missing.safetensors"))
    assert read_shapes(file) == {"weight": (4, 7), "bias": (4,)}
    exact_bias = model.bias.detach().clone()
    load_weights(model, file)
    assert np.array_equal(model.weight.detach().numpy(), found["weight"])
    assert torch.equal(model.bias, exact_bias), "vectors are not rounded"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda held: held.pop("weight:scale"), "weight is I8"),
        (lambda held: held.update({"weight:scale": np.ones(3, np.float32)}), "weight is I8"),
        (lambda held: held.update({"weight:scale": np.ones(4, np.int8)}), "weight is I8"),
        (lambda held: held.update({"bias": np.ones(4, np.int8)}), "bias is I8"),
        (lambda held: held.update({"weight": np.ones((4, 7), np.int16)}), "weight is I16"),
        (lambda held: held.update({"more:scale": np.ones(4, np.float32)}), "more:scale does not belong to it"),
        (lambda held: held.update({"weight:scale": np.full(4, np.nan, np.float32)}), "not finite"),
    ],
)
def test_what_does_not_fit_is_named(model, file, change, said):
    held = compacted(read_arrays(file.with_name("whole.safetensors")))
    change(held)
    save_file(held, file)
    with pytest.raises(ModelError, match=said):
        load_weights(model, file)
