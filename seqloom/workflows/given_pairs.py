"""Reads given pairs in chunks and asks a model about each: shared by `score` and `align`."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Protocol, TypeVar

from seqloom.config import DataConfig
from seqloom.data.corpus import CorpusSpec, Fault, Pair, ReadAs, Row, checked_rows, usable_pairs
from seqloom.data.findings import UNCOUNTED
from seqloom.data.given import as_file
from seqloom.data.lines import STDIN
from seqloom.errors import UsageError
from seqloom.runtime.inputs import Warn
from seqloom.runtime.translator import Translator

CHUNK_PAIRS = 2048  # pairs per chunk: enough to sort by length, few enough to show results soon
TOO_LONG = "longer than the model can read"
HEADER = "line 1 names the columns: it is not a pair and has no row"
Found = TypeVar("Found", covariant=True)


class Find(Protocol[Found]):
    """`score_pairs` or `align_words`: None, and a warning `line N: why`, for a pair that the model cannot read."""

    def __call__(
        self,
        translator: Translator,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        lines: Sequence[int],
        warn: Warn,
    ) -> Sequence[Found | None]: ...


def show_pairs(
    translator: Translator, rows: Iterable[Row], find: Find[Found]
) -> Iterator[list[tuple[int, Found | Fault]]]:
    """Yield chunks of rows: the line number of each record with its result, or with the Fault if it has none."""
    rows = iter(rows)
    while chunk := [*islice(rows, CHUNK_PAIRS)]:
        yield [*show_chunk(translator, chunk, find)]


def show_chunk(translator: Translator, chunk: Sequence[Row], find: Find[Found]) -> Iterator[tuple[int, Found | Fault]]:
    pairs = [row for row in chunk if isinstance(row, Pair)]
    told: list[str] = []
    found = iter(
        find(
            translator,
            [pair.source for pair in pairs],
            [pair.target for pair in pairs],
            lines=[pair.line for pair in pairs],
            warn=told.append,
        )
    )
    reasons = iter(told)
    for row in chunk:
        if isinstance(row, Fault):
            yield row.line, row
        elif (result := next(found)) is not None:
            yield row.line, result
        else:
            yield row.line, Fault(TOO_LONG, row.line, next(reasons).partition(": ")[2])


def refuse_unequal(spec: CorpusSpec, data: DataConfig) -> None:
    """Refuse two files of different lengths before the first row is printed: pairs may have shifted anywhere."""
    if spec.format != "parallel":
        return
    if STDIN in spec.files:
        raise UsageError(
            f"{spec.name}: two files are read twice, first for their lengths; standard input can be read only once. "
            "Write it to a file and name that, or pipe source<TAB>target lines into a plain -."
        )
    for _ in usable_pairs(spec, data):
        pass


def sides_of(pairs: Any, read_as: ReadAs, data: DataConfig) -> tuple[list[str], list[str]]:
    """Return the sources and targets of a file or of Python's objects; both are empty where a record is not a pair."""
    with as_file(pairs, read_as, "pairs") as (file, wish):
        spec = CorpusSpec.parse(file, wish)
        refuse_unequal(spec, data)
        rows = [row for row in checked_rows(spec, data) if isinstance(row, Pair) or row.kind not in UNCOUNTED]
    texts = [(row.source, row.target) if isinstance(row, Pair) else ("", "") for row in rows]
    return [source for source, _ in texts], [target for _, target in texts]
