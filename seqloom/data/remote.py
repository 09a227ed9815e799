"""Files at an address, such as s3://bucket/pairs.tsv: fetched once into a folder, then read like any other file.

    FOLDER/a1b2c3d4/pairs.tsv        the eight letters stand for the address

Any protocol of fsspec works; some need a package of their own, which the message of fsspec names.
"""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from seqloom.data.lines import BLOCK_SIZE
from seqloom.errors import UsageError
from seqloom.files.durable import new_file

ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")
WEIGHT = re.compile(r":\d+(\.\d*)?$")


def has_address(text: str) -> bool:
    return any(ADDRESS.match(part.strip()) for part in text.split(","))


def fetch_all(text: str, folder: Path) -> str:
    """Return what the user wrote (one file or two with a comma, perhaps with a weight) with each address fetched."""
    if not has_address(text):
        return text
    weight = WEIGHT.search(text)
    names = text[: weight.start()] if weight else text
    local = [fetch(name.strip(), folder) if has_address(name) else name for name in names.split(",")]
    return ",".join(map(str, local)) + (weight[0] if weight else "")


def fetch(address: str, folder: Path) -> Path:
    """Copy the file at an address into the folder, whole or not at all; one that is there already is used."""
    name = PurePosixPath(address.partition("://")[2].partition("?")[0]).name
    if not name:
        raise UsageError(f"{address}: the address of a folder; want that of a file")
    file = folder / hashlib.sha256(address.encode()).hexdigest()[:8] / name
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        with new_file(file) as out:
            out.writelines(blocks_of(address))
    return file


def blocks_of(address: str) -> Iterator[bytes]:
    """Yield the bytes at an address; every failure to read them is a UsageError."""
    try:
        import fsspec
    except ImportError:
        raise UsageError(f"{address}: reading from an address needs a package: pip install 'seqloom[remote]'") from None
    try:
        with fsspec.open(address, "rb") as stream:
            yield from read_blocks(stream)
    except FileNotFoundError:
        raise UsageError(f"{address}: there is no such file") from None
    except Exception as error:  # every protocol has errors of its own
        raise UsageError(f"{address}: cannot be read: {type(error).__name__}: {error}") from None


def read_blocks(stream: IO[bytes]) -> Iterator[bytes]:
    while block := stream.read(BLOCK_SIZE):
        yield block
