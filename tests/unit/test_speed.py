"""What a step costs is counted, whichever kernel does the work: an equation's products, three times for both passes."""

import pytest
import torch

from seqloom.nn.cells import CELLS
from seqloom.nn.recurrent import Recurrent
from seqloom.train.speed import count_flops

PRODUCTS = {"rnn": 1, "rnn_relu": 1, "lstm": 4, "gru": 3, "gru_fused": 3}  # of x and of h, each
E, H = 16, 32


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("cell", CELLS)
def test_every_product_of_a_cell_is_counted(cell: str, padded: bool) -> None:
    layer = Recurrent(cell, E, H, 1, ["forward"], 0.0)
    x, mask = torch.randn(4, 7, E), torch.ones(4, 7, dtype=torch.bool)
    mask[1, 3:] = not padded
    found = count_flops(layer, lambda: layer(x, mask))
    exact = 3 * 2 * int(mask.sum()) * PRODUCTS[cell] * (E * H + H * H)
    assert exact <= found <= exact * 28 / int(mask.sum())  # the equation's own loop multiplies padding too
