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

    The file stays behind, unlocked; where nothing else came to be because the work was refused, nothing stays.
    """
    handle, made = wait_for(folder, patience, tell)
    try:
        sign(handle)
        yield
    except BaseException:
        leave_no_trace(folder, made)
        raise
    finally:
        os.close(handle)  # frees the lock


def wait_for(folder: Path, patience: float, tell: Callable[[str], None] | None) -> tuple[int, list[Path]]:
    """The open lock file, locked, and the folders that were made for it, the innermost first."""
    until = time.monotonic() + max(patience, LOOK_AGAIN)  # a second look: refused work may take its lock away
    while True:
        made = [path for path in (folder, *folder.parents) if not path.exists()]
        handle = open_lock(folder)
        if take_or_refuse(handle, folder) and is_there(handle, folder):
            return handle, made
        os.close(handle)
        if time.monotonic() >= until:
            raise InUse(
                f"another train ({holder(folder / 'lock')}) is using {folder}; wait for it or choose another --out"
            )
        if tell:
            tell(f"waiting for another call ({holder(folder / 'lock')}), which is at work in {folder}")
            tell = None  # once is enough
        time.sleep(LOOK_AGAIN)


def leave_no_trace(folder: Path, made: list[Path]) -> None:
    """Before the lock is free: after it another call may be at work in there. One that waits finds out (`is_there`)."""
    with suppress(OSError):  # Windows keeps a file that is open, and so the folder; another call may use its parents
        if [entry.name for entry in folder.iterdir()] == ["lock"]:
            (folder / "lock").unlink()
            for path in made:
                path.rmdir()


def open_lock(folder: Path) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise UsageError(
            f"{folder}: cannot write there ({(error.strerror or str(error)).lower()}); choose another --out"
        ) from None


def is_there(handle: int, folder: Path) -> bool:
    """Not the file of a folder that was deleted meanwhile: nobody else would meet that lock."""
    with suppress(OSError):
        return os.path.samestat(os.fstat(handle), (folder / "lock").stat())
    return False


def take_or_refuse(handle: int, folder: Path) -> bool:
    try:
        return take(handle)
    except OSError as error:  # ENOLCK, ENOTSUP: some network file systems
        os.close(handle)
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
