"""From the encoder's last states to the decoder's first: which layers are matched, and what is read of each state."""

import pytest
import torch
from torch import Tensor

from seqloom.nn.bridge import Bridge

B, H = 2, 4


def marked(depth: int, parts: int = 1) -> tuple[Tensor, ...]:
    """The last state of layer 0, 1, 2: its tens tell the layer, its units the part, its tenths the sentence."""
    rows = torch.arange(B)[:, None] / 10
    return tuple((10 * depth + part + rows).expand(B, H) for part in range(parts))


@pytest.mark.parametrize(("layers", "meet"), [(1, [2]), (2, [1, 2]), (3, [0, 1, 2]), (5, [0, 0, 0, 1, 2])])
def test_the_top_layers_meet_and_the_lowest_serves_those_below_it(layers: int, meet: list[int]) -> None:
    bridge = Bridge(H, H, layers, 2, copy=True)
    first = bridge([marked(depth, 2) for depth in range(3)], 1)
    assert not list(bridge.parameters())
    for got, depth in zip(first, meet, strict=True):
        for ours, theirs in zip(got, marked(depth, 2), strict=True):
            assert torch.equal(ours, theirs)


@pytest.mark.parametrize(("input_size", "width", "copy"), [(H, 3, True), (2, H, True), (H, H, False)])
def test_each_layer_and_part_has_a_map_of_its_own_where_they_are_not_alike(
    input_size: int, width: int, copy: bool
) -> None:
    """s_0 = tanh(W h + b), h the last `input_size` entries of the state."""
    bridge = Bridge(input_size, width, 2, 2, copy=copy)
    last = [tuple(torch.randn(B, H) for _ in range(2)) for _ in range(3)]
    first = bridge(last, 1)
    for maps, got, states in zip(bridge.maps, first, last[1:], strict=True):
        for linear, ours, h in zip(maps, got, states, strict=True):
            want = torch.tanh(h[:, H - input_size :] @ linear.weight.T + linear.bias)
            torch.testing.assert_close(ours, want)
    assert len({linear.weight.data_ptr() for maps in bridge.maps for linear in maps}) == 4


@pytest.mark.parametrize("copy", [True, False])
def test_the_rows_of_a_sentence_stand_together(copy: bool) -> None:
    bridge, last = Bridge(H, H, 1, 1, copy=copy), [marked(0)]
    once, thrice = bridge(last, 1)[0][0], bridge(last, 3)[0][0]
    assert thrice.shape == (3 * B, H)
    assert torch.equal(thrice, once[[0, 0, 0, 1, 1, 1]])
