"""Files that survive a kill or a power cut: written whole, synced, then renamed into place."""

import errno
import hashlib
import os
from pathlib import Path

from seqloom.errors import TrainingError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def write_synced(path: Path, content: bytes) -> str:
    """Write a new file through to the disk; its SHA-256."""
    with path.open("wb", buffering=0) as file:
        rest = memoryview(content)
        while rest:  # a nearly full disk takes a part and only the next write fails
            rest = rest[file.write(rest) :]
        os.fsync(file.fileno())
    return hashlib.sha256(content).hexdigest()


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable: a rename is on the disk only after this."""
    if os.name == "nt":
        return  # Windows opens no folder, and its rename is journalled
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_file(path: Path, content: bytes) -> None:
    """The file has either its old content or all of the new one, whatever happens in between."""
    part = path.with_name(f".{path.name}.part")
    try:
        write_synced(part, content)
        part.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise cannot_write(path, error) from error
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def cannot_write(path: Path, error: OSError) -> TrainingError:
    """The sentence for a person whose disk is full, read-only or broken."""
    if error.errno in FULL:
        why = "the disk is full, or a quota or file-size limit is reached. Free some space"
    else:
        why = f"{(error.strerror or str(error)).lower()}. Put that right"
    return TrainingError(
        f"{path}: cannot be written: {why}, then run the same command again: everything saved before is kept."
    )
