"""How fast this machine is and how much of that a training run uses.

MFU = floating-point operations the model needs / (seconds x operations a second of a bare matrix product)
"""

import ctypes
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # of glibc's mallopt
LARGE = 2**30


def keep_freed_memory() -> None:
    """Tell glibc not to give freed memory back: fresh pages cost more than the arithmetic done in them."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # another C library has its own ways
        mallopt(MMAP_THRESHOLD, LARGE)
        mallopt(TRIM_THRESHOLD, LARGE)


def matmul_speed(device: torch.device, precision: str = "float32", seconds: float = 0.15) -> float:
    """Operations a second of a product of the size a small model has; the best of the tries."""
    dtype = getattr(torch, precision)
    a = torch.randn(2048, 512, device=device, dtype=dtype)
    b = torch.randn(512, 1024, device=device, dtype=dtype)
    best, until = float("inf"), time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.perf_counter()
        (a @ b).sum().item()  # .item() waits for a device that works on its own
        best = min(best, time.perf_counter() - began)
    return 2 * a.shape[0] * a.shape[1] * b.shape[1] / best


def flops_of_lstm(x: torch.Size, W_x: torch.Size, W_h: torch.Size, *_: Any, **__: Any) -> int:
    """Of oneDNN's layer, which a batch without padding goes through; torch's counter does not know it."""
    return 2 * x[0] * x[1] * (W_x.numel() + W_h.numel())


KERNELS = {torch.ops.aten.mkldnn_rnn_layer: flops_of_lstm}


def count_flops(model: nn.Module, forward: Callable[[], object]) -> int:
    """Operations of one forward and backward pass: a backward pass costs two forward ones."""
    with torch.no_grad(), FlopCounterMode(display=False, custom_mapping=KERNELS) as counter:
        forward()
    return 3 * int(counter.get_total_flops())
