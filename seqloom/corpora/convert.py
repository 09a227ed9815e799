"""The forms in which corpora are published, as pairs of texts: one function per form, from lines to pairs."""

import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest

from seqloom.errors import DataError

Pairs = Iterator[tuple[str, str]]
VARIANT = re.compile(r"\(\d+\)$")  # the second pronunciation of a word in CMUdict: read(2)


def two_columns(lines: Iterable[str]) -> Pairs:
    """Source, target and perhaps more columns, which are dropped (Tatoeba: the authors)."""
    for line in lines:
        columns = line.split("\t")
        if len(columns) >= 2:
            yield columns[0], columns[1]


def side_by_side(sources: Iterable[str], targets: Iterable[str]) -> Pairs:
    """One file per language, aligned by line; they must have the same number of lines."""
    for number, (source, target) in enumerate(zip_longest(sources, targets), 1):
        if source is None or target is None:
            raise DataError(f"line {number}: one of the files has fewer lines than the other, so the pairs are shifted")
        yield source, target


def pronunciations(lines: Iterable[str]) -> Pairs:
    """CMUdict: a word and its phonemes; comments go."""
    for line in lines:
        word, _, phonemes = line.partition("#")[0].strip().partition(" ")
        if word and not line.startswith(";;;"):
            yield VARIANT.sub("", word), phonemes.strip()


def commands(lines: Iterable[str]) -> Pairs:
    """SCAN: IN: jump twice OUT: I_JUMP I_JUMP."""
    for line in lines:
        source, found, target = line.removeprefix("IN: ").partition(" OUT: ")
        if found:
            yield source, target


def tagged_words(lines: Iterable[str]) -> Pairs:
    """CoNLL-U: the words of a sentence, and their parts of speech; contracted and empty words have none."""
    words, tags = list[str](), list[str]()
    for line in [*lines, ""]:
        columns = line.split("\t")
        if len(columns) >= 4 and columns[0].isdigit():
            words.append(columns[1].replace(" ", ""))
            tags.append(columns[3])
        elif not line.strip() and words:
            yield " ".join(words), " ".join(tags)
            words, tags = [], []


def cleaned(pairs: Pairs) -> Pairs:
    """Pairs with single blanks in place of tabs and line ends, which separate columns and lines; empty ones go."""
    for source, target in pairs:
        source, target = " ".join(source.split()), " ".join(target.split())
        if source and target:
            yield source, target
