"""Text format of vector files: one line per word, the word and its numbers separated by spaces."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO

import numpy as np

from seqloom.data.lines import Fault, read_lines
from seqloom.errors import DataError
from seqloom.vectors.head import WIDEST, Head, empty_matrix, is_number
from seqloom.vectors.word_vectors import Matrix, WordVectors

ROWS_AT_ONCE = 4096  # rows allocated at once for a file without a header


def read_text(path: Path, head: Head | None) -> tuple[list[str], Matrix]:
    """Read the words and the matrix (V, E) of a text file."""
    lines = numbered_lines(path)
    if head is None:
        return read_headless(path, lines)
    next(lines)
    words: list[str] = []
    matrix = empty_matrix(path, head)
    for line, text in lines:
        if len(words) == head.num_words:
            raise DataError(f"{path}, line {line}: more words than the {head.num_words:,} that the header announces.")
        words.append(read_row(text, matrix[len(words)], f"{path}, line {line}"))
    if len(words) < head.num_words:
        raise DataError(
            f"{path}: ends after {len(words):,} of the {head.num_words:,} words that its header announces. Is the file "
            "cut off?"
        )
    return words, matrix


def read_headless(path: Path, lines: Iterator[tuple[int, str]]) -> tuple[list[str], Matrix]:
    """Read GloVe's format, without a header: the first line gives the width."""
    first = next(lines, None)
    width = 0 if first is None else len(first[1].split(" ")) - 1
    if first is None or not 1 <= width <= WIDEST:
        raise DataError(f"{path}, line 1: not a vector file: want a header `words width`, or a word and its numbers.")
    words: list[str] = []
    blocks: list[Matrix] = []
    for line, text in chain([first], lines):
        row = len(words) % ROWS_AT_ONCE
        if row == 0:
            blocks.append(np.empty((ROWS_AT_ONCE, width), np.float32))
        words.append(read_row(text, blocks[-1][row], f"{path}, line {line}"))
    return words, np.concatenate(blocks)[: len(words)]


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines without trailing spaces; a blank last line is ignored, another blank line is an error."""
    blank = None
    for line, text in enumerate(read_lines(path), 1):
        if isinstance(text, Fault):
            raise DataError(f"{path}, line {line}: {text.kind}: {text.detail}. Want vectors as UTF-8 text or binary.")
        if blank is not None:
            raise DataError(f"{path}, line {blank}: a blank line between words.")
        text = text.rstrip(" ")
        if text:
            yield line, text
        else:
            blank = line


def read_row(text: str, row: Matrix, where: str) -> str:
    """Parse a line into a row of the matrix; returns the word: all text before the last E numbers, spaces included."""
    word, *numbers = text.rsplit(" ", len(row))
    if len(numbers) < len(row) or not word or is_number(word.rpartition(" ")[2] if " " in word else ""):
        first, *rest = text.split(" ")
        raise DataError(f"{where}: {len(rest)} numbers after {first[:40]!r}, want {len(row)}.")
    try:
        with np.errstate(over="ignore"):
            row[:] = [float(number) for number in numbers]
    except ValueError:
        bad = next(number for number in numbers if not is_number(number))
        raise DataError(f"{where}: the vector of {word[:40]!r}: {bad[:40]!r} is not a number.") from None
    if not np.isfinite(row).all():
        raise DataError(f"{where}: the vector of {word[:40]!r} has a number that is not finite.")
    return word


def write_text(vectors: WordVectors, file: IO[bytes]) -> None:
    """Write words and vectors as text, with the fewest digits that give the same float32 again."""
    file.write(f"{len(vectors)} {vectors.width}\n".encode())
    for word, row in zip(vectors.words, vectors.matrix, strict=True):
        file.write(f"{word} {' '.join(row.astype(str))}\n".encode())
