"""Locks of the kernel on open files and folders: freed when their holder dies, even by kill -9."""

import os
import sys
from contextlib import suppress
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def take(handle: int) -> bool:
        os.lseek(handle, 1 << 30, os.SEEK_SET)  # a byte beyond the note: Windows lets no one read locked bytes
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        os.lseek(handle, 0, os.SEEK_SET)
        return True
else:
    import fcntl

    def take(handle: int) -> bool:
        """Lock what is open under this number; False while another process (or another opening) has locked it."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def is_there(handle: int, path: Path) -> bool:
    """Whether what is open still has this name; a lock on a deleted file would not stop another call."""
    with suppress(OSError):
        return os.path.samestat(os.fstat(handle), path.lstat())
    return False


def open_folder(folder: Path) -> int | None:
    """Open a folder to lock it; None on Windows, which cannot."""
    return None if os.name == "nt" else os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)


def hold(handle: int, path: Path) -> bool:
    """Lock what was just made; False if another process took it for a leftover in that moment and cleared it."""
    try:
        return take(handle) and is_there(handle, path)
    except OSError:  # a file system without locks
        return True


def is_free(handle: int) -> bool:
    try:
        return take(handle)
    except OSError:  # a file system without locks: none is held there
        return True
