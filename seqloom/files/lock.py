"""Lock of a run folder: one `train` at a time. The kernel frees it when its holder dies, even by kill -9."""

import json
import os
import socket
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from seqloom.errors import InUse, ModelError, UsageError
from seqloom.files.folders import refuse_links
from seqloom.files.kernel_lock import is_there, take
from seqloom.files.reading import SETTINGS, read_json

LOOK_AGAIN = 0.1  # seconds


@contextmanager
def run_lock(
    folder: Path, patience: float = 0.0, tell: Callable[[str], None] | None = None, user: str = "train"
) -> Iterator[None]:
    """Hold folder/lock; InUse if another process still holds it after `patience` seconds. `tell` reports the waiting.

    The file stays, unlocked. If the work was refused and the folder holds nothing else, file and folder are removed.
    """
    refuse_links(folder)
    handle, made = wait_for(folder, patience, tell, user)
    try:
        refuse_shared(handle, folder)
        sign(handle)
        yield
    except BaseException:
        leave_no_trace(folder, made)
        raise
    finally:
        os.close(handle)  # frees the lock


def wait_for(folder: Path, patience: float, tell: Callable[[str], None] | None, user: str) -> tuple[int, list[Path]]:
    """The open and locked file, and the folders that were created for it, innermost first."""
    until = time.monotonic() + max(patience, LOOK_AGAIN)  # try twice: a call that is refused removes its lock file
    while True:
        made = [path for path in (folder, *folder.parents) if not path.exists()]
        handle = open_lock(folder)
        if take_or_refuse(handle, folder, user) and is_there(handle, folder / "lock"):
            return handle, made
        os.close(handle)
        if time.monotonic() >= until:
            raise InUse(
                f"another {user} ({holder(folder / 'lock')}) is using {folder}; wait for it or choose another --out"
            )
        if tell:
            tell(f"waiting for another call ({holder(folder / 'lock')}), which is working in {folder}")
            tell = None  # once is enough
        time.sleep(LOOK_AGAIN)


def refuse_shared(handle: int, folder: Path) -> None:
    """Refuse a lock that is not a file of its own: the note would overwrite the file that shares its content."""
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        raise ModelError(f"{folder / 'lock'}: not a file of its own (a hard link or a device). Remove it.")


def leave_no_trace(folder: Path, made: list[Path]) -> None:
    """Remove file and folders while the lock is held: afterwards another call may use them. See also `is_there`."""
    with suppress(OSError):  # Windows deletes no open file; another call may use the parents
        if [entry.name for entry in folder.iterdir()] == ["lock"]:
            (folder / "lock").unlink()
            for path in made:
                path.rmdir()


def open_lock(folder: Path) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder / "lock", os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
    except OSError as error:
        raise UsageError(
            f"{folder}: cannot write there ({(error.strerror or str(error)).lower()}); choose another --out"
        ) from None


def take_or_refuse(handle: int, folder: Path, user: str) -> bool:
    try:
        return take(handle)
    except OSError as error:  # ENOLCK, ENOTSUP: some network file systems
        os.close(handle)
        raise UsageError(
            f"{folder}: cannot be locked ({(error.strerror or str(error)).lower()}), and without a lock a second "
            f"{user} could spoil the run. Choose an --out on a local disk, or turn on locks where this one is mounted."
        ) from None


def sign(handle: int) -> None:
    """Write down who holds the lock, for the message that a second call shows."""
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    note = json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": since})
    with suppress(OSError):  # a full disk must not stop the run here: the lock works without the note
        os.ftruncate(handle, 0)
        os.pwrite(handle, note.encode(), 0) if hasattr(os, "pwrite") else os.write(handle, note.encode())


def holder(path: Path) -> str:
    try:
        note = read_json(path, SETTINGS)
        elsewhere = "" if note["host"] == socket.gethostname() else f" on {note['host']}"
        return f"pid {note['pid']}{elsewhere}, since {note['since']}"
    except (OSError, ValueError, TypeError, KeyError):
        return "unknown pid"  # it has the lock but has not signed yet
