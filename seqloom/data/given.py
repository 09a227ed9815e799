"""Pairs as objects of Python, written to a file as JSON lines: then they are read, checked and hashed as files are.

[("hello", "bonjour"), ...]     a list or an iterator of pairs; more elements are further references
[{"en": ..., "fr": ...}, ...]   objects, as in JSON lines
a pandas DataFrame              its columns by name, or its only two columns of texts; pandas itself is not imported
["one text", ...]               for tasks that learn from plain text
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from seqloom.data.corpus import CorpusSpec, ReadAs
from seqloom.data.forms import ONE_COLUMN
from seqloom.data.headers import SIDES, known_couple
from seqloom.data.spooled import keep_or_write
from seqloom.errors import DataError, UsageError
from seqloom.files.leftovers import scratch_folder

GIVEN = "the given pairs"
WAYS = (
    'Pairs are tuples: [("hello", "bonjour"), ...]. Two parallel files are one name: "train.en,train.fr". '
    'Several corpora: train("a.tsv", mix=["b.tsv"]); other functions take one at a time.'
)
LINES_AT_ONCE = 1000


@dataclass(frozen=True)
class Given:
    """Pairs as objects, not yet written."""

    records: Any


def named_or_given(pairs: Any) -> str | Given:
    """Return the name of files, or the pairs themselves; a UsageError for a list of names."""
    if isinstance(pairs, str | Path):
        return str(pairs)
    if pairs is None or isinstance(pairs, bytes | int | float) or not isinstance(pairs, Iterable):
        raise UsageError(f"pairs: got {type(pairs).__name__}; want the name of a file, or pairs. {WAYS}")
    return Given(pairs)


def spool_given(
    folder: Path, name: str, given: Given, read_as: ReadAs, started: bool = False, form: str = "pairs"
) -> CorpusSpec:
    """Write the pairs into the folder and return the corpus.

    started: a run in this folder continues with the pairs that are there; other ones are refused.
    """
    records, read_as = records_of(given.records, read_as, form)
    file = folder / f"{name}.{'txt' if form in ONE_COLUMN else 'jsonl'}"
    blocks = (b"".join(lines) for lines in batches(as_lines(records, form)))
    keep_or_write(file, blocks, started, GIVEN, f"{GIVEN}: there are none; is the iterator used up?")
    return replace(CorpusSpec.parse(str(file), read_as, form=form), name=GIVEN)


@contextmanager
def as_file(pairs: Any, read_as: "str | ReadAs | None", form: str) -> Iterator[tuple[str, ReadAs]]:
    """Yield the name of a file with these pairs, and how to read it; it is deleted afterwards."""
    named, read_as = named_or_given(pairs), ReadAs.of(read_as)
    if isinstance(named, str):
        yield named, read_as
        return
    with scratch_folder() as folder:
        spec = spool_given(folder, "given", named, read_as, form=form)
        try:
            yield str(spec.files[0]), spec.read_as
        except (UsageError, DataError) as error:
            error.args = (str(error).replace(str(spec.files[0]), GIVEN),)
            raise


def records_of(records: Any, read_as: ReadAs, form: str) -> tuple[Iterable[Any], ReadAs]:
    """Return the records one by one; the rows of a DataFrame as objects, with the names of the columns to use."""
    if not (hasattr(records, "itertuples") and hasattr(records, "columns")):
        return records, read_as
    names = [str(name) for name in records.columns]
    if form in ONE_COLUMN:
        raise UsageError("a DataFrame: this task learns from plain text; give one column of it: list(frame['text'])")
    chosen = read_as.chosen_columns() or known_couple(names, form) or text_columns(records, names, form)
    places = [names.index(one) if one in names else int(one) - 1 if one.isdecimal() else -1 for one in chosen]
    for one, place in zip(chosen, places, strict=True):
        if not 0 <= place < len(names):
            raise UsageError(f"columns: the DataFrame has no column {one!r}; it has: {', '.join(names)}")
    keys = [names[place] for place in places]
    if any("," in key or key.isdecimal() for key in keys) or len(set(keys)) < len(keys):
        keys = [*SIDES[form], *(f"reference {n}" for n in range(len(keys)))][: len(keys)]
    rows = zip(*(records.iloc[:, place] for place in places), strict=True)
    return (dict(zip(keys, row, strict=True)) for row in rows), replace(read_as, columns=",".join(keys))


def text_columns(frame: Any, names: Sequence[str], form: str) -> tuple[str, str]:
    """Return the only two columns of texts; a UsageError if there are others, or labels, which are not guessed."""
    head = frame.head(100)
    texts = [name for place, name in enumerate(names) if any(isinstance(cell, str) for cell in head.iloc[:, place])]
    if len(texts) == 2 and form == "pairs":
        return texts[0], texts[1]
    one, other = SIDES[form]
    raise UsageError(
        f"which columns of the DataFrame are {one} and {other}? It has: {', '.join(names)}. "
        f'Name them: columns="{one},{other}"'
    )


def as_lines(records: Iterable[Any], form: str) -> Iterator[bytes]:
    """Yield each record as a line of JSON, or of plain text."""
    encode = msgspec.json.Encoder(enc_hook=plain_value).encode
    first, second = SIDES.get(form, ("", ""))
    for number, record in enumerate(records, 1):
        if form in ONE_COLUMN:
            if not isinstance(record, str) or Path(record[:255]).is_file():
                raise UsageError(f"text {number}: got {record!r:.60}; want texts, or one file by its name alone.")
            yield record.encode() + b"\n"
        elif isinstance(record, Mapping):
            yield encode({str(name): missing_as_none(value) for name, value in record.items()}) + b"\n"
        elif isinstance(record, tuple | list) and len(record) > 1:
            cells = [missing_as_none(cell) for cell in record]
            yield encode({first: cells[0], second: cells[1:] if len(cells) > 2 else cells[1]}) + b"\n"
        else:
            raise UsageError(f"pair {number}: got {record!r:.60}; want (source, target). {WAYS}")


def missing_as_none(value: Any) -> Any:
    """Return None for the values that mean a missing cell: None, nan, pandas.NA."""
    try:
        missing = value is not None and value != value
        return None if missing else value
    except TypeError:  # pandas.NA is neither equal nor unequal
        return None


def plain_value(value: Any) -> Any:
    """Turn a number of numpy into one of Python; other objects are written as text, and then reported."""
    return value.item() if hasattr(value, "item") else repr(value)


def batches(lines: Iterator[bytes]) -> Iterator[list[bytes]]:
    """Yield lines, some at a time: one write per line would be slow."""
    while some := list(islice(lines, LINES_AT_ONCE)):
        yield some
