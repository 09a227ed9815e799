"""Starts command lines and breaks something at a chosen moment. One JSON order per line on stdin, one answer each.

Torch is imported once; each command line runs in a fork. An order:
    {"folder": "...", "words": [...],           the working folder and the command line
     "at": "seqloom.training.loop:Loop.update", "call": 3,   the moment: before this function is called the third time
     "do": [["full"], ["remove", "pairs.tsv"]],              what happens then, see FAULTS; in order
     "umask": 0o022}
The answer: {"code": exit code, or minus the signal; "errors": standard error; "happened": did it come to the moment?}

The forks give up the superuser's right to ignore the modes of files, so that a folder can be read-only for them.
"""

import ctypes
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

CAPABILITIES_3 = 0x20080522
IGNORES_MODES = (1 << 1) | (1 << 2) | (1 << 3)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER
TEN_YEARS = 3.2e8  # seconds


def run_child(order: dict[str, Any], errors: int, moment: int) -> None:
    """Never returns."""
    code = 99
    try:
        from seqloom.cli.app import main

        nothing = os.open(os.devnull, os.O_RDWR)
        for source, target in ((nothing, 0), (nothing, 1), (errors, 2)):
            os.dup2(source, target)
        sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115 (the old one has orders in its buffer)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", buffering=1)  # the old one could seek, a pipe cannot
        os.chdir(order["folder"])
        os.umask(order.get("umask", 0o022))
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets its background jobs ignore it
        obey_modes()
        if "at" in order:
            break_at(order, moment)
        code = main(order["words"])
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def obey_modes() -> None:
    """Give up the right to write where the modes forbid it."""
    libc = ctypes.CDLL(None)
    header, sets = (ctypes.c_uint32 * 2)(CAPABILITIES_3, 0), (ctypes.c_uint32 * 6)()
    if os.geteuid() == 0 and libc.capget(header, sets) == 0:
        for place in (0, 1):  # effective and permitted
            sets[place] &= ~IGNORES_MODES
        libc.capset(header, sets)


def break_at(order: dict[str, Any], moment: int) -> None:
    """Put a wrapper around the named function that does the order's faults before the chosen call."""
    module, _, path = order["at"].partition(":")
    *owners, name = path.split(".")
    owner = reduce(getattr, owners, importlib.import_module(module))
    real = getattr(owner, name)
    calls = 0

    def wrapper(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == order.get("call", 1):
            os.write(moment, b"!")
            for fault, *details in order["do"]:
                FAULTS[fault](*details)
        return real(*args, **options)

    setattr(owner, name, wrapper)


def send(number: int, times: int = 1) -> None:
    for _ in range(times):
        os.kill(os.getpid(), number)


def fill_disk() -> None:
    """From now on no file can grow; Python ignores SIGXFSZ, so writing fails with EFBIG."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


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


def flip(name: str) -> None:
    """Flip one bit in the middle of a file."""
    file = Path(name)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


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


def start(order: dict[str, Any]) -> dict[str, Any]:
    (errors, errors_in), (moment, moment_in) = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        run_child(order, errors_in, moment_in)
    os.close(errors_in)
    os.close(moment_in)
    with os.fdopen(errors, encoding="utf-8", errors="replace") as stream, os.fdopen(moment, "rb") as happened:
        said = stream.read()
        _, status = os.waitpid(child, 0)
        return {"code": os.waitstatus_to_exitcode(status), "errors": said, "happened": bool(happened.read())}


def warm_up() -> None:
    """Import what every start would: torch itself fetches some of it only when an optimizer is made."""
    for name in ("train", "translate", "evaluate", "export", "bulk"):
        importlib.import_module(f"seqloom.workflows.{name}")
    torch = importlib.import_module("torch")
    torch.optim.AdamW([torch.zeros(1)])


if __name__ == "__main__":
    warm_up()
    for line in sys.stdin:
        print(json.dumps(start(json.loads(line))), flush=True)
    os._exit(0)  # Python would take seconds to tidy up after torch
