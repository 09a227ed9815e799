"""Header of a vector file, and whether it can be true: checked before memory is allocated."""

from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from seqloom.data.lines import BOM, GZIP
from seqloom.errors import DataError
from seqloom.vectors.word_vectors import Matrix

WIDEST = 100_000
GZIP_RATIO = 1032  # maximum compression of gzip
LONGEST_HEADER = 64
FLOAT = np.dtype("<f4")


@dataclass(frozen=True)
class Head:
    """The header line: number of words, width of the vectors."""

    num_words: int
    width: int


def read_head(stream: IO[bytes]) -> Head | None:
    """Read the header; None if the first line is not `V E`."""
    parts = stream.readline(LONGEST_HEADER).removeprefix(BOM).split()
    if len(parts) == 2 and all(part.isdigit() for part in parts):
        return Head(int(parts[0]), int(parts[1]))
    return None


def looks_like_text(line: bytes) -> bool:
    """Whether a line is printable and has a number after its first word; binary floats almost never look like that."""
    try:
        text = line.decode().strip()
    except UnicodeDecodeError:
        return False
    return text.replace("\t", " ").isprintable() and any(is_number(part) for part in text.split()[1:])


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def check_head(path: Path, head: Head, is_text: bool) -> None:
    """DataError if the header is impossible, or announces more than the file can hold."""
    if not (head.num_words and 1 <= head.width <= WIDEST):
        raise DataError(
            f"{path}, line 1: {head.num_words} words of width {head.width}: want at least one word, and a width from "
            f"1 to {WIDEST:,}."
        )
    with path.open("rb") as file:
        packed = file.read(2) == GZIP
    most = path.stat().st_size * (GZIP_RATIO if packed else 1)
    per_word = 2 * head.width + 1 if is_text else FLOAT.itemsize * head.width + 2  # a letter and the shortest numbers
    if head.num_words * per_word > most:
        raise DataError(
            f"{path}, line 1: the header announces {head.num_words:,} words of width {head.width:,}, which take at "
            f"least {head.num_words * per_word:,} bytes, but the file has {path.stat().st_size:,}. It is cut off, or "
            "not a vector file."
        )


def empty_matrix(path: Path, head: Head) -> Matrix:
    """A matrix for the vectors; DataError if memory is too small."""
    try:
        return np.empty((head.num_words, head.width), np.float32)
    except MemoryError:
        size = head.num_words * head.width * FLOAT.itemsize / 2**30
        raise DataError(f"{path}: its vectors need {size:.1f} GiB of memory, more than this machine has.") from None
