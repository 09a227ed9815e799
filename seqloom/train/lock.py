"""One `train` a folder: an advisory lock that the kernel frees when its holder dies, kill -9 included."""

import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from seqloom.errors import InUse, UsageError

LOOK_AGAIN = 0.1  # seconds


@contextmanager
def run_lock(folder: Path, patience: float = 0.0, tell: Callable[[str], None] | None = None) -> Iterator[None]:
    """Hold folder/lock; InUse when another process still does after `patience` seconds. `tell` hears of the waiting.

    The file stays behind, unlocked: removing it would let two processes lock two files of the same name.
    """
    path = folder / "lock"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise UsageError(
            f"{folder}: cannot write there ({(error.strerror or str(error)).lower()}); choose another --out"
        ) from None
    try:
        until = time.monotonic() + patience
        while not take_or_refuse(handle, folder):
            if time.monotonic() < until:
                if tell:
                    tell(f"waiting for another call ({holder(path)}), which is at work in {folder}")
                    tell = None  # once is enough
                time.sleep(LOOK_AGAIN)
                continue
            raise InUse(f"another train ({holder(path)}) is using {folder}; wait for it or choose another --out")
        sign(handle)
        yield
    finally:
        os.close(handle)  # frees the lock


def take_or_refuse(handle: int, folder: Path) -> bool:
    try:
        return take(handle)
    except OSError as error:  # ENOLCK, ENOTSUP: some network file systems
        raise UsageError(
            f"{folder}: cannot be locked ({(error.strerror or str(error)).lower()}), and without a lock a second train "
            "could spoil the run. Choose an --out on a local disk, or turn on locks where this one is mounted."
        ) from None


def sign(handle: int) -> None:
    """Say who holds it, for the message of the one who comes second."""
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    note = json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": since})
    with suppress(OSError):  # a full disk must not stop the run here: the lock holds without its note
        os.ftruncate(handle, 0)
        os.pwrite(handle, note.encode(), 0) if hasattr(os, "pwrite") else os.write(handle, note.encode())


def holder(path: Path) -> str:
    try:
        note = json.loads(path.read_text("utf-8"))
        elsewhere = "" if note["host"] == socket.gethostname() else f" on {note['host']}"
        return f"pid {note['pid']}{elsewhere}, since {note['since']}"
    except (OSError, ValueError, TypeError, KeyError):
        return "unknown pid"  # it has the lock but has not signed yet


if sys.platform == "win32":
    import msvcrt

    def take(handle: int) -> bool:
        os.lseek(handle, 1 << 30, os.SEEK_SET)  # a byte far behind the note: Windows locks bytes against reading too
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        os.lseek(handle, 0, os.SEEK_SET)
        return True
else:
    import fcntl

    def take(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
