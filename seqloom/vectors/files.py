"""Vector files in the formats of word2vec and GloVe, which most tools read.

    text      V E\\n, then one line per word: word v_1 ... v_E        GloVe's files are the same without the first line
    binary    V E\\n, then per word: word, a space, E floats of 4 bytes (little-endian), and optionally a \\n

Each may be .gz. The size that a header announces is checked against the file size before memory is allocated.
"""

import gzip
from collections.abc import Callable
from pathlib import Path

from seqloom.data.lines import STDIN, open_bytes
from seqloom.errors import DataError, UsageError
from seqloom.files.durable import new_file
from seqloom.runtime.bundled import find_model
from seqloom.vectors.binary_format import read_binary, write_binary
from seqloom.vectors.head import WIDEST, check_head, looks_like_text, read_head
from seqloom.vectors.text_format import read_text, write_text
from seqloom.vectors.word_vectors import Matrix, WordVectors

Say = Callable[[str], None]
IN_FOLDER = "vectors.bin"  # the vector file in a folder of `vectors train`


def say_nothing(message: str) -> None:
    pass


def load_vectors(path: Path, warn: Say = say_nothing, side: str | None = None, say: Say = say_nothing) -> WordVectors:
    """Load a vector file, a folder of `vectors train`, or the embedding table of a model folder or a bundled model.

    side: source or target, for a model with one table per side [source]. `say` reports which table of a model it is.
    DataError with the line or word if the file is damaged.
    """
    path = find_model(path)
    if path.is_dir() and not (path / IN_FOLDER).exists():
        from seqloom.vectors.model_table import load_table

        if not (path / "config.toml").exists():
            raise UsageError(
                f"{path}: holds neither vectors ({IN_FOLDER}, from `seqloom vectors train`) nor a model (config.toml, "
                "from `seqloom train`). Give a vector file or one of these folders."
            )
        found = load_table(path, side or "source", say)
        return without_repeats(found.words, found.matrix, path, warn)
    if side is not None:
        raise UsageError(f"--side {side}: only a model folder has a source and a target side; {path} is none")
    path = path / IN_FOLDER if path.is_dir() else path
    if path == STDIN:
        raise UsageError("-: vectors cannot be read from standard input; give a file.")
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


def without_repeats(words: list[str], matrix: Matrix, path: Path, warn: Say) -> WordVectors:
    """Keep the first vector of each word, as other tools do, and warn about duplicates."""
    first = {word: row for row, word in reversed([*enumerate(words)])}
    if len(first) == len(words):
        return WordVectors(words, matrix)
    kept = sorted(first.values())
    warn(f"{path}: {len(words) - len(kept):,} words occur more than once; the first vector of each is used.")
    return WordVectors([words[row] for row in kept], matrix[kept])


def is_vector_name(path: Path) -> bool:
    """Whether a name is that of a vector file: .bin is binary, .txt and .vec are text, each may be .gz."""
    return Path(path.name.removesuffix(".gz")).suffix in (".bin", ".txt", ".vec")


def save_vectors(vectors: WordVectors, path: Path) -> None:
    """Write a vector file, atomically: binary if the name ends in .bin (or .bin.gz), otherwise text."""
    for word in vectors.words:
        if not word or " " in word or "\n" in word:
            raise DataError(
                f"{path}: the word {word!r} cannot be written: it is empty or has a space or line end in it."
            )
    write = write_binary if path.name.removesuffix(".gz").endswith(".bin") else write_text
    path.parent.mkdir(parents=True, exist_ok=True)
    with new_file(path) as raw:
        if path.suffix == ".gz":
            with gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as packed:  # equal bytes every time
                write(vectors, packed)  # type: ignore[arg-type]
        else:
            write(vectors, raw)
