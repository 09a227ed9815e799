"""Binary format of vector files: per word, the word, a space, E floats of 4 bytes, and optionally a \\n."""

from pathlib import Path
from typing import IO

import numpy as np

from seqloom.data.lines import open_bytes
from seqloom.errors import DataError
from seqloom.vectors.head import FLOAT, Head, empty_matrix
from seqloom.vectors.word_vectors import Matrix, WordVectors

BLOCK_SIZE = 1 << 22
LONGEST_WORD = 4096  # bytes


def read_binary(path: Path, head: Head) -> tuple[list[str], Matrix]:
    """Read the words and the matrix (V, E) of a binary file."""
    words: list[str] = []
    matrix = empty_matrix(path, head)
    size = FLOAT.itemsize * head.width
    with open_bytes(path) as stream:
        stream.readline()
        block, at = b"", 0
        for row in matrix:
            if len(block) - at < size + LONGEST_WORD + 2:
                block, at = block[at:] + stream.read(BLOCK_SIZE + size), 0
            number = len(words) + 1
            end = block.find(b" ", at, at + LONGEST_WORD + 2)
            if end < 0 or len(block) < end + 1 + size:
                raise cut_off(path, number, head, len(block) - at)
            word = decode_word(block[at:end].lstrip(b"\n"), f"{path}, word {number:,}")
            row[:] = np.frombuffer(block, FLOAT, head.width, end + 1)
            if not np.isfinite(row).all():
                raise DataError(f"{path}, word {number:,} ({word[:40]!r}): its vector has a number that is not finite.")
            words.append(word)
            at = end + 1 + size
        rest = block[at:].lstrip(b"\n") or stream.read(1).lstrip(b"\n")
    if rest:
        raise DataError(f"{path}: has data after the {head.num_words:,} words that its header announces.")
    return words, matrix


def cut_off(path: Path, number: int, head: Head, bytes_left: int) -> DataError:
    """The error for a word without end, or for a truncated file."""
    if bytes_left > LONGEST_WORD:
        return DataError(f"{path}, word {number:,}: longer than {LONGEST_WORD:,} bytes: this is not a vector file.")
    return DataError(f"{path}, word {number:,} of {head.num_words:,}: the file ends here. Is it cut off?")


def decode_word(spelled: bytes, where: str) -> str:
    try:
        word = spelled.decode()
    except UnicodeDecodeError:
        raise DataError(f"{where}: {spelled[:40]!r} is not UTF-8, or this is not a vector file.") from None
    if not word:
        raise DataError(f"{where}: an empty word.")
    return word


def write_binary(vectors: WordVectors, file: IO[bytes]) -> None:
    """Write words and vectors in the binary format."""
    file.write(f"{len(vectors)} {vectors.width}\n".encode())
    for word, row in zip(vectors.words, vectors.matrix.astype(FLOAT), strict=True):
        file.write(word.encode() + b" " + row.tobytes() + b"\n")
