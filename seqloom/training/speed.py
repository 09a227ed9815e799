"""How fast this machine is, and how much of that speed a training run uses (MFU, model FLOPs utilisation).

MFU = floating-point operations the model needs / (seconds x operations per second of a bare matrix product)

The product is measured at the start. If the machine was busy just then, a run may reach more: its own best speed takes
the place of the measured one, so that no share is above 1.
"""

import ctypes
import mmap
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # of glibc's mallopt
HUGE_PAGES = 14  # MADV_HUGEPAGE of Linux
LARGE = 2**30


@dataclass
class Speed:
    """The speed of the machine, and the operations that the model needs per token; 0 = not measured."""

    flops_per_second: float = 0.0
    flops_per_token: float = 0.0

    def used(self, tokens_per_second: float) -> float:
        """MFU at this many tokens per second."""
        if not self.flops_per_second:
            return 0.0
        reached = tokens_per_second * self.flops_per_token
        self.flops_per_second = max(self.flops_per_second, reached)
        return reached / self.flops_per_second

    def describe(self) -> str:
        """Say what MFU is measured against."""
        return (
            f"speed: a bare matrix product reaches {self.flops_per_second / 1e9:,.0f} GFLOP/s on this machine; MFU is "
            "the share of it that training reaches"
        )


@dataclass
class Timer:
    """The speed of training alone, without the time of validating and saving."""

    tokens: int = 0
    updates: int = 0
    began: float = field(default_factory=time.monotonic)

    def leave_out(self, seconds: float) -> None:
        self.began += seconds

    def seconds(self) -> float:
        return max(1e-9, time.monotonic() - self.began)

    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds()


def keep_freed_memory() -> None:
    """Tell glibc to keep freed memory: fresh pages cost more time than the arithmetic done in them.

    Linux is asked for pages of 2 MB there, which the processor finds faster than 512 times as many small ones: the heap
    grows by a block of address space, marked for them, that is freed before anything is in it.
    """
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallopt"):  # other C libraries do not have it
        return
    libc.mallopt(MMAP_THRESHOLD, 2 * LARGE)
    libc.mallopt(TRIM_THRESHOLD, 2 * LARGE)
    libc.malloc.restype = ctypes.c_void_p
    block = libc.malloc(ctypes.c_size_t(LARGE))
    if block:
        begin = -(-block // mmap.PAGESIZE) * mmap.PAGESIZE
        libc.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(LARGE - mmap.PAGESIZE), HUGE_PAGES)
        libc.free(ctypes.c_void_p(block))


def matmul_speed(device: torch.device, precision: str = "float32", seconds: float = 0.15) -> float:
    """Measure the operations per second of a product of the size a small model has; the best of several tries."""
    dtype = getattr(torch, precision)
    a = torch.randn(2048, 512, device=device, dtype=dtype)
    b = torch.randn(512, 1024, device=device, dtype=dtype)
    best, until = float("inf"), time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.perf_counter()
        (a @ b).sum().item()  # .item() waits until a GPU is done
        best = min(best, time.perf_counter() - began)
    return 2 * a.shape[0] * a.shape[1] * b.shape[1] / best


def flops_of_lstm(x: torch.Size, W_x: torch.Size, W_h: torch.Size, *_: Any, **__: Any) -> int:
    """Count for oneDNN's layer, used for a batch without padding; torch's counter does not know it."""
    return 2 * x[0] * x[1] * (W_x.numel() + W_h.numel())


KERNELS = {torch.ops.aten.mkldnn_rnn_layer: flops_of_lstm}


def count_flops(model: nn.Module, forward: Callable[[], object]) -> int:
    """Count the operations of one forward and backward pass: a backward pass costs as much as two forward ones."""
    with torch.no_grad(), FlopCounterMode(display=False, custom_mapping=KERNELS) as counter:
        forward()
    return 3 * int(counter.get_total_flops())
