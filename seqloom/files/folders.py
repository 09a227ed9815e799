"""Folders that are written whole or not at all: into a temporary folder next to them, synced, then renamed.

So a folder called NAME is always whole. The temporary ones and what a kill leaves of them: leftovers.py.
"""

import shutil
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path

from seqloom.errors import ModelError, UsageError, WriteError
from seqloom.files.durable import cannot_write, remove, sync_file, sync_folder
from seqloom.files.leftovers import Busy, bring_back, clear_away, held, made_folder, put_back, scratch_folder, undo
from seqloom.files.reading import Refused, entries_of


def beside(folder: Path, prefix: str) -> Path:
    """`.saving-store` for `store`: a name in the same folder, so that a rename does not copy."""
    return folder.with_name(f".{prefix}-{folder.name}")


@contextmanager
def replaced_folder(folder: Path) -> Iterator[Path]:
    """Make an empty folder that replaces this one when the block succeeds, and is deleted when it fails."""
    new = beside(folder, "saving")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        bring_back(folder)
        with made_folder(new):
            yield new
            sync_all(new)
            put_in_place(new, folder)
    except Busy as error:
        raise cannot_write(folder, error) from error
    except (OSError, WriteError) as error:
        shutil.rmtree(new, ignore_errors=True)
        cause = error.__cause__ if isinstance(error, WriteError) else error
        raise (cannot_write(folder, cause) if isinstance(cause, OSError) else error) from error
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


def refuse_links(folder: Path) -> None:
    """Refuse a folder of a run that holds a symbolic link: writing through it would change files elsewhere.

    The folder itself may be one, for example to a larger disk.
    """
    try:
        link = next((entry for entry in entries_of(folder) if entry.is_symlink()), None)
    except Refused as error:
        raise ModelError(f"{error.filename}: {error}.") from None
    if link is not None:
        raise ModelError(
            f"{link}: a symbolic link inside {folder}; writing through it would change files elsewhere. "
            "Remove it, or put a copy of what it names in its place. To use a larger disk, move all of "
            f"{folder} there: the folder itself may be a link."
        )


def sync_all(folder: Path) -> None:
    """Sync every file in a folder, and the names of the files, to the disk."""
    for entry in sorted(folder.iterdir()):
        sync_all(entry) if entry.is_dir() else sync_file(entry)
    sync_folder(folder)


def put_in_place(new: Path, folder: Path) -> None:
    """Rename a folder into place; the old one moves aside first and is deleted last."""
    old = beside(folder, "replaced")
    clear_away(old)
    if folder.exists():
        folder.rename(old)
    try:
        new.rename(folder)
    except OSError:
        if old.exists():
            old.rename(folder)
        raise
    sync_folder(folder.parent)
    shutil.rmtree(old, ignore_errors=True)


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """Make a folder that becomes `out`, which must be new or empty: nothing is ever overwritten."""
    check_new(out)
    if not out.exists():
        with replaced_folder(out) as new:
            yield new
        return
    inside = out / "saving"  # an empty folder is filled: it may be the working folder, or a disk of its own
    with replaced_folder(inside) as new:
        yield new
    for entry in inside.iterdir():
        entry.rename(out / entry.name)
    inside.rmdir()
    sync_folder(out)


def check_new(out: Path) -> None:
    """Refuse an `--out` that holds anything."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"--out {out}: the folder exists and is not empty; name a new one")


def copy_files(folder: Path, into: Path, without: str = "") -> None:
    """Copy the files of a folder, but not its permissions: a temporary folder is closed to everybody else."""
    for file in sorted(folder.iterdir()):
        if file.name != without:
            shutil.copyfile(file, into / file.name)


@contextmanager
def linked_twin(folder: Path, without: Container[str]) -> Iterator[Path]:
    """Make a temporary folder with the content of this one except these names, which can then be made again.

    Each file gets a second name, because symbolic links that leave a model folder are refused (`reading`).
    """
    with scratch_folder() as twin:
        for entry in folder.resolve().iterdir():
            if entry.name in without:
                continue
            if entry.is_dir():
                shutil.copytree(entry, twin / entry.name, copy_function=link)
            else:
                link(entry, twin / entry.name)
        yield twin


def link(file: str | Path, place: str | Path) -> None:
    """Link a file, or copy it where links are not allowed or lead to another disk."""
    try:
        Path(place).hardlink_to(file)
    except OSError:
        shutil.copyfile(file, place)


@contextmanager
def restored_on_failure(folder: Path) -> Iterator[None]:
    """Let the block make this folder again and check it; if the block fails or dies, the old folder comes back."""
    before = beside(folder, "before")
    put_back(folder)
    folder.rename(before) if folder.exists() else before.mkdir()
    with held(before):
        try:
            yield
        except BaseException:
            undo(folder, before)
            raise
        gone = beside(folder, "removing")
        clear_away(gone)
        before.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)


@contextmanager
def nothing_left_behind(folder: Path, refusals: tuple[type[Exception], ...], unless: str) -> Iterator[None]:
    """Delete what the block has put into a folder if it is refused with one of these errors.

    unless: the name of an entry whose presence shows that the work had begun: then everything stays.
    """
    before = {entry.name for entry in folder.iterdir()}
    try:
        yield
    except refusals:
        for entry in [] if (folder / unless).exists() else list(folder.iterdir()):
            if entry.name in before:
                continue
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                remove(entry)
        raise


def move_aside(folder: Path, ending: str) -> Path:
    """Rename a folder to the first free `NAME.ending-1`, `NAME.ending-2`, ..., to be kept for its owner."""
    number = 1
    while (kept := folder.with_name(f"{folder.name}.{ending}-{number}")).exists():
        number += 1
    folder.rename(kept)
    return kept


def remove_folder(folder: Path) -> None:
    """Delete a folder at once: it is renamed first, so that no half of it is ever seen under its name."""
    gone = beside(folder, "removing")
    clear_away(gone)
    folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)
