"""JSON lines: one object a line, its fields told by name.

Without `columns` the first object decides: well-known names (source target, src tgt, input output, two language codes),
the same inside {"translation": {...}}, else its only two texts, in order. A name may be a path: translation.en

A label may also be a number or true or false, and words and their tags may be lists.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from seqloom.data.lines import Fault, read_lines
from seqloom.data.readers import SIDES, Columns, Row, known_pair, pair_of
from seqloom.errors import UsageError

Paths = tuple[tuple[str, ...], ...]
NAMED = {"labelled": ("label", "text"), "tagged": ("tokens", "tags")}  # the two sides, where they have other names
WANTED = {"pairs": "text", "labelled": "text", "tagged": "text and no list of words without blanks"}


def read_jsonl(path: Path, columns: Columns, references: bool, normalise: str, form: str = "pairs") -> Iterator[Row]:
    decode = msgspec.json.Decoder().decode
    fields: Paths = ()
    for line, text in enumerate(read_lines(path, normalise), 1):
        if isinstance(text, Fault):
            yield text
            continue
        try:
            record = decode(text)
        except msgspec.DecodeError as error:
            yield Fault("bad JSON", line, str(error)) if text.strip() else Fault("missing column", line, "a blank line")
            continue
        if not isinstance(record, dict):
            yield Fault("bad JSON", line, f"want an object, got {text[:20]}")
            continue
        fields = fields or choose_fields(path, line, record, columns, form)
        cells = texts_of(line, record, fields, form)
        yield cells if isinstance(cells, Fault) else pair_of(line, cells, references or len(fields) > 2)


def texts_of(line: int, record: dict[str, Any], fields: Paths, form: str) -> list[str] | Fault:
    """The texts of these fields; null is an empty text, and a list holds a target and its further references."""
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
                return Fault("bad JSON", line, f"field {'.'.join(path)!r} is no {WANTED[form]}: {str(value)[:40]}")
            texts += found
    return texts


def texts_in(value: Any, form: str, place: int) -> list[str] | None:
    """What a field says: one text most often, an empty one for null; None where it is something else."""
    if form == "labelled" and place == 0:
        value = as_label(value)
    elif form == "tagged" and isinstance(value, list):
        words = [as_label(word) for word in value] if place else value
        whole = all(isinstance(word, str) and word.split() == [word] for word in words)
        return [" ".join(words)] if whole else None  # a blank in a word, or no word, would shift the tags
    values = value if isinstance(value, list) and place else [value]
    return [text or "" for text in values] if all(text is None or isinstance(text, str) for text in values) else None


def as_label(value: Any) -> Any:
    """1 and true are as good names as any."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def choose_fields(path: Path, line: int, record: dict[str, Any], columns: Columns, form: str) -> Paths:
    if columns:
        return tuple(path_of(record, column) for column in columns)
    for inside in ((), ("translation",)):
        named = record.get(inside[0], {}) if inside else record
        pair = known_pair(list(named)) if isinstance(named, dict) else None
        if pair:
            return (*inside, pair[0]), (*inside, pair[1])
    texts = [name for name, value in record.items() if isinstance(value, str)]
    if len(texts) == 2:
        return (texts[0],), (texts[1],)
    one, other = NAMED.get(form, SIDES)
    raise UsageError(
        f"{path}: line {line}: which fields are {one} and {other}? It has: {', '.join(record) or 'none'}. "
        f"Name them: --columns {one},{other}"
    )


def path_of(record: dict[str, Any], column: str) -> tuple[str, ...]:
    """A name, a path, a place (from 1), or a name inside `translation`."""
    if column in record:
        return (column,)
    if column.isdecimal() and 1 <= int(column) <= len(record):
        return (list(record)[int(column) - 1],)
    nested = record.get("translation")
    return ("translation", column) if isinstance(nested, dict) and column in nested else tuple(column.split("."))
