"""`vectors train`: from plain text to a vector file, or to a folder with vectors, word counts and facts."""

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.data.account import Account
from seqloom.errors import DataError, UsageError
from seqloom.files.durable import replace_file
from seqloom.vectors.settings import VectorSettings

if TYPE_CHECKING:
    from seqloom.data.table_readers import Row

__all__ = ["TrainedVectors", "VectorSettings", "train"]

NORMALISE = "nfc"  # so that each word has one spelling
FACTS, VOCABULARY = "vectors.json", "vectors.vocab"
ADVICE = {  # why lines are not used -> what to do
    "invalid UTF-8": "convert the file: iconv -f latin1 -t utf-8 IN > OUT",
    "missing column": "check --column {column} and the separator",
}
OTHERWISE = "correct these lines, or remove them"
TABLES = (".tsv", ".tab", ".csv", ".jsonl", ".ndjson", ".json")  # their lines are not text, but a column may be


@dataclass(frozen=True)
class TrainedVectors:
    """The result of a training: where the vectors are, and facts about them."""

    file: Path
    num_vectors: int
    num_words: int  # words of the text, counting repetitions
    used_words: int  # those of words that are frequent enough
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
            f"{self.num_texts:,} texts, {self.num_words:,} words; {rare:,} of them not used (words that occur fewer "
            f"than {self.settings.min_count} times)\n"
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
    """Train vectors on the lines of these files, or on one column of them, and write them to `out`."""
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
    except DataError as error:  # perhaps only because of lines that could not be read
        raise DataError(f"{error}\n{tell_lost(account, column)}".rstrip()) from None
    if account.excluded:
        say(tell_lost(account, column))
    say(f"{len(corpus.words):,} different words cover {len(corpus.ids):,} of {corpus.num_words:,} words of the text")
    vectors, seconds, loss = learn(corpus, settings, quiet)
    save_vectors(vectors, file)
    made = TrainedVectors(
        file, len(vectors), corpus.num_words, len(corpus.ids), corpus.num_texts, seconds, loss, settings
    )
    if file != out:
        counted = zip(corpus.words, corpus.counts.tolist(), strict=True)
        replace_file(out / VOCABULARY, "".join(f"{word} {count}\n" for word, count in counted))
        replace_file(out / FACTS, json.dumps(made.to_json(), indent=1) + "\n")
    return made


def output_file(out: Path) -> Path:
    """The vector file to write; UsageError now rather than after training if it cannot be written."""
    from seqloom.vectors.files import IN_FOLDER, is_vector_name

    file = out if is_vector_name(out) and not out.is_dir() else out / IN_FOLDER
    if file.exists():
        raise UsageError(f"--out {out}: {file} already exists. Choose another name, or remove it.")
    file.parent.mkdir(parents=True, exist_ok=True)
    if not os.access(file.parent, os.W_OK):
        raise UsageError(f"--out {out}: {file.parent} cannot be written to.")
    return file


def read_texts(files: Sequence[str], column: str | None, account: Account) -> Iterator[str]:
    """The texts of all files in order; lines that cannot be used are counted in the account."""
    from seqloom.data.corpus import CorpusSpec, read_rows
    from seqloom.data.lines import Fault, read_lines

    for name in files:
        path = Path(name)
        if column is None:
            rows: Iterator[str | Row] = read_lines(path, NORMALISE)
        else:  # a reader wants two columns: the same one twice
            spec = replace(CorpusSpec.parse(name), columns=(check_column(column),) * 2)
            rows = read_rows(spec, NORMALISE)
        for row in rows:
            if not isinstance(row, Fault):
                account.keep(1)
                yield row if isinstance(row, str) else row.source
            elif row.kind != "header":
                account.exclude(name, row)


def tell_lost(account: Account, column: str | None) -> str:
    """How many lines are not used and why, with advice for the most frequent reason; empty if all are used."""
    if not account.excluded:
        return ""
    reason = max(account.excluded, key=lambda reason: account.excluded[reason])
    return f"{account.render().replace(' pairs', ' lines')}\n  -> {ADVICE.get(reason, OTHERWISE).format(column=column)}"


def check_text(name: str, column: str | None) -> None:
    """UsageError for a table without --column: its lines would be learned as if they were sentences."""
    if column is None and Path(name.removesuffix(".gz")).suffix.lower() in TABLES:
        raise UsageError(
            f"{name}: this is a table; choose the column with the text: --column 1, or the name of a header or of a "
            "JSON field. If it is plain text, rename it to .txt."
        )


def check_column(column: str) -> str:
    if not column.strip() or column == "0" or "," in column:
        raise UsageError(f"--column {column}: want one number from 1, or the name of a header or of a JSON field.")
    return column.strip()


def learn(corpus: Any, settings: VectorSettings, quiet: bool) -> tuple[Any, float, float]:
    """Train; returns the vectors, the seconds it took, and the last loss."""
    from seqloom.progress import make_progress
    from seqloom.training.speed import keep_freed_memory
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
