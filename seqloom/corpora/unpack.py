"""Archives and packed files, read within limits. Only files that are asked for by name are read, and none is a link.

Nothing is written under a name that an archive gives, so no archive reaches a file outside its folder.
"""

import gzip
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from seqloom.errors import DataError
from seqloom.files.durable import new_file

MOST_UNPACKED = 1 << 33  # bytes of one file: Europarl's largest has 350 MB
MOST_MEMBERS = 10_000
CHUNK = 1 << 20
DAMAGED = (OSError, EOFError, zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, NotImplementedError)


@contextmanager
def named(archive: Path) -> Iterator[None]:
    """Turn the errors of a damaged archive into one that names it."""
    try:
        yield
    except (*DAMAGED, RuntimeError, ValueError) as error:
        raise DataError(f"{archive}: damaged or not what its name says ({error}). Delete it and try again") from None


def unpack(archive: Path, wanted: Collection[str], folder: Path, most: int = MOST_UNPACKED) -> dict[str, Path]:
    """The wanted files of a .zip or .tgz, each as a file in the folder."""
    found: dict[str, Path] = {}
    with named(archive):
        for name, file in members(archive, wanted):
            found[name] = folder / f"unpacked-{len(found)}"
            with file, new_file(found[name]) as out:
                copy(archive, file, out, most)
    for name in wanted:
        if name not in found:
            raise DataError(f"{archive}: has no file {name}; its publisher may have changed it")
    return found


def members(archive: Path, wanted: Collection[str]) -> Iterator[tuple[str, IO[bytes]]]:
    """The wanted files of an archive, open for reading; a link or a device with one of their names is refused."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as packed:
            for entry in packed.infolist()[:MOST_MEMBERS]:
                if entry.filename in wanted:
                    refuse_link(archive, entry.filename, (entry.external_attr >> 28) not in (0, 0o10))
                    yield entry.filename, packed.open(entry)
        return
    with tarfile.open(archive, "r|*") as tape:
        for number, member in enumerate(tape):
            name = member.name.removeprefix("./")
            if number >= MOST_MEMBERS:
                raise DataError(f"{archive}: more than {MOST_MEMBERS:,} files; refused")
            if name in wanted:
                refuse_link(archive, name, not member.isreg())
                file = tape.extractfile(member)
                assert file is not None
                yield name, file


def refuse_link(archive: Path, name: str, strange: bool) -> None:
    if strange:
        raise DataError(f"{archive}: {name} is a link or a device, not a file; refused")


def copy(archive: Path, file: IO[bytes], out: IO[bytes], most: int) -> None:
    done = 0
    while chunk := file.read(CHUNK):
        done += len(chunk)
        if done > most:
            raise DataError(f"{archive}: unpacks to more than {most:,} bytes; refused")
        out.write(chunk)


def lines_of(path: Path, most: int = MOST_UNPACKED) -> Iterator[str]:
    """The lines of a UTF-8 file, packed with gzip if its name ends so, without their ends."""
    done = 0
    with named(path), gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        while line := file.readline(CHUNK):
            done += len(line)
            if done > most:
                raise DataError(f"{path}: unpacks to more than {most:,} bytes; refused")
            yield line.decode("utf-8-sig" if done == len(line) else "utf-8").rstrip("\r\n")
