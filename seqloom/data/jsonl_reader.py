"""Read pairs from JSON: an object or a list of two texts per line, or one array of them (json_array.py).

Without `columns` the first object decides: well-known names (source target, src tgt, input output, two languages),
the same inside {"translation": {...}}, else its only two texts, in order. A name may be a path: translation.en

A label may also be a number or true or false, and words and their tags may be lists. Fields of labels and tags are
never guessed: without well-known names, the user names them.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from seqloom.data.headers import SIDES, known_couple
from seqloom.data.json_array import Elements
from seqloom.data.lines import Fault
from seqloom.data.read_as import Columns
from seqloom.data.table_readers import Row, pair_of
from seqloom.errors import UsageError

KEY = re.compile(r'"\s*:')
Paths = tuple[tuple[str, ...], ...]
WANTED = {"pairs": "a text", "labelled": "a text", "tagged": "a text or a list of words without blanks"}


def records_of(lines: Iterable[str | Fault]) -> Iterator[tuple[int, Any]]:
    """Yield the value on each line; a Fault for a line that is not JSON."""
    decode = msgspec.json.Decoder().decode
    for line, text in enumerate(lines, 1):
        if isinstance(text, Fault):
            yield line, text
            continue
        try:
            record = decode(text)
        except (msgspec.DecodeError, RecursionError, ValueError) as error:
            blank = Fault("missing column", line, "a blank line")
            yield line, Fault("bad JSON", line, str(error)) if text.strip() else blank
            continue
        if isinstance(record, dict) and text.count(":") == len(record):  # each key has one: none occurs twice
            yield line, record
            continue
        twice = repeated_key(text, record)
        yield line, Fault("bad JSON", line, f"the key {twice!r} occurs twice") if twice else record


def repeated_key(text: str, record: Any) -> str:
    """Return a key that an object of this line has twice, of which only one value can be read; else an empty word."""
    if len(KEY.findall(text)) == count_keys(record):
        return ""
    decoder = Elements()
    decoder.read(text.strip(), 0)
    return decoder.twice[0] if decoder.twice else ""


def count_keys(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(count_keys(one) for one in value.values() if isinstance(one, dict | list))
    return sum(map(count_keys, value)) if isinstance(value, list) else 0


def read_records(
    path: Path,
    records: Iterable[tuple[int, Any]],
    columns: Columns,
    references: bool,
    form: str,
    uses: list[str],
) -> Iterator[Row]:
    """Yield the pair of each record; the first shows whether they are objects or lists, and which fields count."""
    fields: Paths = ()
    kind: type | None = None
    for line, record in records:
        if isinstance(record, Fault):
            yield record
            continue
        kind = kind or (list if isinstance(record, list) else dict)
        if not isinstance(record, kind):
            wanted = "an object" if kind is dict else "a list of texts"
            yield Fault("bad JSON", line, f"want {wanted}, got {str(record)[:20]}")
            continue
        if isinstance(record, list):
            record = {str(place): value for place, value in enumerate(record, 1)}
            if len(record) < 2:
                yield Fault("missing column", line, f"{len(record)} element(s), want 2")
                continue
        if not fields:
            fields = choose_fields(path, line, record, columns, form, in_order=kind is list)
            uses += [f"{'field' if kind is dict else 'element'} {'.'.join(field)!r}" for field in fields]
        cells = texts_of(line, record, fields, form)
        yield cells if isinstance(cells, Fault) else pair_of(line, cells, references or len(fields) > 2)


def texts_of(line: int, record: dict[str, Any], fields: Paths, form: str) -> list[str] | Fault:
    """Return the texts of these fields; null is an empty text, and a list holds a target and its further references."""
    texts: list[str] = []
    for path in fields:
        value: Any = record
        for key in path:
            if not isinstance(value, dict) or key not in value:
                if texts[1:]:
                    break  # a further reference may be absent
                return Fault("missing column", line, f"no field {'.'.join(path)!r} among {', '.join(record)[:100]}")
            value = value[key]
        else:
            found = texts_in(value, form, len(texts))
            if found is None:
                return Fault("bad JSON", line, f"field {'.'.join(path)!r} is not {WANTED[form]}: {str(value)[:40]}")
            texts += found
    return texts


def texts_in(value: Any, form: str, place: int) -> list[str] | None:
    """Return the texts of a field: mostly one, an empty one for null; None where it holds something else."""
    if isinstance(value, str):
        return [value]
    if form == "labelled" and place == 0:
        value = as_label(value)
    elif form == "tagged" and isinstance(value, list):
        words = [as_label(word) for word in value] if place else value
        whole = all(isinstance(word, str) and word.split() == [word] for word in words)
        return [" ".join(words)] if whole else None  # a blank in a word, or an empty word, would shift the tags
    values = value if isinstance(value, list) and place else [value]
    return [text or "" for text in values] if all(text is None or isinstance(text, str) for text in values) else None


def as_label(value: Any) -> Any:
    """Write a number or a truth value as a label: 1, true."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def choose_fields(
    path: Path, line: int, record: dict[str, Any], columns: Columns, form: str, in_order: bool = False
) -> Paths:
    """Return the paths of the fields to use; a UsageError where only the user can know them."""
    if columns:
        return tuple(path_of(record, column) for column in columns)
    if in_order:
        return tuple((name,) for name in record)
    for inside in ((), ("translation",)):
        named = record.get(inside[0], {}) if inside else record
        couple = known_couple(list(named), form) if isinstance(named, dict) else None
        if couple:
            return (*inside, couple[0]), (*inside, couple[1])
    texts = [name for name, value in record.items() if isinstance(value, str)]
    if len(texts) == 2 and form == "pairs":
        return (texts[0],), (texts[1],)
    one, other = SIDES[form]
    raise UsageError(
        f"{path}: line {line}: which fields are {one} and {other}? It has: {', '.join(record) or 'none'}. "
        f"Name them: --columns {one},{other}"
    )


def path_of(record: dict[str, Any], column: str) -> tuple[str, ...]:
    """Find a field by its name, its path, its number (from 1), or its name inside `translation`."""
    if column in record:
        return (column,)
    if column.isdecimal() and 1 <= int(column) <= len(record):
        return (list(record)[int(column) - 1],)
    nested = record.get("translation")
    return ("translation", column) if isinstance(nested, dict) and column in nested else tuple(column.split("."))
