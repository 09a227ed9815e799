"""What breaks in a process at a chosen moment: signals, a full disk, files that vanish, a clock that jumps."""

import ctypes
import importlib
import os
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

CAPABILITIES_3 = 0x20080522
IGNORES_MODES = (1 << 1) | (1 << 2) | (1 << 3)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER
TEN_YEARS = 3.2e8  # seconds


def obey_modes() -> None:
    """Give up the right to write where the modes forbid it."""
    libc = ctypes.CDLL(None)
    header, sets = (ctypes.c_uint32 * 2)(CAPABILITIES_3, 0), (ctypes.c_uint32 * 6)()
    if sys.platform == "linux" and os.geteuid() == 0 and libc.capget(header, sets) == 0:
        for place in (0, 1):  # effective and permitted
            sets[place] &= ~IGNORES_MODES
        libc.capset(header, sets)


def break_at(function: str, call: int, faults: list[list[Any]], moment: int) -> None:
    """Put a wrapper around the named function that does the faults before the chosen call and tells it to a pipe."""
    owner, name = owner_of(function)
    real = getattr(owner, name)
    calls = 0

    def wrapper(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            os.write(moment, b"!")
            for fault, *details in faults:
                FAULTS[fault](*details)
        return real(*args, **options)

    setattr(owner, name, wrapper)


def owner_of(function: str) -> tuple[Any, str]:
    module, _, path = function.partition(":")
    *owners, name = path.split(".")
    return reduce(getattr, owners, importlib.import_module(module)), name


def answer_otherwise(function: str) -> None:
    owner, name = owner_of(function)
    setattr(owner, name, lambda *_: "other")


def send(number: int, times: int = 1) -> None:
    for _ in range(times):
        os.kill(os.getpid(), number)


def limit_files(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def fill_disk() -> None:
    """From now on no file can grow; Python ignores SIGXFSZ, so writing fails with EFBIG."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limit_files(0)


def close_folder(name: str) -> None:
    """Make a folder and all folders in it read-only."""
    folder = Path(name)
    for inner in [folder, *(entry for entry in folder.rglob("*") if entry.is_dir())]:
        inner.chmod(0o555)


def move_clock() -> None:
    """The wall clock jumps ahead with each second look at it, and back in between; the steady clock does not."""
    real, looks = time.time, 0

    def jumping() -> float:
        nonlocal looks
        looks += 1
        return real() + TEN_YEARS * (looks % 2)

    time.time = jumping


def flip(file: str | Path) -> None:
    """Flip one bit in the middle of a file."""
    content = bytearray(Path(file).read_bytes())
    content[len(content) // 2] ^= 1
    Path(file).write_bytes(content)


FAULTS: dict[str, Callable[..., Any]] = {
    "signal": send,
    "full": fill_disk,
    "read-only": close_folder,
    "remove": os.remove,
    "remove folder": shutil.rmtree,
    "write": lambda name, text: Path(name).write_text(text),
    "flip": flip,
    "clock": move_clock,
}
