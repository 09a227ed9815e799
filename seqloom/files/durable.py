"""Files that are written whole or not at all: into a temporary file in the same folder, synced, then renamed.

A kill or a power cut leaves either the old content or all of the new content. If a file cannot be written, `WriteError`
says which one, why and what to do.
"""

import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from seqloom.errors import WriteError
from seqloom.files.leftovers import Busy, make_file

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


def replace_file(path: Path, content: bytes | str) -> None:
    """Replace the content of a file (text as UTF-8); on failure the old content stays."""
    with new_file(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def new_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that replaces `path` when the block succeeds, and is deleted when it fails."""
    part = path.with_name(f".{path.name}.part")
    try:
        with os.fdopen(make_file(part), "w+b") as file:  # locked until it has its name
            yield file
            file.flush()
            os.fsync(file.fileno())
            if os.name == "nt":
                file.close()  # Windows renames no open file
            part.replace(path)
        sync_folder(path.parent)
    except Busy as error:
        raise cannot_write(path, error) from error
    except OSError as error:
        remove(part)
        raise cannot_write(path, error) from error
    except BaseException:
        remove(part)
        raise


def write_new(path: Path, content: bytes | str) -> str:
    """Write a file inside a `replaced_folder`, which syncs it and moves it into place; return its SHA-256."""
    content = content.encode() if isinstance(content, str) else content
    with open_no_link(path, "wb") as file:
        file.write(content)
    return hashlib.sha256(content).hexdigest()


def open_no_link(path: Path, mode: str) -> IO[bytes]:
    """Open a file to write ("wb") or to append ("ab"), but not through a symbolic link."""
    if path.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    how = {"wb": os.O_TRUNC, "ab": os.O_APPEND}[mode] | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | how, 0o666), mode)


def hash_file(file: Path) -> str:
    """Return the SHA-256 of a file, which may be larger than memory."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sync_file(file: Path) -> None:
    """Sync a file to the disk, whichever library wrote it."""
    handle = os.open(file, os.O_RDWR)  # Windows syncs no file that is only read
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable: a rename is on the disk only after this."""
    if os.name == "nt":
        return  # Windows opens no folder, and its rename is journalled
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove(file: Path) -> None:
    """Delete a file if it exists; a failure here is ignored, because the reason why writing failed matters more."""
    with suppress(OSError):
        file.unlink(missing_ok=True)


def cannot_write(path: Path, error: OSError) -> WriteError:
    """Say which file could not be written, why, and what to do."""
    if error.errno in FULL:
        why = "the disk is full, or a quota or file-size limit is reached"
        return WriteError(f"{path}: cannot be written: {why}. Free some space, then run the same command again.", 5)
    why = (error.strerror or str(error)).lower()
    if error.errno == errno.ELOOP:
        return WriteError(f"{path}: cannot be written: it is a symbolic link. Remove it, or choose another folder.")
    if error.errno == errno.EBUSY:
        return WriteError(f"{path}: cannot be written: {why}. Wait for it, then run the same command again.")
    if error.errno in FORBIDDEN:
        return WriteError(f"{path}: cannot be written: {why}. Make its folder writable, or choose another one.")
    return WriteError(f"{path}: cannot be written: {why}. Correct that, then run the same command again.")
