"""JSON lines: one object a line, its fields told by name.

Without `columns` the first object decides: well-known names (source target, src tgt, input output, two language codes),
the same inside {"translation": {...}}, else its only two texts, in order. A name may be a path: translation.en
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from seqloom.data.lines import Fault, read_lines
from seqloom.data.readers import Columns, Row, known_pair, pair_of
from seqloom.errors import UsageError

Paths = tuple[tuple[str, ...], ...]


def read_jsonl(path: Path, columns: Columns, references: bool, normalise: str) -> Iterator[Row]:
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
        fields = fields or choose_fields(path, line, record, columns)
        cells = texts_of(line, record, fields)
        yield cells if isinstance(cells, Fault) else pair_of(line, cells, references or len(fields) > 2)


def texts_of(line: int, record: dict[str, Any], fields: Paths) -> list[str] | Fault:
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
            values = value if isinstance(value, list) and texts else [value]
            if not all(text is None or isinstance(text, str) for text in values):
                return Fault("bad JSON", line, f"field {'.'.join(path)!r} is no text: {str(value)[:40]}")
            texts += [text or "" for text in values]
    return texts


def choose_fields(path: Path, line: int, record: dict[str, Any], columns: Columns) -> Paths:
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
    raise UsageError(
        f"{path}: line {line}: which fields are source and target? It has: {', '.join(record) or 'none'}. "
        "Name them: --columns source,target"
    )


def path_of(record: dict[str, Any], column: str) -> tuple[str, ...]:
    """A name, a path, a place (from 1), or a name inside `translation`."""
    if column in record:
        return (column,)
    if column.isdecimal() and 1 <= int(column) <= len(record):
        return (list(record)[int(column) - 1],)
    nested = record.get("translation")
    return ("translation", column) if isinstance(nested, dict) and column in nested else tuple(column.split("."))
