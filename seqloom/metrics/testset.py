"""Test set: each source once, with all its references."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec


@dataclass(frozen=True)
class Item:
    """One source to translate, with its references; `lines` are its line numbers in the file."""

    lines: tuple[int, ...]
    source: str
    references: tuple[str, ...]


def merge_sources(rows: Iterable[tuple[int, str, tuple[str, ...]]]) -> list[Item]:
    """Items from rows of (line, source, references): rows with the same source are merged, in order of first use."""
    lines: dict[str, list[int]] = {}
    references: dict[str, dict[str, None]] = {}  # a dict keeps the order and drops duplicates
    for line, source, known in rows:
        lines.setdefault(source, []).append(line)
        references.setdefault(source, {}).update(dict.fromkeys(known))
    return [Item(tuple(lines[source]), source, tuple(references[source])) for source in lines]


def fingerprint(items: list[Item]) -> str:
    """SHA-256 of sources and references: equal fingerprints mean that scores were measured on the same texts."""
    content = msgspec.json.encode([(item.source, item.references) for item in items])
    return hashlib.sha256(content).hexdigest()
