"""Vector files, as word2vec wrote them and every tool since reads them.

    text      V E\\n, then a line a word: word v_1 ... v_E        GloVe's files are the same without the first line
    binary    V E\\n, then for each word: word, a space, E floats of 4 bytes (little-endian), and a \\n or none

Each also as .gz. What a file says of its size is compared with its size before any memory is taken.
"""

import gzip
import os
from collections.abc import Callable
from pathlib import Path

from seqloom.data.lines import STDIN, open_bytes
from seqloom.errors import DataError, UsageError
from seqloom.vectors.binary_format import read_binary, write_binary
from seqloom.vectors.head import WIDEST, check_head, looks_like_text, read_head
from seqloom.vectors.text_format import read_text, write_text
from seqloom.vectors.word_vectors import Matrix, WordVectors

IN_FOLDER = "vectors.bin"  # what `vectors train` leaves in a folder


def load_vectors(path: Path, warn: Callable[[str], None] = lambda message: None) -> WordVectors:
    """A vector file, or the folder that `vectors train` wrote. DataError with the line or word for what is broken."""
    path = path / IN_FOLDER if path.is_dir() else path
    if path == STDIN:
        raise UsageError("-: vectors are read from a file, not from standard input.")
    with open_bytes(path) as stream:
        head = read_head(stream)
        is_text = head is None or looks_like_text(stream.readline(1024 + 64 * min(head.width, WIDEST)))
    if head is not None:
        check_head(path, head, is_text)
    if head is None or is_text:
        words, matrix = read_text(path, head)
    else:
        words, matrix = read_binary(path, head)
    return without_repeats(words, matrix, path, warn)


def without_repeats(words: list[str], matrix: Matrix, path: Path, warn: Callable[[str], None]) -> WordVectors:
    """The first vector of a word counts, as in other tools; the others are told."""
    first = {word: place for place, word in reversed([*enumerate(words)])}
    if len(first) == len(words):
        return WordVectors(words, matrix)
    kept = sorted(first.values())
    warn(f"{path}: {len(words) - len(kept):,} words come more than once; the first vector of each is used.")
    return WordVectors([words[place] for place in kept], matrix[kept])


def is_vector_name(path: Path) -> bool:
    """Whether a name is that of a file of vectors: .bin is binary, .txt and .vec are text, each also .gz."""
    return Path(path.name.removesuffix(".gz")).suffix in (".bin", ".txt", ".vec")


def save_vectors(vectors: WordVectors, path: Path) -> None:
    """Binary when the name ends in .bin (or .bin.gz), else text; whole or not at all."""
    for word in vectors.words:
        if not word or " " in word or "\n" in word:
            raise DataError(f"{path}: the word {word!r} cannot be written: a space or the end of a line ends a word.")
    write = write_binary if path.name.removesuffix(".gz").endswith(".bin") else write_text
    part = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as raw:
            if path.suffix == ".gz":
                with gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as packed:  # equal bytes every time
                    write(vectors, packed)  # type: ignore[arg-type]
            else:
                write(vectors, raw)
            raw.flush()
            os.fsync(raw.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
