"""Temporary files and folders: their names, who is writing them, and how those of a dead process are cleared.

    .NAME.part       a file being written; older versions added the number of the process, also to folders
    .saving-NAME     a folder being written
    .replaced-NAME   the old folder, until the new one is in place
    .before-NAME     the old folder, until the new one has been checked; empty if there was none
    .removing-NAME   a folder being deleted

Their writer holds a lock on them, which the kernel frees when it dies, even by kill -9. So one without a lock is a
leftover, and two processes never write the same temporary file.
"""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from seqloom.files.kernel_lock import hold, is_free, open_folder

FOLDER = re.compile(r"\.(saving|replaced|before|removing)-(.+)")
FILE = re.compile(r"\.(.+)\.part(-\d+)?")
SCRATCH = ".seqloom-scratch-"


class Busy(OSError):
    """A living process is writing this temporary file or folder."""


def is_leftover(name: str) -> bool:
    """Whether a kill may leave a file or folder of this name behind."""
    return bool(FOLDER.fullmatch(name) or FILE.fullmatch(name))


def make_file(part: Path) -> int:
    """Make a temporary file, locked while it is open; one of a dead process, or a link of that name, is cleared."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    while True:
        clear_away(part)
        with suppress(FileExistsError):  # made by another process since: it will be found held
            handle = os.open(part, flags, 0o666)
            if hold(handle, part):
                return handle
            os.close(handle)


@contextmanager
def made_folder(new: Path) -> Iterator[None]:
    """Make a temporary folder, locked during the block; one of a dead process is cleared first."""
    while True:
        clear_away(new)
        with suppress(FileExistsError):
            new.mkdir()
            handle = open_folder(new)
            if handle is None or hold(handle, new):
                break
            os.close(handle)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Lock a folder during the block, so that no other process takes it for a leftover."""
    handle = open_folder(folder)
    try:
        if handle is not None:
            hold(handle, folder)
        yield
    finally:
        if handle is not None:
            os.close(handle)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a folder for files that are needed for a moment; those that dead processes left are deleted."""
    import tempfile

    place = Path(tempfile.gettempdir())
    for entry in place.glob(f"{SCRATCH}*"):
        with suppress(OSError):  # of somebody else, or in use
            clear_away(entry)
    with tempfile.TemporaryDirectory(prefix=SCRATCH) as name, held(Path(name)):
        yield Path(name)


def clear_away(leftover: Path) -> None:
    """Delete what a dead process left, or a link or file that was planted under its name; never what a link names.

    Busy if a living process holds it.
    """
    with unheld(leftover) as free:
        if not free:
            raise Busy(errno.EBUSY, "another process is writing it now", str(leftover))
        if leftover.is_dir() and not leftover.is_symlink():
            remove_tree(leftover)
        else:
            leftover.unlink(missing_ok=True)


@contextmanager
def unheld(entry: Path) -> Iterator[bool]:
    """Whether no process holds a file or folder; if so, this one does during the block."""
    ours = os.name != "nt" and not entry.is_symlink() and (entry.is_dir() or entry.is_file())
    handle = os.open(entry, os.O_RDONLY | os.O_NOFOLLOW) if ours else None
    try:
        yield handle is None or is_free(handle)
    finally:
        if handle is not None:
            os.close(handle)


def bring_back(folder: Path) -> None:
    """Put the old folder back where a kill came between the two renames."""
    old = folder.with_name(f".replaced-{folder.name}")
    if old.is_dir() and not old.is_symlink() and not folder.exists():
        old.rename(folder)


def put_back(folder: Path) -> None:
    """Put the old folder back where a kill came before the new one was checked."""
    before = folder.with_name(f".before-{folder.name}")
    with unheld(before) as free:
        if not free:
            raise Busy(errno.EBUSY, "another process is making it now", str(folder))
        if before.is_dir() and not before.is_symlink():
            undo(folder, before)
        else:
            before.unlink(missing_ok=True)


def undo(folder: Path, before: Path) -> None:
    """Replace a folder by the one before it; an empty one stands for none."""
    remove_tree(folder)
    before.rename(folder) if any(before.iterdir()) else before.rmdir()


def remove_tree(folder: Path) -> None:
    """Delete a folder. The library, like `tempfile`, loads compressors first: 10 ms that only those who delete wait."""
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


OLD = {"replaced": bring_back, "before": put_back}


def clear_leftovers(parent: Path, names: re.Pattern[str]) -> None:
    """Clean up after a kill, for the files and folders of these names; what a living process writes stays."""
    for entry in sorted(parent.iterdir()) if parent.is_dir() else ():
        folder, file = FOLDER.fullmatch(entry.name), FILE.fullmatch(entry.name)
        name = folder[2] if folder else file[1] if file else ""
        if not names.fullmatch(name):
            continue
        with suppress(OSError):  # a living process holds it
            if folder and folder[1] in OLD:
                OLD[folder[1]](parent / name)
            clear_away(entry)
