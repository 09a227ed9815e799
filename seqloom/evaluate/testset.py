"""A test set: each source once, with every reference it has."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec


@dataclass(frozen=True)
class Item:
    """One source to translate; `lines` are those of the file that it came from."""

    lines: tuple[int, ...]
    source: str
    references: tuple[str, ...]


def merge_sources(rows: Iterable[tuple[int, str, tuple[str, ...]]]) -> list[Item]:
    """Rows of line, source, references -> items: rows of the same source become one, in the order of the first."""
    lines: dict[str, list[int]] = {}
    references: dict[str, dict[str, None]] = {}  # a dict keeps the order; a reference that comes twice counts once
    for line, source, known in rows:
        lines.setdefault(source, []).append(line)
        references.setdefault(source, {}).update(dict.fromkeys(known))
    return [Item(tuple(lines[source]), source, tuple(references[source])) for source in lines]


def fingerprint(items: list[Item]) -> str:
    """SHA-256 of sources and references: scores with equal fingerprints were measured on the same texts."""
    content = msgspec.json.encode([(item.source, item.references) for item in items])
    return hashlib.sha256(content).hexdigest()
