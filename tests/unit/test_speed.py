"""The operations of a step are counted, whichever kernel does the work: three times those of the forward pass."""

import re
from pathlib import Path

import pytest
import torch

from seqloom.nn.cells import CELLS
from seqloom.nn.recurrent import Recurrent
from seqloom.training.speed import Speed, count_flops, keep_freed_memory

E, H = 16, 32


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("cell", CELLS)
def test_every_product_of_a_cell_is_counted(cell: str, padded: bool) -> None:
    layer = Recurrent(cell, E, H, 1, ["forward"], 0.0)
    x, mask = torch.randn(4, 7, E), torch.ones(4, 7, dtype=torch.bool)
    mask[1, 3:] = not padded
    found = count_flops(layer, lambda: layer(x, mask))
    exact = 3 * 2 * int(mask.sum()) * len(CELLS[cell].stacked) * (E * H + H * H)
    assert exact <= found <= exact * 28 / int(mask.sum())  # the equation's own loop multiplies padding too


def test_no_share_is_above_one_though_the_machine_was_busy_when_it_was_measured() -> None:
    speed = Speed(flops_per_second=100e9, flops_per_token=1e9)
    assert "a bare matrix product reaches 100 GFLOP/s on this machine; MFU is the share of it" in speed.describe()
    assert [speed.used(pace) for pace in (50, 109, 54.5, 109)] == [0.5, 1.0, 0.5, 1.0]
    assert Speed().used(50) == 0.0


def test_the_heap_may_have_large_pages() -> None:
    """`hg` among the flags of the heap: Linux gives it pages of 2 MB where the system allows them at all."""
    maps = Path("/proc/self/smaps")
    if not maps.exists() or not Path("/sys/kernel/mm/transparent_hugepage/enabled").exists():
        pytest.skip("this system has no such pages")
    keep_freed_memory()
    heap = re.findall(r"\[heap\]\n(?:(?!VmFlags).*\n)*VmFlags:(.*)\n", maps.read_text())
    assert any(" hg" in flags for flags in heap)
