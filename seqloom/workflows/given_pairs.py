"""Pairs of a file that a model is shown whole, source and target: what `score` and `align` share."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Protocol, TypeVar

from seqloom.errors import UsageError

if TYPE_CHECKING:
    from seqloom.config import DataConfig
    from seqloom.data.corpus import CorpusSpec, Fault, Row
    from seqloom.runtime.inputs import Warn
    from seqloom.runtime.translator import Translator

CHUNK_PAIRS = 2048  # shown together: enough to sort by length, few enough to see results soon
TOO_LONG = "longer than the model takes"
HEADER = "line 1 names the columns: it is no pair and has no row"
Found = TypeVar("Found", covariant=True)


class Find(Protocol[Found]):
    """`score_pairs`, `align_words`: None, and a warning `line N: why`, for a pair that the model cannot take."""

    def __call__(
        self,
        translator: "Translator",
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        lines: Sequence[int],
        warn: "Warn",
    ) -> "Sequence[Found | None]": ...


def show_pairs(
    translator: "Translator", rows: "Iterable[Row]", find: Find[Found]
) -> "Iterator[list[tuple[int, Found | Fault]]]":
    """Chunks of rows: the line of each, and what was found for it, or the Fault for which nothing was."""
    rows = iter(rows)
    while chunk := [*islice(rows, CHUNK_PAIRS)]:
        yield [*show_chunk(translator, chunk, find)]


def show_chunk(
    translator: "Translator", chunk: "Sequence[Row]", find: Find[Found]
) -> "Iterator[tuple[int, Found | Fault]]":
    from seqloom.data.corpus import Fault, Pair

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


def refuse_unequal(spec: "CorpusSpec", data: "DataConfig") -> None:
    """Two files of different length are refused before the first row is printed: pairs may have shifted anywhere."""
    from seqloom.data.corpus import usable_pairs
    from seqloom.data.lines import STDIN

    if spec.format != "parallel":
        return
    if STDIN in spec.files:
        raise UsageError(
            f"{spec.name}: two files are read twice, first for their lengths; standard input can be read only once. "
            "Write it to a file and name that, or pipe source<TAB>target lines into a plain -."
        )
    for _ in usable_pairs(spec, data):
        pass
