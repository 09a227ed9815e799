"""Plain text -> word vectors in a file that every tool reads, or in a folder with how they were made."""

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.data.account import Account
from seqloom.errors import DataError, UsageError
from seqloom.vectors.settings import VectorSettings

if TYPE_CHECKING:
    from seqloom.data.readers import Row

__all__ = ["TrainedVectors", "VectorSettings", "train"]

NORMALISE = "nfc"  # one word, one spelling
FACTS, VOCABULARY = "vectors.json", "vectors.vocab"
ADVICE = {  # why lines are lost -> what to do
    "invalid UTF-8": "convert the file: iconv -f latin1 -t utf-8 IN > OUT",
    "missing column": "check --column {column} and the separator",
}
OTHERWISE = "mend these lines, or leave them out"
TABLES = (".tsv", ".tab", ".csv", ".jsonl", ".ndjson", ".json")  # whose lines are no text, though columns of them are


@dataclass(frozen=True)
class TrainedVectors:
    """What came out, for a person and for the file of facts."""

    file: Path
    num_vectors: int
    num_words: int  # of the text
    used_words: int  # of them that are frequent enough
    num_texts: int
    seconds: float
    loss: float
    settings: VectorSettings

    @property
    def words_per_second(self) -> float:
        return self.used_words * self.settings.rounds / max(self.seconds, 1e-9)

    def render(self) -> str:
        rare = self.num_words - self.used_words
        return (
            f"{self.num_texts:,} texts, {self.num_words:,} words; {rare:,} of them are of words rarer than "
            f"{self.settings.min_count}\n"
            f"{self.num_vectors:,} vectors of size {self.settings.size} by {self.settings.method} in "
            f"{self.seconds:.1f} s, {self.words_per_second:,.0f} words/s: {self.file}"
        )

    def to_json(self) -> dict[str, Any]:
        settings = asdict(self.settings) | {"window": self.settings.reach, "epochs": self.settings.rounds}
        facts = {name: getattr(self, name) for name in ("num_vectors", "num_words", "used_words", "num_texts", "loss")}
        return settings | facts | {"seconds": self.seconds, "words_per_second": self.words_per_second}


def train(
    files: Sequence[str],
    out: Path,
    settings: VectorSettings,
    *,
    column: str | None = None,
    keep_case: bool = False,
    spaces: bool = False,
    say: Callable[[str], None] = lambda message: None,
    quiet: bool = False,
) -> TrainedVectors:
    """Learn vectors from the lines of these files, or from one column of them, and write them to `out`."""
    from seqloom.data.lines import check_file
    from seqloom.vectors.files import save_vectors
    from seqloom.vectors.words import read_corpus, split_words

    settings.check()
    for name in files:
        check_file(Path(name))
        check_text(name, column)
    file = output_file(out)
    account = Account()
    texts = (split_words(text, keep_case, spaces) for text in read_texts(files, column, account))
    try:
        corpus = read_corpus(texts, settings.min_count, ", ".join(files))
    except DataError as error:  # perhaps only because of what could not be read
        raise DataError(f"{error}\n{tell_lost(account, column)}".rstrip()) from None
    if account.excluded:
        say(tell_lost(account, column))
    say(f"{len(corpus.words):,} words, {len(corpus.ids):,} of {corpus.num_words:,} places in the text")
    vectors, seconds, loss = learn(corpus, settings, quiet)
    save_vectors(vectors, file)
    made = TrainedVectors(
        file, len(vectors), corpus.num_words, len(corpus.ids), corpus.num_texts, seconds, loss, settings
    )
    if file != out:
        counted = zip(corpus.words, corpus.counts.tolist(), strict=True)
        (out / VOCABULARY).write_text("".join(f"{word} {count}\n" for word, count in counted), "utf-8")
        (out / FACTS).write_text(json.dumps(made.to_json(), indent=1) + "\n", "utf-8")
    return made


def output_file(out: Path) -> Path:
    """Where the vectors go; refused now what would fail when the work is done."""
    from seqloom.vectors.files import IN_FOLDER, is_vector_name

    file = out if is_vector_name(out) and not out.is_dir() else out / IN_FOLDER
    if file.exists():
        raise UsageError(f"--out {out}: {file} is there already. Choose another name, or remove it.")
    file.parent.mkdir(parents=True, exist_ok=True)
    if not os.access(file.parent, os.W_OK):
        raise UsageError(f"--out {out}: {file.parent} cannot be written to.")
    return file


def read_texts(files: Sequence[str], column: str | None, account: Account) -> Iterator[str]:
    """The texts of all files in order; a line that is none is told to the account."""
    from seqloom.data.corpus import READERS, format_of
    from seqloom.data.lines import Fault, read_lines

    for name in files:
        path = Path(name)
        if column is None:
            rows: Iterator[str | Row] = read_lines(path, NORMALISE)
        else:  # a reader wants two columns: the same one twice
            rows = READERS[format_of(path)](path, (check_column(column),) * 2, False, NORMALISE)
        for row in rows:
            if not isinstance(row, Fault):
                account.keep(1)
                yield row if isinstance(row, str) else row.source
            elif row.kind != "header":
                account.exclude(name, row)


def tell_lost(account: Account, column: str | None) -> str:
    """What became of the lines, where some are not used, and what to do about the most frequent reason."""
    if not account.excluded:
        return ""
    reason = max(account.excluded, key=lambda reason: account.excluded[reason])
    return f"{account.render().replace(' pairs', ' lines')}\n  -> {ADVICE.get(reason, OTHERWISE).format(column=column)}"


def check_text(name: str, column: str | None) -> None:
    """Names of fields and cells side by side would be learned as if they were a sentence."""
    if column is None and Path(name.removesuffix(".gz")).suffix.lower() in TABLES:
        raise UsageError(
            f"{name}: a table; say which column is the text: --column 1, or the name of a header or of a JSON field. "
            "Of plain text the name ends in .txt."
        )


def check_column(column: str) -> str:
    if not column.strip() or column == "0" or "," in column:
        raise UsageError(f"--column {column}: want one number from 1, or the name of a header or of a JSON field.")
    return column.strip()


def learn(corpus: Any, settings: VectorSettings, quiet: bool) -> tuple[Any, float, float]:
    """The vectors, the seconds they took, and the loss that was seen last."""
    from seqloom.train.progress import make_progress
    from seqloom.train.speed import keep_freed_memory
    from seqloom.vectors.train import train_vectors

    keep_freed_memory()
    last = {"loss": float("nan")}
    began = time.monotonic()
    with make_progress("vectors", len(corpus.ids) * settings.rounds, unit="word", quiet=quiet) as progress:

        def show(done: int, fields: Any) -> None:
            last.update(fields)
            speed = done / max(time.monotonic() - began, 1e-9)
            progress.update(done, {**fields, "speed": f"{speed:,.0f} words/s"})

        vectors = train_vectors(corpus, settings, show)
    return vectors, time.monotonic() - began, last["loss"]
